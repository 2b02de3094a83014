//! The file of a demo while it is recorded: under a name of its own beside the one it will have.

use prony_machine::own;
use rustix::fs::{OFlags, RenameFlags};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The name of the file until it is complete.
pub(crate) fn path_of(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// Creates the file, for its owner only. What has this name is an earlier recording that was cut, or a link that
/// another user has put there: neither is written to. With `replace`, the name is taken from it.
pub(crate) fn create(path: &Path, replace: bool) -> io::Result<File> {
    let fresh = || {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        File::options().create_new(true).write(true).read(true).mode(0o600).custom_flags(flags).open(path)
    };
    match fresh() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && replace => {
            fs::remove_file(path)?;
            fresh()
        }
        made => made,
    }
}

/// Gives the complete file its name, on disk too; without `replace` only where nothing has it.
pub(crate) fn complete(path: &Path, output: &Path, replace: bool) -> io::Result<()> {
    let cwd = rustix::fs::CWD;
    match rustix::fs::renameat_with(cwd, path, cwd, output, RenameFlags::NOREPLACE) {
        // Not every file system can.
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(path, output),
        Err(Errno::EXIST) if replace => fs::rename(path, output),
        renamed => Ok(renamed?),
    }?;
    own::sync_name(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_the_name_is_never_written_to() {
        let scratch = tempfile::tempdir().expect("the temporary directory is writable");
        let (partial, output, mine) =
            (scratch.path().join("x.partial"), scratch.path().join("x"), scratch.path().join("mine"));
        fs::write(&mine, b"mine").expect("writable");
        std::os::unix::fs::symlink(&mine, &partial).expect("writable");
        assert_eq!(create(&partial, false).expect_err("taken").kind(), io::ErrorKind::AlreadyExists);
        io::Write::write_all(&mut create(&partial, true).expect("replaced"), b"demo").expect("writable");
        assert_eq!(fs::read(&mine).expect("there"), b"mine");
        fs::write(&output, b"came meanwhile").expect("writable");
        assert_eq!(complete(&partial, &output, false).expect_err("taken").kind(), io::ErrorKind::AlreadyExists);
        complete(&partial, &output, true).expect("replaced");
        assert_eq!(fs::read(&output).expect("there"), b"demo");
        assert!(!partial.exists());
    }
}
