//! Roles of the columns of a table, guessed from their names and values.

use std::collections::BTreeSet;

use super::{Table, Unit};

/// Role of each column; names as in the header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles {
    /// Columns of factors, in order.
    pub factors: Vec<String>,
    /// Columns of random factors, in order; none is ever guessed.
    pub random: Vec<String>,
    /// Columns of workloads; several together name a workload.
    pub workloads: Vec<String>,
    /// Name of the column with machines.
    pub machine: Option<String>,
    /// Column of the repetition; without it, equal rows are counted.
    pub repeat: Option<String>,
    /// Column of the measured value.
    pub value: Option<String>,
    /// Column of the amount of work: `Frames`.
    pub frames: Option<String>,
    /// Columns that get no role.
    pub ignored: Vec<String>,
}

const MACHINES: &[&str] = &["cpu", "machine", "host", "node", "computer", "processor", "system"];
const WORKLOADS: &[&str] =
    &["demo", "map", "workload", "scenario", "benchmark", "dataset", "input", "clients", "bots", "test", "level"];
const REPEATS: &[&str] = &["repeat", "run", "replicate", "trial", "repetition", "round"];
const FRAMES: &[&str] = &["frames", "ticks", "requests", "packets", "operations", "iterations"];
const VALUES: &[&str] = &[
    "duration",
    "time",
    "seconds",
    "msec",
    "ms",
    "elapsed",
    "latency",
    "value",
    "result",
    "throughput",
    "rate",
    "score",
    "memory",
    "bytes",
];

/// Numbers that sum values up: no levels, and of several the first of these is the value.
const STATISTICS: &[&str] = &[
    "median", "mean", "average", "avg", "min", "max", "stddev", "std", "sd", "stdev", "user", "sys", "system", "iqr",
    "p50", "p90", "p95", "p99",
];

/// What the CSV of `hyperfine --export-csv` and of `prony bench --export-csv` begins with.
const HYPERFINE: [&str; 8] = ["command", "mean", "stddev", "median", "user", "system", "min", "max"];

impl Roles {
    /// Roles of the columns of hyperfine's CSV, of which the header says no unit; `None` for other tables.
    pub fn of_hyperfine(table: &Table) -> Option<(Roles, Unit)> {
        let is_so = table.header.get(..HYPERFINE.len()).is_some_and(|header| header == HYPERFINE);
        let roles = Roles { factors: vec!["command".to_owned()], value: Some("median".to_owned()), ..Roles::default() };
        is_so.then(|| (roles, Unit::named("s")))
    }

    /// Fills the roles that are empty from the columns that are free. `None` is left where no column fits.
    ///
    /// A column whose cells are all the same is no factor: it says nothing.
    pub fn guess(&self, table: &Table) -> Roles {
        let mut roles = self.clone();
        let is_free = |at: &usize| !self.names(&table.header[*at]) && !self.ignored.contains(&table.header[*at]);
        let mut free: Vec<usize> = (0..table.header.len()).filter(is_free).collect();
        // Most and not all: a mistyped number is an error in its line, not a missing column.
        let numeric = |at: usize| {
            let filled = table.rows.iter().map(|row| row.cells[at].as_str()).filter(|cell| !cell.is_empty());
            let (numbers, texts): (Vec<&str>, Vec<&str>) = filled.partition(|cell| table.parsed(cell).is_some());
            numbers.len() > texts.len()
        };
        let mut take = |words: &[&str], fits: &dyn Fn(usize) -> bool| -> Option<String> {
            let place = free.iter().position(|&at| fits(at) && has_word(&table.header[at], words))?;
            Some(table.header[free.remove(place)].clone())
        };
        roles.frames = roles.frames.or_else(|| take(FRAMES, &numeric));
        roles.value = roles.value.or_else(|| take(VALUES, &numeric));
        // A number whose unit is in the name is a measurement, whatever it is called.
        roles.value = roles.value.or_else(|| {
            let measured = |at: usize| numeric(at) && Unit::of_header(&table.header[at]).is_some();
            let place = free.iter().position(|&at| measured(at))?;
            Some(table.header[free.remove(place)].clone())
        });
        let is_statistic = |at: usize| numeric(at) && has_word(&table.header[at], STATISTICS);
        // Of several summaries the first that this list has.
        let first = STATISTICS
            .iter()
            .find_map(|word| free.iter().position(|&at| numeric(at) && table.header[at].eq_ignore_ascii_case(word)));
        if let (None, Some(place)) = (&roles.value, first) {
            roles.value = Some(table.header[free.remove(place)].clone());
        }
        free.retain(|&at| !is_statistic(at));
        let mut take = |words: &[&str]| -> Option<String> {
            let place = free.iter().position(|&at| has_word(&table.header[at], words))?;
            Some(table.header[free.remove(place)].clone())
        };
        roles.machine = roles.machine.or_else(|| take(MACHINES));
        roles.repeat = roles.repeat.or_else(|| take(REPEATS));
        if roles.workloads.is_empty() {
            roles.workloads.extend(std::iter::from_fn(|| take(WORKLOADS)));
        }
        // The last number that is left, if nothing else was measured.
        if roles.value.is_none()
            && let Some(place) = free.iter().rposition(|&at| numeric(at))
        {
            roles.value = Some(table.header[free.remove(place)].clone());
        }
        if roles.factors.is_empty() {
            let varies = |at: &&usize| {
                // A cell that is empty repeats what stands above it, which the first one cannot.
                let begins = table.rows.first().is_some_and(|row| !row.cells[**at].is_empty());
                let cells = table.rows.iter().map(|row| row.cells[**at].as_str()).filter(|cell| !cell.is_empty());
                begins && cells.collect::<BTreeSet<_>>().len() > 1
            };
            roles.factors = free.iter().filter(varies).map(|&at| table.header[at].clone()).collect();
        }
        roles
    }

