use std::time::Duration;

use clap::Parser;
use prony_demo::tolerance::{Drift, FieldDifference, Tolerated};
use prony_replay::Divergence;
use prony_replay::{
    BeyondLimit, ByteWindow, Cause, Counted, Detail, Difference, Doing, Evidence, FailedCall, FilesLacking, FromDemo,
    Lack, Passed, ProcessorChange, Recorded, Surroundings, ThreadReport, Timing, Warning, WeakReason,
};

use super::*;
use crate::cli::{Cli, Verb};

fn args(flags: &[&str]) -> ReplayArgs {
    let line = ["prony", "replay", "teeworlds.demo"].iter().chain(flags);
    match Cli::try_parse_from(line).expect("valid flags").verb {
        Verb::Replay(args) => args,
        other => panic!("{other:?}"),
    }
}

/// The causes, with the next step of each.
fn explained(args: &ReplayArgs, report: &ReplayReport) -> String {
    let found = report.divergence.as_ref().expect("it diverged");
    text::replay::causes::text(report, false, &|cause| steps::step(args, report, found, cause))
}

fn identical() -> ReplayReport {
    ReplayReport {
        verdict: Verdict::Identical,
        frames: 1312,
        counted: Counted { records: 318_204, outputs: 5213, output_bytes: 412_881, ..Counted::default() },
        timing: Timing {
            wall_s: vec![0.142],
            cpu_s: vec![0.141],
            frame_start_ns: (1..=1312).map(|frame| frame * 1_000_000).collect(),
            frame_wall_ns: (1..=1312).map(|frame| 21_000 + frame * 120 + frame / 1300 * 100_000).collect(),
            frame_cpu_ns: vec![20_000; 1312],
            ..Timing::before_replay(26.0)
        },
        surroundings: Surroundings { recorded_build: Some(true), ..Surroundings::default() },
        ..ReplayReport::before_replay(26.0)
    }
}

fn divergence(class: DivergenceClass) -> Divergence {
    Divergence {
        class,
        process: 0,
        thread: 0,
        record: 48_211,
        frame: 312,
        call: "sendto(7, 61)".to_owned(),
        fd: 7,
        window: ByteWindow {
            differing: Some(40),
            from: 24,
            expected: (24..56).collect(),
            found: (24..56).map(|byte| if byte == 40 { 0xff } else { byte }).collect(),
        },
        expected_call: "sendto(7, 61)".to_owned(),
        recent: vec!["#48,209 recvfrom(7, 1400) = 33".to_owned(), "#48,210 clock_gettime(1) = 5.000000042s".to_owned()],
        backtrace: vec!["teeworlds_srv+0x1a2b CServer::SendMsg".to_owned()],
        detail: None,
        difference: Difference::Class,
        threads: Vec::new(),
    }
}

fn diverged(found: Divergence) -> ReplayReport {
    ReplayReport { verdict: Verdict::Diverged, divergence: Some(found), ..identical() }
}

fn shown(report: &ReplayReport, flags: &[&str]) -> String {
    let args = args(flags);
    let hint = hint(&args, report).map_or_else(String::new, |hint| format!("hint: {hint}\n"));
    text::replay::text(&args.demo, report) + &hint
}

#[test]
fn an_identical_replay_says_how_fast_it_was() {
    insta::assert_snapshot!("identical", shown(&identical(), &[]));
    assert_eq!(exit(&identical()), Exit::Good);
}

