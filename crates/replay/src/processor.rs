//! Searches code for instructions that ask the processor itself: for its time stamp, for randomness, for which
//! processor it is.
//!
//! The bytes of such an instruction also stand within others and within tables. A place is sure only where decoding
//! from the start of its function meets it. Elsewhere the code must be reached from a place where code begins, without
//! a gap.

use crate::functions::{Functions, in_order};
use crate::program::code_sections;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use object::read::ReadCache;
use std::fs::File;
use std::ops::Range;

/// Addresses of instructions, as the tables of their object use them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Asking {
    /// Surely instructions.
    pub(crate) sure: Vec<u64>,
    /// Whole code by its looks that nothing is known to lead to.
    pub(crate) doubtful: Vec<u64>,
}

/// The instructions of an object.
pub(crate) fn in_object(bytes: &ReadCache<File>) -> Asking {
    let sections = code_sections(bytes);
    let candidates: Vec<(usize, u64)> = sections
        .iter()
        .enumerate()
        .flat_map(|(section, &(address, code))| candidates(code).map(move |at| (section, address + at as u64)))
        .collect();
    if candidates.is_empty() {
        return Asking::default();
    }
    let sections: Vec<Section> = sections.into_iter().map(|(address, code)| Section { address, code }).collect();
    search(&sections, &Functions::of(bytes), &candidates)
}

struct Section<'a> {
    address: u64,
    code: &'a [u8],
}

impl Section<'_> {
    fn end(&self) -> u64 {
        self.address + self.code.len() as u64
    }

    /// Calls `each` for every instruction of a range, until it says no.
    fn decode(&self, range: Range<u64>, mut each: impl FnMut(&Instruction) -> bool) {
        let (from, to) = (range.start.max(self.address), range.end.min(self.end()));
        if from >= to {
            return;
        }
        let code = &self.code[(from - self.address) as usize..(to - self.address) as usize];
        let mut decoder = Decoder::with_ip(64, code, from, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            if !each(&instruction) {
                return;
            }
        }
    }
}

/// Places of the first byte of an opcode that could be one of these.
fn candidates(code: &[u8]) -> impl Iterator<Item = usize> {
    code.windows(2)
        .enumerate()
        .filter(|(at, pair)| match pair {
            [0x0f, 0x31 | 0xa2] => true,
            [0x0f, 0x01] => code.get(at + 2) == Some(&0xf9),
            // A register, and 6 or 7 as a part of the opcode.
            [0x0f, 0xc7] => code.get(at + 2).is_some_and(|operand| *operand >= 0xf0),
            _ => false,
        })
        .map(|(at, _)| at)
}

fn asks(instruction: &Instruction) -> bool {
    use Mnemonic::{Cpuid, Rdpid, Rdrand, Rdseed, Rdtsc, Rdtscp};
    matches!(instruction.mnemonic(), Cpuid | Rdpid | Rdrand | Rdseed | Rdtsc | Rdtscp)
}

/// Instructions that no function of a program has: bytes that decode to one are a table.
fn is_odd(instruction: &Instruction) -> bool {
    use Mnemonic::{Cli, Hlt, In, Insb, Insd, Iret, Iretd, Iretq, Out, Outsb, Outsd, Retf, Sti, Sysexitq, Sysretq};
    let kernels = [Cli, Hlt, In, Insb, Insd, Iret, Iretd, Iretq, Out, Outsb, Outsd, Retf, Sti, Sysexitq, Sysretq];
    instruction.is_invalid() || kernels.contains(&instruction.mnemonic())
}

fn search(sections: &[Section], functions: &Functions, candidates: &[(usize, u64)]) -> Asking {
    let mut asking = Asking::default();
    let mut elsewhere = Vec::new();
    let mut done = 0;
    for &(section, candidate) in candidates {
        let Some(function) = functions.around(candidate) else {
            elsewhere.push((section, candidate));
            continue;
        };
        // The first candidate of a function finds the others in it.
        if function.start < done {
            continue;
        }
        done = function.end;
        let mut odd = false;
        sections[section].decode(function.clone(), |instruction| {
            odd |= instruction.is_invalid();
            if asks(instruction) {
                if odd { &mut asking.doubtful } else { &mut asking.sure }.push(instruction.ip());
            }
            true
        });
    }
    if !elsewhere.is_empty() {
        let starts = with_targets(sections, functions);
        for (section, candidate) in elsewhere {
            examine(&sections[section], functions, &starts, candidate, &mut asking);
        }
    }
    asking.sure = in_order(asking.sure);
    asking.doubtful = in_order(asking.doubtful);
    asking
}

/// The places where code begins, and those that functions call or jump to.
fn with_targets(sections: &[Section], functions: &Functions) -> Vec<u64> {
    let mut starts = functions.starts.clone();
    for section in sections {
        let first = functions.whole.partition_point(|function| function.end <= section.address);
        for function in functions.whole[first..].iter().take_while(|function| function.start < section.end()) {
            section.decode(function.clone(), |instruction| {
                let target = instruction.near_branch_target();
                if instruction.op0_kind() == OpKind::NearBranch64 && !function.contains(&target) {
                    starts.push(target);
                }
                true
            });
        }
    }
    in_order(starts)
}

