//! The files that `prony bench` leaves.

use std::io::Write;
use std::path::{Path, PathBuf};

use prony_stats::judge::{Metric, Outcome};
use prony_stats::samples::Samples;
use prony_stats::{Interval, export};

use crate::cli::BenchArgs;
use crate::failure::Failure;
use crate::output::NewFile;

/// Files in the making, one for each flag that asks for one.
#[derive(Debug)]
pub struct Exports {
    json: Option<NewFile>,
    hyperfine: Option<NewFile>,
    markdown: Option<NewFile>,
    csv: Option<NewFile>,
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
            json: create(&args.export_json)?,
            hyperfine: create(&args.export_hyperfine)?,
            markdown: create(&args.export_markdown)?,
            csv: create(&args.export_csv)?,
        })
    }

    /// Writes what was measured, however the bench ended; nothing where nothing was measured. `comparisons`: of each
    /// further command with the first.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write(self, samples: &Samples, comparisons: &[&Outcome]) -> Result<(), Failure> {
        if samples.benchmarks.is_empty() {
            return Ok(());
        }
        if let Some(file) = self.json {
            let bytes =
                samples.encode().map_err(|error| Failure::new(format!("cannot export the samples: {error}")))?;
            write(file, &bytes)?;
        }
        if let Some(file) = self.hyperfine {
            write(file, &export::hyperfine(samples))?;
        }
        if let Some(file) = self.markdown {
            let others = comparisons.iter().map(|outcome| {
                let block = outcome.net.filter(|_| outcome.metric == Metric::Net);
                Some(block.unwrap_or(outcome.cpu).interval).filter(|interval| interval.width().is_finite())
            });
            let relative: Vec<Option<Interval>> = std::iter::once(None).chain(others).collect();
            write(file, export::markdown(samples, &relative).as_bytes())?;
        }
        if let Some(file) = self.csv {
            write(file, export::csv(samples).as_bytes())?;
        }
        Ok(())
    }
}

fn write(mut file: NewFile, bytes: &[u8]) -> Result<(), Failure> {
    file.file().write_all(bytes).map_err(|error| Failure::new(format!("cannot write an export: {error}")))?;
    file.finish()
}
