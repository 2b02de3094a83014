//! Two programs in many layouts: the order of their functions and sections is shuffled at link time, so that a verdict is about the
//! code and not about where the linker happened to put it.
//!
//! Each side is built as it is, and once for each of N seeds. A seed places both sides alike, as far as the linker can
//! (module `order`), and the runs of both sides in one layout are close together in time. The unit of the answer is the layout: the
//! value of each is the median of its runs, and the interval is that of the ratios of B to A over the layouts, by the signed rank
//! test. However many runs there are of one layout, it counts once.

mod builds;
mod estimate;
mod measure;
mod order;
mod toolchain;

use std::io;
use std::path::{Path, PathBuf};

use prony_machine::Interrupt;
use prony_stats::samples::Samples;
use prony_stats::{Metric, Seed, Verdict};

use crate::error::BenchError;
use crate::options::Options;
use crate::report::Ended;

pub use estimate::{Estimate, Spreads};
pub use toolchain::{LinkError, Linker, Links, SEED_VARIABLE, link};

/// Share of the variance from runs above which more of them say more than more layouts.
const RUNS_SHARE: f64 = 0.5;
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

/// Options of a bench over layouts.
#[derive(Debug, Clone)]
pub struct LayoutOptions {
    /// A and B.
    pub sides: [Side; 2],
    /// Number of layouts of each side.
    pub layouts: usize,
    /// Directory in which builds run.
    pub directory: PathBuf,
    /// Program and arguments that end up in [`link`], followed by the name of a linker and its arguments.
    pub link: Vec<String>,
    /// All else; the commands have no program yet.
    pub bench: Options,
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
    /// What the first rounds say of the spread between layouts; sent once, before all others.
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

/// Result of a bench over layouts.
#[derive(Debug)]
pub struct LayoutReport {
    /// Every run: a benchmark for each side and layout.
    pub samples: Samples,
    /// Metric of all figures.
    pub metric: Metric,
    /// What the layouts say; `None` without a complete round.
    pub estimate: Option<Estimate>,
    /// What was ordered in the layouts of A and B; `None` where no linker was seen that does.
    pub links: [Option<Links>; 2],
    /// Rounds: a run of each side in each layout.
    pub rounds: usize,
    /// Seconds from the first round to the last.
    pub elapsed_s: f64,
    /// Reason why it ended.
    pub ended: Ended,
}

impl LayoutReport {
    /// Verdict on the code; unclear without an estimate.
    pub fn verdict(&self) -> Verdict {
        self.estimate.as_ref().map_or(Verdict::Unclear, |estimate| estimate.verdict)
    }

    /// What an unclear comparison needs; `None` of a clear one, and where it is not known.
    pub fn needs(&self) -> Option<Needs> {
        let spreads = self.estimate.as_ref().filter(|estimate| estimate.verdict == Verdict::Unclear)?.spreads;
        if spreads.of_runs > RUNS_SHARE {
            return Some(Needs::Time(2.0 * self.elapsed_s));
        }
        let is_more = |needed: &usize| (spreads.layouts + 1..=LAYOUTS_MAX).contains(needed);
        spreads.for_one_percent.filter(is_more).map(Needs::Layouts)
    }
}

/// What would make an unclear comparison clearer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Needs {
    /// More runs of the same layouts: seconds in all.
    Time(f64),
    /// This many layouts, which detect 1 %.
    Layouts(usize),
}

/// Options and result of a bench over layouts.
#[derive(Debug)]
pub struct Layouts {
    /// What was measured, and how.
    pub options: LayoutOptions,
    /// Results.
    pub report: LayoutReport,
}

/// Builds both sides in all layouts, and measures them.
///
/// # Errors
/// [`LayoutError`]; a run that fails is in the report.
pub fn bench_layouts(
    options: &LayoutOptions,
    interrupt: Option<&Interrupt>,
    events: &mut dyn FnMut(Event),
) -> Result<LayoutReport, LayoutError> {
    let mut seed = Seed::new(options.bench.seed);
    // Linkers take a seed of 32 bits, of which 0 means none.
    let seeds: Vec<u32> = (0..options.layouts).map(|_| (seed.bits() as u32 >> 1).max(1)).collect();
    let builds = builds::Builds::make(options, &seeds, interrupt, events)?;
    measure::measure(options, &builds, &mut seed, interrupt, events)
}
