//! Counts of functions, as Callgrind writes them: its format, version 1, with names that are given once and numbered.
//!
//! Read are instructions, and misses of simulated caches and mispredicted branches where it simulates them. They are
//! the costs of functions themselves. Lines behind `calls=` are what their callees cost, and are counted there; with them a function's
//! inclusive cost is known. Where recursions are set apart, calls of a function inside itself are those of `function'2`, and inclusive
//! costs are those of calls from outside.
#![deny(clippy::indexing_slicing)]

mod events;

use std::collections::{BTreeMap, HashMap};

use rustc_hash::FxBuildHasher;

use events::{Column, Sums};
pub use events::{SimulatedCounts, SimulatedEvent};

/// A function of an object, as the file names both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountedFunction {
    /// Path of the program or library; `???` for code of no file.
    pub object: String,
    /// Symbol, as it stands in the object; its address where there is none.
    pub symbol: String,
}

impl CountedFunction {
    /// All functions of all objects, where it is not known how many each has.
    pub const ALL: CountedFunction = CountedFunction { object: String::new(), symbol: String::new() };

    /// False for [`CountedFunction::ALL`].
    pub fn is_known(&self) -> bool {
        *self != CountedFunction::ALL
    }
}

/// A count of each function, of instructions or of an event, without those of functions that it called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionCounts(BTreeMap<CountedFunction, u64>);

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

/// Instructions of each part of a file: Callgrind writes one whenever it is asked to, and one at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedParts {
    functions: Vec<CountedFunction>,
    /// Of each part the functions that ran, by their place in `functions`, and their instructions.
    parts: Vec<Vec<(u32, u64)>>,
    /// Instructions of each function with all that it called, of all parts together.
    inclusive: Vec<u64>,
    /// Simulated events of each function, of all parts together; `None` where nothing was simulated.
    events: Option<Vec<Sums>>,
}

impl CountedParts {
    /// Reads one file; one process writes one.
    ///
    /// # Errors
    /// The line that is not as expected.
    pub fn read(bytes: &[u8]) -> Result<CountedParts, CallgrindError> {
        let text = String::from_utf8_lossy(bytes);
        let mut reader = Reader::default();
        for (index, line) in text.lines().enumerate() {
            reader.line(line).map_err(|expected| CallgrindError {
                line: index + 1,
                expected,
                found: line.chars().take(60).collect(),
            })?;
        }
        if !reader.has_instructions {
            let found = text.chars().take(60).collect();
            return Err(CallgrindError { line: 1, expected: "`events: Ir`", found });
        }
        reader.end_part();
        let events = (!reader.columns.is_empty()).then_some(reader.events);
        Ok(CountedParts { functions: reader.functions, parts: reader.parts, inclusive: reader.inclusive, events })
    }

    /// Parts of which the functions are not known.
    pub fn of_all(counts: impl IntoIterator<Item = u64>) -> CountedParts {
        let parts = counts.into_iter().map(|count| vec![(0, count)]).collect();
        CountedParts { functions: vec![CountedFunction::ALL], parts, inclusive: vec![0], events: None }
    }

    /// Instructions of all parts together.
    pub fn sum(&self) -> FunctionCounts {
        let mut sums = vec![0_u64; self.functions.len()];
        for &(place, count) in self.parts.iter().flatten() {
            if let Some(sum) = sums.get_mut(place as usize) {
                *sum = sum.saturating_add(count);
            }
        }
        FunctionCounts(self.functions.iter().cloned().zip(sums).filter(|(_, sum)| *sum > 0).collect())
    }

    /// Instructions of all parts together, of each function with those of all that it called.
    pub fn inclusive(&self) -> FunctionCounts {
        let counts = self.functions.iter().cloned().zip(self.inclusive.iter().copied());
        FunctionCounts(counts.filter(|(_, count)| *count > 0).collect())
    }

    /// Simulated events of all parts together; `None` where nothing was simulated.
    pub fn simulated(&self) -> Option<SimulatedCounts> {
        Some(SimulatedCounts::of_functions(self.functions.iter().zip(self.events.as_ref()?)))
    }

