//! Threads of a recorded server wake each other on one CPU, and their own choice of CPUs stays.

use std::collections::HashSet;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::compiled;
use crate::habits::{ask, native_answers, recorded_answers};
use prony_testing::recording::{Server, Stop, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address};

fn status_line<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Times that a thread of the server was seen to run on one CPU, and on several again after it.
#[derive(Default)]
struct Watch {
    confined: HashSet<String>,
    put_back: u32,
}

impl Watch {
    /// Times that are no accident: other programs may choose the CPUs of a thread, too.
    const ENOUGH: u32 = 5;

    fn look(&mut self, stop: &Stop) {
        let children = format!("/proc/{0}/task/{0}/children", stop.recorder());
        let server = fs::read_to_string(children).unwrap_or_default();
        let tasks = fs::read_dir(format!("/proc/{}/task", server.trim())).into_iter().flatten().flatten();
        for task in tasks {
            let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let Some(cpus) = status_line(&status, "Cpus_allowed_list") else { continue };
            let thread = task.file_name().to_string_lossy().into_owned();
            if cpus.parse::<u32>().is_ok() {
                self.confined.insert(thread);
            } else {
                self.put_back += u32::from(self.confined.remove(&thread));
            }
        }
    }
}

/// Asks until threads were seen on one CPU and then on all; false if they never were.
fn ask_until_seen(address: SocketAddr, stop: &Stop) -> bool {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(address).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("the timeout is not zero");
    let deadline = Instant::now() + Duration::from_secs(60);
    let seen = AtomicBool::new(false);
    let goes_on = || !stop.is_set() && Instant::now() < deadline && !seen.load(Ordering::Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut watch = Watch::default();
            while goes_on() {
                watch.look(stop);
                seen.store(watch.put_back >= Watch::ENOUGH, Ordering::Relaxed);
            }
        });
        while goes_on() {
            let _ = socket.send(b"question").and_then(|_| socket.recv(&mut [0; 512]));
        }
    });
    let _ = socket.send(b"quit");
    seen.into_inner()
}

#[test]
fn threads_that_are_woken_on_one_cpu_keep_what_the_server_allows_them() {
    let _turn = Turn::take();
    let scratch = Scratch::new("placed");
    let address = free_address();
    let command = vec![compiled(&scratch, "placed.c", &[]), address.port().to_string()];
    let native = native_answers(&command, address);
    assert!(native.iter().all(|answer| !answer.contains("wrong")), "{native:?}");

    let (recording, demo) = record_with(&scratch, &Server::new(command.clone()), &[], |stop| ask(address, stop));
    assert_eq!(recording.code, 0, "{recording}");
    assert_eq!(recorded_answers(&demo), native, "{recording}");
    replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
}

#[test]
fn a_thread_that_sleeps_for_its_turn_is_woken_where_the_one_before_it_ran() {
    let _turn = Turn::take();
    let own = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let several = status_line(&own, "Cpus_allowed_list").is_some_and(|cpus| cpus.parse::<u32>().is_err());
    if !several || status_line(&own, "Seccomp") != Some("0") {
        eprintln!("skipped: there is one CPU, or a filter of system calls");
        return;
    }
    let scratch = Scratch::new("placed-seen");
    let address = free_address();
    let command = vec![compiled(&scratch, "placed.c", &[]), address.port().to_string(), "still".to_owned()];
    let seen = AtomicBool::new(false);
    let (recording, demo) = record_with(&scratch, &Server::new(command), &[], |stop| {
        seen.store(ask_until_seen(address, stop), Ordering::Relaxed);
    });
    assert_eq!(recording.code, 0, "{recording}");
    assert!(seen.into_inner(), "no thread was moved: {recording}");
    let answers = recorded_answers(&demo);
    assert!(answers.iter().all(|answer| !answer.contains("wrong")), "{answers:?}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn no_thread_of_a_server_in_a_sandbox_is_moved() {
    let _turn = Turn::take();
    let scratch = Scratch::new("placed-sandbox");
    let address = free_address();
    let command = vec![compiled(&scratch, "placed.c", &[]), address.port().to_string(), "sandbox".to_owned()];
    for round in 0..3 {
        let server = Server::new(command.clone());
        let (recording, demo) = record_with(&scratch, &server, &["--force"], |stop| ask(address, stop));
        assert_eq!(recording.code, 0, "round {round}: {recording}");
        replay(&scratch, &demo, &[], &[]).assert_identical();
    }
}
