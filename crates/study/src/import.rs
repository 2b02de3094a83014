//! A table of foreign measurements as the results of a study.
//!
//! A row is a cell. Empty cells of what names it (levels, workload, machine, amount of work) repeat what stands above
//! them, as in tables made for people; a row without a value is a cell that failed.

mod guess;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

pub use guess::Roles;
pub use table::{BYTES_MAX, Row, Table};

use crate::results::{
    Cell, Direction, Factor, FailureKind, Machine, Metric, Normalise, Results, Role, State, Workload,
};

/// Error of importing a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// No row below the header.
    #[error("expected {}", match columns { 0 => "a header and at least one row, found nothing", _ => "at least one row below the header, found none" })]
    Empty {
        /// Columns that the header names.
        columns: usize,
    },
    /// Too many bytes, rows or columns.
    #[error("expected at most {most} {what}, found more")]
    TooLarge {
        /// Kind of items that exceed the limit: bytes, rows or columns.
        what: &'static str,
        /// Largest permitted number of them.
        most: usize,
    },
    /// Bytes that are no text.
    #[error("line {line}: expected text in UTF-8, found other bytes")]
    NotText {
        /// Number of the line, from 1.
        line: u64,
    },
    /// A row of another length than the header.
    #[error("line {line}: expected {expected} cells, found {found}")]
    Columns {
        /// Number of the line, from 1.
        line: u64,
        /// Number of cells in the header.
        expected: usize,
        /// Number of cells in the row.
        found: usize,
    },
    /// A column without a name.
    #[error("line {line}: expected a name for column {column}, found nothing")]
    NoName {
        /// Number of the line, from 1.
        line: u64,
        /// Number of the column, from 1.
        column: usize,
    },
    /// Two columns of one name.
    #[error("line {line}: expected names that differ, found `{name}` twice")]
    SameName {
        /// Number of the line, from 1.
        line: u64,
        /// Name that appears twice.
        name: String,
    },
    /// A role for a column that is not there.
    #[error("expected one of the columns {}, found `{name}`", quoted(known))]
    NoColumn {
        /// The name that was given.
        name: String,
        /// Names of the columns that the table has.
        known: Vec<String>,
    },
    /// Two roles for one column.
    #[error("expected one role for column `{name}`, found two")]
    TwoRoles {
        /// Name of the column.
        name: String,
    },
    /// No column for what cannot be done without.
    #[error("expected a column with the {role}, found none among {}", quoted(known))]
    NoRole {
        /// Role that no column has: values or factors.
        role: &'static str,
        /// The columns that there are.
        known: Vec<String>,
    },
    /// An empty cell with nothing above.
    #[error("line {line}, column `{column}`: expected a text here or above, found nothing")]
    NothingAbove {
        /// Number of the line, from 1.
        line: u64,
        /// Name of the column.
        column: String,
    },
    /// A cell that should hold a number does not.
    #[error("line {line}, column `{column}`: expected a number, found `{found}`")]
    Number {
        /// Number of the line, from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// Text of the cell.
        found: String,
    },
    /// A number that has no logarithm.
    #[error("line {line}, column `{column}`: expected a number above 0, found `{found}`")]
    NotAboveZero {
        /// Number of the line, from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// Text of the cell.
        found: String,
    },
    /// A factor with this many levels that it is none.
    #[error("line {line}, column `{column}`: expected at most {most} levels, found one more")]
    Levels {
        /// Number of the line, from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// Largest permitted number of levels.
        most: usize,
    },
    /// The direction of improvement was not given, and the unit does not imply one.
    #[error("expected to know whether more of `{column}` is better, which its unit, {unit}, does not tell")]
    NoDirection {
        /// Name of the column with the values.
        column: String,
        /// Their unit.
        unit: String,
    },
    /// Two rows say they are the same cell.
    #[error("line {line}, column `{column}`: expected each repeat once, found `{found}` again, as on line {first}")]
    SameCell {
        /// Number of the line, from 1.
        line: u64,
        /// The line that has it too.
        first: u64,
        /// Name of the column of repeats.
        column: String,
        /// Repeat that the cell has, as text.
        found: String,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Options for reading a table: roles of columns, normalisation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// Unit of the values; `None`: as in the header.
    pub unit: Option<Unit>,
    /// Number of frames that values are normalised to; `None`: a round number near their median.
    pub normalise_to: Option<f64>,
    /// More is better; `None`: as of the unit.
    pub higher_is_better: Option<bool>,
    /// Title of the imported study.
    pub title: String,
}

