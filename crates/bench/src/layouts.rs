//! Two programs in many layouts: the order of their functions and sections is shuffled at link time, so that a verdict is about the
//! code and not about where the linker happened to put it.
//!
//! Each side is built as it is, and once for each of N seeds. A seed places both sides alike, as far as the linker can
//! (module `order`), and the runs of both sides in one layout are close together in time. The unit of the answer is the layout: the
//! value of each is the median of its runs, and the interval is that of the ratios of B to A over the layouts, by the signed rank
//! test. However many runs there are of one layout, it counts once. Instead of runs of a command, there may be replays of demos.

mod answer;
mod bolt;
mod builds;
mod estimate;
mod judged;
mod measure;
mod order;
mod replays;
mod rounds;
mod toolchain;

use std::io;
use std::path::{Path, PathBuf};

use prony_machine::Interrupt;
use prony_stats::Seed;

use crate::build_command::BuildError;
use crate::demo::DemoOptions;
use crate::error::BenchError;
use crate::options::Options;

use builds::Builds;

pub use answer::{Layout, LayoutReport, Layouts, LayoutsEnded, Needs, ReplayedDemo};
pub use bolt::Bolt;
pub use estimate::{Estimate, Spreads};
pub use toolchain::{LinkError, Linker, Links, SEED_VARIABLE, link};

/// Layouts that a bench has at most.
pub const LAYOUTS_MAX: usize = 1000;

/// A side of the comparison: what builds it, and what runs it.
#[derive(Debug, Clone)]
pub struct Side {
    /// Name of the command.
    pub name: String,
    /// Build command, text for `sh`.
    pub build: String,
    /// Program that the build makes.
    pub program: PathBuf,
    /// Words of the command; those that name the program get the path of a copy.
    pub words: Vec<String>,
    /// Indices of the words that name the program.
    pub program_words: Vec<usize>,
}

/// What is built.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// A and B.
    pub sides: [Side; 2],
    /// Number of layouts of each side.
    pub layouts: usize,
    /// Directory in which builds run.
    pub directory: PathBuf,
    /// Program and arguments that end up in [`link`], followed by the name of a linker and its arguments.
    pub link: Vec<String>,
    /// BOLT, which makes the layouts of one link; `None`: each layout is a build.
    pub bolt: Option<Bolt>,
    /// New or empty directory that gets a copy of each program: `a/1/NAME` of layout 1 of A, `a/as-built/NAME`.
    pub keep: Option<PathBuf>,
    /// Seed of the layouts, and of the order of runs: equal seed, equal draws.
    pub seed: u64,
}

impl BuildOptions {
    /// The seed of each layout, from layout 1 on.
    pub fn seeds(&self) -> Vec<u32> {
        self.draw().0
    }

    /// The seeds of the layouts, and the generator for all that is drawn after them.
    fn draw(&self) -> (Vec<u32>, Seed) {
        let mut seed = Seed::new(self.seed);
        // Linkers take a seed of 32 bits, of which 0 means none.
        let seeds = (0..self.layouts).map(|_| (seed.bits() as u32 >> 1).max(1)).collect();
        (seeds, seed)
    }
}

/// Options of a bench of two commands over layouts.
#[derive(Debug, Clone)]
pub struct LayoutOptions {
    /// What is built.
    pub builds: BuildOptions,
    /// All else; the commands have no program yet.
    pub bench: Options,
}

/// Options of a bench of two builds over layouts, on demos.
#[derive(Debug, Clone)]
pub struct DemoLayoutOptions {
    /// What is built.
    pub builds: BuildOptions,
    /// Error probability of all demos together.
    pub alpha: f64,
    /// Demos with their names, at least one. Of each, the plan, the runs and the warm-ups are those of all layouts; the commands of the
    /// builds are those of the sides.
    pub demos: Vec<(String, DemoOptions)>,
}

/// Events while layouts are built and measured.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A build begins.
    Building {
        /// Builds that are done.
        done: usize,
        /// Number of all builds.
        of: usize,
    },
    /// All programs are built, and the replays of the demo of this index begin.
    Demo(usize),
    /// What the first rounds say of the spread between layouts; sent once, before the end is decided.
    Planned(Spreads),
    /// A round is done.
    Round {
        /// Number of rounds that are complete.
        done: usize,
        /// Seconds since the first one began.
        elapsed_s: f64,
    },
}

