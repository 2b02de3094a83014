//! Bytes a second by how many there are: loads, stores, copies, past the caches, and string instructions.
//!
//! A size is the whole working set: a copy of 16 KiB reads 8 and writes 8. Its values are bytes copied; read and written together
//! they are twice that, which some call the bandwidth of a copy. A store that misses also reads the line first: three times. What is
//! moved is noise, as some memory takes zeros for less: the experiment `contents`.

use crate::area::PageKind;
use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::experiment::Experiment;
use crate::experiments::{size_word, sizes};
use crate::tester::Passes;
use crate::unsupported::Unsupported;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use elsewhere::Mover;
#[cfg(not(target_arch = "x86_64"))]
pub(super) use elsewhere::ways;
#[cfg(target_arch = "x86_64")]
pub(super) use here::Mover;
#[cfg(target_arch = "x86_64")]
pub(super) use here::ways;

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let levels = setting.levels();
    let mut cases = Vec::new();
    for kind in [setting.huge, PageKind::Small] {
        for way in ways() {
            let mut of_way = levels.iter().map(|level| level.1).collect::<Vec<_>>();
            // A look has curves of plain loads, stores and copies on huge pages; the rest is measured once a level.
            if setting.effort.thorough || (kind != PageKind::Small && matches!(way, "load" | "store" | "copy")) {
                let most = setting.memory_size();
                of_way.extend(
                    sizes(most, setting.effort.thorough)
                        .into_iter()
                        .filter(|&size| setting.effort.thorough || size.trailing_zeros() % 2 == 0 || size <= 1 << 20),
                );
            }
            of_way.sort_unstable();
            of_way.dedup();
            for size in of_way {
                let each = if copies(way) { size / 2 } else { size };
                let name = format!("{way} {}, {kind} pages", size_word(size));
                let run = move |context: &mut CaseContext| measure(context, way, each, kind);
                let mut case = Case::new(Experiment::Bandwidth, name, Measure::BytesEachSecond(each as f64), run)
                    .with("way", way)
                    .with("bytes", size)
                    .with("pages", kind);
                if let Some((level, _)) = levels.iter().find(|(_, bytes)| *bytes == size) {
                    case = case.with("level", level);
                }
                if copies(way) {
                    case = case.with("convention", "bytes copied; read + written is twice that");
                }
                cases.push(case);
            }
        }
    }
    Ok(cases)
}

/// True if half of the working set is read and half written.
pub(super) fn copies(way: &str) -> bool {
    matches!(way, "copy" | "NT copy" | "rep movsb")
}

fn measure(context: &mut CaseContext, way: &'static str, bytes: usize, kind: PageKind) -> Result<Outcome, Unsupported> {
    let mover = Mover::new(way)?;
    let (a, b) = context.memory.pair(kind)?;
    let (a, b) = (&mut a[..bytes], &mut b[..bytes]);
    mover.run(1, a, b);
    let series = context.tester.repeat(Passes::Calibrated, |passes| mover.run(passes, a, b))?;
    let facts = vec![("given_pages", context.memory.pages(kind))];
    Ok(Outcome { series, listing: mover.listing(), facts })
}

#[cfg(target_arch = "x86_64")]
mod here {
    use super::*;
    use crate::Listing;
    use crate::code::Code;
    use crate::streams::{Stream, Width, code};

    const WAYS: [Stream; 7] =
        [Stream::Load, Stream::Store, Stream::Copy, Stream::NtStore, Stream::NtCopy, Stream::RepStore, Stream::RepCopy];

    pub fn ways() -> impl Iterator<Item = &'static str> {
        WAYS.iter().map(|stream| stream.word())
    }

    /// A loop of the widest registers.
    pub struct Mover(Code);

    impl Mover {
        pub fn new(way: &str) -> Result<Mover, Unsupported> {
            let stream = WAYS.into_iter().find(|stream| stream.word() == way);
            let stream = stream.ok_or_else(|| Unsupported::because(format!("no loop for `{way}`")))?;
            Ok(Mover(code(stream, Width::widest())?))
        }

        pub fn run(&self, passes: u64, a: &mut [u8], b: &mut [u8]) {
            self.0.run(passes, a, b, a.len());
        }

        pub fn listing(&self) -> Option<Listing> {
            Some(self.0.listing())
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use std::hint::black_box;

    use super::*;
    use crate::Listing;

    pub fn ways() -> impl Iterator<Item = &'static str> {
        ["load", "store", "copy"].into_iter()
    }

    /// Compiled sum, fill and copy.
    pub struct Mover(&'static str);

    impl Mover {
        pub fn new(way: &'static str) -> Result<Mover, Unsupported> {
            Ok(Mover(way))
        }

        pub fn run(&self, passes: u64, a: &mut [u8], b: &mut [u8]) {
            for _ in 0..passes {
                match self.0 {
                    "load" => {
                        let words =
                            a.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
                        black_box(words.fold(0u64, u64::wrapping_add));
                    }
                    "store" => b.fill(black_box(a[0])),
                    _ => b.copy_from_slice(a),
                }
                black_box((&mut *a, &mut *b));
            }
        }

        pub fn listing(&self) -> Option<Listing> {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_half_of_its_working_set() {
        assert_eq!(ways().filter(|way| copies(way)).count() * 2 + 1, ways().count().max(3));
    }
}
