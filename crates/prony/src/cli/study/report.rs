//! Flags of `prony study report`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  prony study report results/                          results/report.html
  prony study report results/ -o page.html
  prony study report results/ --markdown >> README.md
  prony study report results/ --svg charts/

The page is one file that loads nothing: the verdict and whether to trust it, the impact of each component, charts, all
cells, and how to reproduce them. Frame times of replays, profiles/*.folded and limits.json in the directory are shown
too. A study that still runs can be reported: what is missing is told.

Exit codes:
  0  written
  2  the study cannot be read, or a file not written";

/// Put a study on one page.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// The directory of the study
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// Write the page here; DIR/report.html if nothing else is asked for
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Answer with verdict, trust and effects in Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Write each chart as an SVG file into this directory
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
    /// Say in JSON what the first screen says
    #[arg(long)]
    pub json: bool,
}
