//! Stored samples: reading files of any known format, and the verbs that look at them.

pub mod check;
pub mod hist;
pub mod stats;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use prony_report::words::metric_name;
use prony_stats::Metric;
use prony_stats::import::{ImportError, Loaded, criterion, import};
use prony_stats::memory::within;
use prony_stats::samples::{MOST_BYTES, SamplesError};

use crate::cli::ReadArgs;
use crate::failure::Failure;

/// The baseline that `cargo bench` writes each time.
const NEWEST: &str = "new";

/// Most directories below one of criterion, and how deep they lie.
const MOST_DIRECTORIES: usize = 100_000;
const DEEPEST: usize = 16;

/// Reads all files; says on standard error what of them is left out. `verb`: what is to be done with them.
///
/// # Errors
/// The first file that cannot be read.
pub fn load_all(verb: &str, paths: &[PathBuf], read: ReadArgs) -> Result<Vec<Loaded>, Failure> {
    paths.iter().map(|path| within(read.max_memory, || load(verb, path))).collect()
}

/// Reads all files, and takes of each run the time that is requested, or was judged alone when it was measured.
///
/// # Errors
/// The first file that cannot be read, or that has no run of which this time was measured.
pub fn load_all_by(
    verb: &str,
    paths: &[PathBuf],
    read: ReadArgs,
    metric: Option<Metric>,
) -> Result<Vec<Loaded>, Failure> {
    let mut files = load_all(verb, paths, read)?;
    for file in &mut files {
        by_metric(verb, file, metric)?;
    }
    Ok(files)
}

fn by_metric(verb: &str, file: &mut Loaded, metric: Option<Metric>) -> Result<(), Failure> {
    let judged = file.samples.circumstances.as_ref().and_then(|circumstances| circumstances.metric);
    let Some(metric) = metric.or(judged) else { return Ok(()) };
    for benchmark in &mut file.samples.benchmarks {
        *benchmark = benchmark.by(metric);
        if benchmark.runs.is_empty() {
            let (file, of, metric) = (&file.name, &benchmark.name, metric_name(metric.name()));
            let failure = Failure::new(format!("cannot {verb} {file}: no run of `{of}` has the metric `{metric}`"));
            return Err(failure.hint("omit --metric to use the values as they are"));
        }
    }
    Ok(())
}

fn load(verb: &str, path: &Path) -> Result<Loaded, Failure> {
    let name = path.display().to_string();
    let import = match baseline(path) {
        Some((below, baseline)) => directory(verb, &below, &baseline)?,
        None => file(verb, path)?,
    };
    for note in &import.notes {
        eprintln!("warning: {name}: {note}");
    }
    let circumstances = import.samples.circumstances.as_ref();
    for warning in circumstances.iter().flat_map(|circumstances| &circumstances.warnings) {
        eprintln!("warning: {name}: {warning}");
    }
    Ok(Loaded { name, format: import.format, samples: import.samples })
}

/// A directory of criterion and the baseline that is read below it: `new`, or that behind an `@`. `None` for a file.
fn baseline(path: &Path) -> Option<(PathBuf, String)> {
    if path.is_dir() {
        return Some((path.to_owned(), NEWEST.to_owned()));
    }
    let (below, baseline) = path.to_str()?.rsplit_once('@')?;
    (Path::new(below).is_dir() && !baseline.is_empty()).then(|| (below.into(), baseline.to_owned()))
}

fn file(verb: &str, path: &Path) -> Result<prony_stats::import::Import, Failure> {
    let bytes = read(path).map_err(|error| {
        let failure = Failure::io(verb, path, &error);
        match error.kind() {
            io::ErrorKind::NotFound => failure.hint("make one with `prony bench --export-json FILE 'A' 'B'`"),
            _ => failure,
        }
    })?;
    import(&bytes).map_err(|error| unreadable(verb, path, &error))
}

