//! The files that `prony bench` leaves.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prony_bench::Measured;
use prony_machine::own;
use prony_report::junit::{self, Case};
use prony_report::{drawing_of_bench, markdown, page_of_bench};
use prony_stats::export::{self, Markup};
use prony_stats::samples::{Benchmark, Circumstances, Samples};

use crate::cli::BenchArgs;
use crate::failure::Failure;
use crate::output::NewFile;

/// Files in the making, one for each flag that requests one.
#[derive(Debug)]
pub struct Exports {
    json: Option<NewFile>,
    partial: Option<Partial>,
    hyperfine: Option<NewFile>,
    markdown: Option<NewFile>,
    asciidoc: Option<NewFile>,
    org: Option<NewFile>,
    csv: Option<NewFile>,
    svg: Option<NewFile>,
    junit: Option<NewFile>,
    html: Option<NewFile>,
}

impl Exports {
    /// Makes them all; files that are there already are replaced, as hyperfine does.
    ///
    /// # Errors
    /// A place that cannot be written.
    pub fn create(args: &BenchArgs) -> Result<Exports, Failure> {
        let create =
            |path: &Option<PathBuf>| path.as_deref().map(|path: &Path| NewFile::create(path, true)).transpose();
        Ok(Exports {
            json: create(&args.exports.export_json)?,
            partial: args.exports.export_json.as_deref().map(Partial::beside),
            hyperfine: create(&args.exports.export_hyperfine)?,
            markdown: create(&args.exports.export_markdown)?,
            asciidoc: create(&args.exports.export_asciidoc)?,
            org: create(&args.exports.export_orgmode)?,
            csv: create(&args.exports.export_csv)?,
            svg: create(&args.exports.svg)?,
            junit: create(&args.exports.export_junit)?,
            html: create(&args.exports.export_html)?,
        })
    }

    /// Keeps what was measured so far, once a second, beside the samples that are to come.
    pub fn keep(&mut self, benchmarks: &[Benchmark], circumstances: impl FnOnce() -> Circumstances) {
        if let Some(partial) = self.partial.as_mut().filter(|partial| partial.is_due()) {
            let benchmarks = benchmarks.iter().filter(|benchmark| !benchmark.runs.is_empty()).cloned().collect();
            partial.write(&Samples { benchmarks, circumstances: Some(circumstances()) });
        }
    }

    /// Writes what was measured, however the bench ended: samples in each format, where there are any, and what people and CI read.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write(self, measured: &Measured, cases: &[Case]) -> Result<(), Failure> {
        let samples = measured.samples();
        let (relative, metric) = measured.relative();
        let has_samples = !samples.benchmarks.is_empty();
        if let Some(file) = self.json.filter(|_| has_samples) {
            let bytes =
                samples.encode().map_err(|error| Failure::new(format!("cannot export the samples: {error}")))?;
            write(file, &bytes)?;
            if let Some(partial) = self.partial {
                partial.remove();
            }
        }
        if let Some(file) = self.hyperfine.filter(|_| has_samples) {
            write(file, &export::hyperfine(&samples))?;
        }
        if let Some(file) = self.csv.filter(|_| has_samples) {
            write(file, export::csv(&samples).as_bytes())?;
        }
        let tables = [(self.markdown, Markup::Markdown), (self.asciidoc, Markup::AsciiDoc), (self.org, Markup::Org)];
        for (file, markup) in tables {
            match (file, measured) {
                (Some(file), Measured::Demos(demos)) if markup == Markup::Markdown => {
                    write(file, markdown::demos::markdown(demos, VERSION).as_bytes())?;
                }
                (Some(file), Measured::Layouts(layouts)) if markup == Markup::Markdown && !layouts.demos.is_empty() => {
                    write(file, markdown::layouts::markdown(layouts, VERSION).as_bytes())?;
                }
                (Some(file), _) if has_samples => {
                    write(file, export::table(markup, &samples, &relative, metric).as_bytes())?;
                }
                _ => {}
            }
        }
        if let (Some(file), Some(drawing)) = (self.svg, drawing_of_bench(measured)) {
            write(file, drawing.as_bytes())?;
        }
        if let Some(file) = self.html {
            write(file, page_of_bench(measured, VERSION).as_bytes())?;
        }
        if let Some(file) = self.junit {
            write(file, junit::document(cases).as_bytes())?;
        }
        Ok(())
    }
}

/// Version of prony that files name.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Fills a file and puts it in its place.
pub fn write(mut file: NewFile, bytes: &[u8]) -> Result<(), Failure> {
    file.file().write_all(bytes).map_err(|error| Failure::new(format!("cannot write an export: {error}")))?;
    file.finish()
}

/// Samples of a bench that is not over: what is left of it when it is killed.
#[derive(Debug)]
struct Partial {
    path: PathBuf,
    written: Instant,
    exists: bool,
}

impl Partial {
    /// Often enough to lose little, seldom enough to disturb nothing.
    const EVERY: Duration = Duration::from_secs(1);

    fn beside(path: &Path) -> Partial {
        let mut name = OsString::from(path);
        name.push(".partial");
        Partial { path: name.into(), written: Instant::now(), exists: false }
    }

    fn is_due(&self) -> bool {
        self.written.elapsed() >= Partial::EVERY
    }

    /// Errors are reported when the samples themselves are written, to the same place.
    fn write(&mut self, samples: &Samples) {
        if let Ok(bytes) = samples.encode()
            && let Ok((temporary, mut file)) = own::temporary(&self.path, 0o600)
        {
            match file.write_all(&bytes).and_then(|()| fs::rename(&temporary, &self.path)) {
                Ok(()) => self.exists = true,
                Err(_) => drop(fs::remove_file(&temporary)),
            }
        }
        self.written = Instant::now();
    }

    fn remove(self) {
        if self.exists {
            let _ = fs::remove_file(&self.path);
        }
    }
}
