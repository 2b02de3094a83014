//! Destinations of answers: standard output, and files that are either complete or absent.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use prony_machine::own;
use prony_text::{json, printable, printable_line};
use serde::Serialize;

use crate::failure::Failure;

/// Standard output with a large buffer.
pub fn stdout() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Prints the answer; nothing in it commands a terminal.
///
/// # Errors
/// When standard output does not take it.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout();
    out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::stdout(&error))
}

/// Prints the answer as one JSON document.
///
/// # Errors
/// When standard output does not take it.
pub fn print_json(answer: &impl Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(answer).map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
    print(&json(&(text + "\n")))
}

/// Says something of several lines on standard error; nothing in it commands a terminal.
pub fn talk(message: fmt::Arguments<'_>) {
    say(&printable(&message.to_string()));
}

/// Says one line on standard error, which stays one whatever names are in it.
pub fn talk_line(message: fmt::Arguments<'_>) {
    say(&(printable_line(&message.to_string()) + "\n"));
}

fn say(text: &str) {
    // There is no channel left to report that standard error is gone.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A file in the making: under a temporary name beside its own until it is complete. Readable by
/// its owner only, as demos and what is made of them hold secrets.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    file: Option<File>,
}

impl NewFile {
    /// `force`: an existing file may be replaced.
    ///
    /// # Errors
    /// When the file is there already, or the directory does not take it.
    pub fn create(path: &Path, force: bool) -> Result<NewFile, Failure> {
        if !force && path.symlink_metadata().is_ok() {
            return Err(Failure::new(format!("cannot write {}: file exists", path.display())).hint(
                "use --force to \
                     overwrite it",
            ));
        }
        // Devices and pipes cannot be replaced by a file: what is meant by one is to write into it.
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            let file = path.display();
            return Err(Failure::new(format!(
                "cannot write {file}: expected a regular file or none, found something else"
            ))
            .hint("give a file name; the file appears when it is complete"));
        }
        if path.file_name().is_none() {
            return Err(Failure::new(format!("cannot write {}: expected the name of a file", path.display())));
        }
        let (temporary, file) = own::temporary(path, 0o600).map_err(|error| Failure::io("write", path, &error))?;
        Ok(NewFile { path: path.to_owned(), temporary, file: Some(file) })
    }

    /// The name that it will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file to write to.
    pub fn file(&mut self) -> &mut File {
        self.file.as_mut().expect("only `finish` takes the file")
    }

    /// Syncs the content and gives the file its name.
    ///
    /// # Errors
    /// When the disk does not take it; then nothing is left behind.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.sync()
    }

    /// Finishes the file under another name in the same directory; see [`NewFile::finish`].
    ///
    /// # Errors
    /// As [`NewFile::finish`].
    pub fn finish_as(mut self, path: &Path) -> Result<(), Failure> {
        self.path = path.to_owned();
        self.sync()
    }

    fn sync(&mut self) -> Result<(), Failure> {
        drop(self.file.take());
        own::put_in_place(&self.temporary, &self.path).map_err(|error| {
            let _ = fs::remove_file(&self.temporary);
            Failure::io("write", &self.path, &error)
        })
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_at_a_guessable_name_does_not_get_in_the_way() {
        let place = tempfile::TempDir::new().expect("the temporary directory is writable");
        let (path, victim) = (place.path().join("x.json"), place.path().join("victim"));
        fs::write(&victim, "precious").expect("it is writable");
        symlink(&victim, place.path().join(format!(".x.json.{}.tmp", std::process::id()))).expect("it is writable");
        let mut file = NewFile::create(&path, false).expect("the name of its own is free");
        file.file().write_all(b"{}").expect("the disk is not full");
        file.finish().expect("the disk is not full");
        assert_eq!(fs::read(&victim).expect("it is there"), b"precious");
        assert_eq!(fs::read(&path).expect("it is there"), b"{}");
    }
}
