//! The file behind a mapping of a driver, opened with the driver's rights and not with those of this process.
//!
//! `/proc/PID/map_files` opens whatever lies at an address when it is opened, for reading and writing if root requests it. A driver can
//! replace the mapping after its line of `/proc/PID/maps` was read, by a file that it may only read. Therefore a file is used only if
//! the mapping is read once more after the open, and is still of this file, shared and writable: the kernel maps a file so only for
//! a process that has it open for writing, and gives the number of an inode to no other file while one is open.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// Types of file systems, as statfs(2) returns them: memory that has no other place than memory. The kernel pins other files for no
/// device either (mm/gup.c, `writable_file_mapping_allowed`).
const HUGETLBFS_MAGIC: i64 = 0x9584_58f6;
const TMPFS_MAGIC: i64 = 0x0102_1994;
const PAGE_BYTES: u64 = 4096;

/// A line of `/proc/PID/maps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// First address.
    pub(crate) start: u64,
    /// First address behind it.
    pub(crate) end: u64,
    /// First byte in the file.
    pub(crate) offset: u64,
    /// Device and inode of the file.
    pub(crate) file: (u64, u64),
    /// Shared, readable and writable.
    pub(crate) is_shared: bool,
}

impl Mapping {
    pub(crate) fn parse(line: &str) -> Option<Mapping> {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let permissions = fields.next()?;
        let offset = hex(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let [major, minor] = [major, minor].map(|number| u32::from_str_radix(number, 16).ok());
        let device = rustix::fs::makedev(major?, minor?);
        let inode = fields.next()?.parse().ok()?;
        let is_shared = permissions.starts_with("rw") && permissions.ends_with('s') && inode != 0;
        Some(Mapping { start: hex(start)?, end: hex(end)?, offset, file: (device, inode), is_shared })
            .filter(|mapping| mapping.start < mapping.end)
    }

    /// True if addresses from `from` up to `to` are mapped by `other` as they are by this one.
    fn agrees(&self, other: &Mapping, from: u64, to: u64) -> bool {
        let first = |mapping: &Mapping| mapping.offset.wrapping_add(from.wrapping_sub(mapping.start));
        other.is_shared
            && other.file == self.file
            && (other.start..other.end).contains(&from)
            && to <= other.end
            && first(other) == first(self)
    }
}

/// All mappings of a process, in the order of their addresses.
pub(crate) fn mappings(process: u32) -> io::Result<Vec<Mapping>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    Ok(maps.lines().filter_map(Mapping::parse).collect())
}

/// The open file of a mapping.
#[derive(Debug)]
pub(crate) struct MappedFile {
    pub(crate) file: File,
    /// Size of its pages: those of 4 KiB, or huge ones.
    pub(crate) page_bytes: u64,
    pub(crate) mapping: Mapping,
}

