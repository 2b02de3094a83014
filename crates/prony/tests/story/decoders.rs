//! `--decoder`: outputs compared by the fields in them. `subjects/calls/points.c` packs what it sends, so that a build with
//! another arithmetic sends datagrams of other lengths, and another number of them.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prony_testing::clients::quake;
use prony_testing::recording::{Replay, Server, Stop, record, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address, program, run};

use crate::calls::compiled;
use crate::games::{openarena, rebuilt, record_teeworlds};

/// Frames of the conversation.
const FRAMES: u32 = 200;

/// Commands to the points, for 25 frames each. All of them cross 40 within the first 60 frames.
const STEERING: [u8; 8] = *b"zzcaamtz";

/// The protocol of `points.c`, as its comment has it.
const DECODER: &str = r#"
import prony_decoder as prony

pending = {}
places = {}

def numbers(content):
    value = shift = 0
    for byte in content:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0

def decode(datagram):
    if datagram.to_server:
        return None
    content = pending.pop(datagram.peer, b"") + datagram.payload[1:]
    if datagram.payload[0]:
        pending[datagram.peer] = content
        return prony.HELD
    found = numbers(content)
    fields = [prony.integer("frame", next(found))]
    now = places.setdefault(datagram.peer, [0] * 4)
    for i in range(4):
        change = next(found)
        now[i] += change >> 1 ^ -(change & 1)
        fields.append(prony.single(f"point[{i}].x", now[i] / 16))
    for i in range(next(found)):
        fields.append(prony.integer(f"crossing[{i}].point", next(found)))
    return fields

prony.serve("points 1", decode)
"#;

const RULES: &str = "[[decoded]]\nfields = [{ field = \"point[*].x\", within = 1.5 }]\n";

/// Steers until the server has answered every frame.
fn steer(address: SocketAddr, stop: &Stop) {
    steer_with_answers(address, stop, |_| true);
}

