//! Functions, files and lines of the places at which a divergence was made.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use prony_bench::split_variables;
use prony_demo::Demo;
use prony_profile::{SourceLine, lines_in_file};

/// Programs and libraries that may have made the calls of a replay: those of the build that was named come first.
pub fn objects<R: Read + Seek>(demo: &Demo<R>, command: &[OsString]) -> Vec<PathBuf> {
    let recorded = demo.trailer().map(|trailer| trailer.objects.as_slice()).unwrap_or_default();
    let recorded = std::iter::once(&demo.header().executable).chain(recorded.iter().map(|object| &object.path));
    let recorded = recorded.map(|path| PathBuf::from(OsStr::from_bytes(path)));
    split_variables(command).1.first().map(PathBuf::from).into_iter().chain(recorded).collect()
}

/// Adds what debug information says to places such as `server+0x1664`.
pub fn name_lines(places: &mut [String], objects: &[PathBuf]) {
    // A file is read once for all of its places: programs with debug information are large.
    let mut of_files: BTreeMap<&Path, Vec<(usize, u64)>> = BTreeMap::new();
    for (at, place) in places.iter().enumerate() {
        let Some((object, from_base)) = parsed(place) else { continue };
        let is_it = |path: &&PathBuf| path.file_name() == Some(OsStr::new(object)) && path.is_file();
        if let Some(path) = objects.iter().find(is_it) {
            of_files.entry(path).or_default().push((at, from_base));
        }
    }
    for (path, places_of_it) in of_files {
        // A caller goes on behind its call, so the byte before that is looked for.
        let calls: Vec<u64> = places_of_it.iter().map(|&(_, from_base)| from_base.saturating_sub(1)).collect();
        let found = lines_in_file(path, &calls).unwrap_or_default();
        for (&(at, from_base), lines) in places_of_it.iter().zip(&found) {
            if let (Some(lines), Some((object, _))) = (described(lines), parsed(&places[at])) {
                places[at] = format!("{object}+0x{from_base:x} ({lines})");
            }
        }
    }
}

/// Object and distance from where it is loaded.
fn parsed(place: &str) -> Option<(&str, u64)> {
    let (object, rest) = place.rsplit_once("+0x")?;
    let digits = rest.split(' ').next()?;
    Some((object, u64::from_str_radix(digits, 16).ok()?))
}

/// The function that made the call, and those that it was inlined into.
fn described(lines: &[SourceLine]) -> Option<String> {
    let (first, others) = lines.split_first()?;
    first.file.as_ref()?;
    let mut text = shown(first);
    for other in others {
        let _ = write!(text, ", inlined into {}", shown(other));
    }
    Some(text)
}

fn shown(line: &SourceLine) -> String {
    match (&line.file, line.line) {
        (Some(file), Some(number)) => format!("{} at {file}:{number}", line.function),
        (Some(file), None) => format!("{} in {file}", line.function),
        (None, _) => line.function.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_object_and_a_distance() {
        assert_eq!(parsed("server+0x1664"), Some(("server", 0x1664)));
        assert_eq!(parsed("libstdc++.so.6+0x10 (std::terminate())"), Some(("libstdc++.so.6", 0x10)));
        assert_eq!(parsed("0x7f00"), None);
    }

    #[test]
    fn a_place_without_debug_information_stays_as_it_is() {
        let mut places = ["true+0x1234".to_owned(), "nowhere+0x10 (f)".to_owned(), "0x7fff".to_owned()];
        let before = places.clone();
        name_lines(&mut places, &[PathBuf::from("/usr/bin/true")]);
        assert_eq!(places, before);
    }
}
