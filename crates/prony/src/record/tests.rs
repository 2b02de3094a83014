use clap::Parser;

use prony_replay::{LeaveOutReason, LeftOut, PackReport, RecordCost, RecordWarning};

use super::*;
use crate::cli::{Cli, Verb};

fn args(flags: &[&str]) -> RecordArgs {
    let line = ["prony", "record", "-o", "teeworlds.demo"].iter().chain(flags).chain(&["--", "teeworlds-server"]);
    match Cli::try_parse_from(line).expect("valid flags").verb {
        Verb::Record(args) => args,
        other => panic!("{other:?}"),
    }
}

fn recorded() -> RecordReport {
    RecordReport {
        recorded_s: 26.04,
        processes: 1,
        records: 318_204,
        frames: 1312,
        outputs: 5213,
        output_bytes: 412_881,
        cost: RecordCost { recorder_cpu_s: 0.31, record_bytes: 52_014_552, ..RecordCost::default() },
        file_bytes: 982_114,
        exit: ServerExit::Code(0),
        goes_on: None,
        disk_end: None,
        packed: PackReport {
            files: 3,
            bytes: 4_112,
            left_out: vec![LeftOut {
                path: "/srv/maps/dm1.map".into(),
                size_bytes: 5_242_880,
                why: LeaveOutReason::Large,
            }],
        },
        warnings: vec![RecordWarning::Note("io_uring is not recorded: the server was told there is none".to_owned())],
    }
}

#[test]
fn a_recording_says_what_it_left() {
    let args = args(&["--for", "26s"]);
    insta::assert_snapshot!(
        "recorded",
        text::record::text(args.output(), &recorded(), ended_by_limit(&args, &recorded()))
    );
    let answer = json::record::answer(args.output(), &recorded(), ended_by_limit(&args, &recorded()));
    insta::assert_snapshot!("recorded_json", serde_json::to_string_pretty(&answer).expect("plain values"));
    let several = RecordReport { processes: 3, ..recorded() };
    assert!(text::record::text(args.output(), &several, false).contains("318,204 calls of 3 processes"));
    let cost = RecordCost { threads_waited_s: 4.2, room_awaited_s: 0.25, fast_bytes: 13_003_638, ..recorded().cost };
    let said = text::record::text(args.output(), &RecordReport { cost, ..recorded() }, false);
    for line in [
        "threads were ready and waited for their turn: 4.20 s in total",
        "25.0 % of the records were compressed less",
        "threads waited for prony to take their records: 0.250 s in total",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn the_exit_code_is_that_of_the_server_unless_the_recording_ended_it() {
    use ServerExit::{Code, Signal};
    let code = |flags: &[&str], ended, output_bytes| {
        exit(&args(flags), &RecordReport { exit: ended, output_bytes, ..recorded() })
    };
    assert_eq!(code(&[], Code(7), 9), Exit::Server(7));
    assert_eq!(code(&["--for", "60s"], Code(7), 9), Exit::Server(7));
    assert_eq!(code(&["--for", "26s"], Code(7), 9), Exit::Good);
    assert_eq!(code(&[], Signal(2), 9), Exit::Server(130));
    assert_eq!(code(&["--for", "26s"], Signal(15), 9), Exit::Good);
    assert_eq!(code(&[], Code(0), 9), Exit::Good);
    assert_eq!(code(&[], Code(0), 0), Exit::NotTrusted);
}

#[test]
fn every_reason_that_keeps_a_recording_from_being_made_is_named() {
    use std::io::Error;
    let error = || Error::from_raw_os_error(2);
    let program = || "/usr/games/teeworlds-server".to_owned();
    let errors = [
        RecordError::Program(prony_replay::ProgramError::Unhookable {
            path: program(),
            what: "is statically linked, so no library can be preloaded into it",
        }),
        RecordError::State(prony_replay::StateError::Archive { path: "/srv/state".to_owned(), error: error() }),
        RecordError::Write {
            path: "teeworlds.demo.partial".to_owned(),
            error: prony_demo::WriteError::Io(Error::from_raw_os_error(28)),
        },
        RecordError::Start { program: program(), error: Error::from_raw_os_error(8) },
        RecordError::NotAttached { program: program(), exit: ServerExit::Code(127) },
        RecordError::System { what: "make the channel to the server", error: Error::from_raw_os_error(24) },
    ];
    let args = args(&["--state", "/srv/state"]);
    let all: Vec<String> = errors.iter().map(|error| failure(&args, error).to_string()).collect();
    insta::assert_snapshot!("failures", all.join("\n"));
}

#[test]
fn every_warning_of_a_recording_is_a_sentence() {
    let warnings = [
        RecordWarning::Written("/srv/log".into()),
        RecordWarning::Note("io_uring is not recorded".to_owned()),
        RecordWarning::LivesOn(vec![(4711, "sleep".to_owned())]),
        RecordWarning::NotListed(std::sync::Arc::new(prony_replay::KnownError::NoHome)),
    ];
    assert_eq!(
        warnings.each_ref().map(text::record::warning),
        [
            "the server wrote `/srv/log`, which is outside any --state directory: a replay writes it too, and reads its content at that time",
            "io_uring is not recorded",
            "`sleep` (4711) lives on: the recording ended without it",
            "the demo cannot be added to the list of demos recorded here: the user has no home directory, and \
             XDG_STATE_HOME is not set",
        ]
    );
}
