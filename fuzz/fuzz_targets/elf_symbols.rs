//! Reads arbitrary bytes as a program's file and names places of it: `cargo +nightly fuzz run elf_symbols fuzz/corpus/elf_symbols fuzz/seeds/elf_symbols`.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use prony_profile::names_in_file;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("prony-fuzz-elf-{}", std::process::id()));
    fs::write(&path, bytes).expect("the temporary directory is writable");
    for offset in [0, 0x40, 0x200, 0x1000, 0x1139, u64::MAX] {
        let _ = names_in_file(&path, offset);
    }
});
