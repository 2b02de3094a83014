//! Servers that answer packets, as processes that end with their test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Server process that runs until it is dropped.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    /// Starts a server on the stock library.
    pub fn stock(flags: &[&str]) -> Server {
        Server::start(stock_program(), flags)
    }

    /// Starts `program`, which says where it is.
    pub fn start(program: &Path, flags: &[&str]) -> Server {
        let mut child = Command::new(program)
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["port", port, "pid", pid] = words[..] else { panic!("a server says `{line}`") };
        assert_eq!(pid.parse(), Ok(child.id()));
        Server { child, port: port.parse().expect("a port") }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Compiles the server for the stock library, once.
fn stock_program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        crate::compile::compile("enet-echo", include_str!("../../../../subjects/enet-echo/enet-echo.c"))
    })
}

/// A port of this machine without a listener.
pub fn closed_port() -> u16 {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.local_addr().expect("it is bound").port()
}
