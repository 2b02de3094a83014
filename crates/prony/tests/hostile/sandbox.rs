//! A directory to work in, and demos made in it.

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use prony_demo::{
    Exit, FILES_ARCHIVE, FileEntry, Head, Header, ObjectEntry, Op, PartKind, Record, Trailer, Writer, WriterOptions,
};
use prony_testing::scratch::Scratch;

/// A directory of the test's own; the temporary directory of its commands is `tmp` there.
pub struct Sandbox(Scratch);

/// A demo in the making.
#[derive(Debug, Default)]
pub struct Made<'a> {
    /// State directories with their archives.
    pub state: &'a [(PathBuf, Vec<u8>)],
    pub files: &'a [FileEntry],
    /// Archive of files that the demo has; empty: none.
    pub packed: &'a [u8],
    /// Working directory; `None`: the root directory.
    pub cwd: Option<&'a Path>,
    /// Variables besides `PATH`.
    pub environment: &'a [(&'a [u8], &'a [u8])],
    pub objects: &'a [ObjectEntry],
    /// Bytes that the one recorded `recv` has brought.
    pub received: &'a [u8],
    /// Records in place of that `recv`; an `exit` with status 0 follows.
    pub records: &'a [Record],
}

impl Sandbox {
    pub fn new() -> Sandbox {
        let scratch = Scratch::new("hostile").with_variable("TMPDIR", "tmp");
        scratch.directory("tmp");
        Sandbox(scratch)
    }

    /// Writes `x.demo`.
    pub fn demo(&self, made: &Made) {
        let header = Header {
            architecture: std::env::consts::ARCH.to_owned(),
            executable: b"/bin/true".to_vec(),
            argv: vec![b"/bin/true".to_vec()],
            cwd: made.cwd.map_or_else(|| b"/".to_vec(), bytes),
            environment: std::iter::once((b"PATH".to_vec(), b"/usr/bin:/bin".to_vec()))
                .chain(made.environment.iter().map(|(name, value)| (name.to_vec(), value.to_vec())))
                .collect(),
            state_directories: made.state.iter().map(|(path, _)| path.as_os_str().as_bytes().to_vec()).collect(),
            ..Header::default()
        };
        let mut writer = Writer::new(Vec::new(), &header, WriterOptions::default()).expect("memory takes it");
        for (number, (_, archive)) in made.state.iter().enumerate() {
            writer.state_chunk(number as u32, archive).expect("memory takes it");
        }
        if !made.packed.is_empty() {
            writer.state_chunk(FILES_ARCHIVE, made.packed).expect("memory takes it");
        }
        let head = |op: Op| Head { size: 0, op: op as u16, thread: 0, order: 0, time: 0, ret: 0, fd: -1, aux: 0 };
        let length = made.received.len();
        let received = Record::new(Head { ret: length as i64, aux: length as u32, ..head(Op::Recv) })
            .with_part(PartKind::In, made.received);
        let records = if made.records.is_empty() { &[received] } else { made.records };
        for record in records {
            writer.push(0, record.as_bytes()).expect("the record is whole");
        }
        writer.push(0, Record::new(head(Op::Exit)).as_bytes()).expect("the record is whole");
        let trailer = Trailer {
            files: made.files.to_vec(),
            objects: made.objects.to_vec(),
            exit: Exit::Code(0),
            ..Trailer::default()
        };
        let (bytes, _) = writer.finish(&trailer).expect("memory takes it");
        fs::write(self.file("x.demo"), bytes).expect("the directory is writable");
    }

    /// What lies in the command's temporary directory.
    pub fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.file("tmp")).expect("the directory is there");
        entries.map(|entry| entry.expect("readable").path()).collect()
    }

    /// Compiles a server of `subjects/calls`; returns where it is.
    pub fn compiled(&self, source: &str) -> String {
        let out = self.file(source).with_extension("server");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/calls").join(source);
        let compiled = Command::new("gcc").args(["-O2", "-o"]).arg(&out).arg(source).output();
        let compiled = compiled.expect("gcc is missing: sudo apt-get install gcc libc6-dev");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        out.to_str().expect("temporary paths are UTF-8").to_owned()
    }
}

impl Deref for Sandbox {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
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
