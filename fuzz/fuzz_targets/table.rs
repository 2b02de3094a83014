//! Reads arbitrary bytes as a table, guesses its columns and imports it:
//! `cargo +nightly fuzz run table fuzz/corpus/table fuzz/seeds/table`.
//!
//! What is imported can be written and read again, and effects can be told of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_study::import::{Reading, Roles, Table, import};
use prony_study::results_file;

fuzz_target!(|bytes: &[u8]| {
    let Ok(table) = Table::read(bytes) else { return };
    let roles = Roles::default().guess(&table);
    let Ok(results) = import(&table, &roles, &Reading::default()) else { return };
    let text = results_file::to_json(&results).expect("values are finite");
    assert_eq!(results_file::parse(&text, "results.json".as_ref()).expect("it was just written"), results);
    let _ = prony_stats::effects::effects(&prony_study::effects::design(&results), 0.05);
});