    /// Leaves functions out, or gives them other names.
    #[must_use]
    pub fn renamed(self, name: impl Fn(CountedFunction) -> Option<CountedFunction>) -> CountedParts {
        let mut places: HashMap<CountedFunction, u32> = HashMap::new();
        let mut functions = Vec::new();
        let moved = self.functions.into_iter().map(|function| {
            let function = name(function)?;
            Some(*places.entry(function).or_insert_with_key(|function| {
                functions.push(function.clone());
                functions.len() as u32 - 1
            }))
        });
        let moved: Vec<Option<u32>> = moved.collect();
        let events = self.events.map(|events| {
            let mut sums = vec![Sums::default(); functions.len()];
            for (place, more) in moved.iter().zip(&events) {
                if let Some(sum) = place.and_then(|place| sums.get_mut(place as usize)) {
                    sum.add(more);
                }
            }
            sums
        });
        let mut inclusive = vec![0_u64; functions.len()];
        for (place, more) in moved.iter().zip(&self.inclusive) {
            if let Some(sum) = place.and_then(|place| inclusive.get_mut(place as usize)) {
                *sum = sum.saturating_add(*more);
            }
        }
        let parts = self.parts.into_iter().map(|part| {
            let counts = part.into_iter().filter_map(|(place, count)| Some(((*moved.get(place as usize)?)?, count)));
            merged(counts.collect())
        });
        let parts = parts.collect();
        CountedParts { functions, parts, inclusive, events }
    }

    /// Number of parts.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// True if there is no part.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Instructions of each part.
    pub fn totals(&self) -> impl Iterator<Item = u64> {
        self.parts.iter().map(|part| part.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count)))
    }

    /// The functions that ran in a part, with their instructions; none of a part that there is not.
    pub fn functions(&self, part: usize) -> impl Iterator<Item = (&CountedFunction, u64)> {
        let counts = self.parts.get(part).into_iter().flatten();
        counts.filter_map(|&(place, count)| Some((self.functions.get(place as usize)?, count)))
    }
}

/// Adds up what belongs to the same function.
fn merged(mut counts: Vec<(u32, u64)>) -> Vec<(u32, u64)> {
    counts.sort_unstable_by_key(|(place, _)| *place);
    counts.dedup_by(|again, first| {
        let is_same = again.0 == first.0;
        first.1 = if is_same { first.1.saturating_add(again.1) } else { first.1 };
        is_same
    });
    counts
}

/// What was read so far.
struct Reader {
    object_names: Names,
    function_names: Names,
    object: String,
    /// The function of the lines that follow.
    function: Option<CountedFunction>,
    /// Its place in `functions`, from the first cost on.
    place: Option<u32>,
    /// These lines are of calls of the function inside itself.
    recurses: bool,
    places: HashMap<CountedFunction, u32>,
    functions: Vec<CountedFunction>,
    parts: Vec<Vec<(u32, u64)>>,
    /// The part that is being read, once it has begun.
    part: Option<Vec<(u32, u64)>>,
    /// The next cost is that of a call.
    is_of_call: bool,
    /// Instructions of each function with what it called, by its place in `functions`.
    inclusive: Vec<u64>,
    has_instructions: bool,
    /// What stands behind the instructions of a line; empty where nothing was simulated.
    columns: Vec<Column>,
    /// Events of each function, by its place in `functions`, where there are columns.
    events: Vec<Sums>,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader {
            object_names: Names::default(),
            function_names: Names::default(),
            object: "???".to_owned(),
            function: None,
            place: None,
            recurses: false,
            places: HashMap::default(),
            functions: Vec::new(),
            parts: Vec::new(),
            part: None,
            is_of_call: false,
            inclusive: Vec::new(),
            has_instructions: false,
            columns: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl Reader {
    /// Takes in one line, or says what was expected.
    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        let keyed = line.split_once('=').filter(|(key, _)| key.bytes().all(|byte| byte.is_ascii_lowercase()));
        let Some((key, value)) = keyed else {
            if let Some(events) = line.strip_prefix("events:") {
                let mut names = events.split_ascii_whitespace();
                self.has_instructions = names.next() == Some("Ir");
                self.columns = names.map(Column::named).collect();
            } else if line.starts_with("part:") {
                self.end_part();
                self.part = Some(Vec::new());
            } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
                return self.cost(line);
            }
            return Ok(());
        };
        let unknown = "a name, or the number of one";
        match key {
            "ob" => self.object = self.object_names.read(value).ok_or(unknown)?,
            "fn" => {
                let name = self.function_names.read(value).ok_or(unknown)?;
                let (symbol, recurses) = without_recursion(name);
                self.recurses = recurses;
                self.function = Some(CountedFunction { object: self.object.clone(), symbol });
                self.place = None;
            }
            "cob" => _ = self.object_names.read(value).ok_or(unknown)?,
            "cfn" => _ = self.function_names.read(value).ok_or(unknown)?,
            "calls" => self.is_of_call = true,
            _ => {}
        }
        Ok(())
    }

