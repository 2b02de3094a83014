//! Builds of both sides: as they are, and once for each layout. The program of each is copied before the next build replaces it.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use prony_machine::Interrupt;
use tempfile::TempDir;

use super::toolchain::{Links, Tools};
use super::{BuildOptions, Event, LayoutError, Side};
use crate::bisect::without_git_variables;
use crate::build_command::{self, BuildError};

/// Program of a side in a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// Copy of the program.
    pub path: PathBuf,
    /// Hash of its content.
    content: u64,
}

/// All builds of a bench, in a temporary directory that goes with this value.
#[derive(Debug)]
pub struct Builds {
    /// Programs of A and of B: as built, then one for each seed.
    pub binaries: [Vec<Binary>; 2],
    /// What was ordered in the last layout of each side.
    pub links: [Option<Links>; 2],
    scratch: TempDir,
}

/// A program that a build replaces, put back at the end.
#[derive(Debug)]
struct Original {
    program: PathBuf,
    aside: Option<PathBuf>,
    as_built: Option<PathBuf>,
}

impl Original {
    /// Moves the program out of the way, so that a build that makes none is noticed, and make links again.
    fn aside(program: &Path, number: usize) -> Result<Original, LayoutError> {
        let mut original = Original { program: program.to_owned(), aside: None, as_built: None };
        if program.exists() {
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            let aside = program.with_file_name(format!(".{name}.prony-{}-{number}", std::process::id()));
            fs::rename(program, &aside).map_err(LayoutError::io(program))?;
            original.aside = Some(aside);
        }
        Ok(original)
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // Nothing more can be done about a disk that does not take it; the copy aside is left there.
        let _ = match (&self.aside, &self.as_built) {
            (Some(aside), _) => fs::rename(aside, &self.program),
            (None, Some(as_built)) => fs::copy(as_built, &self.program).map(drop),
            (None, None) => Ok(()),
        };
    }
}

impl Builds {
    /// Builds both sides with `seeds`, after a build of each as it is.
    ///
    /// # Errors
    /// [`LayoutError`]: a build that fails, makes no program, or is the same for different seeds.
    pub fn make(
        options: &BuildOptions,
        seeds: &[u32],
        interrupt: Option<&Interrupt>,
        events: &mut dyn FnMut(Event),
    ) -> Result<Builds, LayoutError> {
        let scratch = tempfile::Builder::new().prefix("prony-layouts-").tempdir();
        let scratch = scratch.map_err(LayoutError::io(&std::env::temp_dir()))?;
        let directory = scratch.path().join("tools");
        let tools = Tools::make(&directory, &options.link).map_err(LayoutError::io(&directory))?;
        let mut builds = Builds { binaries: [Vec::new(), Vec::new()], links: [None, None], scratch };
        let mut originals = Vec::new();
        for (number, side) in options.sides.iter().enumerate() {
            // Both sides may be built in one place, one after the other.
            if !originals.iter().any(|original: &Original| original.program == side.program) {
                originals.push(Original::aside(&side.program, number)?);
            }
        }
        let all = (seeds.len() + 1) * options.sides.len();
        for layout in 0..=seeds.len() {
            for place in 0..options.sides.len() {
                events(Event::Building { done: layout * options.sides.len() + place, of: all });
                let seed = layout.checked_sub(1).and_then(|number| seeds.get(number)).copied();
                builds.build(options, place, layout, seed, &tools, interrupt)?;
                if let (None, Some(binary)) = (seed, builds.binaries[place].last())
                    && let Some(original) = originals.get_mut(place)
                {
                    original.as_built = Some(binary.path.clone());
                }
            }
        }
        Ok(builds)
    }

    fn build(
        &mut self,
        options: &BuildOptions,
        place: usize,
        layout: usize,
        seed: Option<u32>,
        tools: &Tools,
        interrupt: Option<&Interrupt>,
    ) -> Result<(), LayoutError> {
        let side = &options.sides[place];
        let log = self.scratch.path().join("build.log");
        match fs::remove_file(&side.program) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(LayoutError::io(&side.program)(error)),
            _ => {}
        }
        let adapt = |command: &mut std::process::Command| {
            without_git_variables(command);
            tools.adapt(command, seed);
        };
        let ran = build_command::run(&side.build, &options.directory, &log, adapt, interrupt);
        let failed = ran.map_err(|error| match error {
            BuildError::Io(path, error) => LayoutError::Io { path, error },
            BuildError::Interrupted => LayoutError::Interrupted,
        })?;
        let links = tools.take_links();
        let of = |side: &Side| (side.name.clone(), side.build.clone());
        if let Some(ended) = failed {
            let ((name, build), printed) = (of(side), build_command::printed(&log));
            return Err(LayoutError::Failed { name, build, layout, ended, printed });
        }
        if !side.program.is_file() {
            let (name, build) = of(side);
            return Err(LayoutError::NoProgram { name, build, program: side.program.clone() });
        }
        let binary = self.copy(side, place, layout)?;
        let own = &mut self.binaries[place];
        // By chance, two seeds may give a small program one order; the first two do not, and none that of the linker.
        let first = own.first().filter(|first| first.content == binary.content).map(|_| 0);
        let second = (layout == 2 && own.get(1).is_some_and(|one| one.content == binary.content)).then_some(1);
        if let Some(other) = first.or(second) {
            let has_links = links.is_some();
            return Err(LayoutError::Identical { name: side.name.clone(), layouts: [other, layout], has_links });
        }
        own.push(binary);
        self.links[place] = links.or(self.links[place]);
        Ok(())
    }

    /// Path at which all programs of a side are replayed, one after the other, so that no name differs from layout to layout.
    pub fn replay_path(&self, options: &BuildOptions, place: usize) -> PathBuf {
        let name = options.sides[place].program.file_name().unwrap_or_default();
        self.scratch.path().join(if place == 0 { "a" } else { "b" }).join(name)
    }

    /// Installs the program of a layout at `path`. It is the same file as the copy, so that it lies in the same pages each time.
    ///
    /// # Errors
    /// When the file system refuses it.
    pub fn install(&self, path: &Path, place: usize, layout: usize) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let binary = self.binaries[place].get(layout).ok_or(io::ErrorKind::NotFound)?;
        fs::hard_link(&binary.path, path)
    }

    /// Copies a program aside. The paths of all copies have one length, because a process has its path on the stack.
    fn copy(&self, side: &Side, place: usize, layout: usize) -> Result<Binary, LayoutError> {
        let name = side.program.file_name().unwrap_or_default();
        let letter = if place == 0 { "a" } else { "b" };
        let directory = self.scratch.path().join(format!("{letter}-{layout:04}"));
        fs::create_dir(&directory).map_err(LayoutError::io(&directory))?;
        let path = directory.join(name);
        fs::copy(&side.program, &path).map_err(LayoutError::io(&side.program))?;
        let mut hasher = DefaultHasher::new();
        fs::read(&path).map_err(LayoutError::io(&path))?.hash(&mut hasher);
        Ok(Binary { path, content: hasher.finish() })
    }
}
