//! Searches object files for system call instructions.
//!
//! Two bytes of data or of a longer instruction look like a system call every 64 KiB of code, so
//! the code around them is decoded: x86 code decoded in order falls into step within a few instructions.

use crate::server::program::code_sections;
#[cfg(target_arch = "x86_64")]
use crate::server::program::is_32_bit;
use object::read::ReadCache;
use std::fs::File;

/// True for an object file that holds a system call instruction.
#[cfg(target_arch = "x86_64")]
pub(crate) fn in_object(bytes: &ReadCache<File>) -> bool {
    let bits = if is_32_bit(bytes) { 32 } else { 64 };
    code_sections(bytes).into_iter().any(|(address, code)| holds_raw_call(address, code, bits))
}

/// True for an object file that holds a system call instruction.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn in_object(bytes: &ReadCache<File>) -> bool {
    const SVC_0: [u8; 4] = 0xd400_0001u32.to_le_bytes();
    code_sections(bytes).iter().any(|(_, code)| code.chunks_exact(4).any(|word| word == SVC_0))
}

/// Instructions on both sides of a system call that are looked at.
#[cfg(target_arch = "x86_64")]
const AROUND: u32 = 12;

/// Bytes before such a pair from which decoding falls into step, and behind it for [`AROUND`] instructions.
#[cfg(target_arch = "x86_64")]
const NEAR: usize = 256;

#[cfg(target_arch = "x86_64")]
fn holds_raw_call(address: u64, code: &[u8], bits: u32) -> bool {
    // `syscall`; `int 0x80`
    let call: [u8; 2] = if bits == 64 { [0x0f, 0x05] } else { [0xcd, 0x80] };
    let mut pairs = code.windows(2).enumerate().filter(|(_, pair)| *pair == call);
    pairs.any(|(at, _)| {
        let from = at.saturating_sub(NEAR);
        is_raw_call(address + from as u64, &code[from..code.len().min(at + NEAR)], bits)
    })
}

/// Libraries of ciphers keep tables between their functions, and two bytes of a table may read as a
/// system call too. A real one has its number put into `rax` shortly before, and nothing that is no
/// instruction between that and the end of its run of code.
#[cfg(target_arch = "x86_64")]
fn is_raw_call(address: u64, code: &[u8], bits: u32) -> bool {
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, Register};
    let mut decoder = Decoder::with_ip(bits, code, address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    // Instructions for which the number of a call may still be in `rax`, and those left to look at
    // behind a call.
    let (mut numbered, mut behind) = (0u32, 0u32);
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            (numbered, behind) = (0, 0);
            continue;
        }
        use Mnemonic::{Hlt, Int3, Jmp, Ret, Ud2};
        let ends_run = matches!(instruction.mnemonic(), Ret | Jmp | Hlt | Int3 | Ud2);
        if behind > 0 && (behind == 1 || ends_run) {
            return true;
        }
        behind = behind.saturating_sub(1);
        let only_reads = matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push);
        let is_call = match bits {
            64 => instruction.mnemonic() == Mnemonic::Syscall,
            _ => instruction.mnemonic() == Mnemonic::Int && instruction.immediate8() == 0x80,
        };
        if is_call {
            behind = if numbered > 0 { AROUND } else { behind };
        } else if [Register::RAX, Register::EAX].contains(&instruction.op0_register()) && !only_reads {
            numbered = AROUND;
        } else {
            numbered = numbered.saturating_sub(1);
        }
    }
    behind > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::objects::{is_ordinary, loaded_objects, mapped_code};

    #[test]
    fn libc_is_full_of_system_calls() {
        let objects = loaded_objects(&mapped_code(std::process::id() as i32).expect("own maps can be read"));
        let libc = objects.iter().find(|object| is_ordinary(&object.path)).expect("a test is linked against libc");
        assert!(in_object(&ReadCache::new(File::open(&libc.path).expect("it is mapped, so it can be read"))));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_system_call_is_distinguished_from_a_table_that_looks_like_one() {
        let number = [0xb8, 0xaa, 0x01, 0, 0]; // mov eax, 426
        let call = [0x0f, 0x05];
        let ret = [0xc3];
        let no_instruction = [0x06];
        assert!(holds_raw_call(0, &[&number[..], &call, &ret].concat(), 64));
        assert!(holds_raw_call(0, &[&number[..], &call].concat(), 64), "the code may end with it");
        assert!(!holds_raw_call(0, &[&[0x90; 16][..], &call, &ret].concat(), 64), "no number");
        let call = [0xcd, 0x80];
        assert!(holds_raw_call(0, &[&number[..], &call, &ret].concat(), 32));
        assert!(!holds_raw_call(0, &[&number[..], &call, &ret].concat(), 64), "it is one of 32-bit programs");
        let call = [0x0f, 0x05];
        assert!(!holds_raw_call(0, &[&number[..], &no_instruction, &call, &ret].concat(), 64));
        assert!(!holds_raw_call(0, &[&number[..], &call, &no_instruction].concat(), 64));
    }
}