    /// A place, then the costs; none are 0.
    fn cost(&mut self, line: &str) -> Result<(), &'static str> {
        let is_of_call = std::mem::take(&mut self.is_of_call);
        let mut words = line.split_ascii_whitespace().skip(1);
        let Some(cost) = words.next() else { return Ok(()) };
        let cost: u64 = cost.parse().map_err(|_| "a number of instructions")?;
        let place = self.place()?;
        if let Some(inclusive) = self.inclusive.get_mut(place as usize).filter(|_| !self.recurses) {
            // Where recursions are not set apart, calls within each other are added up again and again.
            *inclusive = inclusive.saturating_add(cost);
        }
        if is_of_call {
            return Ok(());
        }
        let part = self.part.get_or_insert_default();
        match part.last_mut() {
            Some((last, sum)) if *last == place => *sum = sum.checked_add(cost).ok_or("a sum below 2^64")?,
            _ => part.push((place, cost)),
        }
        if !self.columns.is_empty() {
            let number = self.events.len().max(place as usize + 1);
            self.events.resize_with(number, Sums::default);
            if let Some(sums) = self.events.get_mut(place as usize) {
                sums.read(&self.columns, words).ok_or("numbers of events")?;
            }
        }
        Ok(())
    }

    /// Place of the function of this line.
    fn place(&mut self) -> Result<u32, &'static str> {
        if let Some(place) = self.place {
            return Ok(place);
        }
        let function = self.function.as_ref().ok_or("the name of a function before its costs")?;
        let place = self.places.get(function).copied().unwrap_or_else(|| {
            self.functions.push(function.clone());
            self.inclusive.push(0);
            let place = self.functions.len() as u32 - 1;
            self.places.insert(function.clone(), place);
            place
        });
        self.place = Some(place);
        Ok(place)
    }

    fn end_part(&mut self) {
        self.parts.extend(self.part.take().map(merged));
    }
}

/// `function'2` is a function that calls itself, inside itself.
fn without_recursion(name: String) -> (String, bool) {
    match name.rsplit_once('\'') {
        Some((function, level)) if !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit()) => {
            (function.to_owned(), true)
        }
        _ => (name, false),
    }
}

impl FunctionCounts {
    /// Reads one file; one process writes one.
    ///
    /// # Errors
    /// The line that is not as expected.
    pub fn read(bytes: &[u8]) -> Result<FunctionCounts, CallgrindError> {
        CountedParts::read(bytes).map(|parts| parts.sum())
    }

