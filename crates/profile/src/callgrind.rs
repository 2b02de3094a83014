//! Instructions of functions, as Callgrind writes them: its format, version 1, with names that are given once and numbered.
//!
//! Read are the costs of functions themselves. Lines behind `calls=` are what their callees cost, and are counted there.
#![deny(clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashMap};

use rustc_hash::FxBuildHasher;

/// A function of an object, as the file names both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CountedFunction {
    /// Path of the program or library; `???` for code of no file.
    pub object: String,
    /// Symbol, as it stands in the object; its address where there is none.
    pub symbol: String,
}

/// Instructions of each function, without those of functions that it called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionCounts(BTreeMap<CountedFunction, u64>);

/// Error of a file that is not as Callgrind writes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}, found {found:?}")]
pub struct CallgrindError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What should stand there.
    pub expected: &'static str,
    /// What stands there.
    pub found: String,
}

/// Names of one kind, by their number in the file.
#[derive(Default)]
struct Names(HashMap<u64, String, FxBuildHasher>);

impl Names {
    /// `(12) name`, `(12)` of a name that was given before, or `name`.
    fn read(&mut self, text: &str) -> Option<String> {
        let Some((number, name)) = text.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
            return Some(text.to_owned());
        };
        // A name may begin with a parenthesis itself.
        let Ok(number) = number.parse::<u64>() else { return Some(text.to_owned()) };
        match name.strip_prefix(' ') {
            Some(name) => {
                self.0.insert(number, name.to_owned());
                Some(name.to_owned())
            }
            None => self.0.get(&number).cloned(),
        }
    }
}

impl InstructionCounts {
    /// Reads one file; one process writes one.
    ///
    /// # Errors
    /// The line that is not as expected.
    pub fn read(bytes: &[u8]) -> Result<InstructionCounts, CallgrindError> {
        let text = String::from_utf8_lossy(bytes);
        let mut counts = InstructionCounts::default();
        let (mut objects, mut functions) = (Names::default(), Names::default());
        let (mut object, mut symbol) = ("???".to_owned(), None);
        let (mut is_of_call, mut has_instructions) = (false, false);
        for (index, line) in text.lines().enumerate() {
            let error = |expected| CallgrindError { line: index + 1, expected, found: line.chars().take(60).collect() };
            let Some((key, value)) =
                line.split_once('=').filter(|(key, _)| key.bytes().all(|byte| byte.is_ascii_lowercase()))
            else {
                if let Some(events) = line.strip_prefix("events:") {
                    has_instructions = events.split_ascii_whitespace().next() == Some("Ir");
                }
                let is_cost = line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first));
                if !is_cost || std::mem::take(&mut is_of_call) {
                    continue;
                }
                // A place, then the costs; none are 0.
                let Some(cost) = line.split_ascii_whitespace().nth(1) else { continue };
                let cost: u64 = cost.parse().map_err(|_| error("a number of instructions"))?;
                let symbol = symbol.clone().ok_or_else(|| error("the name of a function before its costs"))?;
                let count = counts.0.entry(CountedFunction { object: object.clone(), symbol }).or_default();
                *count = count.checked_add(cost).ok_or_else(|| error("a sum below 2^64"))?;
                continue;
            };
            let unknown = || error("a name, or the number of one");
            match key {
                "ob" => object = objects.read(value).ok_or_else(unknown)?,
                "fn" => symbol = Some(functions.read(value).ok_or_else(unknown)?),
                "cob" => _ = objects.read(value).ok_or_else(unknown)?,
                "cfn" => _ = functions.read(value).ok_or_else(unknown)?,
                "calls" => is_of_call = true,
                _ => {}
            }
        }
        match has_instructions {
            true => Ok(counts),
            false => Err(CallgrindError { line: 1, expected: "`events: Ir`", found: text.chars().take(60).collect() }),
        }
    }

    /// Adds those of another process.
    pub fn add(&mut self, other: InstructionCounts) {
        for (function, count) in other.0 {
            let sum = self.0.entry(function).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Keeps the functions of objects that `is_counted` takes; gives the instructions of the others.
    pub fn keep(&mut self, is_counted: impl Fn(&str) -> bool) -> u64 {
        let mut others: u64 = 0;
        self.0.retain(|function, count| {
            let stays = is_counted(&function.object);
            others = others.saturating_add(if stays { 0 } else { *count });
            stays
        });
        others
    }

    /// Gives objects other names; those of one name are one.
    #[must_use]
    pub fn renamed(self, name: impl Fn(&str) -> String) -> InstructionCounts {
        let mut counts = InstructionCounts::default();
        for (CountedFunction { object, symbol }, count) in self.0 {
            let sum = counts.0.entry(CountedFunction { object: name(&object), symbol }).or_default();
            *sum = sum.saturating_add(count);
        }
        counts
    }

    /// Instructions of all functions.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Instructions of one function; 0 where it did not run.
    pub fn of(&self, function: &CountedFunction) -> u64 {
        self.0.get(function).copied().unwrap_or_default()
    }

    /// All functions that ran.
    pub fn functions(&self) -> impl Iterator<Item = (&CountedFunction, u64)> {
        self.0.iter().map(|(function, count)| (function, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# callgrind format\nversion: 1\npositions: line\nevents: Ir\n\nob=(1) /bin/a\nfl=(1) a.c\nfn=(1) main\n16 4\n\
                        cob=(2) /lib/b.so\ncfn=(2) help\ncalls=3 20\n+1 90\n* 2\nfn=(3) (anonymous namespace)::f(int)\n5 7\n\n\
                        ob=(2)\nfn=(2)\n+3 30\n-2 60\n";

    fn function(object: &str, symbol: &str) -> CountedFunction {
        CountedFunction { object: object.to_owned(), symbol: symbol.to_owned() }
    }

    #[test]
    fn each_function_has_its_own_instructions() {
        let mut counts = InstructionCounts::read(FILE.as_bytes()).expect("it is sound");
        assert_eq!(counts.of(&function("/bin/a", "main")), 6);
        assert_eq!(counts.of(&function("/bin/a", "(anonymous namespace)::f(int)")), 7);
        assert_eq!(counts.of(&function("/lib/b.so", "help")), 90);
        assert_eq!(counts.total(), 103);
        counts.add(counts.clone());
        assert_eq!(counts.keep(|object| object != "/lib/b.so"), 180);
        assert_eq!((counts.total(), counts.functions().count()), (26, 2));
        assert_eq!(counts.renamed(|_| "program".to_owned()).of(&function("program", "main")), 12);
    }

    #[test]
    fn errors_name_their_line() {
        let error = |text: &str| InstructionCounts::read(text.as_bytes()).expect_err("it is not sound").to_string();
        assert_eq!(error("ob=(7)\n"), "line 1: expected a name, or the number of one, found \"ob=(7)\"");
        assert_eq!(
            error("events: Ir\n5 7\n"),
            "line 2: expected the name of a function before its costs, found \"5 7\""
        );
        assert_eq!(error("fn=(1) f\n5 x\n"), "line 2: expected a number of instructions, found \"5 x\"");
        assert_eq!(error("a file\n"), "line 1: expected `events: Ir`, found \"a file\\n\"");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(events: Ir\n)?((ob|fn|cfn|cob|calls)?=?(\\([0-9]?\\))?[ a-z0-9+*]{0,4}\n){0,12}") {
            let _ = InstructionCounts::read(text.as_bytes());
        }
    }
}
