//! Where bytes of an output that differ come from: a call that a replay makes for real returned them, or a file that is not as it
//! was while recording holds them.

use crate::channel::RealResult;
use crate::report::{Difference, Divergence, Surroundings, Traced, TracedTo};
use crate::verdict::numbers::{Number, NumberForm};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Shorter words stand anywhere by chance.
const LEAST_WORD: usize = 4;
/// Bytes of an output that is no text by which they are found again.
const BINARY_BYTES: usize = 8;
/// Smaller numbers stand in any structure.
const LEAST_NUMBER: u64 = 1000;
/// Longest result of a call that is read as a structure of numbers: those about files are shorter.
const LONGEST_STRUCTURE: usize = 512;
/// As much of a file is looked at.
const MOST_FILE_BYTES: u64 = 16 << 20;

/// What is looked for.
struct Sought {
    bytes: Vec<u8>,
    number: Option<u64>,
    text: String,
}

/// The latest real result in which the bytes stand that the build sent and the recording has not; else the file that is not as it
/// was. `cwd`: where the server runs.
pub(crate) fn source(found: &Divergence, returned: &[RealResult], around: &Surroundings, cwd: &Path) -> Option<Traced> {
    let sought = sought(found)?;
    let suspects = || [&around.changed, &around.written, &around.written_by_others].into_iter().flatten();
    let is_as_recorded = |path: &String| around.files.contains(path) && !suspects().any(|suspect| suspect == path);
    let of_call =
        returned.iter().rev().filter(|result| result.process == u32::from(found.process)).find_map(|result| {
            let path = String::from_utf8_lossy(&result.path).into_owned();
            let is_read = result.name.contains("read") && !result.name.contains("link");
            let from = TracedTo::Call { name: result.name.clone(), after_record: result.record };
            (!(is_read && is_as_recorded(&path)) && holds(&result.bytes, &sought, !is_read)).then_some((from, path))
        });
    let of_file = || {
        suspects().find_map(|path| {
            let place = place_in(&cwd.join(path), &sought.bytes)?;
            Some((TracedTo::File { byte: place as u64 }, path.clone()))
        })
    };
    let (origin, path) = of_call.or_else(of_file)?;
    Some(Traced { origin, path, content: sought.text })
}

