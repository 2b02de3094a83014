//! What else a demo is good for: Wireshark's tools, a copy without names, a check of its bytes.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::failures::{ANSWERS, story};
use prony_testing::prony;
use prony_testing::recording::{Server, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address, program, run};

#[test]
fn a_demo_opens_in_tshark_with_the_right_addresses_and_times() {
    let _turn = Turn::take();
    let story = story("tshark");
    let capture = story.scratch.arg("story.pcap");
    run(prony().args(["demo", "pcap"]).arg(&story.demo).args(["-o", &capture]));
    let tshark = program("/usr/bin/tshark", "tshark");
    let fields = ["frame.time_epoch", "ip.src", "udp.srcport", "ip.dst", "udp.dstport", "data.data"];
    let listed = run(Command::new(tshark)
        .args(["-r", &capture, "-d", &format!("udp.port=={},data", story.arguments[0]), "-T", "fields"])
        .args(fields.iter().flat_map(|field| ["-e", field])));
    let datagrams: Vec<Vec<&str>> = listed.lines().map(|line| line.split('\t').collect()).collect();
    let port = story.arguments[0].as_str();
    let questions: Vec<_> = datagrams.iter().filter(|datagram| datagram[4] == port).collect();
    let answered = datagrams.iter().filter(|datagram| datagram[2] == port).count();
    assert_eq!(answered, ANSWERS as usize, "{listed}");
    // `quit` is the last one.
    assert_eq!(questions.len(), answered + 1, "{listed}");
    assert!(datagrams.iter().all(|datagram| datagram[1] == "127.0.0.1" && datagram[3] == "127.0.0.1"), "{listed}");
    assert_eq!(
        questions.last().expect("there are some")[5],
        "71756974",
        "the bytes are those that were sent: {listed}"
    );
    let times: Vec<f64> = datagrams.iter().map(|datagram| datagram[0].parse().expect("a time in seconds")).collect();
    assert!(times.is_sorted(), "{listed}");
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is after 1970").as_secs_f64();
    assert!((0.0..600.0).contains(&(now - times[0])), "it was recorded just now: {listed}");
}

#[test]
fn a_demo_without_names_still_replays() {
    let _turn = Turn::take();
    let story = story("anonymous");
    let anonymous = story.scratch.path().join("anonymous.demo");
    let mut anonymize = prony();
    anonymize.args(["demo", "anonymize"]).arg(&story.demo).arg("-o").arg(&anonymous);
    run(anonymize.args(["--replace", "question"]));
    let dump = |demo| run(prony().args(["demo", "dump", "--json"]).arg(demo));
    // `question` in hex, as the dump has it.
    let name = "7175657374696f6e";
    assert!(dump(&story.demo).contains(name), "the recorded datagrams hold the name");
    assert!(!dump(&anonymous).contains(name), "the name is gone");
    replay(&story.scratch, &anonymous, &[], &[]).assert_identical();
}

/// Addresses that stand nowhere but in text: in a payload, in the arguments, in a file of the state.
const WRITTEN: [&str; 4] = ["192.0.2.44", "2001:db8::c0ff:ee", "203.0.113.9", "198.51.100.77"];

#[test]
fn a_store_that_sends_addresses_of_its_arguments_and_files_still_replays_without_them() {
    let _turn = Turn::take();
    let scratch = Scratch::new("addresses");
    let address = free_address();
    let state = scratch.directory("state");
    let [in_payload, in_payload6, in_arguments, in_state] = WRITTEN;
    let configuration = scratch.write("state/redis.conf", format!("masteruser {in_state}\n"));
    let redis = program("/usr/bin/redis-server", "redis-server");
    let (port, file) = (address.port().to_string(), format!("{in_arguments}.rdb"));
    let flags = ["--bind", "127.0.0.1", "--port", &port, "--dir", &state, "--save", "", "--dbfilename", &file];
    let command = [&[redis.as_str(), &configuration][..], &flags].concat();
    let server = Server::new(command).with_state(state.clone());
    let mut answers = String::new();
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| {
        let mut connection = None;
        stop.until(|| {
            connection = TcpStream::connect(address).ok();
            connection.is_some()
        });
        let mut connection = connection.expect("the server listens");
        connection.set_read_timeout(Some(Duration::from_secs(20))).expect("the time is not zero");
        let commands = format!(
            "SET client {in_payload}\r\nGET client\r\nECHO {in_payload6}\r\nCONFIG GET dbfilename\r\n\
             CONFIG GET masteruser\r\n"
        );
        connection.write_all(commands.as_bytes()).expect("the server reads");
        let mut buffer = [0; 1024];
        while !answers.contains(in_state) {
            let length = connection.read(&mut buffer).expect("the server answers");
            assert!(length > 0, "the server closed after {answers}");
            answers.push_str(std::str::from_utf8(&buffer[..length]).expect("the answers are ASCII"));
        }
        // It would close without an answer to what came with this.
        connection.write_all(b"SHUTDOWN NOSAVE\r\n").expect("the server reads");
    });
    assert_eq!(recording.code, 0, "{recording}");
    for written in WRITTEN {
        assert!(answers.contains(written), "the server sent {written}: {answers}");
    }

    let anonymous = scratch.path().join("anonymous.demo");
    run(prony().args(["demo", "anonymize"]).arg(&demo).arg("-o").arg(&anonymous));
    let dump = run(prony().args(["demo", "dump", "--json"]).arg(&anonymous));
    let info = run(prony().args(["demo", "info", "--json"]).arg(&anonymous));
    for written in WRITTEN {
        let hexadecimal: String = written.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!dump.contains(&hexadecimal) && !info.contains(written), "{written} is left");
    }
    // OpenSSL's configuration has a number like an address, and lies outside the demo's directories.
    replay(&scratch, &anonymous, &["--overlay", "/usr/lib/ssl"], &[]).assert_identical();
}

#[test]
fn a_damaged_demo_fails_its_check() {
    let _turn = Turn::take();
    let story = story("verify");
    let verify = || prony().args(["demo", "verify"]).arg(&story.demo).output().expect("prony starts");
    assert_eq!(verify().status.code(), Some(0), "a new demo is sound");
    let mut bytes = fs::read(&story.demo).expect("the demo is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&story.demo, bytes).expect("the demo is writable");
    let damaged = verify();
    let said = [damaged.stdout, damaged.stderr].concat();
    assert_eq!(damaged.status.code(), Some(1), "one bit is found: {}", String::from_utf8_lossy(&said));
}
