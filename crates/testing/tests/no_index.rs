//! The code that reads the bytes of others has no index that may panic: `clippy::indexing_slicing` is denied in each file
//! that a fuzz target reads, and each exception is argued.

use prony_testing::sources::{root, rust_below};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const DENY: &str = "#![deny(clippy::indexing_slicing)]";

/// Files and directories below `crates` that each target reads; `None` for a target whose code is another's. A crate that denies it
/// as a whole covers its files.
const READ_BY: &[(&str, &[&str])] = &[
    ("anonymize", &["demo/src/anonymize", "demo/src/anonymize.rs"]),
    ("decoder_answers", &["decoder/src"]),
    ("demo_reader", &["demo/src/file", "demo/src/record.rs"]),
    ("elf_symbols", &["profile/src/elf.rs", "profile/src/symbols", "profile/src/symbols.rs"]),
    ("enet_datagram", &["enet/src"]),
    ("enet_host", &["enet/src", "enet-host/src", "libenet/src"]),
    ("ethernet_frame", &["enet-host/src"]),
    ("folded", &["profile/src/stacks.rs"]),
    ("import_criterion", &["stats/src/files/import"]),
    ("import_go_bench", &["stats/src/files/import"]),
    ("import_google_benchmark", &["stats/src/files/import"]),
    ("import_hyperfine", &["stats/src/files/import", "stats/src/files/import.rs", "stats/src/files/memory.rs"]),
    ("import_jmh", &["stats/src/files/import", "stats/src/files/import.rs"]),
    ("import_pytest", &["stats/src/files/import", "stats/src/files/import.rs"]),
    ("limits", &["limits/src/stored.rs"]),
    ("machine", &["machine/src"]),
    ("perf_map", &["profile/src/symbols/jit.rs"]),
    ("perf_script", &["profile/src/perf_script.rs"]),
    ("records", &["demo/src/dump.rs", "demo/src/pcap.rs", "demo/src/claim.rs"]),
    (
        "replay_tape",
        &[
            "replay/src/channel/merge.rs",
            "replay/src/files/state.rs",
            "replay/src/files/layout.rs",
            "replay/src/files/overlay.rs",
        ],
    ),
    ("samples", &["stats/src/files/samples", "stats/src/files/samples.rs"]),
    ("softnic", &["softnic/src"]),
    ("state_archive", &["demo/src/state_archive.rs"]),
    ("study", &["study/src/file", "study/src/file.rs", "study/src/ledger", "study/src/ledger.rs"]),
    ("table", &["study/src/import/table.rs", "study/src/results_file.rs"]),
    ("tolerance_rules", &["demo/src/tolerance", "demo/src/tolerance.rs"]),
    ("vfio_calls", &["softnic-host/src/dma_map.rs", "softnic-host/src/iommu.rs", "softnic-host/src/vfio/abi.rs"]),
    ("zones", &["profile/src/zones.rs"]),
];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn each_fuzz_target_reads_code_without_an_index_that_may_panic() {
    let root = root();
    let manifest = read(&root.join("fuzz/Cargo.toml"));
    let targets: BTreeSet<&str> = manifest
        .split("[[bin]]")
        .skip(1)
        .filter_map(|bin| bin.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')))
        .collect();
    let listed: BTreeSet<&str> = READ_BY.iter().map(|(target, _)| *target).collect();
    assert_eq!(targets, listed, "each target of fuzz/Cargo.toml says what it reads, and none is listed that is gone");
    let mut missing = Vec::new();
    for (target, places) in READ_BY {
        let mut files = Vec::new();
        for place in *places {
            files.extend(rust_below(&root.join("crates").join(place)));
        }
        assert!(!files.is_empty(), "{target} reads no file");
        for file in files {
            let of_crate =
                file.ancestors().find(|path| path.ends_with("src")).expect("crates have a src").join("lib.rs");
            if !read(&file).contains(DENY) && !read(&of_crate).contains(DENY) {
                missing.push(file.strip_prefix(&root).expect("below the root").display().to_string());
            }
        }
    }
    assert!(missing.is_empty(), "expected `{DENY}` at the top of {}", missing.join(", "));
}

#[test]
fn each_exception_is_argued() {
    let files = rust_below(&root().join("crates"));
    for file in files {
        let text = read(&file);
        let allowed = text.match_indices("clippy::indexing_slicing").filter(|(at, _)| {
            let before = text[..*at].rsplit_once("#[").map_or("", |(_, attribute)| attribute);
            before.starts_with("expect(") || before.starts_with("allow(")
        });
        for (at, _) in allowed {
            let attribute = text[at..].split_once(']').map_or("", |(attribute, _)| attribute);
            assert!(attribute.contains("reason = \""), "{}: expected a reason for each exception", file.display());
        }
    }
}
