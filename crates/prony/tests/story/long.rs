//! Demos that are longer than what a replay may hold in memory: `subjects/calls/long.c`.

use std::path::PathBuf;

use crate::calls::compiled;
use prony_testing::recording::{Replay, Server, record_with, replay};
use prony_testing::scratch::{Scratch, Turn};

/// Windows of 64 KiB, the smallest there are: those of ten rounds.
const WINDOWS: &[&str] = &["--max-memory", "1MiB"];
/// All of it is in memory.
const WHOLE: &[&str] = &[];

/// The server of `long.c` and a recording of it, which ends by itself.
struct Long {
    scratch: Scratch,
    arguments: Vec<String>,
    demo: PathBuf,
}

impl Long {
    /// `of`: rounds, reads of the clock in each, threads and children.
    fn record(story: &str, of: [u32; 4]) -> Long {
        let scratch = Scratch::new(story);
        let arguments: Vec<String> = of.iter().map(u32::to_string).collect();
        let command = [vec![compiled(&scratch, "long.c", &[])], arguments.clone()].concat();
        let (recording, demo) = record_with(&scratch, &Server::new(command), &[], |stop| stop.wait());
        assert_eq!(recording.code, 0, "the server runs as it does by itself: {recording}");
        Long { scratch, arguments, demo }
    }

    /// Replays it against a build with these macros and arguments on top.
    fn replay(&self, limits: &[&str], macros: &[&str], more: &[String]) -> Replay {
        let command = [vec![compiled(&self.scratch, "long.c", macros)], self.arguments.clone(), more.to_vec()].concat();
        replay(&self.scratch, &self.demo, limits, &command)
    }
}

#[test]
fn threads_and_processes_at_different_places_replay_identically_in_windows() {
    let _turn = Turn::take();
    let long = Long::record("long", [1200, 100, 3, 3]);
    let whole = replay(&long.scratch, &long.demo, WHOLE, &[]);
    whole.assert_identical();
    let repeated = [WINDOWS, &["--repeat", "3"]].concat();
    for flags in [WINDOWS, &repeated] {
        let windows = replay(&long.scratch, &long.demo, flags, &[]);
        windows.assert_identical();
        for number in ["records", "frames", "outputs_verified", "output_bytes_verified"] {
            assert_eq!(windows.number(number), whole.number(number), "{number}: {windows}");
        }
    }
}

#[test]
fn a_process_that_falls_far_behind_the_others_keeps_none_of_them_waiting() {
    let _turn = Turn::take();
    let long = Long::record("lags", [1500, 100, 0, 3]);
    long.replay(WINDOWS, &["-DSLOW_CHILD"], &[]).assert_identical();
}

#[test]
fn calls_that_changed_places_are_found_across_the_edges_of_windows() {
    let _turn = Turn::take();
    let long = Long::record("order", [600, 100, 2, 0]);
    let [windows, whole] = [WINDOWS, WHOLE].map(|limits| long.replay(limits, &["-DOTHER_ORDER"], &[]));
    windows.assert_identical();
    whole.assert_identical();
    assert!(whole.number("resynced") >= 600, "{whole}");
    assert_eq!(windows.number("resynced"), whole.number("resynced"), "{windows}");
}

#[test]
fn a_divergence_is_found_at_its_record_wherever_the_window_ends() {
    let _turn = Turn::take();
    let long = Long::record("edges", [400, 100, 0, 0]);
    // The window moves on within these rounds, by a little less than ten at a time.
    for round in 300..311 {
        let other = [round.to_string()];
        let [windows, whole] = [WINDOWS, WHOLE].map(|limits| long.replay(limits, &[], &other));
        assert_eq!((windows.code, &windows.answer["divergence"]["frame"]), (1, &round.into()), "{windows}");
        assert_eq!(windows.answer["divergence"], whole.answer["divergence"], "{windows}");
    }
}

#[test]
fn a_program_that_another_one_became_goes_on_in_its_window() {
    let _turn = Turn::take();
    let scratch = Scratch::new("became");
    let script = format!("read -r line; exec {} 600 100 2 1", compiled(&scratch, "long.c", &[]));
    let command = ["/bin/sh", "-c", &script];
    let (recording, demo) = record_with(&scratch, &Server::new(command), &[], |stop| stop.wait());
    assert_eq!(recording.code, 0, "the server runs as it does by itself: {recording}");
    replay(&scratch, &demo, WINDOWS, &[]).assert_identical();
}
