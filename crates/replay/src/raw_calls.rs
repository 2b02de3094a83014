//! Searches the objects of a process for system call instructions outside of libc.
//!
//! Two bytes of data or of a longer instruction look like a system call every 64 KiB of code, so
//! the code is decoded from the start of each section: x86 code decoded in order falls into step.

use crate::program::code_sections;
use crate::regular;
use object::read::ReadCache;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// An object file that a process has mapped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Loaded {
    pub(crate) path: PathBuf,
}

/// The files that a process has mapped as code, by their paths.
pub(crate) fn loaded_objects(pid: i32) -> io::Result<Vec<Loaded>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let mut found: Vec<Loaded> = maps
        .lines()
        .filter(|line| line.split(' ').nth(1).is_some_and(|access| access.contains('x')))
        .filter_map(|line| line.find('/').map(|at| Loaded { path: PathBuf::from(&line[at..]) }))
        .filter(|object| object.path.is_file())
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// True for the objects from which system calls ordinarily come.
fn is_ordinary(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    ["libc.so.", "ld-linux", "libpthread.so."].iter().any(|ordinary| name.starts_with(ordinary))
}

/// The objects of a process that hold a system call instruction of their own.
pub(crate) fn objects_with_raw_calls(objects: &[Loaded]) -> Vec<PathBuf> {
    objects
        .iter()
        .filter(|object| !is_ordinary(&object.path))
        .filter(|object| regular::open_object(&object.path).is_ok_and(|file| has_raw_call(&ReadCache::new(file))))
        .map(|object| object.path.clone())
        .collect()
}

/// Instructions on both sides of a system call that are looked at.
#[cfg(target_arch = "x86_64")]
const AROUND: u32 = 12;

/// Libraries of ciphers keep tables between their functions, and two bytes of a table may read as a
/// system call too. A real one has its number put into `rax` shortly before, and nothing that is no
/// instruction between that and the end of its run of code.
#[cfg(target_arch = "x86_64")]
fn holds_raw_call(address: u64, code: &[u8]) -> bool {
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, Register};
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    if !code.windows(2).any(|pair| pair == SYSCALL) {
        return false;
    }
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
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
        if instruction.mnemonic() == Mnemonic::Syscall {
            behind = if numbered > 0 { AROUND } else { behind };
        } else if [Register::RAX, Register::EAX].contains(&instruction.op0_register()) && !only_reads {
            numbered = AROUND;
        } else {
            numbered = numbered.saturating_sub(1);
        }
    }
    behind > 0
}

#[cfg(target_arch = "x86_64")]
fn has_raw_call(bytes: &ReadCache<File>) -> bool {
    code_sections(bytes).into_iter().any(|(address, code)| holds_raw_call(address, code))
}

#[cfg(not(target_arch = "x86_64"))]
fn has_raw_call(bytes: &ReadCache<File>) -> bool {
    const SVC_0: [u8; 4] = 0xd400_0001u32.to_le_bytes();
    code_sections(bytes).iter().any(|(_, code)| code.chunks_exact(4).any(|word| word == SVC_0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_is_full_of_system_calls_and_the_test_itself_is_not_libc() {
        let objects = loaded_objects(std::process::id() as i32).expect("own maps can be read");
        let libc = objects.iter().find(|object| is_ordinary(&object.path)).expect("a test is linked against libc");
        assert!(has_raw_call(&ReadCache::new(File::open(&libc.path).expect("it is mapped, so it can be read"))));
        assert!(!objects_with_raw_calls(&objects).contains(&libc.path));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_system_call_is_told_from_a_table_that_looks_like_one() {
        let number = [0xb8, 0xaa, 0x01, 0, 0]; // mov eax, 426
        let call = [0x0f, 0x05];
        let ret = [0xc3];
        let no_instruction = [0x06];
        assert!(holds_raw_call(0, &[&number[..], &call, &ret].concat()));
        assert!(holds_raw_call(0, &[&number[..], &call].concat()), "the code may end with it");
        assert!(!holds_raw_call(0, &[&[0x90; 16][..], &call, &ret].concat()), "no number");
        assert!(!holds_raw_call(0, &[&number[..], &no_instruction, &call, &ret].concat()));
        assert!(!holds_raw_call(0, &[&number[..], &call, &no_instruction].concat()));
    }
}
