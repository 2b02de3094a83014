//! Stopping rules of sweeps, while they run: what lies beyond the limit is not run, and the crossing is looked for.

use crate::Role;
use crate::State;
use crate::artifacts::Artifacts;
use crate::directory::{POINTS, points, rows};
use crate::file::{Next, Stop, Study};
use crate::ledger::{Claim, Entry, Ledger, LedgerError};
use crate::plan::PlanError;

/// Under this name the origin of a cell says what the rule saw.
pub fn watched(stop: &Stop) -> String {
    format!("metric {}", stop.metric)
}

/// Error of following a sweep.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// The sweep of a study that has a stopping rule.
pub fn of(study: &Study) -> Option<(usize, &Stop)> {
    study.factors.iter().enumerate().find_map(|(at, factor)| Some((at, factor.stop.as_ref()?)))
}

/// Updates the plan after a cell of a sweep ended: larger points leave the queue, and the next point to try is added.
/// Returns the study with that point.
pub fn follow(
    study: &Study,
    artifacts: &Artifacts,
    machine: usize,
    claim: &Claim,
    ledger: &mut Ledger,
) -> Result<Option<Study>, SweepError> {
    let Some((factor, stop)) = of(study) else { return Ok(None) };
    let (Some(numbers), Role::Measured) = (&study.factors[factor].numbers, claim.row.role) else { return Ok(None) };
    let number = |entry: &Entry| {
        let name = entry.row.levels.get(factor)?;
        let level = study.factors[factor].levels.iter().position(|level| level.name == *name)?;
        numbers.get(level).copied()
    };
    // The same configuration in all but the sweep.
    let alike = |entry: &Entry| {
        let levels = entry.row.levels.iter().zip(&claim.row.levels).enumerate();
        entry.row.role == Role::Measured && levels.into_iter().all(|(at, (one, other))| at == factor || one == other)
    };
    let sweep: Vec<Entry> = ledger.block(claim.row.block)?.into_iter().filter(alike).collect();
    let seen = sweep.iter().filter_map(|entry| {
        let beyond = match entry.state {
            State::Done => {
                let value = entry.provenance.get(&watched(stop)).and_then(|text| text.parse().ok());
                Some(stop.is_beyond(value?))
            }
            State::Failed { .. } => None,
            _ => return None,
        };
        Some((number(entry)?, beyond))
    });
    let seen: Vec<(f64, Option<bool>)> = seen.collect();
    let beyond = seen.iter().filter(|(_, beyond)| *beyond == Some(true)).map(|(point, _)| *point);
    let Some(above) = beyond.min_by(f64::total_cmp) else { return Ok(None) };
    let why = format!("`{}` at {} = {above}", stop.text, study.factors[factor].name);
    let larger =
        sweep.iter().filter(|entry| entry.state == State::Pending && number(entry).is_some_and(|point| point > above));
    let larger: Vec<(String, String)> = larger.map(|entry| (entry.row.key.clone(), why.clone())).collect();
    ledger.skip(&larger)?;
    let Next::Run(point) = stop.next(numbers, &seen) else { return Ok(None) };
    let name = crate::file::number_text(point);
    if sweep.iter().any(|entry| entry.row.levels.get(factor) == Some(&name)) {
        return Ok(None);
    }
    // Another block may have tried it.
    let grown = study.with_point(factor, point).unwrap_or_else(|| study.clone());
    let mut added = rows(&grown, &grown.plan(&artifacts.contents())?, machine);
    added.retain(|row| {
        let mut levels = row.levels.iter().zip(&claim.row.levels).enumerate();
        let same = levels.all(|(at, (one, other))| if at == factor { *one == name } else { one == other });
        same && row.role == Role::Measured && row.workload == claim.row.workload && row.repeat == claim.row.repeat
    });
    added.iter_mut().for_each(|row| row.block = claim.row.block);
    let mut known = points(ledger)?;
    known.push((study.factors[factor].name.clone(), point));
    ledger.set_note(POINTS, &serde_json::to_string(&known).expect("names and numbers are JSON"))?;
    ledger.add(&added)?;
    Ok(Some(grown))
}

/// A study with all points that the sweeps of a ledger added before.
pub fn grown(study: &Study, ledger: &Ledger) -> Result<Study, LedgerError> {
    let mut grown = study.clone();
    for (name, point) in points(ledger)? {
        if let Some(factor) = grown.factors.iter().position(|factor| factor.name == name) {
            grown = grown.with_point(factor, point).unwrap_or(grown);
        }
    }
    Ok(grown)
}
