//! Builds of both sides: as they are, and once for each layout. The program of each is copied before the next build replaces it.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use prony_machine::Interrupt;
use tempfile::TempDir;

use super::bolt::Linked;
use super::toolchain::{Links, Tools};
use super::{BuildOptions, Event, LayoutError, Side};
use crate::bisect::without_git_variables;
use crate::build_command;

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
    /// Programs of A and of B with their relocations, if BOLT orders them.
    linked: [Option<Linked>; 2],
    scratch: TempDir,
}

/// How a side is built.
#[derive(Debug, Clone, Copy)]
enum Way {
    AsItIs,
    InOrder(u32),
    WithRelocations,
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
        if let Some(keep) = &options.keep {
            fs::create_dir_all(keep).map_err(LayoutError::io(keep))?;
            if fs::read_dir(keep).map_err(LayoutError::io(keep))?.next().is_some() {
                return Err(LayoutError::Occupied(keep.clone()));
            }
        }
        let directory = scratch.path().join("tools");
        let tools = Tools::make(&directory, &options.link).map_err(LayoutError::io(&directory))?;
        let mut builds =
            Builds { binaries: [Vec::new(), Vec::new()], links: [None, None], linked: [None, None], scratch };
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
                match seed {
                    Some(seed) if options.bolt.is_some() => {
                        builds.order(options, place, layout, seed, &tools, interrupt)?
                    }
                    seed => {
                        let way = seed.map_or(Way::AsItIs, Way::InOrder);
                        let links = builds.build(options, place, layout, way, &tools, interrupt)?;
                        let path = builds.path_of_copy(&options.sides[place], place, layout)?;
                        fs::copy(&options.sides[place].program, &path).map_err(LayoutError::io(&path))?;
                        builds.keep(&options.sides[place], place, layout, path, links)?;
                    }
                }
                if let (None, Some(binary)) = (seed, builds.binaries[place].last())
                    && let Some(original) = originals.get_mut(place)
                {
                    original.as_built = Some(binary.path.clone());
                }
            }
        }
        if let Some(keep) = &options.keep {
            builds.copy_to(keep)?;
        }
        Ok(builds)
    }

    /// Copies each program into a directory of its own in `keep`.
    fn copy_to(&self, keep: &Path) -> Result<(), LayoutError> {
        for (side, binaries) in ["a", "b"].into_iter().zip(&self.binaries) {
            for (layout, binary) in binaries.iter().enumerate() {
                let number = if layout == 0 { "as-built".to_owned() } else { layout.to_string() };
                let directory = keep.join(side).join(number);
                fs::create_dir_all(&directory).map_err(LayoutError::io(&directory))?;
                let copy = directory.join(binary.path.file_name().unwrap_or_default());
                fs::copy(&binary.path, &copy).map_err(LayoutError::io(&copy))?;
            }
        }
        Ok(())
    }

    /// Has BOLT make a layout, after a build with relocations for the first.
    fn order(
        &mut self,
        options: &BuildOptions,
        place: usize,
        layout: usize,
        seed: u32,
        tools: &Tools,
        interrupt: Option<&Interrupt>,
    ) -> Result<(), LayoutError> {
        let (Some(bolt), side) = (&options.bolt, &options.sides[place]) else { return Ok(()) };
        let mut linked = match self.linked[place].take() {
            Some(linked) => linked,
            None => {
                self.build(options, place, layout, Way::WithRelocations, tools, interrupt)?;
                let program = self.scratch.path().join(if place == 0 { "linked-a" } else { "linked-b" });
                fs::copy(&side.program, &program).map_err(LayoutError::io(&side.program))?;
                Linked::of(program)?
            }
        };
        let path = self.path_of_copy(side, place, layout)?;
        let links = bolt.order(&side.name, &mut linked, &path, seed, interrupt)?;
        self.linked[place] = Some(linked);
        self.keep(side, place, layout, path, Some(links))
    }

    /// Runs the build command of a side, and returns what its links ordered.
    fn build(
        &self,
        options: &BuildOptions,
        place: usize,
        layout: usize,
        way: Way,
        tools: &Tools,
        interrupt: Option<&Interrupt>,
    ) -> Result<Option<Links>, LayoutError> {
        let side = &options.sides[place];
        let log = self.scratch.path().join("build.log");
        match fs::remove_file(&side.program) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(LayoutError::io(&side.program)(error)),
            _ => {}
        }
        let adapt = |command: &mut std::process::Command| {
            without_git_variables(command);
            match way {
                Way::AsItIs => tools.adapt(command, None),
                Way::InOrder(seed) => tools.adapt(command, Some(seed)),
                Way::WithRelocations => tools.adapt_for_relocations(command),
            }
        };
        let failed = build_command::run(&side.build, &options.directory, &log, adapt, interrupt)?;
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
        Ok(links)
    }

    /// Takes the program of a layout, which lies at `path`.
    fn keep(
        &mut self,
        side: &Side,
        place: usize,
        layout: usize,
        path: PathBuf,
        links: Option<Links>,
    ) -> Result<(), LayoutError> {
        let mut hasher = DefaultHasher::new();
        fs::read(&path).map_err(LayoutError::io(&path))?.hash(&mut hasher);
        let binary = Binary { path, content: hasher.finish() };
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

    /// Functions of A and of B that BOLT left where they are.
    pub fn left(&self) -> [Vec<String>; 2] {
        self.linked.each_ref().map(|linked| linked.as_ref().map_or_else(Vec::new, |linked| linked.left.clone()))
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

    /// Path of the copy of a program, in a directory of its own. The paths of all copies have one length, because a process has its
    /// path on the stack.
    fn path_of_copy(&self, side: &Side, place: usize, layout: usize) -> Result<PathBuf, LayoutError> {
        let name = side.program.file_name().unwrap_or_default();
        let letter = if place == 0 { "a" } else { "b" };
        let directory = self.scratch.path().join(format!("{letter}-{layout:04}"));
        fs::create_dir(&directory).map_err(LayoutError::io(&directory))?;
        Ok(directory.join(name))
    }
}
