//! Latency: a load whose address is what the load before it found.
//!
//! Lines are visited in the order of a random permutation that is one cycle. A line that points at itself, or at the next one, would
//! lie: cores predict such addresses, and newer ones serve them without asking the cache.

use std::hint::black_box;

use crate::area::PageKind;
use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::experiment::Experiment;
use crate::experiments::{size_word, sizes};
use crate::permutation::single_cycle;
use crate::tester::Passes;
use crate::unsupported::Unsupported;

/// A cache line: of every x86-64, and of most aarch64.
const LINE_BYTES: usize = 64;
/// Loads in a turn of the loop.
const LOADS: usize = 32;
/// A look does not build chains longer than this: that alone takes half a second.
const QUICK_MOST: usize = 128 << 20;

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let most = if setting.effort.thorough { setting.memory_size() } else { QUICK_MOST };
    let levels = setting.levels();
    let mut all = sizes(most.min(setting.area_bytes), setting.effort.thorough);
    all.extend(levels.iter().map(|level| level.1).filter(|&size| size <= most));
    all.sort_unstable();
    all.dedup();
    let mut cases = Vec::new();
    for kind in [setting.huge, PageKind::Small] {
        for &size in &all {
            let name = format!("chase {}, {kind} pages", size_word(size));
            let run = move |context: &mut CaseContext| measure(context, size, kind);
            let mut case = Case::new(Experiment::Cache, name, Measure::SecondsEach(LOADS as f64), run)
                .with("bytes", size)
                .with("pages", kind);
            let level = levels.iter().find(|(_, bytes)| *bytes == size);
            // Chains end before the size that stands for memory elsewhere; the longest is as good.
            let level = level.or_else(|| levels.last().filter(|_| Some(&size) == all.last()));
            if let Some((level, _)) = level {
                case = case.with("level", level);
            }
            cases.push(case);
        }
    }
    Ok(cases)
}

fn measure(context: &mut CaseContext, bytes: usize, kind: PageKind) -> Result<Outcome, Unsupported> {
    let (_, area) = context.memory.pair(kind)?;
    let mut chase = Chase::new(&mut area[..bytes], &mut context.seed)?;
    // Once around, so that every line is where it belongs.
    chase.run((bytes / LINE_BYTES).div_ceil(LOADS) as u64);
    let series = context.tester.repeat(Passes::Calibrated, |passes| chase.run(passes))?;
    let listing = chase.listing();
    Ok(Outcome { series, listing, facts: vec![("given_pages", context.memory.pages(kind))] })
}

/// Lines that point at each other.
struct Chase<'a> {
    /// The chain lives in it.
    lines: &'a mut [u8],
    /// The line that is next; samples go on where the last one ended, or the first lines alone would be visited.
    at: *mut u8,
    #[cfg(target_arch = "x86_64")]
    code: crate::code::Code,
}

impl<'a> Chase<'a> {
    fn new(lines: &'a mut [u8], seed: &mut prony_stats::Seed) -> Result<Chase<'a>, Unsupported> {
        let count = u32::try_from(lines.len() / LINE_BYTES).map_err(|_| Unsupported::because("too many lines"))?;
        let base = lines.as_mut_ptr();
        let next = single_cycle(count, seed);
        for (line, &to) in lines.chunks_exact_mut(LINE_BYTES).zip(&next) {
            let address = base as usize + to as usize * LINE_BYTES;
            line[..size_of::<usize>()].copy_from_slice(&address.to_ne_bytes());
        }
        Ok(Chase {
            at: base,
            lines,
            #[cfg(target_arch = "x86_64")]
            code: code()?,
        })
    }

    #[cfg(target_arch = "x86_64")]
    fn run(&mut self, passes: u64) {
        // SAFETY: `at` is a line of `lines`, which are borrowed, and every line holds the address of another.
        self.at = unsafe { self.code.run_at(passes, self.at, self.at, 0) } as *mut u8;
        black_box(&self.lines);
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn run(&mut self, passes: u64) {
        for _ in 0..passes * LOADS as u64 {
            // SAFETY: `at` is a line of `lines`, which are borrowed, and every line begins with the address of another.
            self.at = unsafe { std::ptr::read_volatile(self.at.cast::<*mut u8>()) };
        }
        black_box(&self.lines);
    }

    #[cfg(target_arch = "x86_64")]
    fn listing(&self) -> Option<crate::Listing> {
        Some(self.code.listing())
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn listing(&self) -> Option<crate::Listing> {
        None
    }
}

#[cfg(target_arch = "x86_64")]
fn code() -> Result<crate::code::Code, crate::code::CodeError> {
    use iced_x86::code_asm::*;
    // SAFETY: it reads addresses from its start address on, which the caller vouches for; rax alone is changed.
    unsafe {
        crate::code::Code::emit(0, |emit| {
            emit.asm.mov(rax, rsi)?;
            let top = emit.begin()?;
            for _ in 0..LOADS {
                emit.asm.mov(rax, qword_ptr(rax))?;
            }
            emit.asm.dec(rdi)?;
            emit.asm.jnz(top)?;
            emit.end()?;
            emit.asm.ret()
        })
    }
}

#[cfg(test)]
mod tests {
    use prony_stats::Seed;

    use super::*;
    use crate::area::Area;

    #[test]
    fn a_chase_comes_back_after_all_lines_and_not_before() {
        let mut area = Area::touched(64 * LINE_BYTES, PageKind::Small).expect("a page");
        let base = area.as_mut_ptr();
        let mut chase = Chase::new(&mut area, &mut Seed::new(3)).expect("a page of code");
        chase.run(1);
        assert_ne!(chase.at, base, "32 of 64 lines are half of the way");
        chase.run(1);
        assert_eq!(chase.at, base);
    }
}
