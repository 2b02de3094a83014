//! Address spaces as they change: the file, and the place in it, of an address of a process.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::open::open_regular;
use crate::records::{Identity, Map};

/// A location in code, the same for all processes that map it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodeLocation {
    /// Id of the object that is mapped.
    pub object: ObjectId,
    /// Offset in the file in bytes; for what is no file, the address.
    pub offset: u64,
}

/// Number of an object in a recording.
pub type ObjectId = u32;

/// The object with this number.
#[expect(
    clippy::indexing_slicing,
    reason = "numbers of objects are given out by `Spaces` alone, and no object is removed"
)]
pub(crate) fn object(objects: &[Object], id: ObjectId) -> &Object {
    &objects[id as usize]
}

/// Whatever code can be in.
#[derive(Debug)]
pub struct Object {
    /// Kind of the object: a file or something without one.
    pub kind: ObjectKind,
    /// The file that was mapped: its build id, or the number of its inode.
    pub identity: FileIdentity,
    /// The file itself, where its path leads to nothing: memory files, files that were deleted.
    pub file: Option<File>,
}

/// Kind of a mapped object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// The kernel and its modules.
    Kernel,
    /// A file with this path.
    File(PathBuf),
    /// Memory in which a process made code itself.
    Made(i32),
    /// Code that the kernel lends to processes.
    Vdso,
    /// No mapping covers the address.
    Nowhere,
}

/// Identity of the mapped file, whatever is at its path by now.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileIdentity {
    /// The note that the linker puts into it.
    BuildId(Vec<u8>),
    /// The number of its inode.
    Inode(u64),
    /// Identity of a mapping that is not a file's.
    None,
}

/// Mapping of an address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) end: u64,
    /// Start in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) object: ObjectId,
}

/// The objects of a recording, and what is mapped where in each process.
#[derive(Debug)]
pub(crate) struct Spaces {
    pub(crate) objects: Vec<Object>,
    known: FxHashMap<(ObjectKind, FileIdentity), ObjectId>,
    processes: FxHashMap<i32, Space>,
}

/// The mappings of one process by their start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Space {
    mappings: BTreeMap<u64, Mapping>,
    /// Changes whenever the mappings do.
    pub(crate) version: u64,
}

impl Space {
    pub(crate) fn mappings(&self) -> impl Iterator<Item = (u64, Mapping)> + '_ {
        self.mappings.iter().map(|(&start, &mapping)| (start, mapping))
    }

    /// The mapping that covers an address, and its start.
    pub(crate) fn at(&self, address: u64) -> Option<(u64, Mapping)> {
        let (&start, &mapping) = self.mappings.range(..=address).next_back()?;
        (address < mapping.end).then_some((start, mapping))
    }

    /// A mapping takes the place of what it lies over.
    fn insert(&mut self, start: u64, mapping: Mapping) {
        let over: Vec<u64> = self
            .mappings
            .range(..mapping.end)
            .rev()
            .take_while(|(_, old)| old.end > start)
            .map(|(&start, _)| start)
            .collect();
        for old_start in over {
            let old = self.mappings.remove(&old_start).expect("it was found just now");
            if old_start < start {
                self.mappings.insert(old_start, Mapping { end: start, ..old });
            }
            if old.end > mapping.end {
                let offset = old.offset + (mapping.end - old_start);
                self.mappings.insert(mapping.end, Mapping { offset, ..old });
            }
        }
        self.mappings.insert(start, mapping);
        self.version += 1;
    }
}

impl Spaces {
    pub(crate) const KERNEL: ObjectId = 0;
    pub(crate) const NOWHERE: ObjectId = 1;

    pub(crate) fn new() -> Spaces {
        let mut spaces = Spaces { objects: Vec::new(), known: FxHashMap::default(), processes: FxHashMap::default() };
        spaces.object(ObjectKind::Kernel, FileIdentity::None);
        spaces.object(ObjectKind::Nowhere, FileIdentity::None);
        spaces
    }

