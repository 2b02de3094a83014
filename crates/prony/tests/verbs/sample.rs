//! A demo of a made-up server, a directory to work in, and the command.

use std::fs;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;

use prony_demo::{Exit, FrameRule, Head, Header, Op, PartKind, Record, Trailer, Writer, WriterOptions};
use prony_testing::scratch::Scratch;

/// When the sample's recording began: 2026-11-21 20:32:49 UTC.
pub const RECORDED_AT_S: u64 = 1_795_293_169;
/// Frames of the sample.
pub const FRAMES: u64 = 20;

/// A directory with `match.demo` in it, gone at the end of the test.
pub struct Sample(Scratch);

impl Sample {
    /// Writes the demo.
    pub fn new() -> Sample {
        let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("memory takes it");
        for (order, mut record) in records().into_iter().enumerate() {
            record.head.order = order as u64;
            let mut bytes = record.as_bytes().to_vec();
            bytes[..40].copy_from_slice(&record.head.to_bytes());
            writer.push(0, &bytes).expect("the record is whole");
        }
        let trailer = Trailer { exit: Exit::Code(0), duration_ns: 2_000_000_000, ..Trailer::default() };
        let (bytes, _) = writer.finish(&trailer).expect("memory takes it");
        let scratch = Scratch::new("verbs");
        scratch.write("match.demo", bytes);
        Sample(scratch)
    }

    /// Keeps the first `length` bytes of a file.
    pub fn cut(&self, name: &str, length: impl FnOnce(usize) -> usize) {
        let bytes = fs::read(self.file(name)).expect("the file is there");
        fs::write(self.file(name), &bytes[..length(bytes.len())]).expect("the directory is writable");
    }
}

impl Deref for Sample {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
    }
}

/// The path of a file that is readable by its owner only, or a failure.
pub fn assert_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).expect("the file is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{}", path.display());
}

fn header() -> Header {
    let variable = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    Header {
        architecture: "x86_64".to_owned(),
        executable: b"/usr/games/server".to_vec(),
        argv: ["server", "--name", "hunter2"].map(|text| text.as_bytes().to_vec()).to_vec(),
        cwd: b"/srv".to_vec(),
        environment: vec![variable("PATH", "/usr/bin"), variable("SECRET_TOKEN", "abc")],
        cpu_model: "Prony Brake 1821".to_owned(),
        kernel_release: "6.1.0".to_owned(),
        recorded_at_unix_ns: RECORDED_AT_S * 1_000_000_000,
        prony_version: "0.1.0".to_owned(),
        frame_rule: FrameRule::BlockingWait,
        ..Header::default()
    }
}

/// UDP on 8303 with an answer in every frame, one HTTP connection, IPv6, a Unix socket and a file.
fn records() -> Vec<Record> {
    let call = |op: Op, time_ms: u64, fd: i32, ret: i64, aux: u32| {
        Record::new(Head { size: 0, op: op as u16, thread: 0, order: 0, time: time_ms * 1_000_000, ret, fd, aux })
    };
    let socket = |fd: i64, domain: i32, kind: i32| {
        let value = [domain.to_le_bytes(), kind.to_le_bytes(), [0; 4]].concat();
        call(Op::Socket, 0, -1, fd, 0).with_part(PartKind::Value, &value)
    };
    let address = |record: Record, text: &str| record.with_part(PartKind::Addr, &sockaddr(text));
    let bound = |fd: i32, text: &str| address(address(call(Op::Bind, 0, fd, 0, 0), text), text);
    let mut all = vec![
        socket(3, 2, 2),
        bound(3, "0.0.0.0:8303"),
        socket(4, 2, 1),
        bound(4, "127.0.0.1:8080"),
        call(Op::Listen, 0, 4, 0, 16),
        socket(5, 10, 2),
        bound(5, "[::]:8304"),
        socket(6, 1, 1),
        call(Op::Gethostname, 0, -1, 0, 0).with_part(PartKind::Value, b"gamebox\0"),
    ];
    for frame in 0..FRAMES {
        let time = frame * 100 + 10;
        let ping = format!("ping {frame} from 10.0.0.7");
        let pong = format!("pong {frame} hunter2@gamebox to 10.0.0.7");
        all.push(call(Op::ClockGettime, time, -1, (time * 1_000_000) as i64, 1));
        let received = call(Op::Recvfrom, time, 3, ping.len() as i64, 1400);
        all.push(address(received, "10.0.0.7:40000").with_part(PartKind::In, ping.as_bytes()));
        let sent = call(Op::Sendto, time + 1, 3, pong.len() as i64, pong.len() as u32);
        all.push(address(sent, "10.0.0.7:40000").with_part(PartKind::Out, pong.as_bytes()));
        match frame {
            3 => {
                let accepted = address(call(Op::Accept, time + 2, 4, 7, 0), "127.0.0.1:50000");
                all.push(address(accepted, "127.0.0.1:8080"));
                all.push(call(Op::Read, time + 2, 7, 18, 4096).with_part(PartKind::In, b"GET / HTTP/1.0\r\n\r\n"));
            }
            4 => {
                let page = format!("HTTP/1.0 200 OK\r\n\r\n{}", "all work and no play ".repeat(200));
                let length = page.len();
                all.push(
                    call(Op::Write, time + 2, 7, length as i64, length as u32)
                        .with_part(PartKind::Out, page.as_bytes()),
                );
                all.push(call(Op::Close, time + 2, 7, 0, 0));
            }
            5 => {
                let received = call(Op::Recvfrom, time + 2, 5, 5, 1400);
                all.push(address(received, "[::1]:40001").with_part(PartKind::In, b"hello"));
                all.push(call(Op::Write, time + 2, 6, 3, 3).with_part(PartKind::Out, b"log"));
            }
            _ => {}
        }
        all.push(call(Op::Recvfrom, time + 3, 3, -11, 1400));
        all.push(call(Op::Select, time + 90, -1, 1, 50).with_part(PartKind::Ready, &[3, 0, 0, 0, 1, 0, 0, 0]));
    }
    all.push(call(Op::Exit, 2000, -1, 0, 0));
    all
}

fn sockaddr(text: &str) -> Vec<u8> {
    match text.parse().expect("a valid address") {
        SocketAddr::V4(v4) => [&[2, 0], &v4.port().to_be_bytes()[..], &v4.ip().octets(), &[0; 8]].concat(),
        SocketAddr::V6(v6) => [&[10, 0], &v6.port().to_be_bytes()[..], &[0; 4], &v6.ip().octets(), &[0; 4]].concat(),
    }
}
