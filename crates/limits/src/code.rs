//! Machine code made at run time: emitted, mapped, disassembled from where it runs, and run.
//!
//! Memory is never writable and executable at once: it is mapped to be written, and made executable and read-only before the
//! first run.

use std::io;
use std::ptr::NonNull;

use iced_x86::code_asm::{CodeAssembler, CodeLabel};
use iced_x86::{BlockEncoderOptions, Decoder, DecoderOptions, Formatter, IcedError, IntelFormatter};

use crate::listing::{Line, Listing};

/// Instructions of a listing before some in its middle are left out.
const LINES_MAX: usize = 48;
/// Bytes of code that are kept in full.
const KEPT_BYTES: usize = 4096;
/// Alignment of a loop within its cache line unless a case specifies another, in bytes.
const LINE_BYTES: u64 = 64;

/// Reasons why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The assembler refused an instruction.
    #[error("cannot assemble: {0}")]
    Assemble(#[from] IcedError),
    /// The kernel gave no memory for it.
    #[error("cannot map memory for code: {0}")]
    Map(#[from] io::Error),
}

/// Emitted code: instructions, and the bounds of the innermost loop.
pub struct Emit {
    /// Assembler that takes the instructions of the loop.
    pub asm: CodeAssembler,
    pad: usize,
    start: Option<CodeLabel>,
    end: Option<CodeLabel>,
}

impl Emit {
    /// The innermost loop begins here; the label is what its last instruction jumps to.
    pub fn begin(&mut self) -> Result<CodeLabel, IcedError> {
        if self.pad > 0 {
            self.asm.nops_with_size(self.pad)?;
        }
        let mut label = self.asm.create_label();
        self.asm.set_label(&mut label)?;
        self.start = Some(label);
        Ok(label)
    }

    /// The innermost loop ended with the last instruction. One more has to follow, as `ret`.
    pub fn end(&mut self) -> Result<(), IcedError> {
        let mut label = self.asm.create_label();
        self.asm.set_label(&mut label)?;
        self.end = Some(label);
        Ok(())
    }
}

/// Code that can be run.
#[derive(Debug)]
pub struct Code {
    at: NonNull<u8>,
    mapped: usize,
    length: usize,
    loop_start: u64,
    loop_end: u64,
}

// SAFETY: nothing writes to the memory after `emit`, and every thread may execute it.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// Emits what `build` says, with the innermost loop at `offset` within its cache line of 64 bytes.
    ///
    /// # Safety
    /// The instructions are a function of the System V ABI, `(passes, a, b, bytes) -> u64` in `rdi`, `rsi`, `rdx`, `rcx` and
    /// `rax`, that keeps what a callee keeps, ends, and touches no memory but `a[..bytes]` and `b[..bytes]`.
    ///
    /// # Errors
    /// [`CodeError`]
    pub unsafe fn emit(offset: usize, build: impl Fn(&mut Emit) -> Result<(), IcedError>) -> Result<Code, CodeError> {
        let assembled = |pad: usize, at: u64| -> Result<(Vec<u8>, u64, u64), IcedError> {
            let mut emit = Emit { asm: CodeAssembler::new(64)?, pad, start: None, end: None };
            build(&mut emit)?;
            let block = emit.asm.assemble_options(at, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
            let end_of_code = at + block.inner.code_buffer.len() as u64;
            let start = emit.start.map_or(Ok(at), |label| block.label_ip(&label))?;
            let end = emit.end.map_or(Ok(end_of_code), |label| block.label_ip(&label))?;
            Ok((block.inner.code_buffer, start, end))
        };
        // The length is not known before the padding is, and jumps grow with distances: map what a first try at any place needs.
        let (trial, ..) = assembled(0, 0x10_0000)?;
        let mapped = (trial.len() + 2 * LINE_BYTES as usize).next_multiple_of(4096);
        let at = map(mapped)?;
        let mut code = Code { at, mapped, length: 0, loop_start: 0, loop_end: 0 };
        let base = at.as_ptr() as u64;
        let (_, start, _) = assembled(0, base)?;
        let pad = (offset as u64).wrapping_sub(start) % LINE_BYTES;
        let (bytes, start, end) = assembled(pad as usize, base)?;
        assert!(bytes.len() <= mapped, "padding is below a line, and two were added");
        // SAFETY: `at` is a writable mapping of at least this many bytes that nothing else uses.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.as_ptr(), bytes.len()) };
        // SAFETY: the mapping is ours as a whole.
        if unsafe { libc::mprotect(at.as_ptr().cast(), mapped, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(io::Error::last_os_error().into());
        }
        (code.length, code.loop_start, code.loop_end) = (bytes.len(), start, end);
        Ok(code)
    }

    /// Runs the code, `passes` times whatever it does; answers what it leaves in `rax`.
    ///
    /// `a`, `b`: memory that it may use, at least `bytes` long each.
    pub fn run(&self, passes: u64, a: &mut [u8], b: &mut [u8], bytes: usize) -> u64 {
        assert!(bytes <= a.len() && bytes <= b.len(), "code may touch as many bytes as it is told");
        // SAFETY: `emit` demands a function that touches no more than `bytes` of both, and they are borrowed for the call.
        unsafe { self.run_at(passes, a.as_mut_ptr(), b.as_mut_ptr(), bytes) }
    }

    /// Runs code that uses no memory.
    pub fn run_alone(&self, passes: u64) -> u64 {
        self.run(passes, &mut [], &mut [], 0)
    }

    /// Runs the code on memory that is not a slice.
    ///
    /// # Safety
    /// `a` and `b` may be used as the code uses them.
    pub unsafe fn run_at(&self, passes: u64, a: *mut u8, b: *mut u8, bytes: usize) -> u64 {
        // SAFETY: `emit` demands code that is a function of this type.
        let function: extern "sysv64" fn(u64, *mut u8, *mut u8, u64) -> u64 =
            unsafe { std::mem::transmute(self.at.as_ptr()) };
        function(passes, a, b, bytes as u64)
    }

    /// The bytes, from the memory in which they run.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the first `length` bytes of the mapping were written before it was made read-only.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.length) }
    }

    /// Size of the code of an iteration of the innermost loop, in bytes.
    pub fn loop_bytes(&self) -> u64 {
        self.loop_end - self.loop_start
    }

    /// Disassembles the memory in which the code runs.
    pub fn listing(&self) -> Listing {
        let base = self.at.as_ptr() as u64;
        let mut decoder = Decoder::with_ip(64, self.bytes(), base, DecoderOptions::NONE);
        let mut formatter = IntelFormatter::new();
        let options = formatter.options_mut();
        options.set_space_after_operand_separator(true);
        options.set_hex_prefix("0x");
        options.set_hex_suffix("");
        options.set_uppercase_hex(false);
        options.set_branch_leading_zeros(false);
        let mut lines = Vec::new();
        for instruction in &mut decoder {
            let from = (instruction.ip() - base) as usize;
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            lines.push(Line {
                address: instruction.ip(),
                bytes: hexadecimal(&self.bytes()[from..from + instruction.len()]),
                text,
            });
        }
        let left_out = lines.len().saturating_sub(LINES_MAX);
        if left_out > 0 {
            lines.drain(LINES_MAX / 2..LINES_MAX / 2 + left_out);
        }
        let kept = if self.length <= KEPT_BYTES { hexadecimal(self.bytes()) } else { String::new() };
        Listing {
            lines,
            left_out,
            loop_address: self.loop_start,
            loop_bytes: self.loop_bytes(),
            code: kept,
            code_bytes: self.length as u64,
        }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and running the code borrows it.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.mapped) };
    }
}

