//! The object files that a process has mapped, and where in them the processor itself is asked.

use crate::processor;
use crate::program;
use crate::regular;
use object::read::ReadCache;
use prony_channel::Site;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// An object file that a process has mapped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Loaded {
    pub(crate) path: PathBuf,
}

/// Code of an object file in the memory of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) path: PathBuf,
    start: u64,
    end: u64,
    /// Offset of the mapping in the file, in bytes.
    offset: u64,
    /// The process may write to it, so what stands there may be something else by now.
    writable: bool,
}

impl Mapping {
    /// A line of `/proc/PID/maps`, if it is code of a file.
    fn of(line: &str) -> Option<Mapping> {
        let path = PathBuf::from(&line[line.find('/')?..]);
        let mut fields = line.split(' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let access = fields.next().filter(|access| access.contains('x'))?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (start, end, offset) = (number(start)?, number(end)?, number(fields.next()?)?);
        Some(Mapping { path, start, end, offset, writable: access.contains('w') })
    }
}

/// The code that a process has mapped from files that are still there.
pub(crate) fn mapped_code(pid: i32) -> io::Result<Vec<Mapping>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    Ok(maps.lines().filter_map(Mapping::of).filter(|mapping| mapping.path.is_file()).collect())
}

/// The files of these mappings.
pub(crate) fn loaded_objects(code: &[Mapping]) -> Vec<Loaded> {
    let mut found: Vec<Loaded> = code.iter().map(|mapping| Loaded { path: mapping.path.clone() }).collect();
    found.sort();
    found.dedup();
    found
}

/// True for the objects from which system calls ordinarily come, and whose own use of the processor is nobody's.
pub(crate) fn is_ordinary(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    ["libc.so.", "ld-linux", "libpthread.so."].iter().any(|ordinary| name.starts_with(ordinary))
}

/// Instructions in the code of a process that read time or random numbers from the processor. Objects whose names begin
/// with one of `excluded` are not the server's.
pub(crate) fn sites(code: &[Mapping], excluded: &[&[u8]]) -> Vec<Site> {
    let mut sites = Vec::new();
    for mapping in code.iter().filter(|mapping| !is_ordinary(&mapping.path)) {
        let name = mapping.path.file_name().unwrap_or_default().as_bytes();
        if excluded.iter().any(|excluded| name.starts_with(excluded)) {
            continue;
        }
        let places = places(&mapping.path);
        for &(offset, room) in places.iter() {
            let address = offset.checked_sub(mapping.offset).and_then(|at| mapping.start.checked_add(at));
            let room = room.filter(|_| !mapping.writable);
            sites.extend(address.filter(|&address| address < mapping.end).map(|address| Site { address, room }));
        }
    }
    sites
}

/// Offsets in a file, with the room for a jump there; `None` for what may be no instruction.
type Places = Vec<(u64, Option<u8>)>;

/// Device, inode, bytes, seconds and nanoseconds of the last change: what a file is known by.
type Known = (u64, u64, u64, i64, i64);

/// Searched once for all replays: libraries are large and stay the same.
fn places(path: &Path) -> Arc<Places> {
    static SEARCHED: OnceLock<Mutex<HashMap<Known, Arc<Places>>>> = OnceLock::new();
    let Ok(data) = fs::metadata(path) else { return Arc::default() };
    let known = (data.dev(), data.ino(), data.len(), data.mtime(), data.mtime_nsec());
    let searched = || SEARCHED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(places) = searched().get(&known) {
        return Arc::clone(places);
    }
    let places = Arc::new(search(path));
    searched().insert(known, Arc::clone(&places));
    places
}

fn search(path: &Path) -> Places {
    let Ok(file) = regular::open_object(path) else { return Places::default() };
    let bytes = &ReadCache::new(file);
    if !cfg!(target_arch = "x86_64") {
        return Places::default();
    }
    let reads = processor::in_object(bytes);
    let sure = reads.certain.iter().map(|place| (place.address, Some(place.room)));
    let doubtful = reads.doubtful.iter().map(|&address| (address, None));
    sure.chain(doubtful).filter_map(|(address, room)| Some((program::file_offset(bytes, address)?, room))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_data_and_from_what_is_no_file() {
        let line = "7f0000001000-7f0000003000 r-xp 00001000 fe:00 42                         /usr/lib/libx y.so";
        let expected = Mapping {
            path: "/usr/lib/libx y.so".into(),
            start: 0x7f00_0000_1000,
            end: 0x7f00_0000_3000,
            offset: 0x1000,
            writable: false,
        };
        assert_eq!(Mapping::of(line), Some(expected));
        assert_eq!(Mapping::of(&line.replace("r-xp", "r--p")), None);
        assert_eq!(Mapping::of("7fff0000-7fff1000 r-xp 00000000 00:00 0                          [vdso]"), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_random_device_of_cpp_asks_the_processor_and_libm_does_not() {
        let library = |name: &str| ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"].map(|at| Path::new(at).join(name));
        let search = |name| library(name).iter().find(|path| path.is_file()).map(|path| search(path));
        let cpp = search("libstdc++.so.6").expect("libstdc++6 is installed wherever a C++ server runs");
        assert!(!cpp.is_empty() && cpp.iter().all(|(_, room)| room.is_some()), "{cpp:?}");
        let math = search("libm.so.6").expect("libm is a part of libc");
        assert_eq!(math, []);
    }
}
