//! Searches code for instructions that query the processor itself: for its time stamp, for randomness, for which
//! processor it is. System call instructions are found the same way, where each of them must be known.
//!
//! The bytes of such an instruction also stand within others and within tables. A place is sure only where decoding
//! from the start of its function meets it. Elsewhere the code must be reached from a place where code begins, without
//! a gap.

use crate::server::functions::{Functions, in_order};
use crate::server::program::{code_sections, is_32_bit};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use object::read::ReadCache;
use std::fs::File;
use std::ops::Range;

/// Position of an instruction, and the room around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InstructionPosition {
    /// Address in the terms of its object's tables.
    pub(crate) address: u64,
    /// Bytes of it and of what may move away with it, if that is room for a jump; 0 if not.
    pub(crate) room: u8,
}

/// Instructions that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sought {
    /// Those that query the processor.
    Queries,
    /// `syscall` of 64-bit code.
    SystemCalls,
}

/// The instructions of an object.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ProcessorReads {
    /// Positions that are certainly instructions.
    pub(crate) certain: Vec<InstructionPosition>,
    /// Whole code by its looks that nothing is known to lead to.
    pub(crate) doubtful: Vec<u64>,
}

/// The instructions of an object.
pub(crate) fn in_object(bytes: &ReadCache<File>, sought: Sought) -> ProcessorReads {
    let sections = code_sections(bytes);
    let candidates: Vec<(usize, u64)> = sections
        .iter()
        .enumerate()
        .flat_map(|(section, &(address, code))| candidates(code, sought).map(move |at| (section, address + at as u64)))
        .collect();
    if candidates.is_empty() {
        return ProcessorReads::default();
    }
    let bits = if is_32_bit(bytes) { 32 } else { 64 };
    let sections: Vec<Section> =
        sections.into_iter().map(|(address, code)| Section { address, code, bits, sought }).collect();
    search(&sections, &Functions::of(bytes), &candidates)
}

struct Section<'a> {
    address: u64,
    code: &'a [u8],
    /// Bits of the mode that it runs in.
    bits: u32,
    sought: Sought,
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
        let mut decoder = Decoder::with_ip(self.bits, code, from, DecoderOptions::NONE);
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
fn candidates(code: &[u8], sought: Sought) -> impl Iterator<Item = usize> {
    code.windows(2)
        .enumerate()
        .filter(move |(at, pair)| match pair {
            [0x0f, 0x05] => sought == Sought::SystemCalls,
            _ if sought == Sought::SystemCalls => false,
            [0x0f, 0x31 | 0xa2] => true,
            [0x0f, 0x01] => code.get(at + 2) == Some(&0xf9),
            // A register, and 6 or 7 as a part of the opcode.
            [0x0f, 0xc7] => code.get(at + 2).is_some_and(|operand| *operand >= 0xf0),
            _ => false,
        })
        .map(|(at, _)| at)
}

/// True for what functions of i386 begin with, where they begin.
fn begins_function(instruction: &Instruction) -> bool {
    let saves = instruction.mnemonic() == Mnemonic::Push && instruction.op0_register() == Register::EBP;
    instruction.ip().is_multiple_of(16) && (saves || instruction.mnemonic() == Mnemonic::Endbr32)
}

/// True for a branch whose target stands in it.
fn is_near_branch(instruction: &Instruction) -> bool {
    matches!(instruction.op0_kind(), OpKind::NearBranch64 | OpKind::NearBranch32)
}

fn is_sought(instruction: &Instruction, sought: Sought) -> bool {
    use Mnemonic::{Cpuid, Rdpid, Rdrand, Rdseed, Rdtsc, Rdtscp};
    match sought {
        Sought::Queries => matches!(instruction.mnemonic(), Cpuid | Rdpid | Rdrand | Rdseed | Rdtsc | Rdtscp),
        Sought::SystemCalls => instruction.mnemonic() == Mnemonic::Syscall,
    }
}

