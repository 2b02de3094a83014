//! Socket files of Unix sockets. A replay makes them where the build binds a socket to a path, and they outlive it; the
//! next replay is to find what the recording found.

use prony_demo::{Head, Op, PartKind, Parts};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Most paths of a demo that are looked after.
pub(crate) const MOST_PATHS: usize = 1024;

/// The path that this record bound a socket to.
pub(crate) fn bound_path(head: &Head, record: &[u8]) -> Option<PathBuf> {
    if head.op != Op::Bind as u16 || head.ret != 0 {
        return None;
    }
    let address = Parts::first(record, PartKind::Addr)?;
    // `AF_UNIX`, then a path that may end with a zero byte. A name that begins with one is no file.
    let path = address.strip_prefix(&1u16.to_ne_bytes())?.split(|&byte| byte == 0).next()?;
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// Paths at which nothing stood when a replay began.
pub(crate) struct UnusedPaths(Vec<PathBuf>);

impl UnusedPaths {
    /// Socket files among `paths` that do not exist now; relative paths start at `cwd`.
    pub(crate) fn of(paths: &[PathBuf], cwd: &Path) -> UnusedPaths {
        UnusedPaths(
            paths.iter().map(|path| cwd.join(path)).filter(|path| fs::symlink_metadata(path).is_err()).collect(),
        )
    }
}

impl Drop for UnusedPaths {
    /// Takes away what stands there now, if it is a socket without a listener.
    fn drop(&mut self) {
        for path in &self.0 {
            let is_socket = fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket());
            let refused = || UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
            if is_socket && refused() {
                // Another process may have removed it meanwhile.
                let _ = fs::remove_file(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_dead_sockets_at_free_paths_are_taken_away() {
        let folder = tempfile::tempdir().expect("the temporary directory is writable");
        let path = |name: &str| folder.path().join(name);
        let dead = |name: &str| drop(UnixListener::bind(path(name)).expect("the directory is writable"));
        dead("before");
        let names = ["before", "dead", "alive", "file", "nothing"];
        let free = UnusedPaths::of(&names.map(PathBuf::from), folder.path());
        dead("dead");
        let _alive = UnixListener::bind(path("alive")).expect("the directory is writable");
        fs::write(path("file"), "").expect("the directory is writable");
        drop(free);
        assert_eq!(names.map(|name| path(name).exists()), [true, false, true, true, false]);
    }
}