#[test]
fn several_replays_give_a_median_and_a_spread() {
    let report = ReplayReport {
        timing: Timing {
            wall_s: vec![0.142, 0.139, 0.151, 0.140, 0.141],
            cpu_s: vec![0.141, 0.138, 0.150, 0.139, 0.140],
            ..identical().timing
        },
        counted: Counted {
            clocks_added: 12,
            clocks_removed: 1,
            resynced: 1,
            reordered: 2,
            overlapped: 2,
            log_bytes_differing: 88,
            ..identical().counted
        },
        ..identical()
    };
    insta::assert_snapshot!("repeated", shown(&report, &["--repeat", "5"]));
    let mut answer = json::replay::answer(&report);
    for list in ["frame_ms_list", "frame_cpu_ms_list"] {
        let frames = answer.as_object_mut().and_then(|answer| answer.remove(list));
        assert_eq!(frames.as_ref().and_then(serde_json::Value::as_array).map(Vec::len), Some(1312), "{list}");
    }
    insta::assert_snapshot!("repeated_json", serde_json::to_string_pretty(&answer).expect("plain values"));
}

#[test]
fn bytes_that_were_not_verified_are_not_identical() {
    let counted = Counted { outputs: 0, output_bytes: 0, ..identical().counted };
    let nothing = ReplayReport { counted, ..identical() };
    assert_eq!(exit(&nothing), Exit::NotTrusted);
    let lacking = ProcessorChange::FlagsLacking(vec!["avx2".to_owned()]);
    let reasons = vec![
        WeakReason::Processor(lacking),
        WeakReason::Changed("/srv/map".to_owned()),
        WeakReason::Missed("unrecorded system call 318".to_owned()),
        WeakReason::NothingSent,
        WeakReason::NothingVerified,
        WeakReason::LittleVerified { output_bytes: 35, frames: 101 },
    ];
    let weak = ReplayReport { verdict: Verdict::Weak(reasons), ..nothing };
    insta::assert_snapshot!("weak", shown(&weak, &[]));
    assert_eq!(exit(&weak), Exit::NotTrusted);
    assert_eq!(json::replay::answer(&weak)["verdict"], "weak");
}

/// An option is named only where it removes every reason.
#[test]
fn the_hint_of_a_weak_replay_works() {
    let changed = || WeakReason::Changed("/srv/map".to_owned());
    let little = || WeakReason::LittleVerified { output_bytes: 4, frames: 72 };
    let missed = || WeakReason::Missed("unrecorded system call 318".to_owned());
    let of = |reasons: Vec<WeakReason>| {
        hint(&args(&[]), &ReplayReport { verdict: Verdict::Weak(reasons), ..identical() })
            .expect("there is a next step")
    };
    assert!(of(vec![changed()]).contains("--ignore-environment"));
    assert_eq!(of(vec![changed(), little()]), "record longer, with busy clients");
    for reasons in [vec![missed()], vec![missed(), changed(), little()]] {
        let hint = of(reasons);
        assert!(hint.starts_with("avoid what was missed") && !hint.contains("--ignore"), "{hint}");
    }
}

#[test]
fn a_tolerant_replay_is_never_called_identical() {
    let rules = Rules::parse(
        "[[datagram]]\nfields = [{ at = 12, type = \"f32le\", within = 0.001 }, { at = 40, length = 4, mask = true }]",
    )
    .expect("valid rules");
    let mut drift = Drift::new();
    for frame in 0..100 {
        drift.add_identical();
        let fields = vec![
            FieldDifference { field: 0, offset: 12, difference: Some(1e-6 * frame as f64) },
            FieldDifference { field: 1, offset: 40, difference: None },
        ];
        drift.add(frame, frame * 7, &Tolerated { rule: 0, fields });
    }
    let report = ReplayReport { verdict: Verdict::Tolerant, tolerance: Some(drift.summary(&rules)), ..identical() };
    let shown = shown(&report, &["--tolerance", "floats.toml"]);
    insta::assert_snapshot!("tolerant", shown);
    assert_eq!(exit(&report), Exit::Finding);
    assert_eq!(json::replay::answer(&report)["tolerance"]["fields_differing"], 200);
}

