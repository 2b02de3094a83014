//! Root of `/proc`, `/sys` and `/dev`: the machine itself, or a directory made by a test.

mod imitation;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use imitation::Imitation;

/// The root below which everything of the machine is read and written. Paths given to it are
/// absolute, as `/proc/stat`.
#[derive(Debug)]
pub struct Tree {
    directory: PathBuf,
    imitation: Option<Imitation>,
}

impl Tree {
    /// The machine this runs on.
    pub fn machine() -> Tree {
        Tree { directory: PathBuf::from("/"), imitation: None }
    }

    /// A directory of plain files that imitates a machine: writes are answered as the kernel
    /// would, nothing outside of it is touched, no process is stopped, and no time passes.
    /// `/` is the machine itself.
    pub fn at(directory: &Path) -> Tree {
        if directory == Path::new("/") {
            return Tree::machine();
        }
        Tree { directory: directory.to_owned(), imitation: Some(Imitation::of(directory)) }
    }

    /// True for the machine this runs on, false for a directory that imitates one.
    pub fn is_machine(&self) -> bool {
        self.imitation.is_none()
    }

    /// Real path of the tree's `path`.
    pub fn place(&self, path: &str) -> PathBuf {
        self.directory.join(path.trim_start_matches('/'))
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read(&self, path: &str) -> io::Result<String> {
        if let Some(later) = self.imitation.as_ref().and_then(|imitation| imitation.later(path)) {
            return fs::read_to_string(later);
        }
        fs::read_to_string(self.place(path))
    }

    /// The first line without the spaces around it; `None` when there is no such file, it cannot be
    /// read, or it is empty.
    pub fn line(&self, path: &str) -> Option<String> {
        let text = self.read(path).ok()?;
        text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
    }

    /// The first line as a number or a set of CPUs; `None` when it is none.
    pub fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.line(path)?.parse().ok()
    }

    /// True when `path` is there.
    pub fn exists(&self, path: &str) -> bool {
        self.place(path).exists()
    }

    /// Names in a directory, numbers in their order; empty when there is none.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.place(path)) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        let number = |name: &str| name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok();
        names.sort_by_cached_key(|name| (number(name), name.clone()));
        names
    }

    /// Writes a value in one call, as files of the kernel want it.
    ///
    /// # Errors
    /// The kernel's, `EINVAL` for a value it does not know.
    pub fn write(&self, path: &str, value: &str) -> io::Result<()> {
        self.step();
        let place = self.place(path);
        let text = match &self.imitation {
            Some(imitation) => imitation.answer(self, path, value)?,
            None => value.to_owned(),
        };
        OpenOptions::new().write(true).truncate(self.imitation.is_some()).open(place)?.write_all(text.as_bytes())
    }

    /// Creates a control group below the tree's root.
    ///
    /// # Errors
    /// The kernel's.
    pub fn make_group(&self, path: &str) -> io::Result<()> {
        self.step();
        fs::create_dir(self.place(path))?;
        match &self.imitation {
            Some(imitation) => imitation.fill_group(&self.place(path)),
            None => Ok(()),
        }
    }

    /// Removes a control group below the tree's root.
    ///
    /// # Errors
    /// The kernel's: a group with processes in it stays.
    pub fn remove_group(&self, path: &str) -> io::Result<()> {
        self.step();
        match &self.imitation {
            // The files of a group are the kernel's and go with it; here they are plain files.
            Some(_) => fs::remove_dir_all(self.place(path)),
            None => fs::remove_dir(self.place(path)),
        }
    }

    /// Makes an imitated machine show the files below `imitation/later` instead, as if time had passed.
    pub(crate) fn time_passed(&self) {
        if let Some(imitation) = &self.imitation {
            imitation.time_passed();
        }
    }

    /// Called before each change: an imitated machine may end this process here.
    pub(crate) fn step(&self) {
        if let Some(imitation) = &self.imitation {
            imitation.step();
        }
    }
}