/// Instructions that no function of a program has: bytes that decode to one are a table.
fn is_odd(instruction: &Instruction) -> bool {
    use Mnemonic::{Cli, Hlt, In, Insb, Insd, Iret, Iretd, Iretq, Out, Outsb, Outsd, Retf, Sti, Sysexitq, Sysretq};
    // Those of 32-bit code that compilers stopped to make long ago: decimal arithmetic, and segments on the stack.
    use Mnemonic::{Aaa, Aad, Aam, Aas, Arpl, Bound, Daa, Das, Into, Lds, Les, Pop, Push, Salc};
    let segments = [Register::CS, Register::DS, Register::ES, Register::FS, Register::GS, Register::SS];
    match instruction.mnemonic() {
        Mnemonic::INVALID => true,
        Cli | Hlt | In | Insb | Insd | Iret | Iretd | Iretq | Out | Outsb | Outsd | Retf | Sti | Sysexitq | Sysretq => {
            true
        }
        Aaa | Aad | Aam | Aas | Arpl | Bound | Daa | Das | Into | Lds | Les | Salc => true,
        Push | Pop => segments.contains(&instruction.op0_register()),
        _ => false,
    }
}

fn search(sections: &[Section], functions: &Functions, candidates: &[(usize, u64)]) -> ProcessorReads {
    let mut reads = ProcessorReads::default();
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
        let mut code = Vec::new();
        sections[section].decode(function.clone(), |instruction| {
            code.push(*instruction);
            true
        });
        let odd = code.iter().position(Instruction::is_invalid).unwrap_or(code.len());
        let sought = sections[section].sought;
        for (at, instruction) in code.iter().enumerate().filter(|(_, instruction)| is_sought(instruction, sought)) {
            match at > odd {
                true => reads.doubtful.push(instruction.ip()),
                false => {
                    // Detours are made of 64-bit code.
                    let room = if sections[section].bits == 64 { room(&code, at, functions) } else { 0 };
                    reads.certain.push(InstructionPosition { address: instruction.ip(), room });
                }
            }
        }
    }
    if !elsewhere.is_empty() {
        look_elsewhere(sections, functions, &elsewhere, &mut reads);
    }
    reads.certain.sort_unstable();
    reads.certain.dedup();
    reads.doubtful = in_order(reads.doubtful);
    reads
}

/// Length of a jump instruction, in bytes.
const JUMP: u64 = 5;

/// How many bytes may give way to a jump, from the `RDTSC` at `at` on. Nothing may lead to what stands behind it but
/// `RDTSC` itself: neither a branch of the function nor, as it makes use of the time stamp, a table of jumps.
fn room(code: &[Instruction], at: usize, functions: &Functions) -> u8 {
    use Mnemonic::{Add, And, Mov, Or, Shl, Sub, Xor};
    use Register::{EAX, EDX, RAX, RDX};
    let first = &code[at];
    if first.mnemonic() != Mnemonic::Rdtsc || code.iter().any(Instruction::is_invalid) {
        return 0;
    }
    let mut end = first.next_ip();
    for instruction in &code[at + 1..] {
        let operands = 0..instruction.op_count();
        let of_it =
            operands.into_iter().any(|operand| [EAX, EDX, RAX, RDX].contains(&instruction.op_register(operand)));
        let moves = [Add, And, Mov, Or, Shl, Sub, Xor].contains(&instruction.mnemonic());
        if !of_it || !moves || instruction.is_ip_rel_memory_operand() {
            return 0;
        }
        end = instruction.next_ip();
        if end - first.ip() >= JUMP {
            break;
        }
    }
    let within = first.ip() + 1..end;
    let led_to = |target: u64| within.contains(&target);
    let branches = code.iter().filter(|instruction| is_near_branch(instruction));
    let known = functions.starts.partition_point(|&start| start < within.start);
    if end - first.ip() < JUMP
        || branches.into_iter().any(|branch| led_to(branch.near_branch_target()))
        || functions.starts.get(known).is_some_and(|&start| led_to(start))
    {
        return 0;
    }
    (end - first.ip()) as u8
}

