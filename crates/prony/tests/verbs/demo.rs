use std::fs;

use crate::sample::{FRAMES, Sample, assert_private};
use prony_testing::CommandOutput;

#[test]
fn info_introduces_the_demo() {
    let sample = Sample::new();
    let answer = sample.prony(&["demo", "info", "match.demo", "--calls"]);
    let text = answer.stdout;
    assert_eq!(answer.code, Some(0));
    for expected in
        ["server --name hunter2", "2026-11-21 20:32:49 UTC", "2.00 s, 20 frames", "sendto ", "exited with 0"]
    {
        assert!(text.contains(expected), "{expected} is missing from {text}");
    }
    assert!(!text.contains("SECRET_TOKEN"), "the environment may hold secrets");
    let json = sample.prony(&["demo", "info", "match.demo", "--json"]).json();
    assert_eq!((json["frames"].as_u64(), json["complete"].as_bool()), (Some(FRAMES), Some(true)));
    assert_eq!(json["argv"][2], "hunter2");
}

#[test]
fn dump_prints_the_calls_of_the_requested_frames() {
    let sample = Sample::new();
    insta::assert_snapshot!("dump", sample.prony(&["demo", "dump", "match.demo", "--frames", "3..6"]).whole());
    insta::assert_snapshot!(
        "dump_full",
        sample.prony(&["demo", "dump", "match.demo", "--frames", "7", "--call", "sendto", "--full"]).whole()
    );
    let all = sample.prony(&["demo", "dump", "match.demo"]);
    let json = sample.prony(&["demo", "dump", "match.demo", "--json"]);
    assert_eq!(all.stdout.lines().count(), json.stdout.lines().count());
    let last: serde_json::Value =
        serde_json::from_str(json.stdout.lines().last().expect("there are records")).expect("a JSON object a line");
    assert_eq!((&last["call"], last["frame"].as_u64()), (&"exit".into(), Some(FRAMES)));
    let rest = sample.prony(&["demo", "dump", "match.demo", "--frames", "20.."]);
    assert_eq!(rest.stdout.lines().count(), 1, "what comes behind the last whole frame: {rest:?}");
}

#[test]
fn a_frame_that_is_not_there_is_named() {
    let sample = Sample::new();
    insta::assert_snapshot!("no_frame", sample.prony(&["demo", "dump", "match.demo", "--frames", "99"]).whole());
    assert_eq!(sample.prony(&["demo", "frames", "match.demo", "--frames", "99"]).code, Some(2));
}

#[test]
fn frames_lists_when_each_ended_and_how_long_it_took() {
    let sample = Sample::new();
    insta::assert_snapshot!("frames", sample.prony(&["demo", "frames", "match.demo", "--frames", "0..5"]).whole());
    let json = sample.prony(&["demo", "frames", "match.demo", "--json"]).json();
    assert_eq!(json["frames"].as_array().map(Vec::len), Some(FRAMES as usize));
    assert_eq!((json["frame_ms"]["n"].as_u64(), json["frame_ms"]["median"].as_f64()), (Some(FRAMES), Some(100.0)));
}

