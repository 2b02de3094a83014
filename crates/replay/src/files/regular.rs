//! Opening files that a demo or a server named: regular ones only, and none that could keep us waiting.

use rustix::fs::{FsWord, OFlags, PROC_SUPER_MAGIC};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Largest program or library that is looked into; those with all their debug information stay below.
pub(crate) const MOST_OBJECT_BYTES: u64 = 4 << 30;

/// Reason why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused to open or read the file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A directory, pipe, device or socket.
    #[error("expected a regular file")]
    NotRegular,
    /// More than is read of one file.
    #[error("expected at most {limit} bytes, found {bytes}")]
    TooLarge {
        /// Size of the file, in bytes.
        bytes: u64,
        /// Largest number of bytes that are read.
        limit: u64,
    },
}

/// Opens a regular file for reading, and follows links, as libraries have them. Nothing else is opened, since some
/// devices act and some pipes wait when they are.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), FileError> {
    if !fs::metadata(path)?.is_file() {
        return Err(FileError::NotRegular);
    }
    // It may have become something else meanwhile.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let data = file.metadata()?;
    if data.is_file() { Ok((file, data)) } else { Err(FileError::NotRegular) }
}

/// Opens a program or library, if it is a regular file of limited size.
pub(crate) fn open_object(path: &Path) -> Result<File, FileError> {
    let (file, data) = open(path)?;
    match data.len() {
        bytes if bytes > MOST_OBJECT_BYTES => Err(FileError::TooLarge { bytes, limit: MOST_OBJECT_BYTES }),
        _ => Ok(file),
    }
}

/// Directories in which the kernel makes files up: none of them is a place for files of a server or a demo.
const MADE_UP: [&str; 3] = ["/proc", "/sys", "/dev"];

/// True for a path below such a directory. Links are not followed.
pub(crate) fn is_below_made_up(path: &Path) -> bool {
    MADE_UP.iter().any(|directory| path.starts_with(directory))
}

/// True for files that the kernel makes up while they are read; the size it states of them says nothing.
pub(crate) fn is_made_up(file: &File) -> bool {
    /// Type of sysfs: `SYSFS_MAGIC` of Linux.
    const SYSFS: FsWord = 0x6265_6572;
    rustix::fs::fstatfs(file).is_ok_and(|system| [PROC_SUPER_MAGIC, SYSFS].contains(&system.f_type))
}

/// Bytes as a name the system takes.
pub(crate) fn os(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let scratch = tempfile::tempdir().expect("the temporary directory is writable");
        let pipe = scratch.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).expect("a link");
        for path in [&pipe, &link, &scratch.path().to_owned()] {
            assert!(matches!(open(path), Err(FileError::NotRegular)), "{}", path.display());
        }
        let large = scratch.path().join("large");
        File::create(&large).and_then(|file| file.set_len(MOST_OBJECT_BYTES + 1)).expect("a file of holes");
        assert!(open(&large).is_ok());
        assert!(matches!(open_object(&large), Err(FileError::TooLarge { .. })));
    }

    #[test]
    fn the_kernel_makes_up_what_proc_holds() {
        let (file, data) = open(Path::new("/proc/self/status")).expect("it is there");
        assert!(data.len() == 0 && is_made_up(&file));
        let own = open(&std::env::current_exe().expect("the test runs")).expect("it is a file").0;
        assert!(!is_made_up(&own));
    }
}