/// One byte more than may be is enough to know that it is too long, even of a device that never ends.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file that is not as its format wants it.
fn unreadable(verb: &str, path: &Path, error: &ImportError) -> Failure {
    let file = path.display();
    let failure = Failure::new(format!("cannot {verb} {file}: {error}"));
    match error {
        ImportError::Unknown { .. } => failure.hint("make samples with `prony bench --export-json FILE 'A' 'B'`"),
        ImportError::NoTimes { .. } | ImportError::Line { .. } | ImportError::Packed(_) => failure,
        ImportError::Samples(error) => match error {
            SamplesError::Version { .. } => {
                failure.hint(format!("convert it to version 1.0 with `python3 -m pyperf convert {file} -o NEW`"))
            }
            SamplesError::PronyVersion { .. } => failure.hint("it was made by a newer prony: update this one"),
            &SamplesError::Memory { needed, .. } => {
                let allowed = (needed + needed / 4).next_multiple_of(1 << 20) >> 20;
                failure.hint(format!("allow it with --max-memory {allowed}MiB if you trust the file"))
            }
            SamplesError::TooLong { .. } => failure.hint("measure fewer benchmarks per file"),
            SamplesError::Json { .. } | SamplesError::Rule { .. } => {
                failure.hint("the file was truncated or altered, or written by another tool: write it again")
            }
        },
    }
}

/// All benchmarks below a directory of criterion, by path. `baseline`: `new`, `base` or the name of a saved one; a directory that
/// holds a sample is read whatever it is called.
fn directory(verb: &str, path: &Path, baseline: &str) -> Result<prony_stats::import::Import, Failure> {
    let mut all = Vec::new();
    if is_sample(path) {
        all.push(path.to_owned());
    } else {
        let mut left = MOST_DIRECTORIES;
        walk(path, DEEPEST, &mut left, &mut all).map_err(|error| Failure::io(verb, path, &error))?;
    }
    let name = |place: &PathBuf| place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut places: Vec<PathBuf> =
        all.iter().filter(|place| *place == path || name(place) == baseline).cloned().collect();
    places.sort();
    if places.is_empty() {
        let failure =
            Failure::new(format!("cannot {verb} {}: no {baseline}/sample.json of criterion below it", path.display()));
        let known: BTreeSet<String> = all.iter().map(name).collect();
        return Err(match known.first() {
            None => failure.hint("`cargo bench` writes them below target/criterion"),
            Some(first) => failure.hint(format!(
                "there are {}: read one with {}@{first}",
                known.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
                path.display()
            )),
        });
    }
    let mut files = Vec::with_capacity(places.len());
    for place in &places {
        let read = |name: &str| {
            let path = place.join(name);
            read(&path).map_err(|error| Failure::io(verb, &path, &error))
        };
        let estimates = place.join("estimates.json").exists().then(|| read("estimates.json")).transpose()?;
        files.push((read("benchmark.json")?, read("sample.json")?, estimates));
    }
    let files: Vec<criterion::Files<'_>> = files
        .iter()
        .map(|(benchmark, sample, estimates)| criterion::Files { benchmark, sample, estimates: estimates.as_deref() })
        .collect();
    criterion::import(&files).map_err(|(index, error)| unreadable(verb, &places[index], &error))
}

/// True if criterion wrote a sample into a directory.
fn is_sample(path: &Path) -> bool {
    path.join("sample.json").is_file()
}

/// Directories that hold a sample. Links are not followed: they may lead in circles.
fn walk(path: &Path, deep: usize, left: &mut usize, places: &mut Vec<PathBuf>) -> io::Result<()> {
    if is_sample(path) {
        places.push(path.to_owned());
        return Ok(());
    }
    if deep == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && *left > 0 {
            *left -= 1;
            walk(&entry.path(), deep - 1, left, places)?;
        }
    }
    Ok(())
}

#[cfg(test)]
pub mod tests;