#[test]
fn view_writes_a_page_with_the_frames_and_their_calls() {
    let sample = Sample::new();
    let answer = sample.prony(&["demo", "view", "match.demo", "-o", "page.html"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stderr.starts_with("page.html: 20 frames, all calls, "), "{answer:?}");
    assert_private(&sample.file("page.html"));
    let html = fs::read_to_string(sample.file("page.html")).expect("it was written");
    for expected in ["<h1>match.demo</h1>", "s, 20 frames, ", "server --name hunter2", "default-src 'none'"] {
        assert!(html.contains(expected), "{expected} is missing");
    }
    let data = html.split("id=\"timeline\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let data: serde_json::Value = serde_json::from_str(data.expect("the page has data")).expect("it is JSON");
    assert_eq!(data["frames"], FRAMES, "{data}");
    assert_eq!((data["calls"].as_array().map(Vec::len), data["diverged"].is_null()), (Some(FRAMES as usize + 1), true));
    let again = sample.prony(&["demo", "view", "match.demo", "-o", "page.html"]);
    assert_eq!((again.code, again.stderr.contains("file exists")), (Some(2), true), "{again:?}");
    let json = sample.prony(&["demo", "view", "match.demo", "-o", "page.html", "--force", "--json"]).json();
    assert_eq!((json["frames"].as_u64(), json["bytes"].as_u64()), (Some(FRAMES), Some(html.len() as u64)), "{json}");
}

#[test]
fn view_shows_a_stored_replay_of_this_demo_only() {
    let sample = Sample::new();
    let view = |replay: &serde_json::Value| {
        fs::write(sample.file("replay.json"), replay.to_string()).expect("it is writable");
        sample.prony(&["demo", "view", "match.demo", "-o", "page.html", "--force", "--replay", "replay.json"])
    };
    let divergence = serde_json::json!({
        "class": "output", "record": 30, "frame": 7, "call": "sendto", "fd": 3, "byte": 1, "window_from": 0,
        "expected_hex": "010203", "found_hex": "01ff03", "expected_call": "#30 sendto", "recent": [], "backtrace": [],
        "detail": "<script>", "process": 0, "thread": 0,
    });
    let replay = serde_json::json!({
        "verdict": "diverged", "frames": 7, "frame_ms_list": [0.1, 0.2, 0.9], "wall_s": 0.01, "replays": 1,
        "recorded_s": 2.0, "divergence": divergence,
    });
    let answer = view(&replay);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let html = fs::read_to_string(sample.file("page.html")).expect("it was written");
    for expected in
        ["Diverged: different output", "record 30, frame 7, thread 0: sendto", "<b>ff</b>", "&lt;script&gt;"]
    {
        assert!(html.contains(expected), "{expected} is missing");
    }
    let other = view(&serde_json::json!({ "verdict": "identical", "frames": 5000 }));
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(other.stderr.contains("it is of 5,000 frames, match.demo has 20"), "{other:?}");
    let wrong = view(&serde_json::json!({ "verdict": "faster" }));
    assert!(wrong.stderr.contains("expected the JSON of a replay, found the verdict `faster`"), "{wrong:?}");
    assert_eq!(sample.prony(&["demo", "view", "match.demo", "-o", "x.html", "--frames", "99"]).code, Some(2));
    assert!(!sample.file("x.html").exists(), "nothing is left behind");
}

#[test]
fn verify_finds_nothing_in_a_sound_demo() {
    let sample = Sample::new();
    let answer = sample.prony(&["demo", "verify", "match.demo"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.starts_with("match.demo: sound\n"), "{answer:?}");
    assert_eq!(sample.prony(&["demo", "verify", "match.demo", "--json"]).json()["sound"], true);
}

#[test]
fn a_cut_demo_is_a_finding_for_verify_and_shows_what_remains_elsewhere() {
    let sample = Sample::new();
    sample.cut("match.demo", |length| length - 1);
    let answer = sample.prony(&["demo", "verify", "match.demo"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert_eq!(
        answer.stderr,
        "hint: `prony replay match.demo --allow-truncated` replays the 20 complete frames before the damage\n"
    );
    let info = sample.prony(&["demo", "info", "match.demo"]);
    assert_eq!(info.code, Some(0));
    assert!(info.stderr.starts_with("warning: match.demo ends early: block "), "{info:?}");
    let replay = sample.prony(&["replay", "match.demo"]);
    assert_eq!(replay.code, Some(2));
    assert!(
        replay.stderr.ends_with(
            "hint: the file was truncated or altered; --allow-truncated replays the 20 complete frames before it\n"
        ),
        "{replay:?}"
    );
}

#[test]
fn a_flipped_byte_is_found_wherever_it_is() {
    let sample = Sample::new();
    let sound = fs::read(sample.file("match.demo")).expect("just made");
    // Behind the magic number: without it, the file is no demo.
    for at in (8..sound.len()).step_by(sound.len() / 12) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        fs::write(sample.file("match.demo"), bytes).expect("writable");
        let answer = sample.prony(&["demo", "verify", "match.demo"]);
        assert_eq!(answer.code, Some(1), "byte {at}: {answer:?}");
        assert!(answer.stdout.contains(" problem"), "byte {at}: {answer:?}");
        assert_eq!(sample.prony(&["demo", "verify", "match.demo", "--json"]).json()["sound"], false);
    }
}

#[test]
fn files_that_are_no_demos_and_files_that_are_not_there_are_named() {
    let sample = Sample::new();
    fs::write(sample.file("notes.txt"), "nothing recorded here").expect("writable");
    fs::write(sample.file("empty"), "").expect("writable");
    let answers: Vec<String> = ["notes.txt", "empty", "missing.demo", "."]
        .iter()
        .map(|name| sample.prony(&["demo", "info", name]).whole())
        .collect();
    insta::assert_snapshot!("no_demos", answers.join("\n"));
}

#[test]
fn wrong_usage_exits_2_and_help_exits_0() {
    let sample = Sample::new();
    for wrong in [
        &["demo"][..],
        &["demo", "dump"],
        &["replay"],
        &["record", "-o", "x.demo"],
        &["fly"],
        &["demo", "dump", "match.demo", "--frames", "9..3"],
    ] {
        let answer = sample.prony(wrong);
        assert_eq!((answer.code, answer.stdout.is_empty()), (Some(2), true), "{wrong:?}: {answer:?}");
    }
    let help = sample.prony(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    for code in ["  0  good", "  1  a finding", "  2  could not run", "  3  ran, but"] {
        assert!(help.stdout.contains(code), "{code} is missing from {}", help.stdout);
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_dump_quietly() {
    let sample = Sample::new();
    let script =
        format!("set -o pipefail; {} demo dump match.demo --full | head -n 1", prony_testing::program().display());
    let output = std::process::Command::new("bash").args(["-c", &script]).current_dir(sample.path()).output();
    let output = output.expect("bash is there");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");
}

fn records(answer: &CommandOutput) -> Vec<serde_json::Value> {
    answer.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

#[test]
fn an_anonymized_demo_is_sound_and_has_nothing_private_left() {
    let sample = Sample::new();
    let anonymize = ["demo", "anonymize", "match.demo", "-o", "public.demo", "--replace", "hunter2", "--seed", "7"];
    let answer = sample.prony(&anonymize);
    insta::assert_snapshot!("anonymize", answer.whole());
    assert_private(&sample.file("public.demo"));
    assert_eq!(sample.prony(&["demo", "verify", "public.demo"]).code, Some(0));

    let (before, after) = (
        sample.prony(&["demo", "dump", "match.demo", "--json"]),
        sample.prony(&["demo", "dump", "public.demo", "--json"]),
    );
    let (before, after) = (records(&before), records(&after));
    assert_eq!(before.len(), after.len());
    let mut addresses = Vec::new();
    for (before, after) in before.iter().zip(&after) {
        for key in ["call", "fd", "ret", "time_s", "frame", "record"] {
            assert_eq!(before[key], after[key]);
        }
        let parts = after["parts"].as_array().expect("a list").iter();
        addresses.extend(parts.filter_map(|part| part["address"].as_str().map(str::to_owned)));
    }
    let client = addresses.iter().find(|address| address.ends_with(":40000")).expect("the client is there");
    let client = client.strip_suffix(":40000").expect("just found");
    assert!(client != "10.0.0.7" && client.len() == 8, "{client}");
    let dump = sample.prony(&["demo", "dump", "public.demo", "--call", "sendto", "--frames", "7", "--json"]);
    let payload = records(&dump)[0]["parts"][1]["hex"].as_str().expect("hex").to_owned();
    let payload: Vec<u8> = (0..payload.len() / 2)
        .map(|byte| u8::from_str_radix(&payload[byte * 2..byte * 2 + 2], 16).expect("hex digits"))
        .collect();
    let payload = String::from_utf8(payload).expect("still text");
    assert!(payload.starts_with("pong 7 ") && payload.ends_with(client), "{payload}");
    assert!(!payload.contains("hunter2") && !payload.contains("gamebox"), "{payload}");
    let info = sample.prony(&["demo", "info", "public.demo", "--json"]);
    assert!(!info.stdout.contains("SECRET_TOKEN") && !info.stdout.contains("hunter2"), "{}", info.stdout);

    let again = sample.prony(&anonymize);
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (Some(2), "error: cannot write public.demo: file exists\nhint: use --force to overwrite it\n")
    );
    let before = fs::read(sample.file("public.demo")).expect("just made");
    assert_eq!(sample.prony(&[&anonymize[..], &["--force"]].concat()).code, Some(0));
    assert_eq!(fs::read(sample.file("public.demo")).expect("just made"), before, "the same seed gives the same demo");
}

#[test]
fn a_replacement_of_another_length_leaves_no_file_behind() {
    let sample = Sample::new();
    let answer = sample.prony(&["demo", "anonymize", "match.demo", "-o", "public.demo", "--replace", "hunter2=x"]);
    insta::assert_snapshot!("wrong_replacement", answer.whole());
    let files = fs::read_dir(sample.path()).expect("readable").count();
    assert_eq!(files, 1, "only match.demo");
}
