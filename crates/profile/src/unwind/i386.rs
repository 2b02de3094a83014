//! Stacks of 32-bit programs on a 64-bit kernel: the same tables with other registers, which `framehop` does not read.
#![deny(clippy::indexing_slicing)]

use gimli::{BaseAddresses, CfaRule, EhFrame, EhFrameOffset, Encoding, EndianSlice, EvaluationResult, Format};
use gimli::{LittleEndian, Location, RegisterRule, UnwindContext, UnwindExpression, UnwindSection as _, Value, X86};
use object::{Object as _, ObjectSection as _};
use rustc_hash::FxHashMap;

use super::DEPTH_MAX;
use crate::elf::{Segments, read, section};
use crate::records::UserStack;
use crate::space::{Object, ObjectId, ObjectKind, Space, object};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// A table may describe a rule by a program; those that compilers write have five steps.
const STEPS_MAX: u32 = 1000;
const ENCODING: Encoding = Encoding { address_size: 4, format: Format::Dwarf32, version: 1 };

/// Walks the stacks of all 32-bit processes of a recording.
pub(crate) struct Walker {
    objects: FxHashMap<ObjectId, Option<Tables>>,
    context: UnwindContext<usize>,
}

/// The tables of a file, and which part of them is about which addresses.
struct Tables {
    segments: Segments,
    bases: BaseAddresses,
    eh_frame: Vec<u8>,
    /// Start and end of a function as stated in the file, and where its description is; by start.
    functions: Vec<(u64, u64, usize)>,
}

/// The registers of a frame that its callers can be found with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Registers {
    pointer: u32,
    stack_pointer: u32,
    frame_pointer: u32,
}

/// The copied part of a stack.
struct Memory<'a> {
    start: u32,
    bytes: &'a [u8],
    /// False once something beyond the copy was requested.
    is_whole: bool,
}

impl Memory<'_> {
    fn word(&mut self, address: u32) -> Option<u32> {
        let at = address.checked_sub(self.start)? as usize;
        let word = self.bytes.get(at..at.checked_add(4)?);
        self.is_whole &= word.is_some();
        Some(u32::from_le_bytes(word?.try_into().expect("four bytes")))
    }
}

impl Walker {
    pub(crate) fn new() -> Walker {
        Walker { objects: FxHashMap::default(), context: UnwindContext::new() }
    }

    /// As [`super::Walker::walk`].
    pub(crate) fn walk(
        &mut self,
        space: &Space,
        objects: &[Object],
        stack: &UserStack<'_>,
        frames: &mut Vec<u64>,
        is_enough: impl Fn(u64) -> bool,
    ) -> bool {
        let mut registers = stack.registers.iter().map(|register| register as u32);
        let mut next = || registers.next().unwrap_or(0);
        let (frame_pointer, stack_pointer, pointer) = (next(), next(), next());
        let mut registers = Registers { pointer, stack_pointer, frame_pointer };
        let mut memory = Memory { start: stack_pointer, bytes: stack.bytes, is_whole: true };
        let mut address = u64::from(pointer);
        loop {
            frames.push(address);
            if frames.len() >= DEPTH_MAX || is_enough(address) {
                break;
            }
            let Some((caller, is_interrupted)) = self.caller(space, objects, address, registers, &mut memory) else {
                break;
            };
            // Each caller's frame lies above that of what it called.
            if caller.pointer == 0 || caller.stack_pointer <= registers.stack_pointer {
                break;
            }
            registers = caller;
            address = u64::from(caller.pointer) - u64::from(!is_interrupted);
        }
        memory.is_whole
    }

    /// The registers as they were, and are to be again, in the caller; true if a signal interrupted that, and it called nothing.
    fn caller(
        &mut self,
        space: &Space,
        objects: &[Object],
        address: u64,
        registers: Registers,
        memory: &mut Memory<'_>,
    ) -> Option<(Registers, bool)> {
        let (start, mapping) = space.at(address)?;
        let object = object(objects, mapping.object);
        if object.kind == ObjectKind::Vdso {
            return Some((after_system_call(space, registers, memory)?, false));
        }
        let tables = self.objects.entry(mapping.object).or_insert_with(|| Tables::of(object)).as_ref()?;
        let stated = tables.segments.address(mapping.offset + (address - start))?;
        tables.caller(stated, registers, memory, &mut self.context)
    }
}