impl MappedFile {
    /// Opens the file of a mapping; `None` if there is another file at these addresses now, or it is no memory that processes share.
    /// Nothing of it may be used before [`MappedFile::is_confirmed`] says so.
    ///
    /// # Errors
    /// What the kernel returns, among it ENOENT for a mapping that is gone.
    pub(crate) fn open(process: u32, mapping: &Mapping) -> io::Result<Option<MappedFile>> {
        let path = format!("/proc/{process}/map_files/{:x}-{:x}", mapping.start, mapping.end);
        // The file itself is not opened by this, so that a device or a pipe notices nothing; what it names stays the same file.
        let named = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)?;
        let facts = named.metadata()?;
        let system = rustix::fs::fstatfs(&named)?;
        let page_bytes = match system.f_type as i64 {
            HUGETLBFS_MAGIC => system.f_bsize as u64,
            TMPFS_MAGIC => PAGE_BYTES,
            _ => return Ok(None),
        };
        if !mapping.is_shared || !facts.is_file() || (facts.dev(), facts.ino()) != mapping.file {
            return Ok(None);
        }
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{}", named.as_raw_fd()))?;
        Ok(Some(MappedFile { file, page_bytes, mapping: *mapping }))
    }

    /// True if the process has the file mapped shared and writable still: all of its mapping that lies from `from` up to `to`.
    ///
    /// `now`: the mappings of the process, read after the file was opened.
    pub(crate) fn is_confirmed(&self, now: &[Mapping], from: u64, to: u64) -> bool {
        let (from, to) = (self.mapping.start.max(from), self.mapping.end.min(to));
        now.iter().any(|other| self.mapping.agrees(other, from, to))
    }

    /// True if its pages are huge ones.
    pub(crate) fn is_huge(&self) -> bool {
        self.page_bytes > PAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use rustix::mm::{MapFlags, ProtFlags, mmap};

    use super::*;

    const BYTES: usize = 0x2000;

    fn memory_file() -> OwnedFd {
        let file = memfd_create("memory", MemfdFlags::CLOEXEC).expect("there are memory files");
        ftruncate(&file, BYTES as u64).expect("it is ours");
        file
    }

    #[allow(unsafe_code, reason = "memory of the test, which nothing refers to")]
    fn map(at: u64, protection: ProtFlags, file: impl AsFd) -> Mapping {
        let fixed = if at == 0 { MapFlags::empty() } else { MapFlags::FIXED };
        // SAFETY: a fresh mapping, or one in place of an earlier one of this test.
        let start = unsafe { mmap(at as *mut _, BYTES, protection, MapFlags::SHARED | fixed, file, 0) };
        let start = start.expect("the file is open for this") as u64;
        let mut all = mappings(std::process::id()).expect("it is this process").into_iter();
        all.find(|mapping| mapping.start == start).expect("it was just mapped")
    }

    fn open(mapping: &Mapping) -> Option<MappedFile> {
        MappedFile::open(std::process::id(), mapping).expect("something is mapped there")
    }

    fn is_confirmed(file: &MappedFile) -> bool {
        file.is_confirmed(&mappings(std::process::id()).expect("it is this process"), 0, u64::MAX)
    }

    #[test]
    fn a_mapping_that_was_replaced_before_the_open_is_refused() {
        let (own, other) = (memory_file(), memory_file());
        let before = map(0, ProtFlags::READ | ProtFlags::WRITE, &own);
        assert!(open(&before).is_some_and(|file| is_confirmed(&file)));
        map(before.start, ProtFlags::READ, &other);
        assert!(open(&before).is_none(), "another file");
    }

    #[test]
    fn a_mapping_that_was_replaced_after_the_open_is_not_confirmed() {
        let own = memory_file();
        let mapping = map(0, ProtFlags::READ | ProtFlags::WRITE, &own);
        let opened = open(&mapping).expect("it is shared memory");
        for (protection, file) in [(ProtFlags::READ, &own), (ProtFlags::READ | ProtFlags::WRITE, &memory_file())] {
            map(mapping.start, protection, file);
            assert!(!is_confirmed(&opened));
        }
        map(mapping.start, ProtFlags::READ | ProtFlags::WRITE, &own);
        assert!(is_confirmed(&opened));
    }

    #[test]
    fn files_of_a_disk_and_mappings_that_are_only_read_are_refused() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("the source directory is writable");
        let path = folder.path().join("file");
        fs::write(&path, [0; BYTES]).expect("it is writable");
        let file = OpenOptions::new().read(true).write(true).open(&path).expect("it is there");
        assert!(open(&map(0, ProtFlags::READ | ProtFlags::WRITE, &file)).is_none(), "it would be written to a disk");
        // `/dev/zero` is mapped as memory of its own, and not as the device.
        let zero = OpenOptions::new().read(true).write(true).open("/dev/zero").expect("it is there");
        assert!(open(&map(0, ProtFlags::READ | ProtFlags::WRITE, &zero)).is_some());
        let mut read_only = map(0, ProtFlags::READ, memory_file());
        assert!(open(&read_only).is_none());
        read_only.is_shared = true;
        let opened = open(&read_only).expect("it is memory");
        assert!(!is_confirmed(&opened));
    }

    #[test]
    fn addresses_agree_however_the_mapping_grew() {
        let line = |text: &str| Mapping::parse(text).expect("a line of maps");
        let mapping = line("3000-5000 rw-s 00001000 00:01 7 /memfd:x (deleted)");
        for (other, agrees) in [
            ("3000-5000 rw-s 00001000 00:01 7", true),
            ("2000-6000 rw-s 00000000 00:01 7", true),
            ("3000-5000 rw-s 00002000 00:01 7", false),
            ("3000-5000 r--s 00001000 00:01 7", false),
            ("3000-5000 rw-p 00001000 00:01 7", false),
            ("3000-5000 rw-s 00001000 00:02 7", false),
            ("3000-5000 rw-s 00001000 00:01 8", false),
            ("3000-4000 rw-s 00001000 00:01 7", false),
            ("4000-5000 rw-s 00002000 00:01 7", false),
        ] {
            assert_eq!(mapping.agrees(&line(other), 0x3000, 0x5000), agrees, "{other}");
        }
        assert!(mapping.agrees(&line("4000-5000 rw-s 00002000 00:01 7"), 0x4000, 0x5000), "no more is wanted");
    }

    #[test]
    fn what_is_no_line_of_maps_is_no_mapping() {
        for text in ["", "x", "1000-2000", "2000-1000 rw-s 0 00:01 7", "1000-2000 rw-s 0 0001 7", "1-2 rw-s 0 00:01"] {
            assert_eq!(Mapping::parse(text), None, "{text}");
        }
        let huge = Mapping::parse("7f0000000000-7f0000200000 rw-s 00000000 00:31 1042    /mnt/huge/ixy-12-0 (deleted)");
        let huge = huge.expect("a mapping of a huge page");
        assert_eq!((huge.end - huge.start, huge.file, huge.is_shared), (2 << 20, (0x31, 1042), true));
        let anonymous = Mapping::parse("7f0000000000-7f0000200000 rw-s 00000000 00:00 0").expect("a mapping");
        assert!(!anonymous.is_shared, "it has no file");
    }

    #[test]
    fn the_file_of_a_mapping_is_not_named_by_a_path_that_looks_like_one() {
        let mapping = Mapping::parse("1000-2000 r--s 00000000 00:01 7   /tmp/x 00:31 1042 y").expect("a mapping");
        assert_eq!(mapping.file, (1, 7));
    }
}