fn map(bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: a new private mapping touches nothing that exists.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(at.cast()).expect("mmap(2) gives no null without MAP_FIXED"))
}

/// Bytes as hexadecimal digits, two for each.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        use std::fmt::Write;
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use iced_x86::code_asm::*;

    use super::*;

    /// Sums bytes: enough to see arguments, a loop and the answer.
    fn sum(offset: usize) -> Code {
        let build = |emit: &mut Emit| {
            emit.asm.xor(eax, eax)?;
            emit.asm.xor(r8d, r8d)?;
            let top = emit.begin()?;
            emit.asm.movzx(r9d, byte_ptr(rsi + r8))?;
            emit.asm.add(rax, r9)?;
            emit.asm.inc(r8)?;
            emit.asm.cmp(r8, rcx)?;
            emit.asm.jb(top)?;
            emit.end()?;
            emit.asm.ret()
        };
        // SAFETY: it reads a[..bytes], one byte at least, and changes registers only that a callee may change.
        unsafe { Code::emit(offset, build) }.expect("memory for a page of code")
    }

    #[test]
    fn emitted_code_runs_and_answers() {
        assert_eq!(sum(0).run(1, &mut [1, 2, 3, 250], &mut [0; 4], 4), 256);
    }

    #[test]
    fn a_loop_lies_at_the_requested_offset() {
        for offset in [0, 1, 17, 63] {
            let code = sum(offset);
            assert_eq!(code.loop_start % 64, offset as u64);
            assert_eq!(code.loop_bytes(), 16);
            assert_eq!(code.listing().loop_lines().count(), 5);
            assert_eq!(code.run(1, &mut [7; 64], &mut [0; 64], 64), 7 * 64);
        }
    }

    #[test]
    fn the_listing_is_what_was_emitted() {
        let code = sum(5);
        let listing = code.listing();
        assert_eq!(listing.lines.iter().map(|line| line.bytes.as_str()).collect::<String>(), listing.code);
        assert_eq!(listing.code, hexadecimal(code.bytes()));
        let texts: Vec<&str> = listing.loop_lines().map(|line| line.text.split(',').next().unwrap_or("")).collect();
        assert_eq!(texts[..4], ["movzx r9d", "add rax", "inc r8", "cmp r8"]);
        assert_eq!(listing.left_out, 0);
    }

    #[test]
    fn code_is_executable_and_never_writable() {
        let code = sum(0);
        let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
        let at = code.at.as_ptr() as u64;
        // The kernel joins it to code of other tests that lies beside it.
        let holds = |line: &&str| {
            let ends = line.split([' ', '-']).take(2).map(|end| u64::from_str_radix(end, 16).expect("an address"));
            let ends: Vec<u64> = ends.collect();
            (ends[0]..ends[1]).contains(&at)
        };
        let line = maps.lines().find(holds).expect("it is mapped");
        assert!(line.contains("r-xp"), "{line}");
    }
}