#[test]
fn every_class_of_divergence_has_its_words_and_its_next_step() {
    use DivergenceClass::*;
    for class in [Output, Order, UnrecordedCall, Starvation, EarlyExit, LateExit, MissingFile, Crash, Input] {
        let mut found = divergence(class);
        if class != Output {
            found.window = ByteWindow { from: found.window.from, ..ByteWindow::default() };
        }
        match class {
            Order => found.expected_call = "recvfrom(7, 1400)".to_owned(),
            UnrecordedCall => (found.call, found.fd) = ("getrandom(16)".to_owned(), -1),
            Starvation => {
                found.detail = Some(Detail::NoProgress { process: Doing::Running, turn: Some(812), spins: false });
                found.threads = vec![
                    thread(Doing::Running),
                    ThreadReport { thread: 1, waits_for: Some(812), is_its_turn: false, ..thread(Doing::Turn) },
                ];
            }
            MissingFile => {
                let lacking = FilesLacking { first: "/srv/maps/dm1.map".to_owned(), more: 0, lack: Lack::NotThere };
                (found.call, found.detail) = ("open".to_owned(), Some(Detail::FilesLacking(lacking)));
            }
            Crash => {
                let signal = Detail::Signal { signal: 11, records: 48_211, of: 318_204 };
                (found.call, found.detail) = ("sendto".to_owned(), Some(signal));
            }
            Input => {
                found.call = "recvfrom".to_owned();
                found.difference = Difference::Room { recorded: 1400, room: 512 };
            }
            _ => {}
        }
        let causes = if class == MissingFile { vec![Cause::MissingFile] } else { Vec::new() };
        let report = ReplayReport { causes, ..diverged(found) };
        insta::assert_snapshot!(format!("diverged_{}", json::replay::key(class)), shown(&report, &[]));
        let expected = if class == Starvation { Exit::NotTrusted } else { Exit::Finding };
        assert_eq!(exit(&report), expected, "{class:?}");
    }
}

#[test]
fn a_divergence_has_its_facts_as_json_fields() {
    let report = diverged(divergence(DivergenceClass::Output));
    insta::assert_snapshot!(
        "diverged_json",
        serde_json::to_string_pretty(&json::replay::answer(&report)["divergence"]).expect("plain values")
    );
}

#[test]
fn an_output_that_is_too_short_is_marked_where_it_ends() {
    let mut found = divergence(DivergenceClass::Output);
    found.window = ByteWindow { differing: Some(3), from: 0, expected: vec![0, 1, 2, 3, 4], found: vec![0, 1, 2] };
    let text = text::replay::text(Path::new("x.demo"), &diverged(found));
    assert!(
        text.contains(
            "\n    expected  00 01 02 03 04  |.....|\n    found     00 01 02        |...|\n                       ^^\n"
        ),
        "{text}"
    );
}

#[test]
fn a_byte_that_a_rule_excused_is_not_the_one_that_is_marked() {
    let mut found = divergence(DivergenceClass::Output);
    found.window.found[2] = 0xee;
    let text = text::replay::text(Path::new("x.demo"), &diverged(found));
    assert!(text.contains(&format!("\n    {:<8}  {}^^\n", "", " ".repeat(12 * 3))), "{text}");
}

#[test]
fn the_hint_leads_to_the_process_that_diverged() {
    let report = diverged(Divergence { process: 2, ..divergence(DivergenceClass::Output) });
    let hint = hint(&args(&["--explain"]), &report).expect("there is a next step");
    assert!(hint.starts_with("`prony demo dump teeworlds.demo --process 2 --full`"), "{hint}");
    assert!(text::replay::text(Path::new("x.demo"), &report).contains("record 48,211 of process 2, frame 312"));
}

fn failed(recorded: Recorded) -> FailedCall {
    FailedCall {
        process: 0,
        thread: 0,
        call: "chmod".to_owned(),
        path: "/run/game/control".to_owned(),
        fd: -1,
        errno: 2,
        after_record: 1_204,
        recorded,
    }
}

fn thread(doing: Doing) -> ThreadReport {
    ThreadReport {
        process: 0,
        thread: 3,
        record: 48_211,
        call: "pthread_mutex_lock".to_owned(),
        waits_for: None,
        is_its_turn: true,
        doing,
    }
}

