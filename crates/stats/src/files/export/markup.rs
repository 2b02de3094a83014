//! A table in Markdown, AsciiDoc or Org, as hyperfine users paste it into an issue.

use std::fmt::Write;

use prony_text::markdown_code;

use super::{Summary, command_with_values, timed};
use crate::files::samples::{Benchmark, Samples, one_line};
use crate::interval::Interval;
use crate::metric::Metric;

/// Markup of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Markdown, as on GitHub.
    Markdown,
    /// AsciiDoc.
    AsciiDoc,
    /// Org mode of Emacs.
    Org,
}

impl Markup {
    /// A command as code, none of whose characters is read as markup.
    pub(super) fn code(self, text: &str) -> String {
        match self {
            Markup::Markdown => markdown_code(text),
            Markup::AsciiDoc => {
                let mut last = None;
                let reference = |letter: char| {
                    // Two dashes are a long one, and three points one sign.
                    let is_again = last.replace(letter) == Some(letter);
                    let is_plain = " .,/=-".contains(letter) && !is_again || letter.is_alphanumeric();
                    if is_plain { letter.to_string() } else { format!("&#{};", u32::from(letter)) }
                };
                format!("`{}`", one_line(text).chars().map(reference).collect::<String>())
            }
            // What stands between equals signs is verbatim, but for a bar, which ends a cell.
            Markup::Org => format!("={}=", one_line(text).replace('|', "\u{2502}")),
        }
    }

    fn table(self, head: &[String], rows: &[Vec<String>]) -> String {
        let mut out = String::new();
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        match self {
            Markup::Markdown | Markup::Org => {
                out += &line(head);
                let marks = match self {
                    Markup::Org => format!("|{}|", vec!["--"; head.len()].join("+")),
                    _ => format!("|:---|{}", "---:|".repeat(head.len().saturating_sub(1))),
                };
                let _ = writeln!(out, "{marks}");
                out.extend(rows.iter().map(|row| line(row)));
            }
            Markup::AsciiDoc => {
                let columns = ",>".repeat(head.len().saturating_sub(1));
                let _ = writeln!(out, "[cols=\"<{columns}\", options=\"header\"]\n|===");
                for row in std::iter::once(head).chain(rows.iter().map(Vec::as_slice)) {
                    out.extend(row.iter().map(|cell| format!("| {cell}\n")));
                    out.push('\n');
                }
                out.push_str("|===\n");
            }
        }
        out
    }
}

/// Table with a row for each benchmark that takes time. `relative`: how each benchmark compares with the reference, or with
/// the fastest, as the interval of a log ratio, in the order of `samples.benchmarks`; without one the cell is empty, and that
/// of the reference is 1, which has none beside others that have: otherwise the first. `metric`: what the ratios are of, where
/// that is one metric and not the wall time of the other columns.
pub fn table(markup: Markup, samples: &Samples, relative: &[Option<Interval>], metric: Option<Metric>) -> String {
    let rows: Vec<_> = timed(samples).collect();
    let reference = (0..samples.benchmarks.len()).find(|&place| relative.get(place).copied().flatten().is_none());
    let shortest = rows.iter().map(|(_, summary)| summary.mean).fold(f64::INFINITY, f64::min);
    let (unit, factor) = match shortest {
        seconds if seconds >= 1.0 => ("s", 1.0),
        seconds if seconds >= 1e-3 => ("ms", 1e3),
        seconds if seconds >= 1e-6 => ("µs", 1e6),
        _ => ("ns", 1e9),
    };
    let of = match metric {
        None | Some(Metric::Wall) => "",
        Some(Metric::Cpu) => " CPU time",
        Some(Metric::Uncontended) => " wall minus CPU wait",
        Some(Metric::Rss) => " peak memory",
        Some(Metric::AllocatedBytes | Metric::Allocations) => " allocations",
    };
    let head = [
        "Command".to_owned(),
        format!("Mean ± σ [{unit}]"),
        format!("Min [{unit}]"),
        format!("Max [{unit}]"),
        "Values".to_owned(),
        format!("Relative{of}"),
    ];
    let row = |(benchmark, summary): (&Benchmark, Summary)| {
        let number = |seconds: f64| format!("{:.1}", seconds * factor);
        let spread = summary.stddev.map_or_else(String::new, |stddev| format!(" ± {}", number(stddev)));
        let place = samples.benchmarks.iter().position(|other| std::ptr::eq(other, benchmark));
        let relative = match place.and_then(|place| relative.get(place).copied().flatten()) {
            Some(interval) => {
                let Interval { estimate, low, high, .. } = interval.map(f64::exp);
                format!("{estimate:.3} [{low:.3}, {high:.3}]")
            }
            None if place == reference => "1".to_owned(),
            None => String::new(),
        };
        vec![
            markup.code(&command_with_values(benchmark)),
            format!("{}{spread}", number(summary.mean)),
            number(summary.min),
            number(summary.max),
            benchmark.values().count().to_string(),
            relative,
        ]
    };
    let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
    markup.table(&head, &rows)
}
