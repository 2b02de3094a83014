//! Reads and plans an arbitrary study file: `cargo +nightly fuzz run study`.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use prony_study::file::Study;
use prony_study::{Contents, Role};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(study) = Study::parse(text) else { return };
    // A few bytes can ask for a million cells; what is looked for shows in small plans too.
    let size = study.factors.iter().map(|factor| factor.levels.len()).product::<usize>();
    let blocks = study.machines.len().saturating_mul(study.workloads.len()).saturating_mul(study.repeats as usize);
    if size.saturating_mul(blocks) > 2000 {
        return;
    }
    let plan = study.plan(&Contents::new()).expect("a study that is read has something to run");
    let mut keys = HashSet::new();
    for block in &plan.blocks {
        assert_eq!(block.cells.iter().filter(|cell| cell.role == Role::WarmUp).count(), 1);
        assert_eq!(block.cells.iter().filter(|cell| cell.role == Role::Control).count(), 1);
        for cell in &block.cells {
            assert!(keys.insert(&cell.key), "each cell has a key of its own");
            assert!(study.task(block.workload, &cell.levels, &|path| path.to_owned()).is_some());
        }
    }
    assert!(plan.design.rank.is_none_or(|rank| rank <= plan.design.effects));
});