#[test]
fn every_cause_has_its_words_and_its_next_step() {
    let sleeping = |call: &str, at: &str| Doing::Sleeping { call: call.to_owned(), at: at.to_owned() };
    let file = || vec!["/srv/game/state".to_owned(), "/srv/game/scores".to_owned()];
    let of = |errno, recorded| FailedCall { errno, ..failed(recorded) };
    let causes = vec![
        Cause::MissingFile,
        Cause::FailedCall(of(2, Recorded::NotFailed)),
        Cause::FailedCall(of(1, Recorded::FailedWith(2))),
        Cause::FailedCall(of(17, Recorded::NotFailed)),
        Cause::FailedCall(FailedCall { call: "open".to_owned(), ..of(24, Recorded::Succeeded(1_207)) }),
        Cause::FailedCall(FailedCall {
            call: "fstat".to_owned(),
            path: String::new(),
            fd: 7,
            ..of(9, Recorded::NotNoted)
        }),
        Cause::FailedCall(FailedCall { process: 2, ..of(30, Recorded::NotFailed) }),
        Cause::FailedCall(FailedCall {
            call: "ioctl".to_owned(),
            path: String::new(),
            fd: 1,
            ..of(25, Recorded::NotFailed)
        }),
        Cause::MadeUpName(of(2, Recorded::NotFailed), "/srv/game/job-1199".to_owned()),
        Cause::UnfailedCall(of(2, Recorded::FailedWith(2))),
        Cause::Busy(thread(Doing::Running)),
        Cause::Blocked(thread(sleeping("futex", ""))),
        Cause::Blocked(ThreadReport { process: 1, ..thread(sleeping("read", "pipe:[8121]")) }),
        Cause::Blocked(thread(Doing::Gone)),
        Cause::Missed("unrecorded system call 318".to_owned()),
        Cause::SideBySide,
        Cause::Raced(12, Some(Passed { process: 0, thread: 3, record: 48_190, call: "pthread_mutex_lock".to_owned() })),
        Cause::Written(file()),
        Cause::ChangedFiles(file()),
        Cause::Libraries(vec!["/lib/libz.so.1".to_owned()]),
        Cause::ClockReads(60, 87),
        Cause::CloseNumbers,
        Cause::ReplacedProgram,
        Cause::OtherBuild,
        Cause::Processor(ProcessorChange::FlagsLacking(vec!["avx2".to_owned()])),
        Cause::Unknown,
    ];
    let found = Divergence {
        threads: vec![
            thread(Doing::Running),
            ThreadReport { waits_for: Some(812), is_its_turn: false, ..thread(Doing::Turn) },
        ],
        ..divergence(DivergenceClass::Starvation)
    };
    let report = ReplayReport {
        causes,
        evidence: Evidence {
            failed_calls: vec![failed(Recorded::NotFailed), FailedCall { errno: 13, ..failed(Recorded::NotNoted) }],
            ..Evidence::default()
        },
        surroundings: Surroundings {
            missed: vec!["unrecorded system call 318".to_owned()],
            notes: vec!["plugin.so is loaded without RTLD_DEEPBIND, so that its calls are seen".to_owned()],
            ..Surroundings::default()
        },
        printed: vec!["chmod: \u{1b}[31mno such file".to_owned()],
        ..diverged(found)
    };
    insta::assert_snapshot!("explained", explained(&args(&["--explain"]), &report));
    let hint = hint(&args(&[]), &ReplayReport { causes: report.causes[1..].to_vec(), ..report.clone() });
    insta::assert_snapshot!("explained_hint", hint.expect("there is a next step"));
    for (number, cause) in report.causes.iter().enumerate() {
        assert_eq!(json::replay::answer(&report)["causes"][number]["cause"], cause.key());
    }
    insta::assert_snapshot!(
        "explained_json",
        serde_json::to_string_pretty(&json::replay::answer(&report)["failed_calls"]).expect("plain values")
    );
}

