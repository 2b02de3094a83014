//! Cases of the experiments, one experiment in each file.

mod bandwidth;
#[cfg(target_arch = "x86_64")]
mod branch;
mod cache;
mod clock;
mod contents;
#[cfg(target_arch = "x86_64")]
mod decode;
mod fault;
mod file;
mod net;
#[cfg(target_arch = "x86_64")]
mod ports;
#[cfg(target_arch = "x86_64")]
mod simd;
mod threads;
#[cfg(target_arch = "x86_64")]
mod write;

#[cfg(not(target_arch = "x86_64"))]
use self::{elsewhere as branch, elsewhere as decode, elsewhere as ports, elsewhere as simd, elsewhere as write};

use crate::case::Case;
use crate::case_context::Setting;
use crate::experiment::Experiment;
use crate::unsupported::Unsupported;

/// Cases of an experiment on this machine.
///
/// # Errors
/// [`Unsupported`] if the experiment has none here.
pub(crate) fn cases(experiment: Experiment, setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    match experiment {
        Experiment::Clock => clock::cases(setting),
        Experiment::Write => write::cases(setting),
        Experiment::Ports => ports::cases(setting),
        Experiment::Decode => decode::cases(setting),
        Experiment::Branch => branch::cases(setting),
        Experiment::Simd => simd::cases(setting),
        Experiment::Cache => cache::cases(setting),
        Experiment::Bandwidth => bandwidth::cases(setting),
        Experiment::Contents => contents::cases(setting),
        Experiment::Threads => threads::cases(setting),
        Experiment::Fault => fault::cases(setting),
        Experiment::File => file::cases(setting),
        Experiment::Net => net::cases(setting),
    }
}

/// Sizes of a sweep in bytes: powers of two, and on request what lies half-way, from 4 KiB to `most`.
pub(crate) fn sizes(most: usize, between: bool) -> Vec<usize> {
    let powers = (12..usize::BITS).map(|bits| 1usize << bits).take_while(|&size| size <= most);
    let between = |size: usize| [Some(size), between.then_some(size + size / 2)].into_iter().flatten();
    powers.flat_map(between).filter(|&size| size <= most).collect()
}

/// A size as names have it: `16 KiB`.
pub(crate) fn size_word(bytes: usize) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 if !bytes.is_multiple_of(1 << 20) => {
            format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
        }
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

/// Experiments of machine code, where none is emitted.
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use super::{Case, Setting, Unsupported};

    pub fn cases(_: &Setting) -> Result<Vec<Case>, Unsupported> {
        Err(Unsupported::because(format!(
            "its loops are x86-64 machine code, but this machine is {}",
            std::env::consts::ARCH
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_and_lie_half_way_between_on_request() {
        assert_eq!(sizes(20_000, false), [4096, 8192, 16384]);
        assert_eq!(sizes(20_000, true), [4096, 6144, 8192, 12288, 16384]);
        assert_eq!([6144, 1 << 20, 3 << 19, 1 << 30].map(size_word), ["6 KiB", "1 MiB", "1.5 MiB", "1 GiB"]);
    }
}
