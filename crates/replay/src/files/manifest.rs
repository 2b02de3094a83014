//! The files a server opened: listed with size and hash when recording, looked for when replaying.

use crate::files::regular::{self, FileError};
use prony_demo::{FileEntry, FileRole, Head, PartKind, Parts};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const O_ACCMODE: u32 = 3;
const O_RDONLY: u32 = 0;
const O_RDWR: u32 = 2;

/// Files that were opened so far.
#[derive(Debug)]
pub(crate) struct Opened {
    /// When the recording began.
    since: SystemTime,
    cwd: PathBuf,
    paths: BTreeMap<PathBuf, Openings>,
    /// What was noted of each path as the server named it: a web server opens the same few with each request, and paths compare
    /// slowly.
    noted: HashMap<Vec<u8>, Vec<(u16, u32)>>,
    /// Processes that take turns, each with the one that leads their order.
    leaders: BTreeMap<u16, u16>,
}

/// How a file was opened.
#[derive(Debug, Default)]
struct Openings {
    written: bool,
    /// Processes that opened it both to read and to write.
    updaters: BTreeSet<u16>,
}

/// Paths of which it is remembered that they were noted.
const NOTED: usize = 4096;

impl Opened {
    pub(crate) fn new(cwd: &Path) -> Opened {
        Opened {
            since: SystemTime::now(),
            cwd: cwd.to_owned(),
            paths: BTreeMap::new(),
            noted: HashMap::new(),
            leaders: BTreeMap::new(),
        }
    }

    /// Takes the note of a file that this process opened.
    pub(crate) fn note(&mut self, process: u16, head: &Head, record: &[u8]) {
        let path = Parts::first(record, PartKind::Path);
        if let Some(path) = path.filter(|path| !path.is_empty()) {
            let access = head.aux & O_ACCMODE;
            if !self.is_first(path, (process, access)) {
                return;
            }
            let path = self.cwd.join(regular::os(path));
            // Descriptors of its own by their names, and what the kernel makes up: nothing of it is there before a replay.
            if ["/proc", "/sys", "/dev/fd"].iter().any(|made_up| path.starts_with(made_up)) {
                return;
            }
            let openings = self.paths.entry(path).or_default();
            openings.written |= access != O_RDONLY;
            if access == O_RDWR {
                openings.updaters.insert(process);
            }
        }
    }

    /// True where this process opens the path for this access for the first time.
    fn is_first(&mut self, path: &[u8], opening: (u16, u32)) -> bool {
        match self.noted.get_mut(path) {
            Some(known) if known.contains(&opening) => return false,
            Some(known) => known.push(opening),
            None => {
                // A server that gives each file a name of its own has nothing to gain, and records all day.
                if self.noted.len() >= NOTED {
                    self.noted.clear();
                }
                self.noted.insert(path.to_vec(), vec![opening]);
            }
        }
        true
    }

    /// Takes down that the process takes turns with others, in the order of `leader`.
    pub(crate) fn take_turns(&mut self, process: u16, leader: u16) {
        self.leaders.insert(process, leader);
    }

    /// Files that several processes opened to read and to write while nothing kept the order of what they do.
    pub(crate) fn updated_by_several(&self) -> impl Iterator<Item = &Path> {
        let ordered = |first: &u16, second: &u16| {
            let leader = self.leaders.get(first);
            leader.is_some() && leader == self.leaders.get(second)
        };
        let apart = move |all: &BTreeSet<u16>| {
            all.first().is_some_and(|first| all.iter().skip(1).any(|other| !ordered(first, other)))
        };
        let keeps_content = |path: &Path| path.metadata().is_ok_and(|found| found.is_file());
        let shared = self.paths.iter().filter(move |(_, openings)| apart(&openings.updaters));
        shared.map(|(path, _)| path.as_path()).filter(move |path| keeps_content(path))
    }

