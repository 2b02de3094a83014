//! What Wireshark's own tools make of an exported demo.

use std::process::Command;

use crate::sample::{FRAMES, RECORDED_AT_S, Sample, assert_private};

/// Runs tshark on `match.pcap`; `arguments` say what to print.
fn tshark(sample: &Sample, arguments: &[&str]) -> String {
    let output = Command::new("tshark")
        .args(["-n", "-r", "match.pcap", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"])
        .args(["-o", "tcp.check_checksum:TRUE"])
        .args(arguments)
        .current_dir(sample.path())
        .output()
        .unwrap_or_else(|error| panic!("cannot start tshark: {error}: sudo apt-get install tshark"));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("tshark prints text")
}

fn exported() -> Sample {
    let sample = Sample::new();
    let answer = sample.prony(&["demo", "pcap", "match.demo", "-o", "match.pcap"]);
    assert_eq!((answer.code, answer.stdout.is_empty()), (Some(0), true), "{answer:?}");
    insta::assert_snapshot!("pcap", answer.stderr);
    assert_private(&sample.file("match.pcap"));
    sample
}

#[test]
fn tshark_lists_every_datagram_with_its_addresses_and_time() {
    let sample = exported();
    let fields = ["-e", "frame.time_epoch", "-e", "ip.src", "-e", "udp.srcport", "-e", "ip.dst", "-e", "udp.dstport"];
    let listed = tshark(
        &sample,
        &[&["-Y", "udp && ip", "-T", "fields"], &fields[..], &["-e", "data.text", "-e", "udp.length"]].concat(),
    );
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len() as u64, FRAMES * 2, "{listed}");
    let expected = format!("{RECORDED_AT_S}.010000000\t10.0.0.7\t40000\t0.0.0.0\t8303");
    assert!(lines[0].starts_with(&expected), "{expected}: {}", lines[0]);
    let expected = format!("{RECORDED_AT_S}.011000000\t0.0.0.0\t8303\t10.0.0.7\t40000");
    assert!(lines[1].starts_with(&expected), "{expected}: {}", lines[1]);
    let six = tshark(&sample, &["-Y", "ipv6", "-T", "fields", "-e", "ipv6.src", "-e", "ipv6.dst", "-e", "udp.dstport"]);
    assert_eq!(six, "::1\t::1\t8304\n");
}

#[test]
fn tshark_finds_no_wrong_checksum_and_nothing_to_remark() {
    let sample = exported();
    let wrong = "ip.checksum.status == 0 || udp.checksum.status == 0 || tcp.checksum.status == 0 \
                 || tcp.analysis.flags || _ws.malformed";
    assert_eq!(tshark(&sample, &["-Y", wrong]), "");
    let right = tshark(&sample, &["-Y", "udp.checksum.status == 1 || tcp.checksum.status == 1"]);
    assert_eq!(right.lines().count(), tshark(&sample, &[]).lines().count());
}

#[test]
fn tshark_follows_a_connection_from_handshake_to_goodbye() {
    let sample = exported();
    let stream = tshark(&sample, &["-q", "-z", "follow,tcp,ascii,0"]);
    assert!(stream.contains("Node 0: 127.0.0.1:50000\nNode 1: 127.0.0.1:8080\n"), "{stream}");
    assert!(stream.contains("GET / HTTP/1.0"), "{stream}");
    // Between two segments tshark writes the length of the next one on a line of its own.
    let is_length = |line: &&str| line.trim().parse::<u32>().is_ok();
    let bytes: String = stream.lines().filter(|line| !is_length(line)).collect();
    assert_eq!(bytes.matches("all work and no play ").count(), 200, "{stream}");
    let flags = tshark(&sample, &["-Y", "tcp", "-T", "fields", "-e", "tcp.flags.str"]);
    let flags: Vec<&str> = flags.lines().map(|line| line.trim_matches('·')).collect();
    assert_eq!((flags.first(), flags.last()), (Some(&"S"), Some(&"A")), "{flags:?}");
    assert_eq!(flags.iter().filter(|flags| flags.contains('F')).count(), 2, "{flags:?}");
    let http = tshark(
        &sample,
        &["-d", "tcp.port==8080,http", "-Y", "http.response", "-T", "fields", "-e", "http.response.code"],
    );
    assert_eq!(http, "200\n");
}

#[test]
fn a_pcap_goes_to_standard_output_as_well_and_its_summary_to_json() {
    let sample = exported();
    let piped = sample.command(&["demo", "pcap", "match.demo"]).output().expect("the command is built");
    assert_eq!(piped.stdout, std::fs::read(sample.file("match.pcap")).expect("just made"));
    let answer = sample.prony(&["demo", "pcap", "match.demo", "-o", "match.pcap", "--force", "--json"]);
    let json = answer.json();
    assert_eq!((json["datagrams"].as_u64(), json["connections"].as_u64()), (Some(FRAMES * 2 + 1), Some(1)));
    assert_eq!(json["left_out"]["Unix socket"], 1);
}
