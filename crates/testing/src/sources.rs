//! Files of this checkout, for tests of rules that all of them keep.

use std::fs;
use std::path::{Path, PathBuf};

/// The checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout is there")
}

/// Files at or below a path, of those that are wanted. Folders are asked for as well; links to folders are not followed.
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