/// The caller of the kernel's stub for system calls, of which there is no file: it saves `%ecx`, `%edx` and `%ebp`, and the kernel
/// returns to behind that (arch/x86/entry/vdso/vdso32/system_call.S). Of nothing else in the vDSO.
fn after_system_call(space: &Space, registers: Registers, memory: &mut Memory<'_>) -> Option<Registers> {
    let frame_pointer = memory.word(registers.stack_pointer)?;
    let place = registers.stack_pointer.checked_add(12)?;
    let pointer = memory.word(place)?;
    space.at(u64::from(pointer))?;
    Some(Registers { pointer, stack_pointer: place.checked_add(4)?, frame_pointer })
}

impl Tables {
    fn of(object: &Object) -> Option<Tables> {
        let bytes = read(object).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let address = |name| Some(file.section_by_name(name)?.address());
        let mut bases = BaseAddresses::default().set_eh_frame(address(".eh_frame")?);
        if let Some(text) = address(".text") {
            bases = bases.set_text(text);
        }
        if let Some(got) = address(".got") {
            bases = bases.set_got(got);
        }
        let eh_frame = section(&file, ".eh_frame", bytes.len() as u64)?;
        Some(Tables::indexed(Segments::of(&file), bases, eh_frame))
    }

    fn indexed(segments: Segments, bases: BaseAddresses, eh_frame: Vec<u8>) -> Tables {
        let mut functions = Vec::new();
        let frame = frame(&eh_frame);
        let mut entries = frame.entries(&bases);
        // What follows an entry that cannot be read is not found either.
        while let Ok(Some(entry)) = entries.next() {
            let gimli::CieOrFde::Fde(partial) = entry else { continue };
            let Ok(function) = partial.parse(EhFrame::cie_from_offset) else { continue };
            let end = function.initial_address().saturating_add(function.len());
            functions.push((function.initial_address(), end, function.offset()));
        }
        functions.sort_unstable();
        Tables { segments, bases, eh_frame, functions }
    }

    fn caller(
        &self,
        address: u64,
        registers: Registers,
        memory: &mut Memory<'_>,
        context: &mut UnwindContext<usize>,
    ) -> Option<(Registers, bool)> {
        let after = self.functions.partition_point(|&(start, ..)| start <= address);
        let &(_, end, offset) = self.functions.get(after.checked_sub(1)?)?;
        if address >= end {
            return None;
        }
        let frame = frame(&self.eh_frame);
        let function = frame.fde_from_offset(&self.bases, EhFrameOffset(offset), EhFrame::cie_from_offset).ok()?;
        let row = function.unwind_info_for_address(&frame, &self.bases, context, address).ok()?;
        let stack_pointer = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => plus(registers.get(*register)?, *offset),
            CfaRule::Expression(expression) => evaluate(&frame, expression, None, registers, memory)?,
        };
        let mut restored = |register, otherwise: Option<u32>| match row.register(register) {
            None | Some(RegisterRule::SameValue) => otherwise,
            Some(RegisterRule::Offset(offset)) => memory.word(plus(stack_pointer, offset)),
            Some(RegisterRule::ValOffset(offset)) => Some(plus(stack_pointer, offset)),
            Some(RegisterRule::Register(other)) => registers.get(other),
            Some(RegisterRule::Expression(expression)) => {
                let place = evaluate(&frame, &expression, Some(stack_pointer), registers, memory)?;
                memory.word(place)
            }
            Some(RegisterRule::ValExpression(expression)) => {
                evaluate(&frame, &expression, Some(stack_pointer), registers, memory)
            }
            Some(RegisterRule::Undefined | RegisterRule::Architectural | RegisterRule::Constant(_)) => None,
        };
        let pointer = restored(X86::RA, None)?;
        // A function that is the last that needs it may not say where it is.
        let frame_pointer = restored(X86::EBP, Some(registers.frame_pointer)).unwrap_or(0);
        // A signal's frame holds the interrupted stack pointer.
        let stack_pointer = restored(X86::ESP, Some(stack_pointer))?;
        Some((Registers { pointer, stack_pointer, frame_pointer }, function.is_signal_trampoline()))
    }
}

fn frame(bytes: &[u8]) -> EhFrame<Bytes<'_>> {
    let mut frame = EhFrame::new(bytes, LittleEndian);
    frame.set_address_size(4);
    frame
}

fn plus(address: u32, offset: i64) -> u32 {
    address.wrapping_add(offset as u32)
}

impl Registers {
    /// What is known of a register by its DWARF number.
    fn get(&self, register: gimli::Register) -> Option<u32> {
        match register {
            X86::ESP => Some(self.stack_pointer),
            X86::EBP => Some(self.frame_pointer),
            X86::RA => Some(self.pointer),
            _ => None,
        }
    }
}

