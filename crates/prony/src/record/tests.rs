use super::*;
use crate::report::Warning;

#[test]
fn a_recording_says_what_it_left() {
    let mut report = RecordReport {
        recorded_s: 26.04,
        processes: 1,
        records: 318_204,
        frames: 1312,
        outputs: 5213,
        output_bytes: 412_881,
        file_bytes: 982_114,
        exit: "was ended by signal 2".to_owned(),
        warnings: vec![Warning { text: "io_uring is not recorded: the server was told there is none".to_owned() }],
    };
    let demo = Path::new("teeworlds.demo");
    insta::assert_snapshot!("recorded", text(demo, &report));
    insta::assert_snapshot!(
        "recorded_json",
        serde_json::to_string_pretty(&answer(demo, &report)).expect("plain values")
    );
    report.processes = 3;
    assert!(text(demo, &report).contains("318,204 calls of 3 processes"));
}
