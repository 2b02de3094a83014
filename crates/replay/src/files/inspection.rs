//! What the files of a demo could do to a user who lets a build see them: run as their owner, or load code. Nothing is laid
//! out and nothing on this machine is opened.

use crate::files::manifest::path_of;
use crate::files::pack::is_needed;
use crate::files::regular;
use crate::files::state::{self, StateError};
use prony_demo::{ArchiveError, ArchiveLimits, Demo, FILES_ARCHIVE, MemberKind, StateArchiveWalk};

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Largest number of files of each sort that are listed.
const LISTED_MOST: usize = 100;

/// Files of a demo that deserve a look before it is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileInspection {
    /// Set-user-id and set-group-id files in its state: a hundred at most.
    pub set_id: Vec<SetIdFile>,
    /// Files that it has, or that have to be brought for it, and from which code is loaded: a hundred at most.
    pub code: Vec<CodeFile>,
    /// Number of all those files, by kind.
    pub code_files: BTreeMap<CodeKind, u64>,
}

/// A program in the state of a demo that runs as its owner or group, regardless of who starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetIdFile {
    /// Intended path of the file.
    pub path: PathBuf,
    /// Permission bits, as `chmod` takes them.
    pub mode: u32,
}

/// A file from which a process that finds it loads code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFile {
    /// Intended path of the file.
    pub path: PathBuf,
    /// Why it counts.
    pub kind: CodeKind,
}

/// Reasons why a file counts as one that loads code. What it contains decides first, then where it is to lie, then its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeKind {
    /// An ELF file: a program, a shared library, a module.
    Object,
    /// It begins with `#!`, or anybody may execute it.
    Executable,
    /// Code of a virtual machine, or an archive as Java and Python import from.
    Bytecode,
    /// It lies where the dynamic loader, the name service, PAM, iconv, cryptographic libraries and interpreters look for
    /// the names of their modules: in `/etc` or a directory `gconv`.
    Configuration,
    /// Source text of an interpreter, by its extension.
    Source,
    /// Its name begins with a dot, as those that shells, debuggers and interpreters read when they start.
    StartFile,
}

/// First bytes of files with code of a virtual machine: Java, WebAssembly, Lua, LuaJIT, Erlang, Guile, GHC's and archives.
const BYTECODE: [&[u8]; 8] =
    [b"\xca\xfe\xba\xbe", b"\0asm", b"\x1bLua", b"\x1bLJ", b"FOR1", b"GOOF", b"PK\x03\x04", b"PK\x05\x06"];

/// Extensions of what interpreters import or run when they come across it.
const SOURCES: [&str; 32] = [
    "bash", "beam", "bat", "cjs", "class", "erl", "escript", "fish", "gdb", "jar", "jl", "js", "ksh", "lisp", "lua",
    "mjs", "php", "phar", "pl", "pm", "pth", "py", "pyc", "pyw", "r", "rb", "rkt", "scm", "sh", "tcl", "ts", "zsh",
];

impl CodeKind {
    /// Most bytes of the beginning of a file that are looked at.
    const HEAD_BYTES: usize = 16;

    /// Decides from a file's path, its permission bits and its first bytes; `None` for a file that only has data. Without
    /// `content`, from its path.
    fn of(path: &Path, content: Option<(u32, &[u8])>) -> Option<CodeKind> {
        if let Some((mode, head)) = content {
            // The fourth byte of CPython's magic number is a newline, behind a carriage return.
            let python = head.get(2..4) == Some(b"\r\n");
            match head {
                head if head.starts_with(b"\x7fELF") => return Some(CodeKind::Object),
                head if head.starts_with(b"#!") => return Some(CodeKind::Executable),
                head if python || BYTECODE.iter().any(|magic| head.starts_with(magic)) => {
                    return Some(CodeKind::Bytecode);
                }
                _ if mode & 0o111 != 0 => return Some(CodeKind::Executable),
                _ => {}
            }
        }
        let name = path.file_name().unwrap_or_default();
        let lower = name.to_string_lossy().to_lowercase();
        let extension = lower.rsplit_once('.').map_or("", |(_, extension)| extension);
        if path.starts_with("/etc") || path.iter().any(|part| part == OsStr::new("gconv")) {
            return Some(CodeKind::Configuration);
        }
        if lower.ends_with(".so") || lower.contains(".so.") {
            return Some(CodeKind::Object);
        }
        if SOURCES.contains(&extension) {
            return Some(CodeKind::Source);
        }
        name.as_bytes().starts_with(b".").then_some(CodeKind::StartFile)
    }
}

impl FileInspection {
    fn add(&mut self, path: PathBuf, content: Option<(u32, &[u8])>) {
        let Some(kind) = CodeKind::of(&path, content) else { return };
        *self.code_files.entry(kind).or_default() += 1;
        if self.code.len() < LISTED_MOST {
            self.code.push(CodeFile { path, kind });
        }
    }
}

