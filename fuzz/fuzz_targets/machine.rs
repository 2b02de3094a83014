//! Reads arbitrary text as a list of CPUs and as an undo file:
//! `cargo +nightly fuzz run machine fuzz/corpus/machine fuzz/seeds/machine`.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use prony_machine::{CpuSet, Tree, tuned, undo_path};

fuzz_target!(|text: &str| {
    if let Ok(set) = text.parse::<CpuSet>() {
        assert_eq!(set.to_string().parse().ok(), Some(set));
    }
    let directory = std::env::temp_dir().join(format!("prony-fuzz-{}", std::process::id()));
    let tree = Tree::at(&directory);
    let undo = undo_path(&tree);
    fs::create_dir_all(undo.parent().expect("it is in a directory")).expect("the temporary directory is writable");
    fs::write(&undo, text).expect("it is writable");
    let _ = tuned(&tree);
});
