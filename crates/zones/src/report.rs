//! Writing down what the zones found.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::ticks;
use crate::tree::{BEGAN, Node, THREADS, cost_ticks};

/// File that [`write_to_end`] wrote.
#[derive(Debug)]
pub struct Written {
    /// Path of the file that was written.
    pub path: PathBuf,
}

/// Writes what was found so far to the file that `$PRONY_ZONES_FILE` names, or `prony.zones`: to be called at the end
/// of `main`, when other threads have ended. Nothing is written without any zone; a disk that does not take it is
/// reported on standard error.
pub fn write_to_end() -> Option<Written> {
    let path = std::env::var_os("PRONY_ZONES_FILE").map_or_else(|| PathBuf::from("prony.zones"), PathBuf::from);
    match write(&path) {
        Ok(true) => Some(Written { path }),
        Ok(false) => None,
        Err(error) => {
            let _ = writeln!(io::stderr(), "cannot write {}: {error}", path.display());
            None
        }
    }
}

/// Writes what was found so far; false if there was no zone yet. Zones that have not ended are not in it.
///
/// # Errors
/// What the disk said; then nothing is left behind.
pub fn write(path: &Path) -> io::Result<bool> {
    let Some(text) = text() else { return Ok(false) };
    // A name that cannot be guessed, and none that is there: in a directory that others write to, a link may wait.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.tmp", RandomState::new().hash_one(std::process::id())));
    let temporary = path.with_file_name(name);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let written =
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.map(|()| true)
}

fn text() -> Option<String> {
    let began = (*BEGAN.lock().ok()?)?;
    let threads = THREADS.lock().ok()?.clone();
    let (ended, took) = (ticks(), began.clock.elapsed());
    let mut text = String::from("prony-zones 1\n");
    let _ = writeln!(text, "clock {} {}", ended.wrapping_sub(began.ticks), took.as_nanos());
    let _ = writeln!(text, "cost {}", cost_ticks());
    let mut last = 0;
    for thread in threads {
        let _ = writeln!(text, "thread {}", thread.name.replace('\n', " "));
        node(&mut text, thread.root, 0, &mut last);
    }
    Some(text)
}

fn node(text: &mut String, above: &Node, parent: u64, last: &mut u64) {
    let children = above.children.lock().map(|children| children.clone()).unwrap_or_default();
    for child in children {
        *last += 1;
        let number = *last;
        let [hits, inclusive, exclusive, bytes] =
            [&child.hits, &child.inclusive, &child.exclusive, &child.bytes].map(|field| field.load(Ordering::Relaxed));
        let name = child.name.replace('\n', " ");
        let _ = writeln!(text, "zone {number} {parent} {hits} {inclusive} {} {bytes} {name}", exclusive as i64);
        node(text, child, number, last);
    }
}