/// Reasons why layouts were not measured.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A build ended with an error.
    #[error("build of `{name}`, {}: `{build}`: expected exit code 0, found {ended}", layout_name(*layout))]
    Failed {
        /// Name of the command.
        name: String,
        /// Build command.
        build: String,
        /// Number of the layout, 0 as built.
        layout: usize,
        /// How it ended.
        ended: String,
        /// The last lines that it printed.
        printed: Vec<String>,
    },
    /// BOLT could not order the functions of a program.
    #[error("`{name}`: {}: expected exit code 0, found {ended}", program.display())]
    Bolt {
        /// Name of the command.
        name: String,
        /// Path of BOLT.
        program: PathBuf,
        /// How it ended.
        ended: String,
        /// The last lines that it printed.
        printed: Vec<String>,
    },
    /// A build ended well and left no program.
    #[error("`{build}` made no {}", program.display())]
    NoProgram {
        /// Name of the command.
        name: String,
        /// Build command.
        build: String,
        /// Path of the program.
        program: PathBuf,
    },
    /// Two builds are the same.
    #[error("builds of `{name}` are identical, {} and {}: the seed did not change the program", layout_name(layouts[0]), layout_name(layouts[1]))]
    Identical {
        /// Name of the command.
        name: String,
        /// Their numbers, 0 as built.
        layouts: [usize; 2],
        /// True if a linker was run that orders sections.
        has_links: bool,
    },
    /// The directory for copies of the programs has something in it.
    #[error("{}: expected a new or an empty directory, found entries", .0.display())]
    Occupied(PathBuf),
    /// Something of the system failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// Nothing could be measured.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A signal requested a stop while programs were built.
    #[error("interrupted while layouts were built")]
    Interrupted,
}

impl From<BuildError> for LayoutError {
    fn from(error: BuildError) -> LayoutError {
        match error {
            BuildError::Io(path, error) => LayoutError::Io { path, error },
            BuildError::Interrupted => LayoutError::Interrupted,
        }
    }
}

impl LayoutError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> LayoutError + use<> {
        let path = path.to_owned();
        move |error| LayoutError::Io { path, error }
    }
}

/// `as built`, or `layout 3`.
fn layout_name(layout: usize) -> String {
    if layout == 0 { "as built".to_owned() } else { format!("layout {layout}") }
}

/// Builds both sides in all layouts, and measures them.
///
/// # Errors
/// [`LayoutError`]; a run that fails is in the report.
pub fn bench_layouts(
    options: &LayoutOptions,
    interrupt: Option<&Interrupt>,
    events: &mut dyn FnMut(Event),
) -> Result<Layouts, LayoutError> {
    let (seeds, mut seed) = options.builds.draw();
    let builds = Builds::make(&options.builds, &seeds, interrupt, events)?;
    let report = measure::measure(options, &builds, &mut seed, interrupt, events)?;
    Ok(Layouts {
        builds: options.builds.clone(),
        left: builds.left(),
        links: builds.links,
        alpha: options.bench.plan.alpha,
        demos: Vec::new(),
        reports: vec![report],
    })
}

/// Builds both sides in all layouts, and replays each demo by all of them.
///
/// # Errors
/// [`LayoutError`]; a build that diverges, or cannot be replayed, is in the report of the demo.
pub fn bench_demos_in_layouts(
    options: &DemoLayoutOptions,
    interrupt: Option<&Interrupt>,
    events: &mut dyn FnMut(Event),
) -> Result<Layouts, LayoutError> {
    let (seeds, mut seed) = options.builds.draw();
    let builds = Builds::make(&options.builds, &seeds, interrupt, events)?;
    let mut layouts = Layouts {
        builds: options.builds.clone(),
        left: builds.left(),
        links: builds.links,
        alpha: options.alpha,
        demos: options.demos.iter().map(|(name, demo)| ReplayedDemo::of(name, demo)).collect(),
        reports: Vec::new(),
    };
    for (number, (_, demo)) in options.demos.iter().enumerate() {
        events(Event::Demo(number));
        layouts.reports.push(replays::measure(&options.builds, demo, &builds, &mut seed, interrupt, events));
        if interrupt.is_some_and(Interrupt::is_requested) {
            break;
        }
    }
    Ok(layouts)
}
