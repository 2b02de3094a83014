//! Files that are whole or not there: written under a temporary name, synced, renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use prony_machine::own;

/// Writes a file that is on disk when this returns. Readable by its owner only, as samples name commands and hosts.
///
/// # Errors
/// What the system says; then nothing is left behind.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with_mode(path, bytes, 0o600)
}

/// Same as [`write()`], with the permission bits `mode`.
///
/// # Errors
/// As [`write()`].
pub fn write_with_mode(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (temporary, mut file) = own::temporary(path, mode)?;
    let written = file.write_all(bytes).and_then(|()| own::put_in_place(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Copies a file and its permissions; on disk when this returns.
///
/// # Errors
/// As [`write()`].
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let temporary = own::temporary_name(to)?;
    let copied = copy_new(from, &temporary).and_then(|()| own::put_in_place(&temporary, to));
    if copied.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    copied
}

/// Copies a file and its permissions to where nothing is yet, not even a link.
///
/// # Errors
/// What the system says, `AlreadyExists` where something is.
pub fn copy_new(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let permissions = from.metadata()?.permissions();
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut from, &mut to)?;
    to.set_permissions(permissions)?;
    to.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_at_a_name_that_can_be_guessed_is_not_written_through() {
        let place = tempfile::TempDir::new().expect("the temporary directory is writable");
        let (path, victim) = (place.path().join("samples.json"), place.path().join("victim"));
        fs::write(&victim, "precious").expect("it is writable");
        let guessed = place.path().join(format!(".samples.json.{}.tmp", std::process::id()));
        symlink(&victim, guessed).expect("it is writable");
        write(&path, b"{}").expect("the name of its own is free");
        copy(&path, &place.path().join("copy")).expect("the name of its own is free");
        // What stands at the name itself is replaced, not followed.
        symlink(&victim, place.path().join("other.json")).expect("it is writable");
        write(&place.path().join("other.json"), b"{}").expect("it is writable");
        assert_eq!(fs::read(&victim).expect("it is there"), b"precious");
        assert!(path.symlink_metadata().expect("it is there").is_file());
    }
}
