//! Files of this checkout, for tests of rules that all of them keep.

use std::fs;
use std::path::{Path, PathBuf};

/// The checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout is there")
}

/// Files at or below a path, of those that are wanted. Folders are checked as well; links to folders are not followed.
pub fn files_below(path: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let wanted = paths.filter(|path| !(path.is_dir() && path.is_symlink()) && is_wanted(path));
    wanted.flat_map(|path| files_below(&path, is_wanted)).collect()
}

/// Rust files at or below a path, without those of tests.
pub fn rust_below(path: &Path) -> Vec<PathBuf> {
    files_below(path, &|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() { name != "tests" } else { name.ends_with(".rs") && name != "tests.rs" }
    })
}

/// Checks that a page which is made has not gone stale; writes it where `PRONY_WRITE_PAGES` is set.
///
/// # Panics
/// When the page is another one. `command`: what makes it.
pub fn check_page(path: &Path, expected: &str, command: &str) {
    if std::env::var_os("PRONY_WRITE_PAGES").is_some() {
        fs::write(path, expected).expect("the page can be written");
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == expected, "`{command}` writes {}", path.display());
}