/// A unit, and what it is in one that samples files know.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// `second`, `byte`, or the name as it was given.
    pub name: String,
    /// A value times this is in that unit.
    pub factor: f64,
}

impl Unit {
    /// `ms`, `msec`, `s`, `kB`; any other name is taken as it is.
    pub fn named(name: &str) -> Unit {
        Unit::known(name).unwrap_or_else(|| Unit { name: name.to_owned(), factor: 1.0 })
    }

    /// The unit behind a comma or in brackets, as in `Duration, msec` and `time (s)`; `None` where none is known.
    pub fn of_header(column: &str) -> Option<Unit> {
        let behind = column.rsplit([',', '(', '[', '/', '_', ' ']).next()?;
        // By themselves these are names: a minimum, a side, a size.
        if ["min", "s", "B"].contains(&column.trim()) {
            return None;
        }
        Unit::known(behind.trim_matches([')', ']', ' ']))
    }

    fn known(name: &str) -> Option<Unit> {
        let (name, factor) = match name.trim() {
            "s" | "sec" | "secs" | "second" | "seconds" => ("second", 1.0),
            "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => ("second", 1e-3),
            "us" | "µs" | "usec" | "microsecond" | "microseconds" => ("second", 1e-6),
            "ns" | "nsec" | "nanosecond" | "nanoseconds" => ("second", 1e-9),
            "min" | "minute" | "minutes" => ("second", 60.0),
            "B" | "byte" | "bytes" => ("byte", 1.0),
            "kB" | "KB" => ("byte", 1e3),
            "KiB" => ("byte", 1024.0),
            "MB" => ("byte", 1e6),
            "MiB" => ("byte", 1024.0 * 1024.0),
            _ => return None,
        };
        Some(Unit { name: name.to_owned(), factor })
    }

    /// Units of which less is better; of others, as rates, it is unknown.
    fn lower_is_better(&self) -> bool {
        matches!(self.name.as_str(), "second" | "byte")
    }
}

