//! Roles of the columns of a table, guessed from their names and values.

use std::collections::BTreeSet;

use super::{Table, Unit};

/// Role of each column; names as in the header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles {
    /// Columns of factors, in order.
    pub factors: Vec<String>,
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

impl Roles {
    /// Fills the roles that are empty from the columns that are free. `None` is left where no column fits.
    ///
    /// A column whose cells are all the same is no factor: it says nothing.
    pub fn guess(&self, table: &Table) -> Roles {
        let mut roles = self.clone();
        let mut free: Vec<usize> = (0..table.header.len()).filter(|&at| !self.names(&table.header[at])).collect();
        // Most and not all: of a number that was mistyped the line is to be told, not that there is no such column.
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
                let cells = table.rows.iter().map(|row| row.cells[**at].as_str()).filter(|cell| !cell.is_empty());
                cells.collect::<BTreeSet<_>>().len() > 1
            };
            roles.factors = free.iter().filter(varies).map(|&at| table.header[at].clone()).collect();
        }
        roles
    }

    /// True for a column that has a role.
    pub fn names(&self, column: &str) -> bool {
        let single = [&self.machine, &self.repeat, &self.value, &self.frames];
        single.into_iter().flatten().chain(&self.factors).chain(&self.workloads).any(|name| name == column)
    }

    /// Columns that have a role, with the role.
    pub fn listed(&self) -> Vec<(&'static str, &str)> {
        let mut listed: Vec<(&'static str, &str)> = Vec::new();
        listed.extend(self.factors.iter().map(|name| ("factor", name.as_str())));
        listed.extend(self.workloads.iter().map(|name| ("workload", name.as_str())));
        for (role, name) in
            [("machine", &self.machine), ("repeat", &self.repeat), ("value", &self.value), ("frames", &self.frames)]
        {
            listed.extend(name.as_deref().map(|name| (role, name)));
        }
        listed
    }
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
    fn the_last_number_is_the_value_where_no_name_says_so() {
        let table = Table::read(b"compiler,flags,x,y\ngcc,2,1,2.5\nclang,3,2,2.25\n").expect("the table is sound");
        let roles = Roles::default().guess(&table);
        assert_eq!(roles.value.as_deref(), Some("y"));
        assert_eq!(roles.factors, ["compiler", "flags", "x"]);
    }
}