#[test]
fn a_build_that_computes_is_given_more_time_than_it_had() {
    let report = ReplayReport {
        causes: vec![Cause::Busy(thread(Doing::Running))],
        ..diverged(divergence(DivergenceClass::Starvation))
    };
    let text = explained(&args(&["--explain", "--watchdog", "20s"]), &report);
    assert!(text.contains("allow more time with --watchdog 120s"), "{text}");
    assert_eq!(args(&[]).execution.watchdog, Duration::from_secs(10));
}

#[test]
fn the_command_that_explains_is_that_of_the_replay() {
    let report = diverged(divergence(DivergenceClass::Output));
    let hint = hint(&args(&["--", "./new", "+map", "dm1"]), &report).expect("there is a next step");
    assert_eq!(hint, "`prony replay --explain teeworlds.demo -- ./new +map dm1` shows why");
}

#[test]
fn a_wrong_tolerance_file_names_its_line() {
    let path = std::env::temp_dir().join(format!("prony-tolerance-{}.toml", std::process::id()));
    fs::write(&path, "[[datagram]]\nfields = [{ at = 0, type = \"f31le\", within = 1 }]\n").expect("writable");
    let failure = rules(&path).expect_err("f31le is no type").to_string();
    fs::remove_file(&path).expect("just made");
    assert!(failure.contains("line 2, column 28: type: expected one of f32le"), "{failure}");
    assert!(rules(Path::new("/nonexistent.toml")).is_err());
}

#[test]
fn every_reason_that_keeps_a_replay_from_running_is_named() {
    use std::io::Error;
    let denied = || Error::from_raw_os_error(1);
    let program = || "/usr/games/teeworlds-server".to_owned();
    let errors = [
        ReplayError::Truncated(prony_demo::Truncation {
            offset: 0x2c40,
            cause: prony_demo::Cause::NoCommit,
            blocks: 41,
            records: 20_000,
            frames: 1203,
        }),
        ReplayError::Tape(TapeError::Memory { bytes: 84_000_000, error: Error::from_raw_os_error(12) }),
        ReplayError::Tape(TapeError::Empty),
        ReplayError::Tape(TapeError::TooLarge { limit: 1 << 30, found: 2_700_000_000 }),
        ReplayError::Tape(TapeError::Record { process: 0, order: 3, what: "expected parts that fill it" }),
        ReplayError::Tape(TapeError::Result {
            process: 0,
            order: 4,
            beyond: prony_demo::ResultBeyondBound {
                call: "recvfrom",
                what: "return value",
                expected: "an error or at most 1400".to_owned(),
                found: "5497".to_owned(),
            },
        }),
        ReplayError::State(StateError::TooLarge { limit: 1 << 30, found: None }),
        ReplayError::State(StateError::MoreThanStated { stated: 2048 }),
        ReplayError::Channel {
            program: program(),
            fault: prony_replay::Fault { what: "bytes of a ring", slot: 3, limit: 8_388_608, found: u64::MAX },
        },
        ReplayError::Interrupted,
        ReplayError::Program(prony_replay::ProgramError::NoFile("./new".to_owned())),
        ReplayError::State(prony_replay::StateError::Restore {
            path: "/srv/state".to_owned(),
            error: prony_replay::LayoutError::Member { name: "maps".to_owned(), error: denied() },
        }),
        ReplayError::OtherArchitecture { program: program(), found: "x86_64", recorded: "i386".to_owned() },
        ReplayError::NotTrusted(prony_replay::Privilege::Command(vec!["sh".into()])),
        ReplayError::WorkingDirectory("/proc/self/cwd".into()),
        ReplayError::NotTrusted(prony_replay::Privilege::State(vec!["/srv/a".into(), "/srv/\u{1b}b".into()])),
        ReplayError::State(prony_replay::StateError::NotOfTheDemo {
            directory: "/srv".to_owned(),
            state: vec!["/srv/state".into()],
        }),
        ReplayError::State(prony_replay::StateError::Link { path: "/srv/state".to_owned() }),
        ReplayError::State(prony_replay::StateError::Files(prony_replay::OverlayError::Root {
            path: "/data".into(),
            error: denied(),
        })),
        ReplayError::Mount(denied()),
        ReplayError::NotAttached(program()),
        ReplayError::System { program: program(), error: denied() },
    ];
    let all: Vec<String> = errors.iter().map(|error| failure(&args(&[]), error).to_string()).collect();
    insta::assert_snapshot!("failures", all.join("\n"));
}