/// Looks through the files that a demo has and the names of those that it needs.
///
/// # Errors
/// [`StateError::Restore`] when an archive cannot be read.
pub fn inspect_files<R: Read + Seek>(demo: &mut Demo<R>) -> Result<FileInspection, StateError> {
    let mut found = FileInspection::default();
    let directories = state::state_directories(demo);
    // Nothing is laid out, so the demo may have what it states, or any amount if it was cut: one piece is in memory at a time.
    let mut left = ArchiveLimits { bytes: state::stated_bytes(demo).unwrap_or(u64::MAX), entries: u64::MAX };
    state::check(&directories)?;
    for (number, directory) in directories.iter().enumerate() {
        let used = walk(demo, number as u32, left, directory, |path, mode, head| {
            if mode & 0o6000 != 0 && found.set_id.len() < LISTED_MOST {
                found.set_id.push(SetIdFile { path: path.clone(), mode });
            }
            found.add(path, Some((mode, head)));
        })?;
        left.bytes -= used.min(left.bytes);
    }
    let mut packed = BTreeSet::new();
    let unlimited = ArchiveLimits { bytes: u64::MAX, entries: u64::MAX };
    walk(demo, FILES_ARCHIVE, unlimited, Path::new("/"), |path, mode, head| {
        packed.insert(path.clone());
        found.add(path, Some((mode, head)));
    })?;
    // A file that is needed, or seen under another name than that in the archive, has its path alone.
    let files = demo.trailer().map(|trailer| trailer.files.as_slice()).unwrap_or_default();
    let named = files.iter().filter(|entry| entry.content.is_some() || is_needed(entry)).map(path_of);
    for path in named.filter(|path| !packed.contains(path)).collect::<BTreeSet<_>>() {
        found.add(path, None);
    }
    Ok(found)
}

/// Calls `each` with the path, permission bits and first bytes of each file of an archive; returns the bytes of it.
fn walk<R: Read + Seek>(
    demo: &mut Demo<R>,
    number: u32,
    limits: ArchiveLimits,
    below: &Path,
    mut each: impl FnMut(PathBuf, u32, &[u8]),
) -> Result<u64, StateError> {
    let mut archive = StateArchiveWalk::new(demo.state_archive(number), limits);
    let failed = |error: ArchiveError| StateError::Restore { path: below.display().to_string(), error: error.into() };
    while let Some(member) = archive.next_member().map_err(failed)? {
        if !matches!(member.kind, MemberKind::File { .. }) {
            continue;
        }
        let mut head = [0; CodeKind::HEAD_BYTES];
        let bytes = match archive.next_run(&mut head).map_err(failed)? {
            Some((0, bytes)) => bytes,
            // It is empty, or begins with a hole.
            _ => 0,
        };
        let path = member.path.iter().fold(below.to_owned(), |path, name| path.join(regular::os(name)));
        each(path, member.mode, head.get(..bytes).unwrap_or_default());
    }
    Ok(archive.used().bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_contains_decides_then_where_it_lies_then_its_name() {
        for (path, mode, head, expected) in [
            ("/srv/x/maps/dm1.map", 0o644, &b"\x7fELF\x02\x01\x01"[..], Some(CodeKind::Object)),
            ("/srv/x/run", 0o644, b"#!/bin/sh\n", Some(CodeKind::Executable)),
            ("/srv/x/data.bin", 0o755, b"whatever", Some(CodeKind::Executable)),
            ("/srv/x/data.bin", 0o644, b"whatever", None),
            ("/srv/x/data.bin", 0o644, b"", None),
            ("/srv/x/a", 0o644, b"\xca\xfe\xba\xbe\0\0\0\x41", Some(CodeKind::Bytecode)),
            ("/srv/x/a", 0o644, b"\xa7\x0d\r\n\0\0\0\0", Some(CodeKind::Bytecode)),
            ("/srv/x/a", 0o644, b"PK\x03\x04", Some(CodeKind::Bytecode)),
            ("/etc/ld.so.preload", 0o644, b"/srv/x/a\n", Some(CodeKind::Configuration)),
            ("/etc/nsswitch.conf", 0o644, b"passwd: files x\n", Some(CodeKind::Configuration)),
            ("/srv/x/gconv/gconv-modules", 0o644, b"module ...", Some(CodeKind::Configuration)),
            ("/srv/x/sitecustomize.py", 0o644, b"import os\n", Some(CodeKind::Source)),
            ("/srv/x/a.PTH", 0o644, b"import os\n", Some(CodeKind::Source)),
            ("/home/u/.profile", 0o644, b"x\n", Some(CodeKind::StartFile)),
            ("/home/u/.config/app/data", 0o644, b"x\n", None),
        ] {
            assert_eq!(CodeKind::of(Path::new(path), Some((mode, head))), expected, "{path}, {mode:o}, {head:?}");
        }
    }

    #[test]
    fn a_file_that_has_to_be_brought_counts_by_its_path() {
        for (path, expected) in [
            ("/etc/ld.so.preload", Some(CodeKind::Configuration)),
            ("/srv/x/libx.so.1", Some(CodeKind::Object)),
            ("/srv/x/maps/dm1.map", None),
        ] {
            assert_eq!(CodeKind::of(Path::new(path), None), expected, "{path}");
        }
    }
}