/// Steers a server that answers the frames for which this is true.
fn steer_with_answers(address: SocketAddr, stop: &Stop, is_answered: impl Fn(u32) -> bool) {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(address).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("the timeout is not zero");
    let mut datagram = [0; 64];
    let answered = |socket: &UdpSocket, datagram: &mut [u8]| loop {
        match socket.recv(datagram) {
            Ok(_) if datagram[0] == 0 => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    };
    for frame in 0..FRAMES {
        let to = [STEERING[frame as usize / 25 % STEERING.len()]];
        if !is_answered(frame + 1) {
            socket.send(&to).expect("the server has answered before");
        } else if !stop.until(|| socket.send(&to).is_ok() && answered(&socket, &mut datagram)) {
            return;
        }
    }
    let _ = socket.send(b"q");
}

struct Points {
    scratch: Scratch,
    address: SocketAddr,
    demo: PathBuf,
    rules: String,
}

impl Points {
    fn record(story: &str) -> Points {
        let scratch = Scratch::new(story);
        let address = free_address();
        let server = Server::new([compiled(&scratch, "points.c", &[]), address.port().to_string()]);
        let (recording, demo) = record_with(&scratch, &server, &[], |stop| steer(address, stop));
        assert!(demo.exists(), "{recording}");
        let library = concat!(env!("CARGO_MANIFEST_DIR"), "/../decoder/python/prony_decoder.py");
        std::fs::copy(library, scratch.path().join("prony_decoder.py")).expect("the library is there");
        scratch.write("points.py", DECODER);
        let rules = scratch.write("rules.toml", RULES);
        Points { scratch, address, demo, rules }
    }

    fn build(&self, flags: &[&str]) -> Vec<String> {
        vec![compiled(&self.scratch, "points.c", flags), self.address.port().to_string()]
    }

    fn decoder(&self) -> String {
        format!("{} {}", program("/usr/bin/python3", "python3"), self.scratch.arg("points.py"))
    }

    fn replay(&self, flags: &[&str], command: &[String]) -> Replay {
        replay(&self.scratch, &self.demo, flags, command)
    }
}

#[test]
fn fields_of_a_packed_protocol_are_compared_whatever_its_datagrams_are() {
    let _turn = Turn::take();
    let points = Points::record("points");
    let decoder = points.decoder();
    let flags = ["--decoder", &decoder, "--tolerance", &points.rules];

    let same = points.replay(&flags, &[]);
    same.assert_identical();
    let decoded = &same.answer["tolerance"]["decoded"];
    assert_eq!((&decoded["decoder"], &decoded["values_differing"]), (&"points 1".into(), &0.into()), "{same}");
    // A frame and four points each time, and each crossing.
    assert!(decoded["values"].as_u64().is_some_and(|values| values >= u64::from(FRAMES) * 5), "{same}");

    // Without a decoder the first length that differs ends the replay.
    let drifting = points.build(&["-DDRIFT=0.004f"]);
    let bytes = points.replay(&[], &drifting);
    assert_eq!((bytes.code, &bytes.answer["verdict"]), (1, &"diverged".into()), "{bytes}");

    let tolerant = points.replay(&flags, &drifting);
    assert_eq!((tolerant.code, &tolerant.answer["verdict"]), (1, &"tolerant".into()), "{tolerant}");
    let decoded = &tolerant.answer["tolerance"]["decoded"];
    let [drift] = &decoded["fields"].as_array().expect("fields")[..] else { panic!("one rule was needed: {tolerant}") };
    // 0.004 in each of 200 frames, in steps of 1/16.
    let largest = drift["largest"].as_f64().expect("a number");
    assert!((0.75..=0.875).contains(&largest), "{tolerant}");
    assert_eq!((&drift["field"], &drift["beyond"]), (&"point[*].x".into(), &0.into()), "{tolerant}");
    assert!(
        drift["growth"]["last_tenth_median"].as_f64() > drift["growth"]["first_tenth_median"].as_f64(),
        "{tolerant}"
    );
    assert!(drift["largest_frame"].as_u64() > Some(150), "{tolerant}");
    // It is timed as a whole, and by bytes until the first length that differs.
    let bench = |flags: &[&str]| {
        let mut command = prony_testing::prony();
        command.args(["bench", "--runs", "2", "--json", "--demo"]).arg(&points.demo).args(flags);
        command.args([points.build(&[]), drifting.clone()].map(|words| words.join(" ")));
        let output = command.output().expect("prony starts");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        (output.status.code(), answer)
    };
    let (code, whole) = bench(&flags);
    assert!(code != Some(2) && whole["until_divergence"].is_null(), "{whole}");
    assert_eq!((&whole["pairs"], &whole["error"]), (&2.into(), &serde_json::Value::Null), "{whole}");
    let (code, part) = bench(&[]);
    let [frame, of] = ["frame", "of_frames"].map(|key| part["until_divergence"][key].as_u64());
    assert!(code == Some(2) && frame.is_some() && frame < of, "{part}");

    // The same content in more datagrams.
    let smaller = points.replay(&flags, &points.build(&["-DSMALL"]));
    assert_eq!((smaller.code, &smaller.answer["verdict"]), (1, &"tolerant".into()), "{smaller}");
    let decoded = &smaller.answer["tolerance"]["decoded"];
    assert_eq!(decoded["values_differing"], 0, "{smaller}");
    assert!(smaller.answer["tolerance"]["alignment"]["added"].as_u64() > Some(100), "{smaller}");
    // And in fewer, from the other side: what was recorded and not sent.
    let scratch = Scratch::new("points-small");
    let address = free_address();
    let server = Server::new([compiled(&scratch, "points.c", &["-DSMALL"]), address.port().to_string()]);
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| steer(address, stop));
    assert_eq!(recording.code, 0, "{recording}");
    let larger = vec![compiled(&points.scratch, "points.c", &[]), address.port().to_string()];
    let larger = replay(&scratch, &demo, &flags, &larger);
    assert_eq!((larger.code, &larger.answer["verdict"]), (1, &"tolerant".into()), "{larger}");
    let decoded = &larger.answer["tolerance"]["decoded"];
    assert_eq!(decoded["values_differing"], 0, "{larger}");
    assert!(larger.answer["tolerance"]["alignment"]["not_sent"].as_u64() > Some(100), "{larger}");
}

