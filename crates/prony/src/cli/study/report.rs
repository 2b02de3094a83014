//! Flags of `prony study report`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  prony study report results/                          results/report.html
  prony study report results/ -o page.html
  prony study report results/ --markdown >> README.md
  prony study report results/ --svg charts/

The page is one file that loads nothing from the network: the verdict and how far to trust it, the effect of each component,
charts, all cells, and how to reproduce them. It includes frame times of replays, profiles/*.folded and limits.json of the
directory. A running study can be reported; the page lists what is missing.

Exit codes:
  0  written
  2  the study cannot be read, or a file cannot be written";

/// Write the report page of a study.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// Write the page to FILE [default: DIR/report.html, unless another output is requested]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print verdict, trust and effects as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Write each chart to this directory, as SVG
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Print the summary at the top of the page as JSON
    #[arg(long)]
    pub json: bool,
}