/// Converts a table to results of a study.
///
/// `roles`: each names a column of the table.
///
/// # Errors
/// [`TableError`] with line and column.
pub fn import(table: &Table, roles: &Roles, reading: &Reading) -> Result<Results, TableError> {
    let columns = Columns::of(table, roles)?;
    let header = &table.header[columns.value];
    let unit = reading.unit.clone().or_else(|| Unit::of_header(header)).unwrap_or_else(|| Unit::named("unknown"));
    let mut names = Names::default();
    let frames = columns.frames.map(|column| frames(table, column)).transpose()?;
    let normalise = frames.as_ref().map(|frames| Normalise {
        by: header_word(&table.header[columns.frames.unwrap_or_default()]),
        to: reading.normalise_to.unwrap_or_else(|| round_number(frames)),
    });
    let filled = |column: &usize| table.filled(*column);
    let of_factors: Vec<Vec<&str>> = columns.factors.iter().map(filled).collect::<Result<_, _>>()?;
    let of_workloads: Vec<Vec<&str>> = columns.workloads.iter().map(filled).collect::<Result<_, _>>()?;
    let of_machine = columns.machine.as_ref().map(filled).transpose()?;
    let of_repeat = columns.repeat.as_ref().map(filled).transpose()?;

    let named = roles.factors.iter().chain(&roles.random).zip(&of_factors).enumerate();
    let factors: Vec<Factor> = named
        .map(|(at, (name, cells))| {
            let found = factor(table, name, cells)?;
            let random = at >= roles.factors.len();
            Ok(Factor { random, numbers: found.numbers.filter(|_| !random), ..found })
        })
        .collect::<Result<_, _>>()?;
    let level_of: Vec<BTreeMap<&str, usize>> = factors
        .iter()
        .map(|factor| factor.levels.iter().enumerate().map(|(at, level)| (level.as_str(), at)).collect())
        .collect();
    let mut cells = Vec::with_capacity(table.rows.len());
    // Lines and names of the repeats of a configuration on a workload and a machine.
    let mut seen = BTreeMap::<(Vec<usize>, usize, usize), Vec<(u64, &str)>>::new();
    for (at, row) in table.rows.iter().enumerate() {
        let levels: Vec<usize> = level_of.iter().zip(&of_factors).map(|(levels, cells)| levels[cells[at]]).collect();
        let axes: Vec<&str> = of_workloads.iter().map(|cells| cells[at]).collect();
        let workload = names.workload(&roles.workloads, &axes);
        let machine = names.machine(of_machine.as_ref().map_or("machine", |cells| cells[at]));
        let earlier = seen.entry((levels.clone(), workload, machine)).or_default();
        let repeat = u32::try_from(earlier.len()).unwrap_or(u32::MAX);
        let name = of_repeat.as_ref().map_or("", |cells| cells[at]);
        if let (Some(column), Some((first, _))) = (columns.repeat, earlier.iter().find(|other| other.1 == name)) {
            let (column, found) = (table.header[column].clone(), name.to_owned());
            return Err(TableError::SameCell { line: row.line, first: *first, column, found });
        }
        earlier.push((row.line, name));
        let value = value(table, row, &columns, &unit)?;
        let scale =
            normalise.as_ref().zip(frames.as_ref()).map_or(1.0, |(normalise, frames)| normalise.to / frames[at]);
        let scaled = value.map(|value| value * scale);
        // Numbers near the ends of what a float holds may leave it.
        if scaled.is_some_and(|scaled| !scaled.is_normal()) {
            return Err(table.no_number(row.line, columns.value, &row.cells[columns.value]));
        }
        let line = row.line.to_string();
        cells.push(Cell {
            key: key(&factors, &levels, &names.workloads[workload].name, &names.machines[machine].name, repeat),
            machine,
            workload,
            repeat,
            levels,
            role: Role::Measured,
            state: match value {
                Some(_) => State::Done,
                None => State::Failed {
                    kind: FailureKind::Permanent,
                    message: format!("the table has no value on line {line}"),
                },
            },
            attempt: 1,
            value: scaled,
            spread: None,
            samples: None,
            seconds: value.filter(|_| unit.name == "second"),
            provenance: BTreeMap::from([("line".to_owned(), line)]),
        });
    }
    let guessed = || match unit.lower_is_better() {
        true => Some(false),
        false => guess::is_better_higher(header).then_some(true),
    };
    let higher = reading
        .higher_is_better
        .or_else(guessed)
        .ok_or_else(|| TableError::NoDirection { column: header.clone(), unit: unit.name.clone() })?;
    Ok(Results {
        title: reading.title.clone(),
        metric: Metric {
            name: header_word(header),
            unit: unit.name,
            direction: if higher { Direction::Higher } else { Direction::Lower },
            normalise,
        },
        factors,
        workloads: names.workloads,
        machines: names.machines,
        cells,
        seed: 0,
        random: Vec::new(),
    })
}

/// Indices of the columns by their role.
struct Columns {
    /// Those of random factors last.
    factors: Vec<usize>,
    workloads: Vec<usize>,
    machine: Option<usize>,
    repeat: Option<usize>,
    value: usize,
    frames: Option<usize>,
}

impl Columns {
    fn of(table: &Table, roles: &Roles) -> Result<Columns, TableError> {
        let listed = roles.listed();
        for (at, (_, name)) in listed.iter().enumerate() {
            if listed[..at].iter().any(|(_, other)| other == name) {
                return Err(TableError::TwoRoles { name: (*name).to_owned() });
            }
        }
        let all = |names: &[String]| names.iter().map(|name| table.column(name)).collect::<Result<Vec<_>, _>>();
        let one = |name: &Option<String>| name.as_ref().map(|name| table.column(name)).transpose();
        let missing = |role| TableError::NoRole { role, known: table.header.clone() };
        let factors = all(&roles.factors)?;
        if factors.is_empty() {
            return Err(missing("levels of a factor"));
        }
        Ok(Columns {
            factors: [factors, all(&roles.random)?].concat(),
            workloads: all(&roles.workloads)?,
            machine: one(&roles.machine)?,
            repeat: one(&roles.repeat)?,
            value: one(&roles.value)?.ok_or_else(|| missing("values"))?,
            frames: one(&roles.frames)?,
        })
    }
}

/// Workloads and machines in the order in which they come.
#[derive(Default)]
struct Names {
    workloads: Vec<Workload>,
    of_workloads: BTreeMap<Vec<String>, usize>,
    machines: Vec<Machine>,
    of_machines: BTreeMap<String, usize>,
}

