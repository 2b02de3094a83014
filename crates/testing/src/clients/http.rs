//! A small HTTP/1.1 client for load, and the origin server that a proxy needs behind it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::recording::Stop;

/// Check of a page: the text that it must contain.
pub struct Page {
    /// Path as the request names it.
    pub path: &'static str,
    /// Status code of the response.
    pub status: u16,
    /// Body; `None` where it does not matter.
    pub body: Option<Vec<u8>>,
}

/// Content of `bytes` bytes that differs from page to page.
pub fn content(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|at| (at.wrapping_mul(31) + at / 251 + seed) as u8).collect()
}

/// Fetches `pages` over `connections` connections until the recording ends, half of them kept
/// alive, half opened for each request; returns how many answers were right.
pub fn load(server: SocketAddr, pages: &[Page], connections: usize, stop: &Stop) -> u64 {
    let answered = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for connection in 0..connections {
            let answered = &answered;
            scope.spawn(move || {
                let keep = connection % 2 == 0;
                let mut stream = None;
                for round in connection.. {
                    let page = &pages[round % pages.len()];
                    let kept = match stream.take() {
                        Some(stream) => Ok(stream),
                        None => TcpStream::connect(server).map(BufReader::new),
                    };
                    let fetched = kept.and_then(|mut kept| fetch(&mut kept, page, keep).map(|open| (kept, open)));
                    match fetched {
                        _ if stop.is_set() => return,
                        Ok((kept, open)) => stream = open.then_some(kept),
                        Err(_) => return stop.wait(),
                    }
                    answered.fetch_add(1, Ordering::Relaxed);
                    std::thread::park_timeout(Duration::from_millis(4));
                }
            });
        }
    });
    answered.into_inner()
}

/// Fetches one page and checks it; true when the server keeps the connection open.
fn fetch(stream: &mut BufReader<TcpStream>, page: &Page, keep: bool) -> io::Result<bool> {
    let connection = if keep { "keep-alive" } else { "close" };
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: prony.test\r\nConnection: {connection}\r\nUser-Agent: prony\r\n\r\n",
        page.path
    );
    stream.get_mut().write_all(request.as_bytes())?;
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => break,
            text => lines.push(text.to_ascii_lowercase()),
        }
    }
    let status = lines[0].split(' ').nth(1).and_then(|code| code.parse().ok());
    assert_eq!(status, Some(page.status), "{}: {}", page.path, lines[0]);
    let header = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim));
    let mut body = Vec::new();
    match header("content-length").map(str::parse) {
        Some(Ok(length)) => {
            body.resize(length, 0);
            stream.read_exact(&mut body)?;
        }
        _ => drop(stream.read_to_end(&mut body)?),
    }
    if let Some(expected) = &page.body {
        assert!(body == *expected, "{}: the body differs", page.path);
    }
    Ok(keep && lines[0].starts_with("http/1.1") && header("connection") != Some("close"))
}

/// Answers every request on `listener` with `body` until the recording ends.
pub fn serve(listener: &TcpListener, body: &[u8], stop: &Stop) {
    listener.set_nonblocking(true).expect("a listener can be asked without waiting");
    std::thread::scope(|scope| {
        while stop.until(|| match listener.accept() {
            Ok((stream, _)) => {
                scope.spawn(move || serve_one(&stream, body, stop));
                true
            }
            Err(_) => false,
        }) {}
    });
}

fn serve_one(stream: &TcpStream, body: &[u8], stop: &Stop) {
    stream.set_nonblocking(false).expect("a stream can wait");
    stream.set_read_timeout(Some(Duration::from_millis(200))).expect("the timeout is not zero");
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    while !stop.is_set() {
        match reader.read_line(&mut request) {
            Ok(0) => return,
            Ok(_) if request.ends_with("\r\n\r\n") => request.clear(),
            Ok(_) => continue,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => continue,
            Err(_) => return,
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        if (&*stream).write_all(&[head.as_bytes(), body].concat()).is_err() {
            return;
        }
    }
}
