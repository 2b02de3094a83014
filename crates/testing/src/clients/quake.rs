//! Quake III: status queries, which are connectionless datagrams with a text each way, and players.

pub mod bits;
pub mod delta;
pub mod huffman;
pub mod message;
mod player;

pub use player::{Tally, play};

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use crate::recording::Stop;

const CONNECTIONLESS: &[u8] = b"\xff\xff\xff\xff";

/// Queries the status once a second until the recording ends: ioquake3 answers an address no
/// oftener (`SVC_RateLimitAddress`), and a query that it drops has no effect that could show.
///
/// Returns how many answers came and the largest number of players that one of them listed.
pub fn watch(server: SocketAddr, stop: &Stop) -> (u32, usize) {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(server).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_millis(1000))).expect("the timeout is not zero");
    let (mut answers, mut players) = (0, 0);
    let mut buffer = [0; 65536];
    for challenge in 0.. {
        if stop.is_set() {
            break;
        }
        // A refused datagram only means that the server is not there yet, or any more.
        let _ = socket.send(&[CONNECTIONLESS, format!("getstatus prony{challenge}").as_bytes()].concat());
        if let Ok(length) = socket.recv(&mut buffer)
            && let Some(answer) = buffer[..length].strip_prefix(CONNECTIONLESS)
        {
            // First line: the answer's name, second: the server's variables, then a line a player.
            let answer = String::from_utf8_lossy(answer);
            answers += 1;
            players = players.max(answer.lines().count().saturating_sub(2));
            assert!(answer.starts_with("statusResponse\n"), "unexpected answer: {answer}");
            let _ = socket.recv(&mut buffer);
        }
    }
    (answers, players)
}
