//! The cells of a study as CSV.

use std::collections::BTreeSet;
use std::fmt::Write;

use prony_study::{Cell, Results, Role, State};
use prony_text::csv_field;

/// Every cell a line, names and not indices.
pub fn cells(results: &Results) -> String {
    let mut out = String::new();
    let axes: Vec<&str> = {
        let all = results.workloads.iter().flat_map(|workload| workload.axes.keys().map(String::as_str));
        all.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let head = ["machine", "repeat", "workload"].into_iter().chain(axes.iter().copied());
    let factors = results.factors.iter().map(|factor| factor.name.as_str());
    let tail = ["role", "state", "attempt", "value", "low", "high", "unit", "seconds", "key", "message"];
    let names: Vec<String> = head.chain(factors).chain(tail).map(csv_field).collect();
    let _ = writeln!(out, "{}", names.join(","));
    for cell in &results.cells {
        let _ = writeln!(out, "{}", line(results, &axes, cell));
    }
    out
}

fn line(results: &Results, axes: &[&str], cell: &Cell) -> String {
    let workload = &results.workloads[cell.workload];
    let number = |number: Option<f64>| number.filter(|n| n.is_finite()).map_or_else(String::new, |n| n.to_string());
    let (state, message) = match &cell.state {
        State::Pending => ("pending", ""),
        State::Running => ("running", ""),
        State::Done => ("done", ""),
        State::Failed { message, .. } => ("failed", message.as_str()),
        State::Skipped { why } => ("skipped", why.as_str()),
    };
    let role = match cell.role {
        Role::Measured => "measured",
        Role::WarmUp => "warm-up",
        Role::Control => "control",
    };
    let mut fields =
        vec![results.machines[cell.machine].name.clone(), (cell.repeat + 1).to_string(), workload.name.clone()];
    fields.extend(axes.iter().map(|axis| workload.axes.get(*axis).cloned().unwrap_or_default()));
    fields.extend(results.factors.iter().zip(&cell.levels).map(|(factor, &level)| factor.levels[level].clone()));
    fields.extend([role.to_owned(), state.to_owned(), cell.attempt.to_string(), number(cell.value)]);
    fields.extend([number(cell.spread.map(|spread| spread.low)), number(cell.spread.map(|spread| spread.high))]);
    fields.extend([results.metric.unit.clone(), number(cell.seconds), cell.key.clone(), message.to_owned()]);
    fields.iter().map(|field| csv_field(field)).collect::<Vec<_>>().join(",")
}