#[test]
fn outputs_that_go_out_a_frame_later_or_earlier_are_compared_with_their_own() {
    let _turn = Turn::take();
    let points = Points::record("points-late");
    let decoder = points.decoder();
    let flags = ["--decoder", &decoder, "--tolerance", &points.rules];

    // From frame 80 on, each answer goes out a frame later, and the points drift.
    let late_flags = ["-DBEHIND=frame>=80", "-DDRIFT=0.004f"];
    let late = points.replay(&flags, &points.build(&late_flags));
    assert_eq!((late.code, &late.answer["verdict"]), (1, &"tolerant".into()), "{late}");
    let decoded = &late.answer["tolerance"]["decoded"];
    let moved = |answer: &serde_json::Value, name: &str| answer[name].as_u64().expect("a number");
    let alignment = &late.answer["tolerance"]["alignment"];
    assert_eq!((moved(alignment, "early"), moved(alignment, "frames_apart")), (0, 1), "{late}");
    assert!((100..=u64::from(FRAMES)).contains(&moved(alignment, "late")), "{late}");
    let first = &alignment["first_moved"];
    assert_eq!(moved(first, "replayed_frame"), moved(first, "frame") + 1, "{late}");
    assert!((75..=85).contains(&moved(first, "frame")), "{late}");
    for (part, whole) in [("outputs_differing", "outputs"), ("values_differing", "values")] {
        assert!(moved(decoded, part) <= moved(decoded, whole), "{part} of {whole}: {late}");
    }
    assert_eq!(decoded["discrete"].as_array().map(Vec::len), Some(0), "{late}");
    let [drift] = &decoded["fields"].as_array().expect("fields")[..] else { panic!("one rule was needed: {late}") };
    let largest = drift["largest"].as_f64().expect("a number");
    assert!((0.75..=0.875).contains(&largest), "the drift is that of outputs that belong together: {late}");

    // By their bytes, without a decoder.
    let bytes = points.scratch.write("bytes.toml", "[[datagram]]\nfields = [{ at = 0, length = 1, mask = true }]\n");
    let bytes = points.replay(&["--tolerance", &bytes], &points.build(&["-DBEHIND=frame>=80"]));
    assert_eq!((bytes.code, &bytes.answer["verdict"]), (1, &"tolerant".into()), "{bytes}");
    let alignment = &bytes.answer["tolerance"]["alignment"];
    assert!(moved(alignment, "late") >= 100 && moved(alignment, "early") == 0, "{bytes}");
    assert_eq!(bytes.answer["tolerance"]["outputs_differing"], 0, "{bytes}");

    // No frame is allowed.
    let strict = points.scratch.write("strict.toml", format!("frames = 0\n{RULES}"));
    let strict = points.replay(&["--decoder", &decoder, "--tolerance", &strict], &points.build(&late_flags));
    assert_eq!((strict.code, &strict.answer["verdict"]), (1, &"diverged".into()), "{strict}");

    // One answer does not come: one finding, and nothing behind it is compared with another one.
    let skipped = points.replay(&flags, &points.build(&["-DSKIPPED=80"]));
    assert_eq!((skipped.code, &skipped.answer["verdict"]), (1, &"diverged".into()), "{skipped}");
    let decoded = &skipped.answer["tolerance"]["decoded"];
    let alignment = &skipped.answer["tolerance"]["alignment"];
    assert_eq!((moved(alignment, "late"), moved(alignment, "early")), (0, 0), "{skipped}");
    assert!((1..=4).contains(&moved(alignment, "not_sent")), "{skipped}");
    assert_eq!(decoded["first_discrete"]["field"], "frame", "{skipped}");

    // The other way: recorded a frame behind, and a build that catches up.
    let scratch = Scratch::new("points-early");
    let address = free_address();
    let build = |flags: &[&str]| vec![compiled(&scratch, "points.c", flags), address.port().to_string()];
    let server = Server::new(build(&["-DBEHIND=1"]));
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| steer(address, stop));
    assert_eq!(recording.code, 0, "{recording}");
    let early = replay(&scratch, &demo, &flags, &build(&["-DBEHIND=frame<80"]));
    assert_eq!((early.code, &early.answer["verdict"]), (1, &"tolerant".into()), "{early}");
    let decoded = &early.answer["tolerance"]["decoded"];
    let alignment = &early.answer["tolerance"]["alignment"];
    assert_eq!((moved(alignment, "late"), moved(alignment, "frames_apart")), (0, 1), "{early}");
    assert!(moved(alignment, "early") >= 100, "{early}");
    assert_eq!(moved(decoded, "values_differing"), 0, "{early}");
}

