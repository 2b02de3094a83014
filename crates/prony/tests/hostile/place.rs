//! A directory to work in, demos made in it, and the command.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use prony_demo::{Exit, FileEntry, Head, Header, ObjectEntry, Op, PartKind, Record, Trailer, Writer, WriterOptions};
use prony_testing::{Answer, prony};
use tempfile::TempDir;

/// A directory of the test's own, gone at its end.
pub struct Place {
    directory: TempDir,
}

/// A demo in the making.
#[derive(Debug, Default)]
pub struct Made<'a> {
    /// State directories with their archives.
    pub state: &'a [(PathBuf, Vec<u8>)],
    pub files: &'a [FileEntry],
    pub objects: &'a [ObjectEntry],
    /// Bytes that the one recorded `recv` has brought.
    pub received: &'a [u8],
}

impl Place {
    pub fn new() -> Place {
        let directory = tempfile::Builder::new().prefix("prony-hostile-").tempdir();
        Place { directory: directory.expect("the temporary directory is writable") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes `x.demo`.
    pub fn demo(&self, made: &Made) {
        let header = Header {
            architecture: std::env::consts::ARCH.to_owned(),
            executable: b"/bin/true".to_vec(),
            argv: vec![b"/bin/true".to_vec()],
            cwd: b"/".to_vec(),
            environment: vec![(b"PATH".to_vec(), b"/usr/bin:/bin".to_vec())],
            state_directories: made.state.iter().map(|(path, _)| path.as_os_str().as_bytes().to_vec()).collect(),
            ..Header::default()
        };
        let mut writer = Writer::new(Vec::new(), &header, WriterOptions::default()).expect("memory takes it");
        for (number, (_, archive)) in made.state.iter().enumerate() {
            writer.state_chunk(number as u32, archive).expect("memory takes it");
        }
        let head = |op: Op| Head { size: 0, op: op as u16, thread: 0, order: 0, time: 0, ret: 0, fd: -1, aux: 0 };
        let received = Record::new(head(Op::Recv)).with_part(PartKind::In, made.received);
        writer.push(0, received.as_bytes()).expect("the record is whole");
        writer.push(0, Record::new(head(Op::Exit)).as_bytes()).expect("the record is whole");
        let trailer = Trailer {
            files: made.files.to_vec(),
            objects: made.objects.to_vec(),
            exit: Exit::Code(0),
            ..Trailer::default()
        };
        let (bytes, _) = writer.finish(&trailer).expect("memory takes it");
        fs::write(self.path("x.demo"), bytes).expect("the directory is writable");
    }

    /// The command, in the directory; its own temporary directory is `tmp` there.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let tmp = self.path("tmp");
        fs::create_dir_all(&tmp).expect("the directory is writable");
        let mut command = prony();
        command.args(arguments).current_dir(self.directory.path()).env("TMPDIR", tmp);
        command.env("XDG_STATE_HOME", self.path("state-home"));
        command
    }

    /// Runs the command; one that does not come to an end is a failure, not a test that never ends.
    pub fn prony(&self, arguments: &[&str]) -> Answer {
        let command = self.command(arguments);
        let mut limited = Command::new("timeout");
        limited.args(["--kill-after=5", "120"]).arg(command.get_program()).args(command.get_args());
        limited.current_dir(self.directory.path()).env("TMPDIR", self.path("tmp"));
        limited.env("XDG_STATE_HOME", self.path("state-home"));
        let answer = Answer::to(&mut limited);
        assert!(![Some(124), Some(137)].contains(&answer.code), "it waits for ever: {answer:?}");
        answer
    }

    /// What lies in the command's temporary directory.
    pub fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("tmp")).expect("the directory is there");
        entries.map(|entry| entry.expect("readable").path()).collect()
    }

    /// Compiles a server of `subjects/calls`; returns where it is.
    pub fn compiled(&self, source: &str) -> String {
        let out = self.path(source).with_extension("server");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/calls").join(source);
        let compiled = Command::new("gcc").args(["-O2", "-o"]).arg(&out).arg(source).output();
        let compiled = compiled.expect("gcc is missing: sudo apt-get install gcc libc6-dev");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        out.to_str().expect("temporary paths are UTF-8").to_owned()
    }

    /// A named pipe.
    pub fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().expect("coreutils are installed").success());
        path
    }
}

/// A member of an archive: type, name, permissions, content or target of a link.
pub type Member<'a> = (u8, &'a OsStr, u32, &'a [u8]);

/// An archive as tar writes it. Each member has a time to the nanosecond before it, as the recorder's have.
pub fn archive(members: &[Member]) -> Vec<u8> {
    let mut all = Vec::new();
    for &(kind, name, mode, content) in members {
        put(&mut all, b'x', OsStr::new("mtime"), 0o600, b"21 mtime=1.000000002\n");
        put(&mut all, kind, name, mode, content);
    }
    all.extend_from_slice(&[0; 1024]);
    all
}

fn put(all: &mut Vec<u8>, kind: u8, name: &OsStr, mode: u32, content: &[u8]) {
    let mut header = [0; 512];
    let name = name.as_bytes();
    header[..name.len()].copy_from_slice(name);
    let mut number = |at: usize, digits: usize, value: usize| {
        header[at..at + digits].copy_from_slice(format!("{value:0digits$o}").as_bytes());
    };
    number(100, 7, mode as usize);
    number(108, 7, 0);
    number(116, 7, 0);
    number(124, 11, if kind == b'2' { 0 } else { content.len() });
    number(136, 11, 1);
    header[156] = kind;
    if kind == b'2' {
        header[157..157 + content.len()].copy_from_slice(content);
    }
    header[257..265].copy_from_slice(b"ustar  \0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    all.extend_from_slice(&header);
    if kind != b'2' {
        all.extend_from_slice(content);
        all.resize(all.len().next_multiple_of(512), 0);
    }
}

/// The directory itself, as every archive begins.
pub fn top() -> Member<'static> {
    (b'5', OsStr::new("./"), 0o755, b"")
}

/// Bytes of a path.
pub fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}
