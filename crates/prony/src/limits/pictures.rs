//! Drawing of limits as curves, in SVG files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use prony_limits::Limits;
use prony_report::limits_curves;

use crate::failure::Failure;
use crate::output::NewFile;

/// Writes what curves there are into a directory, replacing those of an earlier run; answers their files.
///
/// # Errors
/// When the directory does not take them.
pub fn write(limits: &Limits, directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    fs::create_dir_all(directory).map_err(|error| Failure::io("make", directory, &error))?;
    let mut paths = Vec::new();
    for (name, curves) in limits_curves(limits) {
        let path = directory.join(format!("{name}.svg"));
        let mut file = NewFile::create(&path, true)?;
        file.file().write_all(curves.svg().as_bytes()).map_err(|error| Failure::io("write", &path, &error))?;
        file.finish()?;
        paths.push(path);
    }
    Ok(paths)
}