/// Runs a program of a table on the registers and memory of a frame. `first`: what its stack holds at its start.
fn evaluate(
    frame: &EhFrame<Bytes<'_>>,
    expression: &UnwindExpression<usize>,
    first: Option<u32>,
    registers: Registers,
    memory: &mut Memory<'_>,
) -> Option<u32> {
    let mut evaluation = expression.get(frame).ok()?.evaluation(ENCODING);
    evaluation.set_max_iterations(STEPS_MAX);
    if let Some(first) = first {
        evaluation.set_initial_value(u64::from(first));
    }
    let mut state = evaluation.evaluate().ok()?;
    loop {
        state = match state {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory { address, size: 4, .. } => {
                let word = memory.word(address as u32)?;
                evaluation.resume_with_memory(Value::Generic(u64::from(word))).ok()?
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = registers.get(register)?;
                evaluation.resume_with_register(Value::Generic(u64::from(value))).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.as_result() {
        [piece] => match piece.location {
            Location::Address { address } => Some(address as u32),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Entries of a table, each with its length in front; the first is the description that the others share.
    fn table(entries: &[&[u8]]) -> Vec<u8> {
        entries.iter().flat_map(|entry| [&(entry.len() as u32).to_le_bytes(), *entry].concat()).collect()
    }

    /// Version 1, no augmentation, code in bytes, data in words of four downwards, return address in 8; then `rules`.
    fn shared(rules: &[u8]) -> Vec<u8> {
        [&[0, 0, 0, 0, 1, 0, 1, 0x7c, 8], rules].concat()
    }

    /// From 0x1000 on, 0x100 bytes.
    fn function(back: u32, rules: &[u8]) -> Vec<u8> {
        [&back.to_le_bytes()[..], &0x1000u32.to_le_bytes(), &0x100u32.to_le_bytes(), rules].concat()
    }

    const REGISTERS: Registers = Registers { pointer: 0x1010, stack_pointer: 0x8000, frame_pointer: 0x8010 };

    fn caller(eh_frame: Vec<u8>, stack: &[u32]) -> (Option<Registers>, bool) {
        let bytes: Vec<u8> = stack.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut memory = Memory { start: REGISTERS.stack_pointer, bytes: &bytes, is_whole: true };
        let tables = Tables::indexed(Segments::default(), BaseAddresses::default().set_eh_frame(0), eh_frame);
        let found = tables.caller(0x1010, REGISTERS, &mut memory, &mut UnwindContext::new());
        (found.map(|(registers, _)| registers), memory.is_whole)
    }

    #[test]
    fn a_rule_says_where_the_caller_is() {
        // The frame is 8 above the stack pointer (DW_CFA_def_cfa), the return address just below it (DW_CFA_offset), %ebp below that.
        let shared = shared(&[0x0c, 4, 8, 0x88, 1, 0x85, 2]);
        let whole = table(&[&shared, &function(shared.len() as u32 + 8, &[])]);
        let expected = Registers { pointer: 0x2222, stack_pointer: 0x8008, frame_pointer: 0x1111 };
        assert_eq!(caller(whole.clone(), &[0x1111, 0x2222]), (Some(expected), true));
        assert_eq!(caller(whole, &[0x1111]), (None, false), "the copy of the stack ends before");
    }

    #[test]
    fn a_rule_may_be_a_program() {
        // DW_CFA_def_cfa_expression: the word at %ebp - 8 (DW_OP_breg5, DW_OP_deref).
        let shared = shared(&[0x0f, 3, 0x75, 0x78, 0x06, 0x88, 1]);
        let whole = table(&[&shared, &function(shared.len() as u32 + 8, &[])]);
        let expected = Registers { pointer: 0x3333, stack_pointer: 0x8014, frame_pointer: 0x8010 };
        assert_eq!(caller(whole, &[0, 0, 0x8014, 0, 0x3333]), (Some(expected), true));
        // DW_OP_skip to itself: it never ends by itself.
        let shared = self::shared(&[0x0f, 3, 0x2f, 0xfd, 0xff, 0x88, 1]);
        let endless = table(&[&shared, &function(shared.len() as u32 + 8, &[])]);
        assert_eq!(caller(endless, &[0; 8]).0, None);
    }

    proptest! {
        #[test]
        fn no_table_ends_the_profile(rules: Vec<u8>, more: Vec<u8>, stack: Vec<u32>) {
            let shared = shared(&rules);
            caller(table(&[&shared, &function(shared.len() as u32 + 8, &more)]), &stack);
            caller([rules, more].concat(), &stack);
        }
    }
}
