//! File in which limits are kept, and reading it.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use prony_limits::{Experiment, Limits, MOST_BYTES, StoredError, decode, encode, fingerprint, stored_path};
use prony_machine::{Tree, facts};

use crate::failure::Failure;
use crate::output::NewFile;

/// File in which limits will be kept.
#[derive(Debug)]
pub struct LimitsFile {
    path: PathBuf,
    named: bool,
    file: NewFile,
}

impl LimitsFile {
    /// The file of `--output`, or that of this machine. Nothing is replaced before there is something new.
    ///
    /// # Errors
    /// When it is not to be written.
    pub fn of(named: Option<&Path>, force: bool) -> Result<LimitsFile, Failure> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => {
                let path = of_this_machine()?;
                let directory = path.parent().unwrap_or(Path::new("."));
                fs::create_dir_all(directory).map_err(|error| Failure::io("make", directory, &error))?;
                path
            }
        };
        let file = NewFile::create(&path, force || named.is_none())?;
        Ok(LimitsFile { path, named: named.is_some(), file })
    }

    /// Writes limits, with those that were kept before and not measured again; returns the path. `in_part`: not all
    /// cases of the requested experiments were measured.
    ///
    /// # Errors
    /// When the disk does not take them.
    pub fn keep(mut self, limits: &mut Limits, requested: &[Experiment], in_part: bool) -> Result<PathBuf, Failure> {
        if !self.named {
            match read(&self.path) {
                Ok(Some(earlier)) => limits.keep(earlier, requested, in_part),
                Ok(None) => {}
                Err(failure) => eprint!("warning: stored limits are replaced: {failure}"),
            }
        }
        let bytes = encode(limits, env!("CARGO_PKG_VERSION"))
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", self.path.display())))?;
        self.file.file().write_all(&bytes).map_err(|error| Failure::io("write", &self.path, &error))?;
        self.file.finish()?;
        Ok(self.path)
    }
}

/// The file of this machine.
fn of_this_machine() -> Result<PathBuf, Failure> {
    let print = fingerprint(&facts(&Tree::machine()));
    let variable = |name: &str| env::var_os(name);
    stored_path(variable("XDG_DATA_HOME").as_deref(), variable("HOME").as_deref(), print).ok_or_else(|| {
        Failure::new("cannot find the directory for limits: neither XDG_DATA_HOME nor HOME is an absolute path")
            .hint("use -o FILE")
    })
}

/// Limits of `--from`, or those of this machine.
///
/// # Errors
/// With the next step where there are none.
pub fn load(from: Option<&Path>) -> Result<Limits, Failure> {
    let path = from.map_or_else(of_this_machine, |path| Ok(path.to_owned()))?;
    read(&path)?.ok_or_else(|| match from {
        // ENOENT, in the kernel's words.
        Some(path) => Failure::io("read", path, &io::Error::from_raw_os_error(2)),
        None => Failure::new(format!("no limits of this machine: {} does not exist", path.display())).hint(
            "run `prony limits`, or `prony limits --quick`, which takes half a minute; --from names a file that \
                 `prony limits -o` has written",
        ),
    })
}

/// Limits of this machine if there are any that can be read.
pub fn of_here() -> Option<Limits> {
    read(&of_this_machine().ok()?).ok()?
}

/// Reads a file; `None`: there is none.
fn read(path: &Path) -> Result<Option<Limits>, Failure> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| Failure::io("read", path, &error))?,
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| Failure::io("read", path, &error))?;
    decode(&bytes).map(Some).map_err(|error| {
        let failure = Failure::new(format!("cannot read {}: {error}", path.display()));
        match error {
            StoredError::NotLimits => failure.hint("`prony limits -o FILE` writes limits"),
            StoredError::Samples(_) | StoredError::Part { .. } => {
                failure.hint("the file was truncated or altered: measure again with `prony limits`")
            }
        }
    })
}