/// Looks at candidates that lie in no function of a known length: `(section, address)`, in order.
fn look_elsewhere(
    sections: &[Section],
    functions: &Functions,
    candidates: &[(usize, u64)],
    reads: &mut ProcessorReads,
) {
    let mut gaps: Vec<Range<u64>> =
        candidates.iter().map(|&(section, candidate)| gap(&sections[section], functions, candidate)).collect();
    gaps.sort_unstable_by_key(|gap| gap.start);
    gaps.dedup();
    let starts = with_targets(sections, functions, &gaps);
    let from = |&(section, candidate): &(usize, u64)| {
        let gap = gap(&sections[section], functions, candidate);
        let known = starts[..starts.partition_point(|&start| start <= candidate)].last().copied();
        (section, gap.clone(), known.filter(|&start| start >= gap.start))
    };
    // Candidates between which no code begins are met on one way through it.
    for group in candidates.chunk_by(|a, b| from(a) == from(b)) {
        let (section, gap, start) = from(&group[0]);
        let addresses: Vec<u64> = group.iter().map(|&(_, address)| address).collect();
        examine(&sections[section], start, gap, &starts, &addresses, reads);
    }
}

/// The stretch around a candidate that is a part of no function.
fn gap(section: &Section, functions: &Functions, candidate: u64) -> Range<u64> {
    let before = functions.whole.partition_point(|function| function.end <= candidate);
    let from = functions.whole[..before].last().map_or(section.address, |function| function.end.max(section.address));
    let until = functions.whole.get(before).map_or(section.end(), |function| function.start.min(section.end()));
    from..until
}

/// The places where code begins, and those in the gaps that functions call or jump to.
fn with_targets(sections: &[Section], functions: &Functions, gaps: &[Range<u64>]) -> Vec<u64> {
    let mut starts = functions.starts.clone();
    for section in sections {
        let mut done = 0;
        for place in branches_into(section, gaps) {
            let Some(function) = functions.around(place).filter(|function| function.start >= done) else { continue };
            done = function.end;
            section.decode(function.clone(), |instruction| {
                let target = instruction.near_branch_target();
                if is_near_branch(instruction) && !function.contains(&target) {
                    starts.push(target);
                }
                true
            });
        }
    }
    in_order(starts)
}

/// Places of bytes that may be a branch into one of the gaps, which are in order. Decoding finds out which are one: the
/// other functions, nearly all of a large program, need none.
fn branches_into<'a>(section: &'a Section, gaps: &'a [Range<u64>]) -> impl Iterator<Item = u64> + 'a {
    // Pages with a gap in them, any of which share an entry with those far away.
    const PAGE: u64 = 4096;
    const ENTRIES: u64 = 1 << 16;
    let mut near = vec![false; ENTRIES as usize];
    for gap in gaps {
        let pages = gap.start / PAGE..=gap.end / PAGE;
        pages.take(ENTRIES as usize).for_each(|page| near[(page % ENTRIES) as usize] = true);
    }
    let leads_in = move |target: u64| {
        near[(target / PAGE % ENTRIES) as usize]
            && gaps.get(gaps.partition_point(|gap| gap.end <= target)).is_some_and(|gap| gap.contains(&target))
    };
    section.code.windows(2).enumerate().filter_map(move |(at, pair)| {
        let long = |length: usize| {
            let distance = section.code.get(at + length - 4..at + length)?;
            Some((length, i64::from(i32::from_le_bytes(distance.try_into().ok()?))))
        };
        let (length, distance) = match pair {
            [0xe8 | 0xe9, _] => long(5)?,
            [0x0f, 0x80..=0x8f] => long(6)?,
            [0x70..=0x7f | 0xe0..=0xe3 | 0xeb, distance] => (2, i64::from(*distance as i8)),
            _ => return None,
        };
        let place = section.address.wrapping_add(at as u64);
        leads_in(place.wrapping_add(length as u64).wrapping_add_signed(distance)).then_some(place)
    })
}

