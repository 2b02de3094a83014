//! Load for memcached: many connections that set and get in the text and the binary protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::recording::Stop;

/// Drives `connections` connections until the recording ends; returns how many requests were
/// answered, each with what it had to be.
pub fn load(server: SocketAddr, connections: usize, stop: &Stop) -> u64 {
    let answered = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for connection in 0..connections {
            let answered = &answered;
            scope.spawn(move || {
                let Ok(stream) = TcpStream::connect(server) else { return stop.wait() };
                let drive = if connection % 4 == 3 { drive_binary } else { drive_text };
                for round in 0.. {
                    if stop.is_set() || drive(&stream, connection, round).is_err() {
                        return stop.wait();
                    }
                    answered.fetch_add(2, Ordering::Relaxed);
                    // A conversation, not a flood: a recording of ten seconds stays small.
                    std::thread::park_timeout(std::time::Duration::from_millis(2));
                }
            });
        }
    });
    answered.into_inner()
}

/// A value with every byte in it, of a length that changes.
fn value(connection: usize, round: usize) -> Vec<u8> {
    (0..(round * 37 + connection) % 3000).map(|byte| (byte + round) as u8).collect()
}

fn drive_text(mut stream: &TcpStream, connection: usize, round: usize) -> std::io::Result<()> {
    let key = format!("key:{}:{}", connection / 2, round % 100);
    let value = value(connection, round);
    let set = [format!("set {key} 0 0 {}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
    stream.write_all(&set)?;
    let mut answers = BufReader::new(stream);
    let mut line = String::new();
    answers.read_line(&mut line)?;
    assert!(line == "STORED\r\n" || line.is_empty(), "unexpected answer to a set: {line}");
    // Two connections share the keys, so the value may be the neighbour's; its length is given.
    stream.write_all(format!("get {key}\r\n").as_bytes())?;
    line.clear();
    answers.read_line(&mut line)?;
    let length: usize = match line.trim_end().rsplit(' ').next().map(str::parse) {
        Some(Ok(length)) => length,
        _ => return Err(std::io::ErrorKind::UnexpectedEof.into()),
    };
    let mut rest = vec![0; length + b"\r\nEND\r\n".len()];
    answers.read_exact(&mut rest)?;
    assert!(rest.ends_with(b"\r\nEND\r\n"), "a get ended in the wrong place");
    Ok(())
}

/// The binary protocol: a head of 24 bytes, then extras, key and value.
fn drive_binary(mut stream: &TcpStream, connection: usize, round: usize) -> std::io::Result<()> {
    const SET: u8 = 1;
    const GET: u8 = 0;
    let key = format!("binary:{connection}:{}", round % 50);
    let value = value(connection, round);
    stream.write_all(&request(SET, &[0; 8], &key, &value))?;
    assert!(answer(stream)?.is_empty(), "a set answers without a body");
    stream.write_all(&request(GET, &[], &key, &[]))?;
    // Four bytes of flags come before the value.
    assert_eq!(answer(stream)?[4..], value, "a get answers what was set");
    Ok(())
}

fn request(operation: u8, extras: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    let mut out = vec![0x80, operation];
    out.extend((key.len() as u16).to_be_bytes());
    out.extend([extras.len() as u8, 0, 0, 0]);
    out.extend(((extras.len() + key.len() + value.len()) as u32).to_be_bytes());
    out.extend([0; 12]);
    [&out, extras, key.as_bytes(), value].concat()
}

fn answer(mut stream: &TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = [0; 24];
    stream.read_exact(&mut head)?;
    assert_eq!((head[0], &head[6..8]), (0x81, &[0, 0][..]), "an answer without error");
    let mut body = vec![0; u32::from_be_bytes([head[8], head[9], head[10], head[11]]) as usize];
    stream.read_exact(&mut body)?;
    Ok(body)
}
