//! `prony record --stop`: the demo is complete, and its server goes on as it would have natively.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, Command};
use std::time::Duration;

use prony_testing::recording::{Server, Stop, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address, program};

use crate::calls::compiled;

/// What `subjects/calls/goes_on.c` answers.
const QUESTIONS: [&str; 8] = ["threads", "turns", "bell", "children", "program", "signal", "clock", "turns"];

fn ask(socket: &UdpSocket, question: &str) -> Option<String> {
    let mut answer = [0; 128];
    socket.send(question.as_bytes()).ok()?;
    let length = socket.recv(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer[..length]).into_owned())
}

fn client(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(address).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("the timeout is not zero");
    socket
}

fn answers(socket: &UdpSocket) -> Vec<String> {
    QUESTIONS.iter().map(|question| ask(socket, question).unwrap_or_else(|| format!("{question}: silence"))).collect()
}

/// Waits until the server answers at all.
fn greeted(socket: &UdpSocket, mut goes_on: impl FnMut() -> bool) {
    while ask(socket, "greeting").is_none() {
        assert!(goes_on(), "the server has ended");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Ends the process when the test does.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ends a server that has outlived its recorder.
struct Outlives(u32);

impl Drop for Outlives {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.to_string()).output();
    }
}

fn child_of(recorder: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{recorder}/task/{recorder}/children")).expect("it runs");
    children.trim().parse().expect("the recorder has one child")
}

/// Ends the recording, and waits until its recorder is gone.
fn stop_recording(scratch: &Scratch, stop: &Stop) {
    let stopped = scratch.prony(&["record", "--stop", "story.demo"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert_eq!(stopped.stdout, "story.demo: the recording has ended, and its server goes on\n");
    stop.wait();
}

#[test]
fn a_server_finds_after_its_recording_what_it_would_find_natively() {
    let _turn = Turn::take();
    let scratch = Scratch::new("goes-on");
    let (address, natively) = (free_address(), free_address());
    let build = compiled(&scratch, "goes_on.c", &[]);
    let mut native = Ended(Command::new(&build).arg(natively.port().to_string()).spawn().expect("it was built"));
    let socket = client(natively);
    greeted(&socket, || native.0.try_wait().expect("it is ours").is_none());
    let expected = answers(&socket);
    assert_eq!(expected[3], "children 20");
    drop(native);

    let mut after = Vec::new();
    let server = Server::new([build, address.port().to_string()]);
    let (recording, demo) = record_with(&scratch, &server, &["--json"], |stop| {
        let socket = client(address);
        greeted(&socket, || !stop.is_set());
        let server = Outlives(child_of(stop.recorder()));
        assert_eq!(answers(&socket), expected, "while it is recorded");
        stop_recording(&scratch, stop);
        // Twice: what the first round leaves behind is met by the second.
        after = [answers(&socket), answers(&socket)].concat();
        let _ = socket.send(b"quit");
        drop(server);
    });
    assert_eq!(recording.code, 0, "{recording}");
    assert_eq!(after, [expected.clone(), expected].concat());
    replay(&scratch, &demo, &[], &[]).assert_identical();

    let again = scratch.prony(&["record", "--stop", "story.demo"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    insta::assert_snapshot!("stopped_twice", again.stderr);
}

#[test]
fn a_recorder_that_stays_has_the_exit_code_of_its_server() {
    let _turn = Turn::take();
    let scratch = Scratch::new("stays");
    let address = free_address();
    let server = Server::new([compiled(&scratch, "goes_on.c", &[]), address.port().to_string()]);
    let (recording, demo) = record_with(&scratch, &server, &["--stay"], |stop| {
        let socket = client(address);
        greeted(&socket, || !stop.is_set());
        assert_eq!(ask(&socket, "bell").as_deref(), Some("bell b"));
        stop.signal("USR1");
        assert!(stop.until(|| demo_is_complete(&scratch)));
        assert_eq!(ask(&socket, "turns").as_deref(), Some("turns are even"));
        // Passed on to the server, which it ends.
        stop.signal("TERM");
    });
    assert_eq!(recording.code, 128 + 15, "{recording}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

fn demo_is_complete(scratch: &Scratch) -> bool {
    scratch.path().join("story.demo").exists()
}

/// Stores a value and reads it back.
fn store(connection: &mut BufReader<TcpStream>, key: usize) -> bool {
    let request = format!("set k{key} 0 0 5\r\nhello\r\nget k{key}\r\n");
    let expected =
        ["STORED\r\n".to_owned(), format!("VALUE k{key} 0 5\r\n"), "hello\r\n".to_owned(), "END\r\n".to_owned()];
    connection.get_mut().write_all(request.as_bytes()).is_ok()
        && expected.iter().all(|expected| {
            let mut line = String::new();
            connection.read_line(&mut line).is_ok() && line == *expected
        })
}

#[test]
fn a_store_with_threads_serves_its_clients_through_the_end_of_its_recording() {
    let _turn = Turn::take();
    let scratch = Scratch::new("goes-on-store");
    let address = free_address();
    let memcached = program("/usr/bin/memcached", "memcached");
    let port = address.port().to_string();
    let server = Server::new([&memcached, "-u", "nobody", "-t", "4", "-l", "127.0.0.1", "-p", &port]);
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| {
        assert!(stop.until(|| TcpStream::connect(address).is_ok()));
        let server = Outlives(child_of(stop.recorder()));
        let connect = || BufReader::new(TcpStream::connect(address).expect("it listens"));
        std::thread::scope(|scope| {
            let served: Vec<_> = (0..8)
                .map(|key| {
                    scope.spawn(move || {
                        let mut connection = connect();
                        // Before, during and after: as many rounds as it takes, and then some.
                        while !stop.is_set() {
                            assert!(store(&mut connection, key), "while the recording ends");
                        }
                        (0..1000).all(|_| store(&mut connection, key))
                    })
                })
                .collect();
            stop_recording(&scratch, stop);
            assert!(served.into_iter().all(|client| client.join().expect("it asserts")));
        });
        assert!(store(&mut connect(), 9), "a client that came after the recording");
        drop(server);
    });
    assert_eq!(recording.code, 0, "{recording}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}
