//! Code as bytes: how fast instructions of each length are taken in, from where, and how loops lie.

use iced_x86::IcedError;
use iced_x86::code_asm::*;

use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::code::{Code, CodeError};
use crate::experiment::Experiment;
use crate::experiments::size_word;
use crate::tester::Passes;
use crate::unsupported::Unsupported;

/// Nops in a turn: less than every µop cache holds.
const NOPS: usize = 192;
/// The largest footprint: beyond the second level of most cores.
const FOOTPRINT_MAX: usize = 2 << 20;
/// Bytes of the nops that a footprint is made of, a usual length.
const FOOTPRINT_NOP: usize = 4;

/// The nops that Intel and AMD recommend (SDM volume 2, "NOP"), and 66 prefixes before the longest of them.
fn nop(length: usize) -> Vec<u8> {
    let longest: [u8; 9] = [0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    match length {
        1 => vec![0x90],
        2 => vec![0x66, 0x90],
        3 => vec![0x0f, 0x1f, 0x00],
        4 => vec![0x0f, 0x1f, 0x40, 0],
        5 => vec![0x0f, 0x1f, 0x44, 0, 0],
        6 => vec![0x66, 0x0f, 0x1f, 0x44, 0, 0],
        7 => vec![0x0f, 0x1f, 0x80, 0, 0, 0, 0],
        8 => longest[1..].to_vec(),
        more => std::iter::repeat_n(0x66, more.min(15) - 9).chain(longest).collect(),
    }
}

fn nops(length: usize, count: usize) -> Result<Code, CodeError> {
    let bytes = nop(length);
    let body = |emit: &mut crate::code::Emit| -> Result<(), IcedError> {
        let top = emit.begin()?;
        for _ in 0..count {
            emit.asm.db(&bytes)?;
        }
        emit.asm.dec(rdi)?;
        emit.asm.jnz(top)?;
        emit.end()?;
        emit.asm.ret()
    };
    // SAFETY: nops, and rdi is counted down to its end.
    unsafe { Code::emit(0, body) }
}

/// Six instructions of twenty bytes: more than half of 32, so that most offsets cross something.
fn small_loop(offset: usize) -> Result<Code, CodeError> {
    // SAFETY: it changes registers that a callee may change, and counts rdi down to its end.
    unsafe {
        Code::emit(offset, |emit| {
            let top = emit.begin()?;
            for register in [rax, rcx, rdx, r8, r9] {
                emit.asm.add(register, rsi)?;
            }
            emit.asm.dec(rdi)?;
            emit.asm.jnz(top)?;
            emit.end()?;
            emit.asm.ret()
        })
    }
}

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let mut cases = Vec::new();
    for length in 1..=15 {
        let name = format!("nops of {length} bytes");
        let run = move |context: &mut CaseContext| measured(context, &nops(length, NOPS)?);
        cases.push(
            Case::new(Experiment::Decode, name, Measure::EachCycle(NOPS as f64, "nops"), run).with("nop_bytes", length),
        );
    }
    let most = if setting.effort.thorough { FOOTPRINT_MAX } else { FOOTPRINT_MAX / 2 };
    for size in crate::experiments::sizes(most, setting.effort.thorough) {
        let count = size / FOOTPRINT_NOP;
        let name = format!("{} of code in nops of {FOOTPRINT_NOP} bytes", size_word(size));
        let run = move |context: &mut CaseContext| measured(context, &nops(FOOTPRINT_NOP, count)?);
        cases.push(
            Case::new(Experiment::Decode, name, Measure::EachCycle(size as f64, "bytes"), run).with("footprint", size),
        );
    }
    for offset in (0..64).step_by(if setting.effort.thorough { 1 } else { 4 }) {
        let name = format!("loop of 20 bytes at offset {offset}");
        let run = move |context: &mut CaseContext| measured(context, &small_loop(offset)?);
        cases.push(Case::new(Experiment::Decode, name, Measure::CyclesEach(1.0), run).with("offset", offset));
    }
    Ok(cases)
}

fn measured(context: &mut CaseContext, code: &Code) -> Result<Outcome, Unsupported> {
    let series = context.tester.repeat(Passes::Calibrated, |passes| {
        code.run_alone(passes);
    })?;
    Ok(Outcome { series, listing: Some(code.listing()), facts: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::{nop, nops, small_loop};

    #[test]
    fn a_nop_of_each_length_is_one_instruction() {
        for length in 1..=15 {
            assert_eq!(nop(length).len(), length);
            let listing = nops(length, 3).expect("a page").listing();
            let lines: Vec<_> = listing.loop_lines().collect();
            assert_eq!(lines.len(), 5, "{length}: {lines:?}");
            // 66 90 is also an exchange of ax with itself, which does as little.
            let is_nop = |text: &str| text.contains("nop") || text == "xchg ax, ax";
            assert!(lines[..3].iter().all(|line| is_nop(&line.text) && line.bytes.len() == 2 * length), "{lines:?}");
        }
    }

    #[test]
    fn the_loop_that_is_moved_has_twenty_bytes() {
        assert_eq!(small_loop(9).expect("a page").loop_bytes(), 20);
    }
}
