//! How near workloads come to limits, in the terminal.

use std::fmt::Write;

use prony_limits::{Limits, Rate, Share, Workload, reference_experiment};
use prony_text::significant;

use super::share_lines;
use super::tables::quantity;
use crate::words::too_few;

/// Limits that a workload is compared with; JSON has all of them.
const SHOWN: usize = 12;

/// A workload and what it is of the limits: first of the one that `prony bench` names too, then of those that it came nearest to.
pub fn text(workload: &Workload, limits: &Limits) -> String {
    let unit = workload.unit();
    let bounds = match workload.bounds() {
        [Some(low), Some(high)] => format!(" [{}, {}]", quantity(low, unit), quantity(high, unit)),
        _ => workload.too_few.map_or_else(String::new, |why| format!(" ({})", too_few(why))),
    };
    let mut out = format!("{}  {}{bounds}, n = {}\n", workload.name, quantity(workload.value(), unit), workload.n);
    match workload.share(Some(limits)) {
        Some(share) => share_lines(&mut out, std::slice::from_ref(&share), unit),
        None => out += &not_measured(workload.rate),
    }
    out += "  closest limits, not necessarily the bottleneck:\n";
    let mut all = workload.nearest(limits);
    let left = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    share_lines(&mut out, &all, unit);
    if left > 0 {
        let _ = writeln!(out, "  {left} more, listed by --json");
    }
    out
}

/// A line for each rate, with its share of what memory loads or a core adds; and what is still to be measured. `limits`: of this machine.
pub fn lines(workloads: &[Workload], limits: Option<&Limits>) -> String {
    let of = |workload: &Workload| (workload.share(limits), not_measured(workload.rate));
    let shares: Vec<(Option<Share>, String)> = workloads.iter().map(of).collect();
    let known =
        workloads.iter().zip(&shares).filter_map(|(workload, (share, _))| Some(line(workload, share.as_ref()?)));
    let mut missing: Vec<&str> =
        shares.iter().filter(|(share, _)| share.is_none()).map(|(_, missing)| missing.as_str()).collect();
    missing.sort_unstable();
    missing.dedup();
    known.collect::<String>() + &missing.concat()
}

fn not_measured(rate: Rate) -> String {
    let what = if matches!(rate, Rate::Operations(_)) { "what a core adds" } else { "what memory loads" };
    format!("  {what} was not measured on this machine: run `prony limits {}`\n", reference_experiment(rate))
}

fn line(workload: &Workload, share: &Share) -> String {
    format!(
        "  {}: {} (median, n = {}) is {} % of {}: {} (n = {})\n",
        workload.name,
        quantity(workload.value(), workload.unit()),
        workload.n,
        significant(share.share * 100.0),
        share.of,
        quantity(share.limit, workload.unit()),
        share.n
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_experiment_that_measures_it() {
        let workload = Workload {
            name: "add".to_owned(),
            rate: Rate::Operations(2.0),
            low: 0.0,
            high: f64::INFINITY,
            n: 3,
            too_few: None,
        };
        assert!(lines(std::slice::from_ref(&workload), None).contains("run `prony limits ports`"));
        assert!(lines(&[], None).is_empty());
    }
}
