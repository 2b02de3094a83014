//! lldb on the thread of a replay that waits: it stops there, and requests no other replay.

use crate::channel::Halted;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// What lldb runs first: signals of the library in the server, the thread, and the frame of the server.
const SCRIPT: &str = include_str!("place_lldb.py");

/// True if a program is an lldb, by its name.
pub(super) fn is_lldb(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == "lldb" || name.as_encoded_bytes().starts_with(b"lldb-"))
}

/// Arguments of lldb.
pub(super) fn arguments(halted: &Halted, commands: &[String], batch: bool) -> Vec<String> {
    // A command of lldb is one line; a text of Rust in quotes is one of Python.
    let script = format!("script exec({:?})", format!("THREAD = {}\n{SCRIPT}", halted.tid));
    let mut words: Vec<String> = batch.then(|| "--batch".to_owned()).into_iter().collect();
    words.extend(["--source-quietly".to_owned(), "--attach-pid".to_owned(), halted.pid.to_string()]);
    for command in [&script].into_iter().chain(commands) {
        words.extend(["--one-line".to_owned(), command.clone()]);
    }
    words
}

/// `PYTHONPATH` with the module of this lldb, which Debian's does not find by itself; `None` where it is not beside the program.
pub(super) fn python_path(program: &OsStr) -> Option<OsString> {
    let found = match Path::new(program).components().count() {
        1 => env::split_paths(&env::var_os("PATH")?)
            .map(|directory| directory.join(program))
            .find(|path| path.is_file())?,
        _ => PathBuf::from(program),
    };
    let library = fs::canonicalize(found).ok()?.parent()?.parent()?.join("lib");
    let modules = module_below(&library)?;
    let before = env::var_os("PYTHONPATH").unwrap_or_default();
    env::join_paths([modules].into_iter().chain(env::split_paths(&before))).ok()
}

/// The directory with the module `lldb` below `lib` of an LLVM.
fn module_below(library: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(library).ok()?.flatten().map(|entry| entry.path());
    let versions =
        versions.filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"python3")));
    let mut found: Vec<PathBuf> = versions
        .flat_map(|version| ["dist-packages", "site-packages"].map(|packages| version.join(packages)))
        .filter(|path| path.join("lldb").is_dir())
        .collect();
    found.sort();
    found.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lldb_is_known_by_its_name() {
        for (name, is) in [("lldb", true), ("/usr/bin/lldb-14", true), ("gdb", false), ("lldbx", false)] {
            assert_eq!(is_lldb(OsStr::new(name)), is, "{name}");
        }
    }

    #[test]
    fn the_module_of_an_llvm_is_below_its_libraries() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(module_below(root.path()), None);
        let packages = root.path().join("python3.11/dist-packages");
        fs::create_dir_all(packages.join("lldb")).expect("a directory of its own");
        assert_eq!(module_below(root.path()), Some(packages));
    }
}
