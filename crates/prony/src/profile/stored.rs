//! Profiles in files: folded stacks, or the text of `perf script`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use prony_profile::{Stacks, looks_like_perf_script, read_perf_script, skips_much};
use prony_text::{count, thousands};

use crate::failure::Failure;

/// Larger texts are refused rather than read into memory.
const MOST_BYTES: u64 = 16 << 30;
/// More samples than any profile has: a day of a hundred CPUs at 99 Hz has fewer.
const MOST_SAMPLES: u64 = 1_000_000_000;

/// The bytes of a file, or of standard input for `-`.
///
/// # Errors
/// When it cannot be read.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| {
            // One allocation of the right size: growing would copy it several times.
            bytes.reserve(usize::try_from(file.metadata()?.len().min(MOST_BYTES)).unwrap_or(0) + 1);
            file.take(MOST_BYTES + 1).read_to_end(&mut bytes)
        })
    };
    read.map_err(|error| Failure::io("read", path, &error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Failure::new(format!("cannot read {}: expected at most 16 GiB, found more", path.display())));
    }
    Ok(bytes)
}

/// Stacks of a file, and whether enough of it was read.
pub struct Stored {
    pub stacks: Stacks,
    /// More was skipped than shares of the rest may bear.
    pub skips_much: bool,
}

/// Stacks of a file, whatever it is; what was skipped is reported on standard error.
///
/// # Errors
/// When it cannot be read, or nothing in it is a stack.
pub fn stacks(path: &Path) -> Result<Stored, Failure> {
    let bytes = bytes(path)?;
    if is_perf_data(&bytes) {
        let file = path.display();
        return Err(Failure::new(format!(
            "cannot read {file}: expected stacks as text, found what `perf record` writes"
        ))
        .hint(format!("`perf script -i {file} | prony profile show -` reads it; compare such texts with `diff`")));
    }
    if looks_like_perf_script(&bytes) {
        return perf_script(path, &bytes);
    }
    let read = Stacks::from_folded(&bytes);
    if super::is_empty(&read.stacks) {
        return Err(no_stacks(path, read.odd.first().copied()));
    }
    if read.is_difference() {
        return Err(Failure::new(format!(
            "cannot read {}: expected one count behind each stack, found two, as of a difference",
            path.display()
        ))
        .hint("`prony profile diff OLD NEW` compares two profiles"));
    }
    tell_odd(path, read.odd.len() as u64, &read.odd);
    let skips_much = skips_much(read.odd.len() as u64, read.lines);
    if read.has_fractions {
        eprintln!(
            "warning: {}: counts have fractions, so they are weights and no samples, and the intervals too narrow",
            path.display()
        );
        return Ok(Stored { stacks: read.stacks, skips_much });
    }
    let stacks = read.stacks;
    let (stacks, period) = stacks.without_period();
    if let Some(period) = period {
        eprintln!(
            "note: {}: a sample counts {}, its period; samples are counted instead",
            path.display(),
            thousands(period)
        );
    } else if stacks.observations() > MOST_SAMPLES {
        eprintln!(
            "warning: {}: {} are more than were ever taken: the counts are weights, such as cycles, and the intervals too narrow",
            path.display(),
            count(stacks.observations(), "sample")
        );
        eprintln!("hint: `perf script | prony profile show -` counts samples");
    }
    Ok(Stored { stacks, skips_much })
}

/// True for a `perf.data`, of either order of bytes, or in a pipe (tools/perf/util/header.c).
fn is_perf_data(bytes: &[u8]) -> bool {
    [b"PERFILE2", b"2ELIFREP", b"PERFFILE"].iter().any(|magic| bytes.starts_with(*magic))
}

/// Stacks of one run or more: a file, or of a directory each file whose name does not begin with a dot, by name.
///
/// # Errors
/// When one cannot be read, or nothing in it is a stack.
pub fn runs(path: &Path) -> Result<Vec<Stored>, Failure> {
    if !path.is_dir() {
        return Ok(vec![stacks(path)?]);
    }
    let failed = |error: io::Error| Failure::io("read", path, &error);
    let entries = fs::read_dir(path).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let is_shown = |path: &PathBuf| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."));
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(is_shown).collect();
    files.sort();
    if files.is_empty() {
        return Err(Failure::new(format!("cannot read {}: expected a file for each run, found none", path.display()))
            .hint("`prony profile --folded DIRECTORY/1.folded` writes one"));
    }
    files.iter().map(|file| stacks(file)).collect()
}

/// Reads the text of `perf script`; what was skipped is reported on standard error.
///
/// # Errors
/// When nothing in it is a stack.
pub fn perf_script(path: &Path, bytes: &[u8]) -> Result<Stored, Failure> {
    let read = read_perf_script(bytes);
    if super::is_empty(&read.stacks) {
        return Err(no_stacks(path, read.odd_lines.first().copied()));
    }
    tell_odd(path, read.odd, &read.odd_lines);
    if read.is_cut {
        eprintln!("warning: {} ends in the middle of a stack, which is skipped", path.display());
    }
    if read.other_events > 0 {
        eprintln!(
            "warning: {} of other events than {} are skipped, because they count something else",
            count(read.other_events, "sample"),
            read.event.as_deref().unwrap_or("the first")
        );
    }
    if read.without_frames > 0 {
        eprintln!(
            "warning: {}: {} without a frame skipped; `perf record -g` records call chains",
            path.display(),
            count(read.without_frames, "sample")
        );
    }
    let samples = read.without_frames + read.stacks.observations();
    let skips_much = skips_much(read.odd, read.lines) || skips_much(read.without_frames, samples);
    Ok(Stored { stacks: read.stacks, skips_much })
}

fn tell_odd(path: &Path, odd: u64, lines: &[u64]) {
    if odd > 0 {
        let lines: Vec<String> = lines.iter().take(3).map(|&line| thousands(line)).collect();
        let more = if odd > 3 { ", …" } else { "" };
        eprintln!(
            "warning: {}: {} skipped, because they cannot be read: {}{more}",
            path.display(),
            count(odd, "line"),
            lines.join(", ")
        );
    }
}

fn no_stacks(path: &Path, line: Option<u64>) -> Failure {
    let found = line.map_or("nothing".to_owned(), |line| format!("something else in line {}", thousands(line)));
    Failure::new(format!("cannot read {}: expected stacks, found {found}", path.display())).hint(
        "folded stacks are lines such as `thread;main;tick 42`; `perf script` must print call chains: `perf \
         record -g`",
    )
}