/// Candidates of a gap whose code is decoded from `start` on, a place where code begins, or from the gap's beginning.
fn examine(
    section: &Section,
    start: Option<u64>,
    gap: Range<u64>,
    starts: &[u64],
    candidates: &[u64],
    reads: &mut ProcessorReads,
) {
    // Flow: what stands behind a jump or a return is code only if something before leads there.
    let mut reaches = start.unwrap_or(u64::MAX);
    let mut led_to = start.is_some();
    let mut odd = false;
    let mut doubtful = Vec::new();
    let mut left = candidates;
    let mut known = starts.partition_point(|&known| known < start.unwrap_or(gap.start));
    section.decode(start.unwrap_or(gap.start)..gap.end, |instruction| {
        let (ip, next) = (instruction.ip(), instruction.next_ip());
        while starts.get(known).is_some_and(|&start| start < ip) {
            known += 1;
        }
        // What looks like code as far as the next place where code is known to begin may be some.
        if left.is_empty() && (doubtful.is_empty() || (!led_to && starts.get(known) == Some(&ip))) {
            return false;
        }
        // Assembly for i386 has no unwind information, but its functions begin as those of compilers do.
        if section.bits == 32 && !led_to && begins_function(instruction) {
            (led_to, reaches) = (true, 0);
        }
        odd = is_odd(instruction);
        if odd {
            return false;
        }
        while let Some((&candidate, others)) = left.split_first().filter(|(candidate, _)| **candidate < next) {
            left = others;
            // One that is led to needs no more looks; of another, all around it must look like code.
            if is_sought(instruction, section.sought) && candidate >= ip {
                match led_to {
                    true => reads.certain.push(InstructionPosition { address: ip, room: 0 }),
                    false => doubtful.push(ip),
                }
            }
        }
        if is_near_branch(instruction) && led_to {
            reaches = reaches.max(instruction.near_branch_target());
        }
        use Mnemonic::{Int3, Jmp, Ret, Ud2};
        if matches!(instruction.mnemonic(), Ret | Jmp | Ud2 | Int3) && next > reaches {
            led_to = false;
        }
        true
    });
    if !odd {
        reads.doubtful.append(&mut doubtful);
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of one function")]
mod tests {
    use super::*;

    const RDTSC: [u8; 2] = [0x0f, 0x31];
    const RDRAND_R9: [u8; 4] = [0x49, 0x0f, 0xc7, 0xf1];
    /// `mov eax, 0x310f`: the two bytes within another instruction.
    const WITHIN: [u8; 5] = [0xb8, 0x0f, 0x31, 0, 0];
    const RET: [u8; 1] = [0xc3];
    const NO_INSTRUCTION: [u8; 1] = [0x06];

    #[test]
    fn a_function_of_i386_is_known_by_its_beginning() {
        // `push ebp` behind a return and what fills up to 16 bytes.
        let code = [&RET[..], &[0x90; 15], &[0x55], &RDTSC, &[0x5d], &RET].concat();
        let of = |bits| {
            let sections = [Section { address: 0x1000, code: &code, bits, sought: Sought::Queries }];
            let candidates: Vec<(usize, u64)> =
                candidates(&code, Sought::Queries).map(|at| (0, 0x1000 + at as u64)).collect();
            search(&sections, &Functions { whole: Vec::new(), starts: vec![0x1000] }, &candidates)
        };
        assert_eq!((addresses(&of(32)), addresses(&of(64))), (vec![0x1011], vec![]));
    }

    #[test]
    fn system_calls_are_found_where_functions_are_known_and_not_in_tables() {
        let call = [0xb8, 0x27, 0, 0, 0, 0x0f, 0x05]; // mov eax, 39; syscall
        let code = [&call[..], &RET, &[0x06, 0x0f, 0x05, 0x06]].concat();
        let sections = [Section { address: 0x1000, code: &code, bits: 64, sought: Sought::SystemCalls }];
        let candidates: Vec<(usize, u64)> =
            candidates(&code, Sought::SystemCalls).map(|at| (0, 0x1000 + at as u64)).collect();
        assert_eq!(candidates.len(), 2);
        let function = std::iter::once(0x1000..0x1008).collect();
        let reads = search(&sections, &Functions { whole: function, starts: vec![0x1000] }, &candidates);
        assert_eq!(addresses(&reads), [0x1005]);
    }

    fn found(code: &[u8], whole: &[Range<u64>], starts: &[u64]) -> ProcessorReads {
        let sections = [Section { address: 0x1000, code, bits: 64, sought: Sought::Queries }];
        let candidates: Vec<(usize, u64)> =
            candidates(code, Sought::Queries).map(|at| (0, 0x1000 + at as u64)).collect();
        search(&sections, &Functions { whole: whole.to_vec(), starts: starts.to_vec() }, &candidates)
    }

    fn addresses(reads: &ProcessorReads) -> Vec<u64> {
        reads.certain.iter().map(|place| place.address).collect()
    }

    #[test]
    fn a_jump_has_room_only_where_nothing_else_leads() {
        let shift = [0x48, 0xc1, 0xe2, 0x20]; // shl rdx, 32
        let room =
            |code: &[u8], starts: &[u64]| found(code, &[0x1000..0x1000 + code.len() as u64], starts).certain[0].room;
        assert_eq!(room(&[&RDTSC[..], &shift, &RET].concat(), &[]), 6);
        // `mov r8d, eax`
        assert_eq!(room(&[&RDTSC[..], &[0x41, 0x89, 0xc0], &RET].concat(), &[]), 5);
        assert_eq!(room(&[&RDTSC[..], &RET, &[0x90; 8]].concat(), &[]), 0);
        // `mov ecx, ebx` makes no use of it, so a table of jumps may lead there.
        assert_eq!(room(&[&RDTSC[..], &[0x89, 0xd9], &shift, &RET].concat(), &[]), 0);
        // `mov rax, [rip]` would read elsewhere.
        assert_eq!(room(&[&RDTSC[..], &[0x48, 0x8b, 0x05, 0, 0, 0, 0], &RET].concat(), &[]), 0);
        // `je` to what follows it, and an address that a table has.
        assert_eq!(room(&[&RDTSC[..], &shift, &[0x74, 0xfa], &RET].concat(), &[]), 0);
        assert_eq!(room(&[&RDTSC[..], &shift, &RET].concat(), &[0x1002]), 0);
    }

    #[test]
    fn an_instruction_is_distinguished_from_the_same_bytes_within_another() {
        let code = [&WITHIN[..], &RDTSC, &RDRAND_R9, &RET].concat();
        assert_eq!(addresses(&found(&code, &[0x1000..0x100c], &[])), [0x1005, 0x1007]);
        assert_eq!(found(&WITHIN, &[0x1000..0x1005], &[]), ProcessorReads::default());
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
            let found = found(&[code, &RET].concat(), &[0x1000..0x1010], &[]);
            assert_eq!(addresses(&found), [0x1000], "{code:x?}");
        }
        // `cmpxchg8b [rsi]`
        assert_eq!(found(&[0x0f, 0xc7, 0x0e, 0xc3], &[0x1000..0x1004], &[]), ProcessorReads::default());
    }

    #[test]
    fn code_without_a_function_must_be_led_to() {
        let code = [&RDTSC[..], &RET].concat();
        assert_eq!(addresses(&found(&code, &[], &[0x1000])), [0x1000]);
        // Behind a return nothing leads on, so it may be a table; it looks like code, all of it.
        let behind = [&RET[..], &RDTSC, &RET].concat();
        assert_eq!(found(&behind, &[], &[0x1000]), ProcessorReads { certain: vec![], doubtful: vec![0x1001] });
        assert_eq!(found(&[&behind[..], &NO_INSTRUCTION].concat(), &[], &[0x1000]), ProcessorReads::default());
        // `je` over the return.
        let jumped = [&[0x74, 0x01][..], &RET, &RDTSC, &RET].concat();
        assert_eq!(addresses(&found(&jumped, &[], &[0x1000])), [0x1003]);
    }

    #[test]
    fn what_a_function_calls_is_code() {
        // `call 0x1006; ret`, and the called instructions behind them.
        let code = [&[0xe8, 1, 0, 0, 0][..], &RET, &RDTSC, &RET].concat();
        assert_eq!(addresses(&found(&code, &[0x1000..0x1006], &[])), [0x1006]);
    }

    #[test]
    fn a_function_with_a_table_in_it_is_doubtful_from_there_on() {
        // What is no instruction may take the next byte along.
        let code = [&RDTSC[..], &NO_INSTRUCTION, &[0x90, 0x90], &RDTSC, &RET].concat();
        let found = found(&code, &[0x1000..0x1008], &[]);
        assert_eq!((addresses(&found), found.doubtful), (vec![0x1000], vec![0x1005]));
    }
}