    /// True for a column that has a role.
    pub fn names(&self, column: &str) -> bool {
        let single = [&self.machine, &self.repeat, &self.value, &self.frames];
        single
            .into_iter()
            .flatten()
            .chain(&self.factors)
            .chain(&self.random)
            .chain(&self.workloads)
            .any(|name| name == column)
    }

    /// Columns that have a role, with the role.
    pub fn listed(&self) -> Vec<(&'static str, &str)> {
        let mut listed: Vec<(&'static str, &str)> = Vec::new();
        listed.extend(self.factors.iter().map(|name| ("factor", name.as_str())));
        listed.extend(self.random.iter().map(|name| ("random", name.as_str())));
        listed.extend(self.workloads.iter().map(|name| ("workload", name.as_str())));
        for (role, name) in
            [("machine", &self.machine), ("repeat", &self.repeat), ("value", &self.value), ("frames", &self.frames)]
        {
            listed.extend(name.as_deref().map(|name| (role, name)));
        }
        listed
    }
}

/// True for a column whose name says that more is better.
pub(super) fn is_better_higher(name: &str) -> bool {
    has_word(name, &["throughput", "rate", "score", "fps", "ops", "qps", "rps", "bandwidth", "speed"])
        || name.contains("/s")
}

/// True where a word of the name is one of `words`: `Demo N`, `Duration, msec`, `num_frames`.
fn has_word(name: &str, words: &[&str]) -> bool {
    let name = name.to_lowercase();
    name.split(|letter: char| !letter.is_alphanumeric()).any(|word| words.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_follow_from_names_and_content() {
        let table = Table::read(
            b"Engine;DLL;Kind;Demo N;CPU;Duration, msec;Frames\nold;old;same;1;i3;12;5\nnew;;;2;i5;13;5\n;new;;;;13;5\n",
        )
        .expect("the table is sound");
        let roles = Roles::default().guess(&table);
        let listed = [
            ("factor", "Engine"),
            ("factor", "DLL"),
            ("workload", "Demo N"),
            ("machine", "CPU"),
            ("value", "Duration, msec"),
            ("frames", "Frames"),
        ];
        assert_eq!(roles.listed(), listed);
        let given = Roles { factors: vec!["CPU".to_owned()], ..Roles::default() };
        assert_eq!((given.guess(&table).factors, given.guess(&table).machine), (vec!["CPU".to_owned()], None));
    }

    #[test]
    fn a_column_with_a_mistyped_number_is_still_one_of_numbers() {
        let table = Table::read(b"build,time (s)\nold,41900\nnew,4l900\nnewer,41000\n").expect("the table is sound");
        let roles = Roles::default().guess(&table);
        assert_eq!(roles.value.as_deref(), Some("time (s)"));
        let error = crate::import::import(&table, &roles, &crate::import::Reading::default()).expect_err("a typo");
        assert_eq!(error.to_string(), "line 3, column `time (s)`: expected a number, found `4l900`");
    }

    #[test]
    fn statistics_are_neither_units_nor_levels_nor_machines() {
        let text = b"command,mean,stddev,median,user,system,min,max,parameter_n\nfoo,2.0,0.1,2.0,1.9,0.1,1.9,2.1,1\nbar,1.0,0.1,1.0,0.9,0.1,0.9,1.1,2\n";
        let table = Table::read(text).expect("the table is sound");
        let (roles, unit) = Roles::of_hyperfine(&table).expect("it is hyperfine's");
        assert_eq!((roles.listed(), unit.name.as_str()), (vec![("factor", "command"), ("value", "median")], "second"));
        let table = Table::read(b"name,min,mean,max,p99\na,1,2,3,3\nb,2,3,4,4\n").expect("the table is sound");
        assert_eq!(Roles::of_hyperfine(&table), None);
        let roles = Roles::default().guess(&table);
        assert_eq!(roles.listed(), [("factor", "name"), ("value", "mean")]);
        assert_eq!((Unit::of_header("min"), Unit::of_header("time_min").map(|unit| unit.factor)), (None, Some(60.0)));
    }

    #[test]
    fn a_column_that_is_ignored_gets_no_role() {
        let table = Table::read(b"batch,build,run,time_sec\n,a,1,4.7\nx,b,1,4.3\n").expect("the table is sound");
        let guessed = Roles::default().guess(&table);
        assert_eq!((guessed.factors, guessed.repeat.as_deref()), (vec!["build".to_owned()], Some("run")));
        let roles = Roles { ignored: vec!["run".to_owned()], ..Roles::default() };
        assert_eq!(roles.guess(&table).repeat, None);
    }

    #[test]
    fn the_last_number_is_the_value_where_no_name_says_so() {
        let table = Table::read(b"compiler,flags,x,y\ngcc,2,1,2.5\nclang,3,2,2.25\n").expect("the table is sound");
        let roles = Roles::default().guess(&table);
        assert_eq!(roles.value.as_deref(), Some("y"));
        assert_eq!(roles.factors, ["compiler", "flags", "x"]);
    }
}