    fn object(&mut self, kind: ObjectKind, identity: FileIdentity) -> ObjectId {
        let objects = &mut self.objects;
        *self.known.entry((kind, identity)).or_insert_with_key(|(kind, identity)| {
            objects.push(Object { kind: kind.clone(), identity: identity.clone(), file: None });
            (objects.len() - 1) as ObjectId
        })
    }

    /// The mappings of a process.
    pub(crate) fn of(&self, pid: i32) -> Option<&Space> {
        self.processes.get(&pid)
    }

    /// A process begins with the mappings of another.
    pub(crate) fn fork(&mut self, pid: i32, parent: i32) {
        if pid != parent {
            let space = self.processes.get(&parent).cloned().unwrap_or_default();
            self.processes.insert(pid, space);
        }
    }

    /// A process becomes another program.
    pub(crate) fn exec(&mut self, pid: i32) {
        let space = self.processes.entry(pid).or_default();
        space.mappings.clear();
        space.version += 1;
    }

    /// Adds a mapping, which replaces what it covers.
    pub(crate) fn map(&mut self, map: &Map<'_>) {
        let identity = match map.identity {
            Identity::BuildId(id) => FileIdentity::BuildId(id.to_vec()),
            Identity::Inode(inode) => FileIdentity::Inode(inode),
        };
        self.insert(map.pid, map.start, map.length, map.offset, map.path, identity);
    }

    fn insert(&mut self, pid: i32, start: u64, length: u64, offset: u64, path: &[u8], identity: FileIdentity) {
        use std::os::unix::ffi::OsStrExt;
        let kind = match path {
            b"[vdso]" => ObjectKind::Vdso,
            [b'/', b'/', b'a', b'n', b'o', b'n', ..] | [b'[', ..] | [] => ObjectKind::Made(pid),
            path => ObjectKind::File(PathBuf::from(std::ffi::OsStr::from_bytes(path))),
        };
        let is_file = matches!(kind, ObjectKind::File(_));
        let object = self.object(kind, if is_file { identity } else { FileIdentity::None });
        if let Some(object) = self.objects.get_mut(object as usize).filter(|object| is_file && object.file.is_none()) {
            object.file = held(pid, start, length, path);
        }
        // What is no file has no offsets: its places are its addresses.
        let offset = if is_file { offset } else { start };
        let mapping = Mapping { end: start.saturating_add(length), offset, object };
        self.processes.entry(pid).or_default().insert(start, mapping);
    }

    /// Reads what a process that runs has mapped by now.
    pub(crate) fn read(&mut self, pid: i32) {
        let Ok(text) = std::fs::read(format!("/proc/{pid}/maps")) else { return };
        for line in text.split(|&byte| byte == b'\n') {
            let Some((start, end, offset, inode, path)) = maps_line(line) else { continue };
            self.insert(pid, start, end - start, offset, path, FileIdentity::Inode(inode));
        }
    }

    /// Object and offset of an address of a process.
    pub(crate) fn place(&self, pid: i32, address: u64) -> CodeLocation {
        match self.processes.get(&pid).and_then(|space| space.at(address)) {
            Some((start, mapping)) => CodeLocation { object: mapping.object, offset: address - start + mapping.offset },
            None => CodeLocation { object: Spaces::NOWHERE, offset: address },
        }
    }
}

/// Opens a file whose path leads to nothing: as the process has it mapped, which only root may, or as we have it open
/// ourselves, which is so with what a replay gives its server.
fn held(pid: i32, start: u64, length: u64, path: &[u8]) -> Option<File> {
    let gone = path.ends_with(b" (deleted)") || path.starts_with(b"/memfd:");
    if !gone {
        return None;
    }
    let mapped = format!("/proc/{pid}/map_files/{start:x}-{:x}", start.checked_add(length)?);
    open_regular(Path::new(&mapped)).ok().or_else(|| {
        let ours = std::fs::read_dir("/proc/self/fd").ok()?.flatten();
        let mut same = ours.filter(|entry| {
            std::fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str().as_encoded_bytes() == path)
        });
        open_regular(&same.next()?.path()).ok()
    })
}

