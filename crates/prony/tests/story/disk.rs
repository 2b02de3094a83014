//! A disk that takes no more of a demo: the recording ends, and its server does not.

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use prony_testing::random::SplitMix64;
use prony_testing::scratch::{Scratch, Turn, free_address};

use crate::calls::compiled;

/// Records on a disk of its own, then replays what is left. `BEFORE` makes the disk small.
const SCRIPT: &str = r#"
    prony=$1 server=$2 port=$3 disk=$4
    BEFORE
    cd "$disk"
    "$prony" record -o x.demo -- "$server" "$port" >../out 2>../err &
    echo $! >../pid
    wait $!
    echo $? >../code
    ls >../left
    "$prony" replay --json --trust-demo --allow-truncated "$(cat ../left)" >../replay 2>&1
    "$prony" demo verify "$(cat ../left)" >../verify 2>&1
"#;

/// Records a server until the disk takes no more, sees it answer after that, and has it end. `limit`: in bytes, of a file of the
/// recorder, once the server answers.
fn recorded(scratch: &Scratch, before: &str, mut limit: Option<u64>) {
    let server = compiled(scratch, "counted.c", &[]);
    let address = free_address();
    let script = SCRIPT.replace("BEFORE", before);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
    let port = address.port().to_string();
    let prony = prony_testing::program();
    command.arg(prony).args([&server, &port, &scratch.directory("disk")]).env("XDG_STATE_HOME", scratch.path());
    let mut script = command.spawn().expect("unshare(1) is there");

    let client = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    client.connect(address).expect("loopback is reachable");
    client.set_read_timeout(Some(Duration::from_millis(200))).expect("the timeout is not zero");
    let mut random = SplitMix64(1);
    let is_over = || std::fs::read_to_string(scratch.file("out")).unwrap_or_default().contains("goes on as process");
    while !is_over() {
        assert!(script.try_wait().expect("it was started").is_none(), "{}", scratch.read("err"));
        // What no compressor makes smaller.
        let question: Vec<u8> = (0..60).flat_map(|_| random.next_number().to_le_bytes()).collect();
        let answered = client.send(&question).and_then(|_| client.recv(&mut [0; 512])).is_ok();
        if let Some(limit) = limit.take_if(|_| answered) {
            let mut limited = Command::new("prlimit");
            limited.args(["--pid", scratch.read("pid").trim(), &format!("--fsize={limit}")]);
            assert!(limited.status().expect("prlimit(1) is there").success());
        }
    }
    while client.recv(&mut [0; 512]).is_ok() {}
    client.set_read_timeout(Some(Duration::from_secs(60))).expect("the timeout is not zero");
    client.send(b"still there?").expect("it goes on");
    client.recv(&mut [0; 512]).expect("it goes on");
    client.send(b"quit").expect("it goes on");
    script.wait().expect("it was started");
}

#[test]
fn a_full_disk_ends_the_recording_with_a_whole_demo() {
    let _turn = Turn::take();
    let scratch = Scratch::new("disk-full");
    recorded(&scratch, "mount -t tmpfs -o size=5m disk \"$disk\"", None);
    assert_eq!((scratch.read("code").as_str(), scratch.read("left").as_str()), ("3\n", "x.demo\n"));
    let warnings = scratch.read("err");
    assert!(warnings.contains("ended before the server: no space is left on the disk"), "{warnings}");
    let verified = scratch.read("verify");
    assert!(verified.contains("sound"), "{verified}");
    assert!(scratch.read("replay").contains("\"verdict\": \"identical\""), "{}", scratch.read("replay"));
}

#[test]
fn a_disk_that_refuses_a_write_leaves_what_was_written() {
    let _turn = Turn::take();
    let scratch = Scratch::new("disk-broken");
    recorded(&scratch, "trap '' XFSZ", Some(1 << 20));
    assert_eq!((scratch.read("code").as_str(), scratch.read("left").as_str()), ("3\n", "x.demo.partial\n"));
    let warnings = scratch.read("err");
    assert!(warnings.contains("ended before the server: cannot write x.demo.partial: "), "{warnings}");
    assert!(warnings.contains("hint: `prony replay --allow-truncated x.demo.partial` replays"), "{warnings}");
    assert!(scratch.read("replay").contains("\"verdict\": \"identical\""), "{}", scratch.read("replay"));
}
