//! Files that are whole or not there: written under a temporary name, synced, renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes a file that is on disk when this returns. Readable by its owner only, as samples name commands and hosts.
///
/// # Errors
/// What the system says; then nothing is left behind.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with_mode(path, bytes, 0o600)
}

/// As [`write()`], with these permissions.
///
/// # Errors
/// As [`write()`].
pub fn write_with_mode(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let temporary = temporary(path)?;
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&temporary)?;
    let written = file.write_all(bytes).and_then(|()| put_in_place(&temporary, path));
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
    let temporary = temporary(to)?;
    let copied = fs::copy(from, &temporary).and_then(|_| put_in_place(&temporary, to));
    if copied.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    copied
}

/// Syncs a file and gives it its name, also on disk.
///
/// # Errors
/// What the system says.
pub fn put_in_place(temporary: &Path, path: &Path) -> io::Result<()> {
    File::open(temporary)?.sync_all()?;
    fs::rename(temporary, path)?;
    // The new name is on disk only when the directory is.
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

/// Whether a name is that of a file in the making, which nobody finishes when its writer is gone.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

fn temporary(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{}.tmp", std::process::id())))
}