/// `55d0-55d9 r-xp 00001000 fd:00 1234    /bin/x`, for what may be executed.
fn maps_line(line: &[u8]) -> Option<(u64, u64, u64, u64, &[u8])> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let range = std::str::from_utf8(fields.next()?).ok()?;
    let rights = fields.next()?;
    let offset = std::str::from_utf8(fields.next()?).ok()?;
    let _device = fields.next()?;
    let inode = std::str::from_utf8(fields.next()?).ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii();
    let (start, end) = range.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let offset = u64::from_str_radix(offset, 16).ok()?;
    (rights.get(2) == Some(&b'x') && start < end).then_some((start, end, offset, inode.parse().ok()?, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pid: i32, start: u64, length: u64, offset: u64, path: &'static str) -> Map<'static> {
        Map { pid, start, length, offset, identity: Identity::BuildId(&[1]), path: path.as_bytes() }
    }

    #[test]
    fn an_address_means_what_was_mapped_there_last() {
        let mut spaces = Spaces::new();
        spaces.map(&map(5, 0x1000, 0x3000, 0, "/bin/a"));
        spaces.map(&map(5, 0x2000, 0x1000, 0x8000, "/bin/b"));
        let path = |place: CodeLocation| spaces.objects[place.object as usize].kind.clone();
        let places = [0x1010, 0x2010, 0x3010].map(|address| spaces.place(5, address));
        assert_eq!(places.map(|place| place.offset), [0x10, 0x8010, 0x2010]);
        assert_eq!(path(places[0]), ObjectKind::File("/bin/a".into()));
        assert_eq!(path(places[1]), ObjectKind::File("/bin/b".into()));
        assert_eq!(path(places[2]), ObjectKind::File("/bin/a".into()));
        assert_eq!(spaces.place(5, 0x4000), CodeLocation { object: Spaces::NOWHERE, offset: 0x4000 });
        assert_eq!(spaces.place(6, 0x1010).object, Spaces::NOWHERE);
    }

    #[test]
    fn a_child_has_the_mappings_of_its_parent_until_it_becomes_another_program() {
        let mut spaces = Spaces::new();
        spaces.map(&map(5, 0x1000, 0x1000, 0, "/bin/a"));
        spaces.fork(6, 5);
        assert_eq!(spaces.place(6, 0x1800), spaces.place(5, 0x1800));
        spaces.exec(6);
        assert_eq!(spaces.place(6, 0x1800).object, Spaces::NOWHERE);
        assert_ne!(spaces.place(5, 0x1800).object, Spaces::NOWHERE);
    }

    #[test]
    fn memory_without_a_file_keeps_its_addresses_and_belongs_to_its_process() {
        let mut spaces = Spaces::new();
        for pid in [5, 6] {
            spaces.map(&map(pid, 0x7000, 0x1000, 0, "//anon"));
        }
        assert_eq!(spaces.place(5, 0x7123).offset, 0x7123);
        assert_ne!(spaces.place(5, 0x7123).object, spaces.place(6, 0x7123).object);
    }

    #[test]
    fn our_own_mappings_are_read() {
        let mut spaces = Spaces::new();
        let pid = std::process::id() as i32;
        spaces.read(pid);
        let here = our_own_mappings_are_read as *const () as u64;
        let place = spaces.place(pid, here);
        let exe = std::env::current_exe().expect("a path").canonicalize().expect("it is there");
        assert_eq!(spaces.objects[place.object as usize].kind, ObjectKind::File(exe));
    }

    #[test]
    fn lines_of_maps_that_are_no_code_are_passed_over() {
        assert_eq!(
            maps_line(b"1000-2000 r-xp 00000010 fd:00 77    /bin/a b"),
            Some((0x1000, 0x2000, 16, 77, &b"/bin/a b"[..]))
        );
        for other in
            ["1000-2000 rw-p 0 0:0 0", "", "x-y r-xp 0 0:0 0 /x", "2000-1000 r-xp 0 0:0 0 /x", "1000-2000 r-xp"]
        {
            assert_eq!(maps_line(other.as_bytes()), None, "{other}");
        }
    }
}
