//! Files beside the results in a study's directory that belong on the page.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use prony_limits::{Limits, MOST_BYTES, decode};

use crate::study::frames::Frames;
use crate::study::matrix::Matrix;
use crate::svg::chart::flame::Stacks;

/// Folded stacks that are read of one profile, in bytes.
const PROFILE_BYTES: u64 = 64 << 20;
/// Largest number of profiles on a page.
const PROFILES_MAX: usize = 6;

/// Content of a study's directory besides its results.
#[derive(Debug, Default)]
pub struct Extras {
    /// The version of prony that makes the page.
    pub version: String,
    /// The study's directory, as the commands to reproduce it name it.
    pub directory: String,
    /// True if the study file and the files that it copied exist: an imported study has neither.
    pub can_run_again: bool,
    /// Frame times of the replays, by configuration.
    pub frames: Frames,
    /// Profiles with their names, as folded stacks.
    pub profiles: Vec<(String, Stacks)>,
    /// Limits of the hardware, as `prony limits` measured them.
    pub limits: Option<Limits>,
    /// Files that could not be read, with the reasons.
    pub problems: Vec<String>,
}

impl Extras {
    /// Reads `profiles/*.folded`, `limits.json` and the frame times of all replays. What is not there is left out; what cannot
    /// be read is listed in [`Extras::problems`].
    pub fn read(matrix: &Matrix<'_>, dir: &Path, version: &str) -> Extras {
        let mut extras = Extras {
            version: version.to_owned(),
            directory: dir.display().to_string(),
            can_run_again: dir.join("study.toml").is_file() && dir.join("builds/contents.json").is_file(),
            frames: Frames::read(matrix, dir),
            ..Extras::default()
        };
        extras.problems.append(&mut extras.frames.problems);
        extras.read_profiles(&dir.join("profiles"));
        let limits = dir.join("limits.json");
        match read(&limits, MOST_BYTES as u64) {
            Ok(None) => {}
            Ok(Some(bytes)) => match decode(&bytes) {
                Ok(limits) => extras.limits = Some(limits),
                Err(error) => extras.problems.push(format!("{}: {error}", limits.display())),
            },
            Err(error) => extras.problems.push(format!("{}: {error}", limits.display())),
        }
        extras
    }

    fn read_profiles(&mut self, dir: &Path) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|kind| kind == "folded")).collect();
        paths.sort();
        for path in paths.iter().skip(PROFILES_MAX) {
            self.problems.push(format!("{}: skipped, only {PROFILES_MAX} profiles are shown", path.display()));
        }
        for path in paths.iter().take(PROFILES_MAX) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            match read(path, PROFILE_BYTES) {
                Ok(Some(bytes)) => self.profiles.push((name, Stacks::folded(&String::from_utf8_lossy(&bytes)))),
                Ok(None) => {}
                Err(error) => self.problems.push(format!("{}: {error}", path.display())),
            }
        }
    }
}

/// A file of at most this many bytes; `None` when there is none.
fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("expected at most {most} bytes, found more")));
    }
    Ok(Some(bytes))
}