impl Names {
    fn workload(&mut self, columns: &[String], axes: &[&str]) -> usize {
        let key: Vec<String> = axes.iter().map(|&axis| axis.to_owned()).collect();
        *self.of_workloads.entry(key).or_insert_with(|| {
            let name = if axes.is_empty() { "workload".to_owned() } else { axes.join(", ") };
            let axes = columns.iter().cloned().zip(axes.iter().map(|&axis| axis.to_owned())).collect();
            self.workloads.push(Workload { name, axes });
            self.workloads.len() - 1
        })
    }

    fn machine(&mut self, name: &str) -> usize {
        *self.of_machines.entry(name.to_owned()).or_insert_with(|| {
            self.machines.push(Machine {
                name: name.to_owned(),
                facts: serde_json::Value::Null,
                disturbances: Vec::new(),
            });
            self.machines.len() - 1
        })
    }
}

/// Most levels of a factor: what has more is a measurement.
const LEVELS_MAX: usize = 200;

/// Levels in the order in which they come; numbers in their own.
fn factor(table: &Table, name: &str, cells: &[&str]) -> Result<Factor, TableError> {
    let mut levels: Vec<&str> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (row, cell) in table.rows.iter().zip(cells) {
        if seen.insert(cell) {
            if levels.len() == LEVELS_MAX {
                return Err(TableError::Levels { line: row.line, column: name.to_owned(), most: LEVELS_MAX });
            }
            levels.push(cell);
        }
    }
    let numbers: Option<Vec<f64>> = levels.iter().map(|level| table.parsed(level)).collect();
    let mut numbered: Vec<(f64, &str)> = numbers.into_iter().flatten().zip(levels.iter().copied()).collect();
    numbered.sort_by(|a, b| a.0.total_cmp(&b.0));
    // `1` and `1.0` are one number and two names: then they are names.
    let sweep = !numbered.is_empty() && numbered.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if sweep {
        levels = numbered.iter().map(|&(_, level)| level).collect();
    }
    Ok(Factor {
        name: name.to_owned(),
        levels: levels.into_iter().map(str::to_owned).collect(),
        numbers: sweep.then(|| numbered.into_iter().map(|(number, _)| number).collect()),
        random: false,
    })
}

/// A value in its unit; `None` for an empty cell.
fn value(table: &Table, row: &Row, columns: &Columns, unit: &Unit) -> Result<Option<f64>, TableError> {
    let Some(value) = table.number(row, columns.value)? else { return Ok(None) };
    let in_unit = value * unit.factor;
    if in_unit > 0.0 && in_unit.is_finite() {
        return Ok(Some(in_unit));
    }
    let (column, found) = (table.header[columns.value].clone(), row.cells[columns.value].clone());
    Err(TableError::NotAboveZero { line: row.line, column, found })
}

/// Amount of work of each row.
fn frames(table: &Table, column: usize) -> Result<Vec<f64>, TableError> {
    let parse = |(row, text): (&Row, &str)| match table.parsed(text) {
        Some(number) if number > 0.0 => Ok(number),
        Some(_) => {
            let (column, found) = (table.header[column].clone(), text.to_owned());
            Err(TableError::NotAboveZero { line: row.line, column, found })
        }
        None => Err(table.no_number(row.line, column, text)),
    };
    table.rows.iter().zip(table.filled(column)?).map(parse).collect()
}

/// The median with two digits that are not 0: 120000 for 120464.
fn round_number(frames: &[f64]) -> f64 {
    let median = prony_stats::quantile::median(frames).unwrap_or(1.0);
    let unit = 10f64.powf(median.log10().floor() - 1.0);
    let rounded = (median / unit).round() * unit;
    if rounded.is_finite() && rounded > 0.0 { rounded } else { 1.0 }
}

/// Name of a column without its unit: `duration` of `Duration, msec`.
fn header_word(name: &str) -> String {
    name.split([',', '(', '[']).next().unwrap_or_default().trim().to_lowercase()
}

/// Hash of all that names a cell.
fn key(factors: &[Factor], levels: &[usize], workload: &str, machine: &str, repeat: u32) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    add("imported");
    for (factor, &level) in factors.iter().zip(levels) {
        add(&factor.name);
        add(&factor.levels[level]);
    }
    add(workload);
    add(machine);
    add(&repeat.to_string());
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
