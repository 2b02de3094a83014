//! Random order of the sections of a program, as a linker script for GNU ld, from the map and the script of a link without it.
//!
//! The position of a section is a function of its name and the seed alone, as is its offset within a line of the cache. Two builds
//! of nearly the same program thus have their common functions in the same order, at the same offsets.

use std::collections::BTreeSet;
use std::fmt::Write;

use prony_stats::Seed;

/// Bytes of a line of the cache.
const LINE_BYTES: u64 = 64;
/// Alignment of functions, as compilers choose it for x86-64 and aarch64.
const STEP_BYTES: u64 = 16;
/// Lines that the first function may be away from the start of the section: a page.
const LINES_BEFORE_MOST: usize = 64;
/// Output sections whose input sections are reordered.
const OUTPUTS: [&str; 4] = [".text", ".rodata", ".data", ".bss"];

/// A part of an output section, as a linker's map lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSection {
    /// Section of the output, such as `.text`.
    pub output: String,
    /// Name of the section, such as `.text.main`.
    pub name: String,
    /// File that it came from: an object, or `archive.a(member.o)`.
    pub file: String,
}

/// The sections of code and data in the map of GNU ld, in the order of the output, without those that are empty.
pub fn input_sections(map: &str) -> Vec<InputSection> {
    let mut sections = Vec::new();
    let mut output = "";
    let mut wrapped: Option<&str> = None;
    // What comes before are archive members and the sections that were discarded.
    let lines = map.lines().skip_while(|line| *line != "Linker script and memory map");
    for line in lines {
        if line.starts_with('.') {
            output = line.split_whitespace().next().unwrap_or_default();
            wrapped = None;
            continue;
        }
        let (name, rest) = match (wrapped.take(), line.strip_prefix(" .")) {
            // A long name has a line of its own.
            (Some(name), _) if line.starts_with("                0x") => (name, line.trim_start()),
            (_, Some(rest)) => {
                let length = rest.find(' ').unwrap_or(rest.len());
                let name = line.get(1..length + 2).unwrap_or_default();
                let rest = rest.get(length..).unwrap_or_default().trim_start();
                if rest.is_empty() {
                    wrapped = Some(name);
                    continue;
                }
                (name, rest)
            }
            _ => continue,
        };
        let mut words = rest.splitn(3, ' ').map(str::trim);
        let (_, rest) = (words.next(), rest.split_once(' ').map_or("", |(_, rest)| rest.trim_start()));
        let Some((size, file)) = rest.split_once(' ') else { continue };
        let is_empty = size == "0x0";
        if size.starts_with("0x") && !is_empty && OUTPUTS.contains(&output) {
            let (name, file) = (name.to_owned(), file.trim().to_owned());
            sections.push(InputSection { output: output.to_owned(), name, file });
        }
    }
    sections
}

/// A script with an order, and how many sections have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordered {
    /// Linker script.
    pub script: String,
    /// Sections of code that were ordered.
    pub functions: usize,
}

/// Linker script `default` with the sections in an order that `seed` decides; `None` if the script has no section `.text`.
pub fn script(default: &str, sections: &[InputSection], seed: u64) -> Option<Ordered> {
    let mut script = String::new();
    let mut functions = None;
    let mut pending: Option<&str> = None;
    for line in default.lines() {
        let opened = OUTPUTS.iter().find(|output| {
            line.trim_start().strip_prefix(**output).is_some_and(|rest| rest.trim_start().starts_with(':'))
        });
        let output = opened.copied().or(pending.take());
        let (Some(output), Some(brace)) = (output, line.find('{')) else {
            pending = output;
            let _ = writeln!(script, "{line}");
            continue;
        };
        let (before, after) = line.split_at(brace + 1);
        let (lines, count) = statements(output, sections, seed);
        if output == ".text" {
            functions = Some(count);
        }
        let _ = writeln!(script, "{before}\n{lines}{after}");
    }
    Some(Ordered { script, functions: functions? })
}