/// The word, the number or the bytes at the first difference, on the side of the build. None where they tell nothing: what is short, or
/// one byte over and over, stands anywhere.
fn sought(found: &Divergence) -> Option<Sought> {
    let (Difference::Bytes, Some(byte)) = (found.difference, found.window.differing) else { return None };
    let differs = usize::try_from(byte.checked_sub(found.window.from)?).ok()?;
    let number = found.number().and_then(|change| match (change.form, change.found) {
        (NumberForm::Text | NumberForm::Binary { is_float: false, .. }, Number::Integer(number)) => Some(number),
        _ => None,
    });
    let number = number.filter(|&number| number >= LEAST_NUMBER);
    let bytes = match word(&found.window.found, differs) {
        Some(word) if word.len() >= LEAST_WORD => word.to_vec(),
        Some(_) => Vec::new(),
        None => found.window.found.get(differs..differs + BINARY_BYTES).unwrap_or_default().to_vec(),
    };
    let is_telling = bytes.iter().any(|byte| *byte != bytes[0]);
    let bytes = if is_telling { bytes } else { Vec::new() };
    let text = match number {
        _ if !bytes.is_empty() && bytes.iter().all(u8::is_ascii_graphic) => {
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Some(number) => number.to_string(),
        None => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<String>>().join(" "),
    };
    (number.is_some() || !bytes.is_empty()).then_some(Sought { bytes, number, text })
}

/// The word of text around this place; none in other bytes.
fn word(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/@+%~".contains(byte);
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    const AROUND: usize = 4;
    let near = bytes.get(at.saturating_sub(AROUND)..bytes.len().min(at + AROUND))?;
    if at >= bytes.len() || !near.iter().all(is_text) {
        return None;
    }
    let start = at - bytes[..at].iter().rev().take_while(|byte| is_part(byte)).count();
    let end = at + bytes[at..].iter().take_while(|byte| is_part(byte)).count();
    Some(&bytes[start..end])
}

/// The bytes stand in a result, or the number does, in a structure of words.
fn holds(result: &[u8], sought: &Sought, is_structure: bool) -> bool {
    let has_bytes = !sought.bytes.is_empty() && result.windows(sought.bytes.len()).any(|part| part == sought.bytes);
    let has_number = |number: u64| {
        let wide = result.chunks_exact(8).any(|word| word == number.to_le_bytes());
        let narrow =
            u32::try_from(number).is_ok_and(|number| result.chunks_exact(4).any(|word| word == number.to_le_bytes()));
        wide || narrow
    };
    let is_structure = is_structure && result.len() <= LONGEST_STRUCTURE;
    has_bytes || is_structure && sought.number.is_some_and(has_number)
}

/// Where in a file these bytes stand first.
fn place_in(path: &Path, bytes: &[u8]) -> Option<usize> {
    let mut content = Vec::new();
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|status| status.is_file()))?;
    file.take(MOST_FILE_BYTES).read_to_end(&mut content).ok()?;
    if bytes.is_empty() {
        return None;
    }
    content.windows(bytes.len()).position(|part| part == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::diverged::differing;
    use std::fs;

    fn result(name: &str, path: &str, bytes: &[u8], record: u64) -> RealResult {
        RealResult { name: name.into(), path: path.into(), bytes: bytes.to_vec(), record, ..RealResult::default() }
    }

    fn seen(found: &Divergence, returned: &[RealResult], around: &Surroundings) -> Option<(String, u64, String)> {
        let Traced { origin, path, content } = source(found, returned, around, Path::new("/"))?;
        Some(match origin {
            TracedTo::Call { name, after_record } => (format!("{name} {path}"), after_record, content),
            TracedTo::File { byte } => (format!("file {path}"), byte, content),
        })
    }

    fn known(from: &str, place: u64, content: &str) -> Option<(String, u64, String)> {
        Some((from.to_owned(), place, content.to_owned()))
    }

    #[test]
    fn the_latest_result_that_has_the_word_is_named() {
        let found = differing(0, b"hello boot-1111-aa!", b"hello boot-2222-bb!");
        let none = Surroundings::default();
        let early = result("read", "/proc/x", b"id boot-2222-bb\n", 3);
        let late = result("pread", "/proc/y", b"boot-2222-bb", 7);
        let other = result("read", "/proc/z", b"boot-1111-aa", 9);
        assert_eq!(seen(&found, &[early.clone(), other.clone()], &none), known("read /proc/x", 3, "boot-2222-bb"));
        assert_eq!(seen(&found, &[early, late, other], &none), known("pread /proc/y", 7, "boot-2222-bb"));
    }

    #[test]
    fn a_number_is_found_in_a_structure_in_either_width_and_not_in_the_content_of_a_file() {
        let found = differing(0, b"size=70001 ", b"size=70002 ");
        let none = Surroundings::default();
        for word in [&70_002u64.to_le_bytes()[..], &70_002u32.to_le_bytes()] {
            let bytes = [&[1; 8], word].concat();
            assert_eq!(
                seen(&found, &[result("stat", "/srv/log", &bytes, 5)], &none),
                known("stat /srv/log", 5, "70002")
            );
            assert_eq!(seen(&found, &[result("read", "/srv/log", &bytes, 5)], &none), None);
        }
        let small = differing(0, b"links=2 ", b"links=3 ");
        assert_eq!(seen(&small, &[result("stat", "/srv", &3u64.to_le_bytes(), 5)], &none), None);
    }

    #[test]
    fn a_file_that_is_as_recorded_explains_nothing_and_one_that_changed_does() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), "the word is wellington").expect("it is writable");
        let path = file.path().to_str().expect("a plain name").to_owned();
        let found = differing(0, b"blenheim!!", b"wellington");
        let read = result("read", &path, b"the word is wellington", 4);
        let as_recorded = Surroundings { files: vec![path.clone()], ..Surroundings::default() };
        assert_eq!(seen(&found, std::slice::from_ref(&read), &as_recorded), None);
        let changed = Surroundings { changed: vec![path.clone()], ..as_recorded };
        assert_eq!(seen(&found, &[read], &changed), known(&format!("read {path}"), 4, "wellington"));
        assert_eq!(seen(&found, &[], &changed), known(&format!("file {path}"), 12, "wellington"));
    }

    #[test]
    fn bytes_that_are_no_text_are_found_by_eight_of_them_and_one_byte_over_and_over_by_none() {
        let binary = [0x81u8, 2, 3, 0xf4, 5, 0xe6, 7, 0xd8, 9];
        let found = differing(0, &[0xffu8; 9], &binary);
        let none = Surroundings::default();
        let read = result("read", "/dev/x", &binary, 2);
        assert_eq!(seen(&found, &[read], &none), known("read /dev/x", 2, "81 02 03 f4 05 e6 07 d8"));
        let zeros = differing(0, &[1; 9], &[0; 9]);
        assert_eq!(seen(&zeros, &[result("read", "/dev/zero", &[0; 64], 2)], &none), None);
        let short = differing(0, b"a 1 b", b"a 7 b");
        assert_eq!(seen(&short, &[result("read", "/dev/x", b"7 7 7 7", 2)], &none), None);
    }
}