/// A candidate that lies in no function of a known length.
fn examine(section: &Section, functions: &Functions, starts: &[u64], candidate: u64, asking: &mut Asking) {
    let before = functions.whole.partition_point(|function| function.end <= candidate);
    let behind = functions.whole[..before].last().map_or(section.address, |function| function.end.max(section.address));
    let until = functions.whole.get(before).map_or(section.end(), |function| function.start.min(section.end()));
    let known = starts[..starts.partition_point(|&start| start <= candidate)].last().copied();
    let from = known.filter(|&start| start >= behind);
    // Flow: what stands behind a jump or a return is code only if something before leads there.
    let mut reaches = from.unwrap_or(u64::MAX);
    let mut led_to = from.is_some();
    let (mut odd, mut found) = (false, None);
    section.decode(from.unwrap_or(behind)..until, |instruction| {
        if found.is_some() && !led_to && starts.binary_search(&instruction.ip()).is_ok() {
            return false;
        }
        odd |= is_odd(instruction);
        if asks(instruction) && (instruction.ip()..instruction.next_ip()).contains(&candidate) {
            found = Some((instruction.ip(), led_to && !odd));
        }
        if instruction.op0_kind() == OpKind::NearBranch64 && led_to {
            reaches = reaches.max(instruction.near_branch_target());
        }
        let ends = matches!(instruction.mnemonic(), Mnemonic::Ret | Mnemonic::Jmp | Mnemonic::Ud2 | Mnemonic::Int3);
        if ends && instruction.next_ip() > reaches {
            led_to = false;
        }
        // One that is led to needs no more looks; of another, all around it must look like code.
        !(odd || matches!(found, Some((_, true))))
    });
    match found {
        Some((address, true)) => asking.sure.push(address),
        Some((address, false)) if !odd => asking.doubtful.push(address),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RDTSC: [u8; 2] = [0x0f, 0x31];
    const RDRAND_R9: [u8; 4] = [0x49, 0x0f, 0xc7, 0xf1];
    /// `mov eax, 0x310f`: the two bytes within another instruction.
    const WITHIN: [u8; 5] = [0xb8, 0x0f, 0x31, 0, 0];
    const RET: [u8; 1] = [0xc3];
    const NO_INSTRUCTION: [u8; 1] = [0x06];

    fn found(code: &[u8], whole: &[Range<u64>], starts: &[u64]) -> Asking {
        let sections = [Section { address: 0x1000, code }];
        let candidates: Vec<(usize, u64)> = candidates(code).map(|at| (0, 0x1000 + at as u64)).collect();
        search(&sections, &Functions { whole: whole.to_vec(), starts: starts.to_vec() }, &candidates)
    }

    #[test]
    fn an_instruction_is_told_from_the_same_bytes_within_another() {
        let code = [&WITHIN[..], &RDTSC, &RDRAND_R9, &RET].concat();
        assert_eq!(found(&code, &[0x1000..0x100c], &[]).sure, [0x1005, 0x1007]);
        assert_eq!(found(&WITHIN, &[0x1000..0x1005], &[]), Asking::default());
    }

    #[test]
    fn every_such_instruction_is_known() {
        for code in [
            &[0x0f, 0x31][..],
            &[0x0f, 0x01, 0xf9],
            &[0x0f, 0xa2],
            &[0x0f, 0xc7, 0xf0],
            &[0x66, 0x0f, 0xc7, 0xf3],
            &[0x48, 0x0f, 0xc7, 0xf8],
            &[0xf3, 0x0f, 0xc7, 0xf8],
        ] {
            assert_eq!(found(&[code, &RET].concat(), &[0x1000..0x1010], &[]).sure, [0x1000], "{code:x?}");
        }
        // `cmpxchg8b [rsi]`
        assert_eq!(found(&[0x0f, 0xc7, 0x0e, 0xc3], &[0x1000..0x1004], &[]), Asking::default());
    }

    #[test]
    fn code_without_a_function_must_be_led_to() {
        let code = [&RDTSC[..], &RET].concat();
        assert_eq!(found(&code, &[], &[0x1000]).sure, [0x1000]);
        // Behind a return nothing leads on, so it may be a table; it looks like code, all of it.
        let behind = [&RET[..], &RDTSC, &RET].concat();
        assert_eq!(found(&behind, &[], &[0x1000]), Asking { sure: vec![], doubtful: vec![0x1001] });
        assert_eq!(found(&[&behind[..], &NO_INSTRUCTION].concat(), &[], &[0x1000]), Asking::default());
        // `je` over the return.
        let jumped = [&[0x74, 0x01][..], &RET, &RDTSC, &RET].concat();
        assert_eq!(found(&jumped, &[], &[0x1000]).sure, [0x1003]);
    }

    #[test]
    fn what_a_function_calls_is_code() {
        // `call 0x1006; ret`, and the called instructions behind them.
        let code = [&[0xe8, 1, 0, 0, 0][..], &RET, &RDTSC, &RET].concat();
        assert_eq!(found(&code, &[0x1000..0x1006], &[]).sure, [0x1006]);
    }

    #[test]
    fn a_function_with_a_table_in_it_is_doubtful_from_there_on() {
        // What is no instruction may take the next byte along.
        let code = [&RDTSC[..], &NO_INSTRUCTION, &[0x90, 0x90], &RDTSC, &RET].concat();
        let expected = Asking { sure: vec![0x1000], doubtful: vec![0x1005] };
        assert_eq!(found(&code, &[0x1000..0x1008], &[]), expected);
    }
}
