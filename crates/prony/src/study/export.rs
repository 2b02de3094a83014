//! `prony study export`: cells as a table, or their samples.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use prony_report::csv;
use prony_stats::samples::Samples;
use prony_study::{Cell, Results, Role, State, results_file};
use prony_text::count;

use crate::cli::study::ExportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// # Errors
/// When the study cannot be read, or an export not be written.
pub fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let results = results_file::load(&args.directory)
        .map_err(|error| Failure::new(format!("cannot export the study: {error}")))?;
    if let Some(path) = &args.csv {
        let table = csv::cells(&results);
        if path == Path::new("-") {
            output::print(&table)?;
        } else {
            write(path, table.as_bytes(), args.force)?;
        }
    }
    if let Some(directory) = &args.samples {
        let files = samples(args, &results, directory)?;
        eprintln!("{} of samples in {}", count(files as u64, "file"), directory.display());
    }
    Ok(Exit::Good)
}

fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let mut file = NewFile::create(path, force)?;
    file.file().write_all(bytes).map_err(|error| Failure::io("write", path, &error))?;
    file.finish()
}

/// The samples of each configuration on each workload and machine as one file, repeats as its runs.
fn samples(args: &ExportArgs, results: &Results, directory: &Path) -> Result<usize, Failure> {
    let mut groups: BTreeMap<(usize, usize, &[usize]), Vec<&Cell>> = BTreeMap::new();
    for cell in results.cells.iter().filter(|cell| cell.role == Role::Measured && cell.state == State::Done) {
        groups.entry((cell.machine, cell.workload, &cell.levels)).or_default().push(cell);
    }
    fs::create_dir_all(directory).map_err(|error| Failure::io("make", directory, &error))?;
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for ((machine, workload, levels), cells) in &groups {
        let mut together: Option<Samples> = None;
        for name in cells.iter().filter_map(|cell| cell.samples.as_ref()) {
            let path = args.directory.join(name);
            let bytes = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
            let one = Samples::decode(&bytes)
                .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
            match &mut together {
                None => together = Some(one),
                Some(all) => {
                    let runs = one.benchmarks.into_iter().flat_map(|benchmark| benchmark.runs);
                    if let Some(benchmark) = all.benchmarks.first_mut() {
                        benchmark.runs.extend(runs);
                    }
                }
            }
        }
        let Some(together) = together else { continue };
        let levels = results.factors.iter().zip(*levels).map(|(factor, &level)| factor.levels[level].as_str());
        let parts = [results.machines[*machine].name.as_str(), results.workloads[*workload].name.as_str()];
        let name = file_name(parts.into_iter().chain(levels));
        // Names that differ only in what a file name cannot hold are numbered.
        let times = names.entry(name.clone()).and_modify(|times| *times += 1).or_insert(1);
        let name = if *times > 1 { format!("{name}-{times}") } else { name };
        let bytes = together.encode().map_err(|error| Failure::new(format!("cannot export samples: {error}")))?;
        write(&directory.join(format!("{name}.json")), &bytes, args.force)?;
    }
    Ok(groups.len())
}

/// Letters, digits and a few signs stay; the rest becomes `_`.
fn file_name<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._+".contains(c) { c } else { '_' };
    let name: Vec<String> = parts.map(|part| part.chars().map(plain).collect()).collect();
    let name: String = name.join("-").chars().take(180).collect();
    name.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_hold_no_path() {
        assert_eq!(file_name(["n1", "../dm1", "-O3 -march=native"].into_iter()), "n1-.._dm1-_O3__march_native");
        assert_eq!(file_name(["..", "a"].into_iter()), "-a");
    }
}