/// Input statements of an output section, one a line, and their number.
fn statements(output: &str, sections: &[InputSection], seed: u64) -> (String, usize) {
    let is_code = output == ".text";
    let mut units = BTreeSet::new();
    for (place, section) in sections.iter().filter(|section| section.output == output).enumerate() {
        if let Some((key, pattern)) = unit(output, section, place) {
            let mut draws = Seed::new(hash(&key, seed));
            units.insert((
                class(&section.name),
                draws.bits(),
                draws.below((LINE_BYTES / STEP_BYTES) as usize),
                pattern,
            ));
        }
    }
    let mut lines = String::new();
    if is_code && !units.is_empty() {
        let before = Seed::new(hash(".text", seed)).below(LINES_BEFORE_MOST) as u64 * LINE_BYTES;
        let _ = writeln!(lines, "    . += {before};");
    }
    for (_, _, step, pattern) in &units {
        match is_code {
            true => {
                let _ = writeln!(lines, "    . = ALIGN({LINE_BYTES}); . += {}; {pattern}", *step as u64 * STEP_BYTES);
            }
            false => {
                let _ = writeln!(lines, "    {pattern}");
            }
        }
    }
    (lines, units.len())
}

/// Groups of functions that linkers keep together, in the order of the default script: those seldom executed, at exit, at start,
/// often, and all others.
fn class(name: &str) -> usize {
    let starts = [".text.unlikely", ".text.exit", ".text.startup", ".text.hot", ".text.sorted"];
    let is_unlikely = name.starts_with(".text.") && name.ends_with("_unlikely");
    if is_unlikely { 0 } else { starts.iter().position(|start| name.starts_with(start)).unwrap_or(starts.len()) }
}

/// What decides the position of a section, and the statement that selects it; `None` for what stays where it is: mergeable
/// constants, start-up code of the C library, and names that a script cannot spell.
fn unit(output: &str, section: &InputSection, place: usize) -> Option<(String, String)> {
    let spelled = |text: &str| {
        !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.$/+-@".contains(letter))
    };
    let InputSection { name, file, .. } = section;
    if let Some(rest) = name.strip_prefix(output).and_then(|rest| rest.strip_prefix('.')) {
        let is_merged = output == ".rodata" && (rest.starts_with("str") || rest.starts_with("cst"));
        return (!is_merged && spelled(name)).then(|| (stable(name), format!("*(\"{name}\")")));
    }
    // Of objects without a section for each function, the whole object is moved.
    if name != output || output != ".text" {
        return None;
    }
    let (archive, object) = match file.strip_suffix(')').and_then(|file| file.split_once('(')) {
        Some((archive, member)) => (Some(archive), member),
        None => (None, file.as_str()),
    };
    let base = object.rsplit('/').next().unwrap_or(object);
    if base.starts_with("crt") || base.ends_with("crt1.o") || !spelled(object) || !archive.is_none_or(spelled) {
        return None;
    }
    let pattern = match archive {
        Some(archive) => format!("*{}:{base}(.text)", archive.rsplit('/').next().unwrap_or(archive)),
        None => format!("*{base}(.text)"),
    };
    // A compiler that also links draws the name of its temporary object.
    let is_temporary = object.starts_with("/tmp/");
    Some((if is_temporary { format!("object {place}") } else { base.to_owned() }, pattern))
}

/// A name without the hash that rustc puts into it, which is another one in each version of a crate: `17h` and 16 digits in the legacy
/// mangling, the disambiguator of a crate in version 0 (RFC 2603).
pub fn stable(name: &str) -> String {
    let legacy = name.rfind("17h").filter(|&at| {
        let rest = name.get(at + 3..).unwrap_or_default();
        rest.len() >= 16 && rest.bytes().take(16).all(|byte| byte.is_ascii_hexdigit())
    });
    if let Some(at) = legacy {
        return name.get(..at).unwrap_or(name).to_owned();
    }
    if !name.contains("._R") {
        return name.to_owned();
    }
    let mut parts = name.split("Cs");
    let mut stable = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        stable.push_str("Cs");
        stable.push_str(part.split_once('_').map_or(part, |(_, rest)| rest));
    }
    stable
}

/// Number that decides the position of a function among others.
pub fn rank(key: &str, seed: u64) -> u64 {
    Seed::new(hash(key, seed)).bits()
}

/// FNV-1a of `text`, with `seed` before it.
fn hash(text: &str, seed: u64) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