#[test]
fn variables_that_the_build_did_not_get_have_a_next_step() {
    let report = ReplayReport {
        from_demo: FromDemo { variables_withheld: vec!["LD_PRELOAD".to_owned()], ..FromDemo::default() },
        ..identical()
    };
    let hint = hint(&args(&[]), &report).expect("there is a next step");
    assert_eq!(hint, "use --keep-variable LD_PRELOAD to give the build recorded variables");
    assert_eq!(json::replay::answer(&report)["variables_withheld"][0], "LD_PRELOAD");
}

#[test]
fn warnings_are_part_of_the_json_answer() {
    let report = ReplayReport { warnings: vec![Warning::Changed("/srv/map".to_owned())], ..identical() };
    let warning = "`/srv/map` differs from the recorded file in content";
    assert_eq!(json::replay::answer(&report)["warnings"][0], warning);
}

#[test]
fn every_detail_of_a_divergence_has_its_words() {
    use std::os::unix::process::ExitStatusExt;
    let beyond = BeyondLimit { rule: 0, field: "f32le at 12".to_owned(), offset: 12, recorded: 1.0, replayed: 1.5 };
    let lacking = FilesLacking { first: "/srv/map".to_owned(), more: 2, lack: Lack::NotRegular };
    let status = std::process::ExitStatus::from_raw(3 << 8);
    let details = [
        (Difference::NotSent, None, "not sent"),
        (Difference::Destination, None, "destination address"),
        (Difference::Descriptor(7), None, "the recorded call made descriptor 7, which is open in the build"),
        (
            Difference::Destination,
            Some(Detail::Lengths { expected: 16, found: 28 }),
            "destination address; 16 bytes expected, 28 found",
        ),
        (Difference::Class, Some(Detail::EndingStatus(1)), "the build ends with status 1"),
        (Difference::Bytes, Some(Detail::NotTolerated(None)), "no rule of the tolerance file covers this byte"),
        (
            Difference::Bytes,
            Some(Detail::NotTolerated(Some(beyond))),
            "rule 1, f32le at 12: 1 recorded and 1.5 replayed at byte 12 differ by more than it allows",
        ),
        (
            Difference::Class,
            Some(Detail::Signal { signal: 9, records: 12, of: 40 }),
            "SIGKILL ended the build after 12 of 40 records",
        ),
        (
            Difference::Class,
            Some(Detail::Ended { status, records: 12, of: 40 }),
            "the build ended (exit status: 3) after 12 of 40 records",
        ),
        (
            Difference::Class,
            Some(Detail::FilesLacking(lacking)),
            "the server read `/srv/map` and 2 more, which is not a regular file here",
        ),
        (
            Difference::Class,
            Some(Detail::NoProgress { process: Doing::Gone, turn: None, spins: false }),
            "the process is not there",
        ),
        (
            Difference::Class,
            Some(Detail::NoProgress { process: Doing::Running, turn: None, spins: true }),
            "the process makes calls again and again that are not in the recording, while its clock stands still",
        ),
    ];
    for (difference, detail, text) in details {
        let found = Divergence { difference, detail, ..divergence(DivergenceClass::Output) };
        assert_eq!(prony_report::divergence::detail(&found), text);
    }
}