    /// Files that were written outside of the state directories.
    pub(crate) fn written_elsewhere<'a>(&'a self, state: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
        self.paths
            .iter()
            .filter(|(path, openings)| openings.written && path.is_file() && !under(path, state))
            .map(|(path, _)| path.as_path())
    }

    fn changed_meanwhile(&self, path: &Path) -> bool {
        path.metadata().and_then(|found| found.modified()).is_ok_and(|modified| modified >= self.since)
    }

    /// The manifest: every regular file, hashed unless the server's state restores it.
    pub(crate) fn manifest(&self, state: &[PathBuf]) -> Vec<FileEntry> {
        self.paths
            .iter()
            .filter(|(path, _)| path.is_file())
            .map(|(path, openings)| {
                let role = match (under(path, state), openings.written) {
                    (true, _) => FileRole::State,
                    (false, true) => FileRole::Written,
                    (false, false) if self.changed_meanwhile(path) => FileRole::WrittenByOthers,
                    (false, false) => FileRole::Read,
                };
                let (size_bytes, hash) = if role.is_read() { fingerprint(path) } else { None }.unwrap_or_default();
                FileEntry { path: path.as_os_str().as_bytes().to_vec(), size_bytes, hash, role, content: None }
            })
            .collect()
    }
}

/// The path that a demo gives a file.
pub(crate) fn path_of(entry: &FileEntry) -> PathBuf {
    PathBuf::from(regular::os(&entry.path))
}

fn under(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Size and BLAKE3 hash of a regular file.
fn fingerprint(path: &Path) -> Option<(u64, [u8; 32])> {
    let (mut file, _) = regular::open(path).ok()?;
    let mut hasher = blake3::Hasher::new();
    let size = io::copy(&mut file, &mut hasher).ok()?;
    Some((size, *hasher.finalize().as_bytes()))
}

/// Difference between a file of this machine and the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// The file cannot be read here.
    Missing,
    /// Something else has its name.
    NotRegular,
    /// The content differs from the recorded file's.
    Changed,
}

/// Largest file of `/proc` or `/sys` that is compared: all of it has to be read to learn its size.
const MOST_MADE_UP_BYTES: u64 = 1 << 20;

/// Compares a file with what was recorded of it. The size comes first: content is read only where that is equal.
fn difference(path: &Path, entry: &FileEntry) -> Option<Difference> {
    let (file, size) = match regular::open(path) {
        Ok((file, data)) => (file, data.len()),
        Err(FileError::NotRegular) => return Some(Difference::NotRegular),
        Err(_) => return Some(Difference::Missing),
    };
    let made_up = entry.size_bytes <= MOST_MADE_UP_BYTES && regular::is_made_up(&file);
    if size != entry.size_bytes && !made_up {
        return Some(Difference::Changed);
    }
    let mut hasher = blake3::Hasher::new();
    match io::copy(&mut file.take(entry.size_bytes + 1), &mut hasher) {
        Err(_) => Some(Difference::Missing),
        Ok(size) if size == entry.size_bytes && *hasher.finalize().as_bytes() == entry.hash => None,
        Ok(_) => Some(Difference::Changed),
    }
}

/// True if a file of this machine is the one that was recorded.
pub(crate) fn is_as_recorded(path: &Path, entry: &FileEntry) -> bool {
    difference(path, entry).is_none()
}

/// Files below some directories that may be those of a recording, under whatever name.
#[derive(Debug, Default)]
pub(crate) struct Assets {
    by_size: BTreeMap<u64, Vec<PathBuf>>,
}

/// Directories below one of assets that are looked into.
const MOST_DEPTH: usize = 32;

impl Assets {
    /// Looks for files of the sizes that the entries of a recording have.
    pub(crate) fn below(folders: &[PathBuf], entries: &[FileEntry]) -> Assets {
        let mut assets = Assets::default();
        for entry in entries.iter().filter(|entry| entry.role.is_read()) {
            assets.by_size.entry(entry.size_bytes).or_default();
        }
        folders.iter().for_each(|folder| assets.look(folder, 0));
        assets
    }

    fn look(&mut self, folder: &Path, depth: usize) {
        let mut found: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        // The same one each time where several are equal.
        found.sort();
        for path in found {
            let Ok(data) = path.symlink_metadata() else { continue };
            if data.is_dir() && depth < MOST_DEPTH {
                self.look(&path, depth + 1);
            } else if data.is_file()
                && let Some(paths) = self.by_size.get_mut(&data.len())
            {
                paths.push(path);
            }
        }
    }

