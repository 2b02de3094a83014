//! Servers of 32 bits on x86-64. They need `scripts/setup i386`, before prony is built.

use crate::calls::{compiled, prove_every_call};
use prony_testing::recording::{Server, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

#[test]
fn a_server_of_32_bits_with_every_kind_of_call_replays_identically() {
    prove_every_call("lines-i386", &["-m32"]);
}

#[test]
fn a_server_of_32_bits_with_times_and_offsets_of_64_replays_identically() {
    prove_every_call("lines-time64", &["-m32", "-D_TIME_BITS=64", "-D_FILE_OFFSET_BITS=64"]);
}

/// Asks what `answers.c` answers, until the recording is over.
fn ask(address: SocketAddr, stop: &prony_testing::recording::Stop) {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(address).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("the timeout is not zero");
    let mut answered = 0;
    stop.until(|| {
        let _ = socket.send(b"question");
        answered += u32::from(socket.recv(&mut [0; 700]).is_ok());
        answered == 20
    });
    let _ = socket.send(b"quit");
}

#[test]
fn programs_of_both_classes_become_each_other_without_a_word_of_the_loader() {
    let _turn = Turn::take();
    for (first, then) in [("-m32", "-m64"), ("-m64", "-m32")] {
        let scratch = Scratch::new(&format!("becomes{then}"));
        let address = free_address();
        let names = scratch.write("names", "answer\n");
        let server = compiled(&scratch, "answers.c", &[then]);
        let command = vec![compiled(&scratch, "becomes.c", &[first]), server, address.port().to_string(), names];
        let (recording, demo) = record_with(&scratch, &Server::new(command), &[], |stop| ask(address, stop));
        assert!(!recording.said.contains("wrong ELF class"), "{recording}");
        let replayed = replay(&scratch, &demo, &["--repeat", "2"], &[]);
        replayed.assert_identical();
        assert!(replayed.number("output_bytes_verified") >= 400, "{replayed}");
    }
}

#[test]
fn a_server_that_is_older_than_the_streams_of_today_gets_those_that_it_was_linked_with() {
    let _turn = Turn::take();
    let scratch = Scratch::new("old-streams");
    let address = free_address();
    let names = scratch.write("names", "answer\n");
    let server = compiled(&scratch, "answers.c", &["-m32", "-DOLD_STREAMS"]);
    let command = vec![server, address.port().to_string(), names];
    let (_, demo) = record_with(&scratch, &Server::new(command), &[], |stop| ask(address, stop));
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_build_of_another_architecture_is_refused_unless_asked_for() {
    let _turn = Turn::take();
    let scratch = Scratch::new("architecture");
    let address = free_address();
    let arguments = [address.port().to_string(), scratch.write("names", "answer\n")];
    let built = |class: &str| [vec![compiled(&scratch, "answers.c", &[class])], arguments.to_vec()].concat();
    let (_, demo) = record_with(&scratch, &Server::new(built("-m32")), &[], |stop| ask(address, stop));
    let refused = replay(&scratch, &demo, &[], &built("-m64"));
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.said.contains("was built for x86_64, and the recorded server for i386"), "{refused}");
    let tried = replay(&scratch, &demo, &["--other-architecture"], &built("-m64"));
    assert_eq!((tried.code, &tried.answer["verdict"]), (3, &"weak".into()), "{tried}");
    assert!(tried.number("output_bytes_verified") >= 400, "{tried}");
}
