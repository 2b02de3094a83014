//! Queries for name servers: `dig` as people use it, and datagrams of our own for load.

use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use crate::recording::Stop;
use crate::scratch::program;

/// Runs `dig` over UDP and TCP in turn until the recording ends; `names` are `(name, type, answer)`.
///
/// Returns how many answers had the expected content.
pub fn dig(server: SocketAddr, names: &[(&str, &str, &str)], stop: &Stop) -> u32 {
    let dig = program("/usr/bin/dig", "bind9-dnsutils");
    let ask = |&(name, kind, answer): &(&str, &str, &str), transport: &str| {
        let output = Command::new(&dig)
            .args(["@127.0.0.1", "-p", &server.port().to_string(), "+time=1", "+tries=1", transport, name, kind])
            .output()
            .expect("dig starts");
        String::from_utf8_lossy(&output.stdout).contains(answer)
    };
    let mut right = 0;
    if stop.until(|| ask(&names[0], "+notcp")) {
        for round in 0.. {
            let name = &names[round % names.len()];
            let is_right = ask(name, if round % 3 == 2 { "+tcp" } else { "+notcp" });
            if stop.is_set() {
                break;
            }
            // The server may already be gone while the recording still closes its demo.
            if is_right {
                right += 1;
            }
        }
    }
    right
}

/// Queries the addresses of `names` in turn until the recording ends; returns the answers.
pub fn ask(server: SocketAddr, names: &[&str], stop: &Stop) -> u32 {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(server).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("the timeout is not zero");
    let mut answers = 0;
    let mut buffer = [0; 4096];
    for id in 0u16.. {
        if stop.is_set() {
            break;
        }
        let name = names[usize::from(id) % names.len()];
        let _ = socket.send(&query(id, name));
        // An answer that came too late belongs to a question before this one.
        while let Ok(length) = socket.recv(&mut buffer) {
            if length > 12 && buffer[..2] == id.to_be_bytes() {
                answers += 1;
                break;
            }
        }
        std::thread::park_timeout(Duration::from_millis(3));
    }
    answers
}

/// A question for the IPv4 address of `name` (RFC 1035, 4.1).
fn query(id: u16, name: &str) -> Vec<u8> {
    let mut out = id.to_be_bytes().to_vec();
    // Recursion desired, one question.
    out.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        out.push(label.len() as u8);
        out.extend(label.as_bytes());
    }
    out.extend([0, 0, 1, 0, 1]);
    out
}