#[test]
fn an_output_in_another_frame_may_have_the_state_of_that_frame() {
    let _turn = Turn::take();
    let points = Points::record("points-state");
    let decoder = points.decoder();
    let rules = points.scratch.write("rules.toml", format!("frames = 2\n{RULES}"));
    let flags = ["--decoder", &decoder, "--tolerance", &rules];
    let number = |answer: &serde_json::Value, name: &str| answer[name].as_u64().expect("a number");
    let build = |answers: &str, more: &[&str]| {
        points.build(&[&[&*format!("-DANSWERS=frame==1||frame%5=={answers}")], more].concat())
    };
    // A point crosses 40 in frame 39, and from frame 36 on what is recorded in frame 39 is answered in frame 38, or the other
    // way round: the crossing is then in the next answer, or in the one before.
    for (recorded, in_replay, moved, level) in
        [("4", "(frame<36?4:3)", "early", "late"), ("3", "(frame<36?3:4)", "late", "early")]
    {
        let scratch = Scratch::new(&format!("points-{moved}-state"));
        let server = Server::new(build(recorded, &[]));
        let rest: u32 = recorded.parse().expect("a number");
        let (recording, demo) = record_with(&scratch, &server, &[], |stop| {
            steer_with_answers(points.address, stop, |frame| frame == 1 || frame % 5 == rest);
        });
        assert_eq!(recording.code, 0, "{recording}");
        let shifted = replay(&scratch, &demo, &flags, &build(in_replay, &[]));
        // Few bytes go out in their frame, so it proves little; but nothing diverged.
        assert_eq!((shifted.code, &shifted.answer["verdict"]), (3, &"weak".into()), "{shifted}");
        let (alignment, decoded) = (&shifted.answer["tolerance"]["alignment"], &shifted.answer["tolerance"]["decoded"]);
        assert_eq!((number(alignment, level), number(alignment, "frames_apart")), (0, 1), "{shifted}");
        // The crossing needs another datagram, which is in another answer.
        assert!(number(alignment, "added") <= 1 && number(alignment, "not_sent") <= 1, "{shifted}");
        assert!(number(alignment, moved) >= 30, "{shifted}");
        assert_eq!((&decoded["first_discrete"], &decoded["first_beyond"]), (&().into(), &().into()), "{shifted}");
        let values = number(decoded, "values_shifted");
        // The frame and the points of each answer, and the crossing on both sides.
        assert!(values >= 30 && values <= number(decoded, "values"), "{shifted}");

        // Another game is another one in any frame.
        let pulled = replay(&scratch, &demo, &flags, &build(in_replay, &["-DGRAVITY=0.05f"]));
        assert_eq!((pulled.code, &pulled.answer["verdict"]), (1, &"diverged".into()), "{pulled}");
        // No frame is allowed.
        let strict = points.scratch.write("strict.toml", format!("frames = 0\n{RULES}"));
        let strict = replay(&scratch, &demo, &["--decoder", &decoder, "--tolerance", &strict], &build(in_replay, &[]));
        assert_eq!((strict.code, &strict.answer["verdict"]), (1, &"diverged".into()), "{strict}");
    }
}

