//! Directories that hold something else in a replay than they did in the recording.

use crate::channel::FailedCall as Failed;
use crate::report::ChangedListing;
use crate::verdict::failures::path_of;
use prony_channel::CHANGED;
use prony_demo::{Demo, DemoError, Head, LISTED_NAMES, Op, PartKind, Parts};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirEntryExt;
use std::path::Path;

/// Most directories that a report has.
const MOST: usize = 16;
/// Entries of a directory that are looked at: more names than a record has.
const MOST_ENTRIES: usize = LISTED_NAMES;

/// The directories of which the player saw that they differ, each once. `cwd`: where the server runs; `demo_inode`: a file that no
/// directory has for it.
pub(crate) fn changed<R: Read + Seek>(
    demo: &mut Demo<R>,
    noted: &[Failed],
    cwd: &Path,
    demo_inode: u64,
) -> Result<Vec<ChangedListing>, DemoError> {
    let paths: BTreeSet<(u16, &[u8])> = noted
        .iter()
        .filter(|noted| noted.errno == CHANGED)
        .map(|noted| (noted.process as u16, noted.path.as_slice()))
        .take(MOST)
        .collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut recorded = BTreeMap::new();
    let mut records = demo.records();
    while let Some((process, record)) = records.next()? {
        if Head::from_bytes(record).is_some_and(|head| head.op == Op::Listing as u16) {
            let mut parts = Parts::new(record).filter(|part| part.kind == PartKind::Path as u8);
            let Some(names) = parts.nth(1) else { continue };
            if let Some(&key) = paths.iter().find(|&&(of, path)| of == process && path == path_of(record)) {
                recorded.insert(key, names.bytes.to_vec());
            }
        }
    }
    let listing = |(path, names): (&[u8], Vec<u8>)| {
        let now = names_of(&cwd.join(std::ffi::OsStr::from_bytes(path)), demo_inode);
        // Where names are left out, nothing is known of those.
        let is_whole = names.len() < LISTED_NAMES - MOST_NAME;
        let then: BTreeSet<String> =
            names.split(|&byte| byte == b'/').map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let of = |names: &BTreeSet<String>, others: &BTreeSet<String>| {
            let differing = names.difference(others).filter(|name| is_whole && !name.is_empty());
            differing.cloned().collect::<Vec<String>>()
        };
        let path = String::from_utf8_lossy(path).into_owned();
        ChangedListing { path, added: of(&now, &then), gone: of(&then, &now) }
    };
    Ok(recorded.into_iter().map(|((_, path), names)| listing((path, names))).collect())
}

/// Bytes of the longest name of a file.
const MOST_NAME: usize = 256;

fn names_of(directory: &Path, demo_inode: u64) -> BTreeSet<String> {
    let entries = directory.read_dir().into_iter().flatten().flatten().take(MOST_ENTRIES);
    let names = entries.filter(|entry| entry.ino() != demo_inode);
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.chain([".".to_owned(), "..".to_owned()]).collect()
}
