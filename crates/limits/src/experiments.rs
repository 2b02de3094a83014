//! Experiments, each with its cases.

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

use std::fmt;

#[cfg(not(target_arch = "x86_64"))]
use self::{elsewhere as branch, elsewhere as decode, elsewhere as ports, elsewhere as simd, elsewhere as write};
use serde::{Deserialize, Serialize};

use crate::case::{Case, Unsupported};
use crate::case_context::Setting;

/// A group of cases that answer one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Experiment {
    /// The clocks: of the core, of the time stamp, and what asking them costs.
    Clock,
    /// Memory written byte by byte, and the loop behind it.
    Write,
    /// Throughput of instructions per cycle, and slow instructions.
    Ports,
    /// Code as bytes: lengths of instructions, the footprint, where loops lie.
    Decode,
    /// Branches by their pattern.
    Branch,
    /// Equal work in registers of different widths.
    Simd,
    /// Latency of a load by how much memory it is chosen from.
    Cache,
    /// Bytes a second by how many there are, and how they are moved.
    Bandwidth,
    /// Equal copies of different contents: zeros, one value, noise.
    Contents,
    /// Several cores: scaling, and what it costs to talk.
    Threads,
    /// Costs of page faults.
    Fault,
    /// Rates of reading files.
    File,
    /// Datagrams on loopback, and system calls.
    Net,
}

impl Experiment {
    /// All, in the order in which answers show them.
    pub const ALL: [Experiment; 13] = [
        Experiment::Clock,
        Experiment::Write,
        Experiment::Ports,
        Experiment::Decode,
        Experiment::Branch,
        Experiment::Simd,
        Experiment::Cache,
        Experiment::Bandwidth,
        Experiment::Contents,
        Experiment::Threads,
        Experiment::Fault,
        Experiment::File,
        Experiment::Net,
    ];

    /// Word that selects the experiment on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Experiment::Clock => "clock",
            Experiment::Write => "write",
            Experiment::Ports => "ports",
            Experiment::Decode => "decode",
            Experiment::Branch => "branch",
            Experiment::Simd => "simd",
            Experiment::Cache => "cache",
            Experiment::Bandwidth => "bandwidth",
            Experiment::Contents => "contents",
            Experiment::Threads => "threads",
            Experiment::Fault => "fault",
            Experiment::File => "file",
            Experiment::Net => "net",
        }
    }

    /// Experiment that the word selects; `None` if none.
    pub fn from_word(word: &str) -> Option<Experiment> {
        Experiment::ALL.into_iter().find(|experiment| experiment.word() == word)
    }

    /// Cases of the experiment on this machine.
    ///
    /// # Errors
    /// Why nothing can.
    pub(crate) fn cases(self, setting: &Setting) -> Result<Vec<Case>, Unsupported> {
        match self {
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
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
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
    fn every_experiment_has_a_word_of_its_own() {
        for experiment in Experiment::ALL {
            assert_eq!(Experiment::from_word(experiment.word()), Some(experiment));
        }
        assert_eq!(Experiment::from_word("other"), None);
    }

    #[test]
    fn sizes_double_and_lie_half_way_between_on_request() {
        assert_eq!(sizes(20_000, false), [4096, 8192, 16384]);
        assert_eq!(sizes(20_000, true), [4096, 6144, 8192, 12288, 16384]);
        assert_eq!([6144, 1 << 20, 3 << 19, 1 << 30].map(size_word), ["6 KiB", "1 MiB", "1.5 MiB", "1 GiB"]);
    }
}