/// Zones read the clock thousands of times and ask for the process's number at the end, both of which say nothing to a peer.
#[test]
fn builds_with_zones_and_without_replay_each_others_demos() {
    let _turn = Turn::take();
    let points = Points::record("points-zones");
    points.replay(&[], &points.build(&["-DPRONY_ZONES"])).assert_identical();

    let scratch = Scratch::new("points-zoned");
    let address = free_address();
    let build = |flags: &[&str]| vec![compiled(&scratch, "points.c", flags), address.port().to_string()];
    let (_, demo) = record_with(&scratch, &Server::new(build(&["-DPRONY_ZONES"])), &[], |stop| steer(address, stop));
    replay(&scratch, &demo, &[], &build(&[])).assert_identical();
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_limit_that_is_exceeded_and_an_event_that_does_not_come_are_named() {
    let _turn = Turn::take();
    let points = Points::record("points-event");
    let decoder = points.decoder();
    let heavy = points.build(&["-DGRAVITY=-0.02f"]);

    let beyond = points.replay(&["--decoder", &decoder, "--tolerance", &points.rules], &heavy);
    assert_eq!((beyond.code, &beyond.answer["verdict"]), (1, &"diverged".into()), "{beyond}");
    let first = &beyond.answer["tolerance"]["decoded"]["first_beyond"];
    assert_eq!(first["within"], 1.5, "{beyond}");
    assert_eq!(first["frame"], beyond.answer["divergence"]["frame"], "{beyond}");
    let detail = beyond.answer["divergence"]["detail"].as_str().expect("a detail");
    assert!(detail.contains("more than a rule allows") && detail.contains("point["), "{beyond}");

    // With room for the points to drift, the first crossing at another time is what differs.
    let wide = points.scratch.write("wide.toml", RULES.replace("1.5", "1e9"));
    let event = points.replay(&["--decoder", &decoder, "--tolerance", &wide], &heavy);
    assert_eq!((event.code, &event.answer["verdict"]), (1, &"diverged".into()), "{event}");
    let detail = event.answer["divergence"]["detail"].as_str().expect("a detail");
    assert!(detail.contains("crossing[0].point") && detail.contains("nothing replayed"), "{event}");
    let decoded = &event.answer["tolerance"]["decoded"];
    assert_eq!(decoded["first_discrete"]["field"], "crossing[0].point", "{event}");
    assert!(decoded["fields"][0]["largest"].as_f64() > Some(10.0), "the drift is told to the end: {event}");

    // No rules at all: everything has to be equal, and the first place that is not is named.
    let exact = points.replay(&["--decoder", &decoder], &heavy);
    assert_eq!(exact.answer["verdict"], "diverged", "{exact}");
    assert!(exact.answer["divergence"]["frame"].as_u64() < event.answer["divergence"]["frame"].as_u64(), "{exact}");
}

#[test]
fn a_decoder_that_fails_is_named_with_what_it_did() {
    let _turn = Turn::take();
    let points = Points::record("points-broken");
    let hello = r#"echo "{\"decoder\":\"x\",\"version\":1}""#;
    let script = |name: &str, text: &str| points.scratch.write(name, format!("{text}\n"));
    let python = |name: &str, decode: &str| {
        let text = format!("import os, sys, time\nimport prony_decoder as prony\n{decode}\nprony.serve('x', decode)\n");
        format!("{} {}", program("/usr/bin/python3", "python3"), points.scratch.write(name, text))
    };
    let sh = |name: &str, text: &str| format!("sh {}", script(name, text));
    let cases = [
        ("does-not-exist".to_owned(), "cannot use the decoder: `does-not-exist`: command not found"),
        ("'".to_owned(), "unclosed quote"),
        (
            sh("dies", "echo no protocol >&2; exit 3"),
            "ended (exit status: 3) at the greeting; it last said: no protocol",
        ),
        (sh("silent", "exec sleep 60"), "did not answer for 1 s at the greeting"),
        (sh("greets", &format!("{hello}; exec sleep 60")), "did not answer for 1 s at datagram 1"),
        (sh("endless", &format!("{hello}; exec cat /dev/zero")), "a line of more than 4194304 bytes at datagram 1"),
        (sh("garbage", &format!("{hello}; exec yes")), "no answer at datagram 1: expected a JSON object; its line: y"),
        (sh("old", r#"echo "{\"decoder\":\"x\",\"version\":7}""#), "the decoder speaks version 7"),
        (
            sh("numbers", &format!("{hello}; echo \"{{\\\"n\\\":5}}\"; exec sleep 60")),
            "answered datagram 5 where 1 was expected",
        ),
        (python("crash.py", "def decode(d):\n    raise ValueError(d.number)"), "it last said: ValueError: 1"),
        (
            python("talks.py", "def decode(d):\n    print('debug')\n    return None"),
            "no answer at datagram 1: expected a JSON object; its line: debug",
        ),
        (python("wrong.py", "def decode(d):\n    return [['x', 'i32', 1]]"), "field 1: expected [name, type, value]"),
        (
            python("random.py", "def decode(d):\n    return [prony.integer('pid', os.getpid())]"),
            "not deterministic: both sides had the same bytes",
        ),
        (
            python("fails.py", "import atexit\natexit.register(lambda: os._exit(4))\ndef decode(d):\n    return None"),
            "failed then (exit status: 4)",
        ),
        (
            python(
                "lingers.py",
                "import atexit\natexit.register(lambda: time.sleep(60))\ndef decode(d):\n    return None",
            ),
            "did not end within 5 s after its input",
        ),
    ];
    for (decoder, expected) in cases {
        // An interpreter takes its time to start beside other tests.
        let patience = match expected {
            _ if expected.contains("for 1 s") => "1s",
            _ if expected.contains("within 5 s") => "5s",
            _ => "60s",
        };
        let answer = points.replay(&["--watchdog", patience, "--decoder", &decoder], &[]);
        assert_eq!(answer.code, 2, "{decoder}: {answer}");
        assert!(answer.said.contains(expected), "{decoder}: expected `{expected}`: {answer}");
    }

    // One that finds nothing, or that keeps everything back, excuses nothing: bytes are compared.
    let drifting = points.build(&["-DDRIFT=0.004f"]);
    for (name, decode) in [("blind.py", "return None"), ("empty.py", "return []"), ("holds.py", "return prony.HELD")] {
        let decoder = python(name, &format!("def decode(d):\n    {decode}"));
        let answer = points.replay(&["--decoder", &decoder, "--tolerance", &points.rules], &drifting);
        assert_eq!((answer.code, &answer.answer["verdict"]), (1, &"diverged".into()), "{name}: {answer}");
    }
    // Rules for fields that are not read.
    let answer = points.replay(&["--tolerance", &points.rules], &[]);
    assert_eq!(answer.code, 2, "{answer}");
    assert!(answer.said.contains("[[decoded]] needs a decoder"), "{answer}");
}

/// Decoder of Teeworlds 0.7.
fn teeworlds() -> String {
    let decoder = concat!(env!("CARGO_MANIFEST_DIR"), "/../decoder/python/teeworlds.py");
    format!("{} {decoder}", program("/usr/bin/python3", "python3"))
}

/// What may move a little when floats are rounded in another way.
const TEEWORLDS_RULES: &str = r#"
[[decoded]]
fields = [
    { field = "snapshot.character[*].x", within = 2 },
    { field = "snapshot.character[*].y", within = 2 },
    { field = "snapshot.character[*].vel_*", within = 16 },
    { field = "snapshot.character[*].hook_x", within = 4 },
    { field = "snapshot.character[*].hook_y", within = 4 },
    { field = "snapshot.character[*].hook_d*", within = 4 },
    { field = "snapshot.projectile[*].*", within = 2 },
    { field = "snapshot.sound[*].x", within = 2 },
    { field = "snapshot.sound[*].y", within = 2 },
]
"#;

#[test]
fn teeworlds_drifts_under_fast_math_and_a_changed_gravity_is_caught() {
    let inexact = rebuilt("fast-math", &["-O3", "-march=native", "-ffast-math"]);
    let change = ["--edit", "src/game/tuning.h", "s/gravity, 0.5f/gravity, 0.51f/", "-O2"];
    let heavy = rebuilt("heavy", &change);
    let _turn = Turn::take();
    let scratch = Scratch::new("teeworlds-decoded");
    let demo = record_teeworlds(&scratch);
    let decoder = teeworlds();
    let rules = scratch.write("rules.toml", TEEWORLDS_RULES);
    let flags = ["--decoder", &decoder, "--tolerance", &rules];

    let same = replay(&scratch, &demo, &flags, &[]);
    same.assert_identical();
    let decoded = &same.answer["tolerance"]["decoded"];
    let count = |name: &str| decoded[name].as_u64().unwrap_or_else(|| panic!("`{name}` is missing from {same}"));
    // Snapshots have their checksum, so what is decoded is right. Only the handshake of each player is not.
    assert!(count("outputs") > 1000 && count("outputs_opaque") <= 4 * 8, "{same}");
    assert!(count("values") > 100_000 && count("values_differing") == 0, "{same}");

    // Whether reordered arithmetic shows in ten seconds depends on the game.
    let drifted = replay(&scratch, &demo, &flags, &inexact);
    let decoded = &drifted.answer["tolerance"]["decoded"];
    match drifted.answer["verdict"].as_str() {
        Some("identical") => drifted.assert_identical(),
        Some("tolerant") => {
            let drifts = decoded["fields"].as_array().expect("fields");
            assert!(decoded["outputs_differing_unseen"].as_u64() > Some(0) || !drifts.is_empty(), "{drifted}");
            assert!(drifts.iter().all(|drift| drift["beyond"] == 0), "{drifted}");
        }
        _ => {
            assert_eq!((drifted.code, &drifted.answer["verdict"]), (1, &"diverged".into()), "{drifted}");
            let detail = drifted.answer["divergence"]["detail"].as_str().expect("a detail");
            assert!(detail.contains("snapshot.") || detail.contains("kill."), "a field is named: {drifted}");
        }
    }

    let caught = replay(&scratch, &demo, &flags, &heavy);
    assert_eq!((caught.code, &caught.answer["verdict"]), (1, &"diverged".into()), "{caught}");
    let detail = caught.answer["divergence"]["detail"].as_str().expect("a detail");
    assert!(detail.contains("tuning.gravity 50 recorded, 51 replayed"), "the server tells its clients: {caught}");
    // Players who fall faster are elsewhere.
    let first = &caught.answer["tolerance"]["decoded"]["first_beyond"];
    assert!(first["field"].as_str().is_some_and(|field| field.starts_with("snapshot.character[")), "{caught}");
}

/// A server of GoldSrc's protocol is not to be had everywhere, so `test_goldsrc.py` contains a small one.
#[test]
fn goldsrc_is_decoded_as_a_small_server_writes_it() {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../decoder/python/test_goldsrc.py");
    let ran = Command::new(program("/usr/bin/python3", "python3")).args(["-B", tests]).output();
    let ran = ran.expect("python3 can be started");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.ends_with("OK\n"), "{said}");
}

#[test]
fn openarena_with_two_players_is_decoded_whole() {
    let _turn = Turn::take();
    let scratch = Scratch::new("openarena-decoded");
    let address = free_address();
    let command = openarena(&scratch, address, &["+set", "sv_pure", "0"]);
    let home = scratch.directory("home");
    let server = Server::new(command).with_state(home.clone()).with_variable("HOME", home);
    let tally = quake::Tally::default();
    let demo = record(&scratch, &server, |stop| {
        quake::play(address, 2, &tally, stop.flag()).expect("the players can use their sockets");
    });
    assert_eq!(tally.joined.load(Ordering::Relaxed), 2, "both players get into the game: {tally:?}");
    assert!(tally.snapshots.load(Ordering::Relaxed) > 100, "snapshots arrive: {tally:?}");

    let decoder = example("quake3_decoder");
    // A message whose bits fill its bytes is sent with one byte more, which ioquake3 does not set (`cursize` in `MSG_WriteBits`):
    // bytes may differ where no field does.
    let same = replay(&scratch, &demo, &["--decoder", &decoder], &[]);
    assert!(["identical", "tolerant"].map(Into::into).contains(&same.answer["verdict"]), "{same}");
    let decoded = &same.answer["tolerance"]["decoded"];
    let count = |name: &str| decoded[name].as_u64().unwrap_or_else(|| panic!("`{name}` is missing from {same}"));
    // A challenge and an answer to the request to connect for each player, perhaps requested more than once.
    assert!(count("outputs") > 100 && count("outputs_opaque") < 20, "{same}");
    assert!(count("values") > 100_000 && count("values_differing") == 0, "{same}");
}

/// Builds an example of this package, or finds it built.
fn example(name: &str) -> String {
    let tests = std::env::current_exe().expect("tests have a file");
    let folder = tests.parent().and_then(std::path::Path::parent).expect("tests lie in deps");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "prony", "--example", name]);
    cargo.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    run(cargo.env("CARGO_TARGET_DIR", folder.parent().expect("it has one for each profile")));
    folder.join("examples").join(name).to_str().expect("the target directory is UTF-8").to_owned()
}