    /// Path of a file with the content of an entry, if one was found.
    pub(crate) fn find(&self, entry: &FileEntry) -> Option<&Path> {
        let paths = self.by_size.get(&entry.size_bytes)?;
        paths.iter().map(PathBuf::as_path).find(|path| is_as_recorded(path, entry))
    }
}

/// Differences between the files of this machine and those of the recording.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    /// Files that the server read and that cannot be read here.
    pub(crate) missing: Vec<String>,
    /// Files in whose place there is something else: a directory, a pipe, a device.
    pub(crate) not_regular: Vec<String>,
    /// Files that have another content.
    pub(crate) changed: Vec<String>,
}

/// Looks for the files of a manifest. What `other` has for one that differs is no difference.
pub(crate) fn differences(manifest: &[FileEntry], mut other: impl FnMut(usize, &Path, bool) -> bool) -> Differences {
    let mut found = Differences::default();
    for (number, entry) in manifest.iter().enumerate().filter(|(_, entry)| entry.role.is_read()) {
        let path = path_of(entry);
        let difference = difference(&path, entry);
        if other(number, &path, difference.is_some()) {
            continue;
        }
        let list = match difference {
            None => continue,
            Some(Difference::Missing) => &mut found.missing,
            Some(Difference::NotRegular) => &mut found.not_regular,
            Some(Difference::Changed) => &mut found.changed,
        };
        list.push(path.display().to_string());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &Path, content: &[u8]) -> FileEntry {
        FileEntry {
            path: path.as_os_str().as_bytes().to_vec(),
            size_bytes: content.len() as u64,
            hash: *blake3::hash(content).as_bytes(),
            role: FileRole::Read,
            content: None,
        }
    }

    #[test]
    fn a_file_that_is_opened_again_to_write_or_by_another_process_is_noted_again() {
        let scratch = tempfile::tempdir().expect("the temporary directory is writable");
        let path = scratch.path().join("table");
        std::fs::write(&path, b"rows").expect("writable");
        let mut opened = Opened::new(scratch.path());
        let mut note = |process: u16, access: u32| {
            let head = Head { size: 0, op: 0, thread: 0, order: 0, time: 0, ret: 3, fd: -1, aux: access };
            let record = prony_demo::Record::new(head).with_part(PartKind::Path, b"table");
            opened.note(process, &head, record.as_bytes());
            (opened.written_elsewhere(&[]).count(), opened.updated_by_several().count())
        };
        assert_eq!(note(0, O_RDONLY), (0, 0));
        assert_eq!(note(0, O_RDONLY), (0, 0));
        assert_eq!(note(0, O_RDWR), (1, 0));
        assert_eq!(note(0, O_RDWR), (1, 0));
        assert_eq!(note(1, O_RDWR), (1, 1));
    }

    #[test]
    fn a_file_is_read_only_where_its_size_is_the_recorded_one() {
        let scratch = tempfile::tempdir().expect("the temporary directory is writable");
        let path = scratch.path().join("map");
        std::fs::write(&path, b"dm1").expect("writable");
        assert_eq!(difference(&path, &entry(&path, b"dm1")), None);
        assert_eq!(difference(&path, &entry(&path, b"dm2")), Some(Difference::Changed));
        assert_eq!(difference(&path, &entry(&path, b"dm")), Some(Difference::Changed));
        // A tebibyte of zeros would take minutes.
        std::fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a file of holes");
        assert_eq!(difference(&path, &entry(&path, b"dm1")), Some(Difference::Changed));
        let gone = scratch.path().join("gone");
        assert_eq!(difference(&gone, &entry(&gone, b"")), Some(Difference::Missing));
        assert_eq!(difference(scratch.path(), &entry(&path, b"")), Some(Difference::NotRegular));
    }

    #[test]
    fn files_whose_size_the_kernel_does_not_know_are_compared() {
        let path = Path::new("/proc/version");
        let content = std::fs::read(path).expect("it is there");
        assert_eq!(difference(path, &entry(path, &content)), None);
        assert_eq!(difference(path, &entry(path, &content[1..])), Some(Difference::Changed));
    }
}
