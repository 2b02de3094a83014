//! `prony study report`: a study on one page.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use prony_report::{Report, Tone};
use prony_text::bytes;
use serde_json::json;

use super::found::load;
use crate::cli::study::ReportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// # Errors
/// When the study cannot be read, or a file cannot be written.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let results = load("report", &args.study)?;
    let report = Report::read(&results, &args.study, env!("CARGO_PKG_VERSION"));
    for problem in report.problems() {
        eprintln!("warning: left out of the report: {problem}");
    }
    let mut written: Vec<PathBuf> = Vec::new();
    if let Some(dir) = &args.svg {
        written.extend(write_charts(&report, dir, args.force)?);
    }
    // With another output requested, the page is written only where `--output` names a path.
    let writes_page = args.output.is_some() || (args.svg.is_none() && !args.markdown);
    if writes_page {
        let path = args.output.clone().unwrap_or_else(|| args.study.join("report.html"));
        write(&path, &report.page(), args.force)?;
        written.push(path);
    }
    if args.markdown {
        output::print(&report.markdown())?;
    }
    if args.json {
        output::print_json(&answer(&report, &written))?;
    }
    Ok(Exit::Good)
}

fn write_charts(report: &Report<'_>, dir: &Path, force: bool) -> Result<Vec<PathBuf>, Failure> {
    fs::create_dir_all(dir).map_err(|error| Failure::io("write", dir, &error))?;
    let charts = report.svgs().into_iter().map(|(name, svg)| {
        let path = dir.join(name);
        write(&path, &svg, force).map(|()| path)
    });
    charts.collect()
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut file = NewFile::create(path, force)?;
    file.file().write_all(text.as_bytes()).map_err(|error| Failure::io("write", path, &error))?;
    file.finish()?;
    eprintln!("wrote {}, {}", path.display(), bytes(text.len() as u64));
    Ok(())
}

/// Content of the first screen, as JSON.
fn answer(report: &Report<'_>, written: &[PathBuf]) -> serde_json::Value {
    let tone = |tone: Tone| match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Plain => "plain",
    };
    let verdict = report.verdict();
    let trust =
        report.chips().into_iter().map(|chip| json!({"tone": tone(chip.tone), "text": chip.text, "means": chip.tip}));
    json!({
        "verdict": {"tone": tone(verdict.tone), "claim": verdict.claim, "basis": verdict.basis},
        "trust": trust.collect::<Vec<_>>(),
        "remarks": report.remarks(),
        "left_out": report.problems(),
        "written": written.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
    })
}
