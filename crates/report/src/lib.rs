//! The only renderer: every answer in the terminal, as JSON, as a page, as a picture, as test cases and as Markdown.
//!
//! Answers are values that other crates made. Nothing here computes a statistic, and nothing reads a fact back out of words: it chooses,
//! words and places. [`text`], [`json`], [`junit`] and [`markdown`] are functions of an answer; [`words`] are the phrases that they share.
//! [`Report::of`] computes the statistics of a study once, and [`Report::page`], [`Report::markdown`] and [`Report::svgs`] put the same answers into an
//! HTML file, into text for a README, and into a file a chart. A page loads nothing: a policy in it forbids every request.
#![forbid(unsafe_code)]

// What is to be shown, and the words for it.
mod bench;
pub mod change;
pub mod compare;
pub mod demo;
pub mod divergence;
pub mod doctor;
pub mod nic;
pub mod profile;
mod study;
pub mod words;

// Charts, and the files that they are made of.
mod svg;

mod extras;

// Renderers.
pub mod csv;
mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod text;

use std::path::Path;

use prony_study::Results;

pub use bench::demos::{diverged, failure as demo_failure};
pub use bench::layouts::{failure as layout_failure, plan as layout_plan};
pub use extras::Extras;
pub use html::bench::{Bench, Comparison, Several, page as page_of_bench, page_of_pairs};
pub use html::both::page_of_both;
pub use html::capacity::{curves_of_latency, page_of_capacity};
pub use html::compare::page_of_comparison;
pub use html::demo::{Divergence, Replay, StoredError, StoredReplay, View};
pub use html::grid::{Grid, GridCell, GridRow};
pub use html::limits::limits_curves;
pub use html::stored::Stored;
pub use study::sentences::{Chip, Tone, Verdict};
pub use svg::bench::drawing as drawing_of_bench;
pub use svg::chart::bench::Change;
pub use svg::chart::commands::{CommandPoint, CommandSeries, Commands};
pub use svg::chart::curves::{Along, Curve, Curves, Point};
pub use svg::flame_file::flame_file;

use study::findings::Findings;
use study::matrix::Matrix;
use study::sentences;

/// A study and all that is said of it.
#[derive(Debug)]
pub struct Report<'a> {
    matrix: Matrix<'a>,
    findings: Findings,
    extras: Extras,
}

impl<'a> Report<'a> {
    /// Report on results without the files beside them.
    pub fn of(results: &'a Results, extras: Extras) -> Report<'a> {
        let matrix = Matrix::of(results);
        Report { findings: Findings::of(&matrix), matrix, extras }
    }

    /// Report on results and their directory, with the frame times, profiles and limits that lie in it. `version`: of
    /// prony.
    pub fn read(results: &'a Results, dir: &Path, version: &str) -> Report<'a> {
        let matrix = Matrix::of(results);
        let extras = Extras::read(&matrix, dir, version);
        Report { findings: Findings::of(&matrix), matrix, extras }
    }

    /// The answer in a sentence.
    pub fn verdict(&self) -> Verdict {
        sentences::verdict(&self.matrix, &self.findings)
    }

    /// Reasons to trust it, or not.
    pub fn chips(&self) -> Vec<Chip> {
        sentences::chips(&self.matrix, &self.findings, &self.extras.version)
    }

    /// Remarks on interactions and on effects that rest on few edges: a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        sentences::remarks(&self.matrix, &self.findings)
    }

    /// Files of the study's directory that could not be read, with the reasons.
    pub fn problems(&self) -> &[String] {
        &self.extras.problems
    }

    /// The page: one HTML document that needs nothing else.
    pub fn page(&self) -> String {
        html::study::page(self)
    }

    /// Verdict, trust and effects for a README or a pull request.
    pub fn markdown(&self) -> String {
        markdown::study::markdown(self)
    }

    /// Charts as files: names and contents.
    pub fn svgs(&self) -> Vec<(String, String)> {
        let series = self.matrix.series.len();
        let named = svg::figures::Figures::of(self).named();
        named.into_iter().map(|(name, chart)| (format!("{name}.svg"), chart.file(series))).collect()
    }
}
