//! The object files that a process has mapped, and where in them the processor itself is queried.

use crate::server::search::Found;
use prony_channel::Site;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Takes out the code of a tool that runs `program` inside of its own process, as Valgrind does: it is none of the server's.
pub(crate) fn leave_out_host(code: &mut Vec<Mapping>, pid: i32, program: &Path) {
    let host = fs::read_link(format!("/proc/{pid}/exe")).ok().filter(|host| host != program);
    code.retain(|mapping| Some(&mapping.path) != host.as_ref());
}

/// The files of these mappings.
pub(crate) fn loaded_objects(code: &[Mapping]) -> Vec<Loaded> {
    let mut found: Vec<Loaded> = code.iter().map(|mapping| Loaded { path: mapping.path.clone() }).collect();
    found.sort();
    found.dedup();
    found
}

/// True for the objects from which system calls ordinarily come, and whose own use of the processor is not the server's.
pub(crate) fn is_ordinary(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    ["libc.so.", "ld-linux", "libpthread.so."].iter().any(|ordinary| name.starts_with(ordinary))
}

/// True for a file whose name begins with one of `excluded`.
pub(crate) fn is_excluded(path: &Path, excluded: &[&[u8]]) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    excluded.iter().any(|excluded| name.starts_with(excluded))
}

/// Instructions in the code of a process that read time or random numbers from the processor, in the objects that were
/// searched, and with `calls` those that are system calls. Objects whose names begin with one of `excluded` are not the server's.
pub(crate) fn sites(
    code: &[Mapping],
    searched: &HashMap<&Path, Arc<Found>>,
    excluded: &[&[u8]],
    calls: bool,
) -> Vec<Site> {
    let mut sites = Vec::new();
    for mapping in code.iter().filter(|mapping| !is_ordinary(&mapping.path)) {
        if is_excluded(&mapping.path, excluded) {
            continue;
        }
        let Some(found) = searched.get(mapping.path.as_path()) else { continue };
        let calls = found.calls.iter().filter(|_| calls).map(|&offset| (offset, Some(0)));
        for (offset, room) in found.places.iter().copied().chain(calls) {
            let address = offset.checked_sub(mapping.offset).and_then(|at| mapping.start.checked_add(at));
            let room = room.filter(|_| !mapping.writable);
            sites.extend(address.filter(|&address| address < mapping.end).map(|address| Site { address, room }));
        }
    }
    sites
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_distinguished_from_data_and_from_what_is_no_file() {
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
}