    /// Adds those of another process.
    pub fn add(&mut self, other: FunctionCounts) {
        for (function, count) in other.0 {
            let sum = self.0.entry(function).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Sum over all functions.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Sums over the functions of each object, the largest first.
    pub fn objects(&self) -> Vec<(&str, u64)> {
        let mut sums = BTreeMap::<&str, u64>::new();
        for (function, count) in &self.0 {
            let sum = sums.entry(&function.object).or_default();
            *sum = sum.saturating_add(*count);
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
        sums
    }

    /// Count of one function; 0 where it did not run, or has none.
    pub fn of(&self, function: &CountedFunction) -> u64 {
        self.0.get(function).copied().unwrap_or_default()
    }

    /// All functions that have a count.
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
        let mut counts = FunctionCounts::read(FILE.as_bytes()).expect("it is sound");
        assert_eq!(counts.of(&function("/bin/a", "main")), 6);
        assert_eq!(counts.of(&function("/bin/a", "(anonymous namespace)::f(int)")), 7);
        assert_eq!(counts.of(&function("/lib/b.so", "help")), 90);
        assert_eq!(counts.total(), 103);
        counts.add(counts.clone());
        assert_eq!((counts.total(), counts.functions().count()), (206, 3));
    }

    #[test]
    fn parts_are_kept_apart() {
        let text = "events: Ir\npart: 1\nob=(1) /bin/a\nfn=(1) main\n1 4\nfn=(2) help\n2 5\nfn=(1)\n3 1\npart: 2\npart: 3\nob=(1)\nfn=(2)\n2 9\n";
        let parts = CountedParts::read(text.as_bytes()).expect("it is sound");
        assert_eq!(parts.totals().collect::<Vec<_>>(), [10, 0, 9]);
        let (main, help) = (function("/bin/a", "main"), function("/bin/a", "help"));
        assert_eq!(parts.functions(0).collect::<Vec<_>>(), [(&main, 5), (&help, 5)]);
        assert_eq!((parts.sum().of(&help), parts.functions(3).count()), (14, 0));
        let one = |one: CountedFunction| Some(CountedFunction { symbol: "f".to_owned(), ..one });
        assert_eq!(parts.clone().renamed(one).functions(0).collect::<Vec<_>>(), [(&function("/bin/a", "f"), 10)]);
        assert_eq!(
            parts.renamed(|function| (function != main).then_some(function)).totals().collect::<Vec<_>>(),
            [5, 0, 9]
        );
    }

    #[test]
    fn simulated_events_are_summed_by_function() {
        let text = "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\npart: 1\nob=(1) /bin/a\nfn=(1) main\n1 4 2 1 1\n\
                    calls=1 9\n2 90 90 90 90 90\nfn=(2) help\n2 5 3 4 0 1 2 1 1 1 7 2 1 1\npart: 2\nfn=(1)\n3 1 1\nfn=(2)\n4 9 9 0 0 9\n";
        let parts = CountedParts::read(text.as_bytes()).expect("it is sound");
        let of = |parts: &CountedParts, symbol| {
            let events = parts.simulated().expect("they are simulated");
            SimulatedEvent::ALL.map(|event| events.of(event).of(&function("/bin/a", symbol)))
        };
        // Data accesses, misses of I1, D1 and LL, branches, mispredictions.
        assert_eq!(of(&parts, "main"), [4, 1, 0, 0, 0, 0]);
        assert_eq!(of(&parts, "help"), [16, 0, 12, 3, 8, 3]);
        let one = |one: CountedFunction| Some(CountedFunction { symbol: "f".to_owned(), ..one });
        assert_eq!(of(&parts.clone().renamed(one), "f"), [20, 1, 12, 3, 8, 3]);
        let only_main = parts.renamed(|function| (function.symbol == "main").then_some(function));
        assert_eq!((of(&only_main, "main"), of(&only_main, "help")), ([4, 1, 0, 0, 0, 0], [0; 6]));
        let mut twice = only_main.simulated().expect("they are simulated");
        twice.add(twice.clone());
        assert_eq!(twice.of(SimulatedEvent::DataAccesses).total(), 8);
        assert_eq!(CountedParts::read(FILE.as_bytes()).expect("it is sound").simulated(), None);
    }

    #[test]
    fn errors_name_their_line() {
        let error = |text: &str| FunctionCounts::read(text.as_bytes()).expect_err("it is not sound").to_string();
        assert_eq!(error("ob=(7)\n"), "line 1: expected a name, or the number of one, found \"ob=(7)\"");
        assert_eq!(
            error("events: Ir\n5 7\n"),
            "line 2: expected the name of a function before its costs, found \"5 7\""
        );
        assert_eq!(error("fn=(1) f\n5 x\n"), "line 2: expected a number of instructions, found \"5 x\"");
        assert_eq!(error("events: Ir Dr\nfn=f\n5 7 x\n"), "line 3: expected numbers of events, found \"5 7 x\"");
        assert_eq!(error("a file\n"), "line 1: expected `events: Ir`, found \"a file\\n\"");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(events: Ir( Dr| Bcm| Xy){0,2}\n)?((ob|fn|cfn|cob|calls)?=?(\\([0-9]?\\))?[ a-z0-9+*]{0,4}\n){0,12}") {
            let _ = FunctionCounts::read(text.as_bytes());
        }
    }
}
