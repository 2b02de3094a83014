//! Writes the page of each study that the tests make from a seed: `cargo run -p prony-report --example studies -- DIR`.
//! With a study's directory behind it, the page of that study instead.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use prony_report::Report;
use prony_study::{Results, results_file};
use prony_testing::studies;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let dir = arguments.next().ok_or("expected a directory to write to")?;
    fs::create_dir_all(&dir)?;
    if let Some(study) = arguments.next() {
        return write(&dir, "study", &results_file::load(&study)?, &study);
    }
    let machines = ["Xeon E3-1230v2", "i7-3770K", "i5-4690K", "FX-8350", "Opteron 6272", "Atom C2750"];
    let demos: Vec<String> = (1..=9).map(|demo| format!("demo {demo}")).collect();
    let demos: Vec<&str> = demos.iter().map(String::as_str).collect();
    let none = dir.join("none");
    write(&dir, "factorial", &studies::factorial(&machines, &demos, 3, 2015), &none)?;
    write(&dir, "sweep", &studies::sweep(7), &none)?;
    write(&dir, "failures", &studies::with_failures(3), &none)?;
    let replays = dir.join("replays");
    write(&dir, "frames", &studies::replays(&replays, 12_000, 4, 5), &replays)?;
    let million = dir.join("million");
    write(&dir, "million", &studies::replays(&million, 12_500, 14, 5), &million)
}

fn write(dir: &Path, name: &str, results: &Results, study: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let report = Report::read(results, study, env!("CARGO_PKG_VERSION"));
    let page = report.page();
    let took = start.elapsed();
    eprintln!("{name}: {} cells, {} bytes, {took:.2?}", results.cells.len(), page.len());
    eprintln!("  {} ({})", report.verdict().claim, report.verdict().basis);
    fs::write(dir.join(format!("{name}.html")), page)?;
    fs::write(dir.join(format!("{name}.md")), report.markdown())?;
    fs::create_dir_all(dir.join(name))?;
    for (file, svg) in report.svgs() {
        fs::write(dir.join(name).join(file), svg)?;
    }
    Ok(())
}
