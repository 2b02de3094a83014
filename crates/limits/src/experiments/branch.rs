//! Cases of branches with a pattern: the cost of a misprediction, and the longest pattern that is learned.

use iced_x86::code_asm::*;
use prony_stats::Seed;

use crate::area::{Area, PageKind};
use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::code::{Code, CodeError};
use crate::experiment::Experiment;
use crate::tester::Passes;
use crate::unsupported::Unsupported;

/// Branches of a pass, a byte of pattern each: as many as the second-level cache holds with room.
const BRANCHES: usize = 128 << 10;

/// Pattern in which the branches of a loop are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// Branch that is never taken.
    Never,
    /// Branch that is always taken.
    Always,
    /// Branch that is taken once in this number of times.
    Every(usize),
    /// Branch with a random pattern that repeats after this number of branches.
    Period(usize),
    /// Branch that is taken at random.
    Random,
}

impl Pattern {
    fn word(self) -> String {
        match self {
            Pattern::Never => "never taken".to_owned(),
            Pattern::Always => "always taken".to_owned(),
            Pattern::Every(k) => format!("every {k} taken"),
            Pattern::Period(period) => format!("random, period {period}"),
            Pattern::Random => "random".to_owned(),
        }
    }

    /// A byte a branch, 1 where it is taken.
    fn fill(self, bytes: &mut [u8], seed: &mut Seed) {
        match self {
            Pattern::Never => bytes.fill(0),
            Pattern::Always => bytes.fill(1),
            Pattern::Every(k) => {
                bytes.iter_mut().enumerate().for_each(|(place, byte)| *byte = u8::from(place % k == 0));
            }
            Pattern::Period(period) => {
                let coins: Vec<u8> = (0..period).map(|_| u8::from(seed.coin())).collect();
                bytes.iter_mut().zip(coins.iter().cycle()).for_each(|(byte, coin)| *byte = *coin);
            }
            Pattern::Random => bytes.iter_mut().for_each(|byte| *byte = u8::from(seed.coin())),
        }
    }
}

/// Counts in rax how often the branch is not taken.
fn code() -> Result<Code, CodeError> {
    // SAFETY: it reads a[..bytes], one byte at least, counts rdi down to its end, and changes registers that a callee may.
    unsafe {
        Code::emit(0, |emit| {
            emit.asm.xor(eax, eax)?;
            let mut pass = emit.asm.create_label();
            emit.asm.set_label(&mut pass)?;
            emit.asm.xor(r8d, r8d)?;
            let top = emit.begin()?;
            let mut over = emit.asm.create_label();
            emit.asm.cmp(byte_ptr(rsi + r8), 0)?;
            emit.asm.jnz(over)?;
            emit.asm.inc(rax)?;
            emit.asm.set_label(&mut over)?;
            emit.asm.inc(r8)?;
            emit.asm.cmp(r8, rcx)?;
            emit.asm.jb(top)?;
            emit.end()?;
            emit.asm.dec(rdi)?;
            emit.asm.jnz(pass)?;
            emit.asm.ret()
        })
    }
}

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let every = [2, 3, 4, 5, 8, 16, 32, 64, 128];
    let mut patterns = vec![Pattern::Never, Pattern::Always];
    patterns.extend(every.map(Pattern::Every));
    let step = if setting.effort.thorough { 1 } else { 2 };
    patterns.extend((2..=16).step_by(step).map(|bits| Pattern::Period(1 << bits)));
    patterns.push(Pattern::Random);
    let case = |pattern: Pattern| {
        let run = move |context: &mut CaseContext| measured(context, pattern);
        let case = Case::new(Experiment::Branch, pattern.word(), Measure::CyclesEach(BRANCHES as f64), run);
        match pattern {
            Pattern::Period(period) => case.with("period", period),
            _ => case,
        }
    };
    Ok(patterns.into_iter().map(case).collect())
}

fn measured(context: &mut CaseContext, pattern: Pattern) -> Result<Outcome, Unsupported> {
    let code = code()?;
    let mut area = Area::touched(BRANCHES, PageKind::Small)?;
    pattern.fill(&mut area, &mut context.seed);
    let at = area.as_mut_ptr();
    let go = |passes| {
        // SAFETY: the code reads the first of the two only, which is ours.
        unsafe { code.run_at(passes, at, at, BRANCHES) };
    };
    // Time to learn.
    go(4);
    let series = context.tester.repeat(Passes::Calibrated, go)?;
    Ok(Outcome { series, listing: Some(code.listing()), facts: Vec::new() })
}

#[cfg(test)]
mod tests {
    use prony_stats::Seed;

    use super::{Pattern, code};

    #[test]
    fn the_branch_goes_as_the_pattern_says() {
        let code = code().expect("a page");
        let mut bytes = vec![0u8; 1024];
        for (pattern, not_taken) in
            [(Pattern::Never, 1024), (Pattern::Always, 0), (Pattern::Every(4), 768), (Pattern::Every(3), 682)]
        {
            pattern.fill(&mut bytes, &mut Seed::new(1));
            assert_eq!(code.run(1, &mut bytes, &mut [0; 1024], 1024), not_taken, "{pattern:?}");
        }
    }

    #[test]
    fn a_period_repeats_itself_and_chance_does_not() {
        let mut bytes = vec![0u8; 4096];
        Pattern::Period(64).fill(&mut bytes, &mut Seed::new(1));
        assert!(bytes.chunks(64).all(|chunk| chunk == &bytes[..64]));
        Pattern::Random.fill(&mut bytes, &mut Seed::new(1));
        let taken = bytes.iter().filter(|&&byte| byte == 1).count();
        assert!((1800..2300).contains(&taken) && bytes.chunks(64).any(|chunk| chunk != &bytes[..64]), "{taken}");
    }
}
