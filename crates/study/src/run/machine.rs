//! The machine on which cells run: its facts, whether it meets the requirements, and sources of interference.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prony_machine::Tree;
use serde_json::Value;

use crate::directory::FACTS;
use crate::file::{Executor, Machine, Unmet};
use crate::ledger::{Ledger, LedgerError};

/// Duration of a check for interference.
const WINDOW: Duration = Duration::from_millis(200);
/// Of the time of the cells, so little is spent on looking.
const SHARE: f64 = 0.005;
/// The fact of a ledger that says when was looked last, and in which boot.
const LOOKED: &str = "looked";

/// The machine that cells run on.
#[derive(Debug)]
pub struct LocalMachine {
    tree: Tree,
    /// Facts about the machine, as `prony machine show --json` has them.
    pub facts: Value,
    looked: Option<Instant>,
    cells_s: f64,
}

impl LocalMachine {
    /// Reads the facts of this machine. `root`: where `/proc` and `/sys` lie, if not where they should.
    pub fn look(root: Option<&Path>) -> LocalMachine {
        let tree = root.map_or_else(Tree::machine, Tree::at);
        let facts = serde_json::to_value(prony_machine::facts(&tree)).unwrap_or_default();
        LocalMachine { tree, facts, looked: None, cells_s: 0.0 }
    }

    /// Requirements of the study that the machine does not meet.
    pub fn unmet(&self, machine: &Machine) -> Vec<Unmet> {
        let required = machine.require.iter().filter_map(|requirement| requirement.check(&self.facts).err());
        let frequency = match &machine.executor {
            Executor::Slurm(slurm) => slurm.cpu_freq.as_deref(),
            _ => None,
        };
        required.chain(frequency.and_then(|frequency| frequency_unmet(frequency, &self.facts))).collect()
    }

    /// Writes down what the machine is, and what disturbs it unless that was looked at a moment ago.
    pub fn note(&mut self, ledger: &mut Ledger) -> Result<(), LedgerError> {
        ledger.set_note(FACTS, &self.facts.to_string())?;
        let boot = self.tree.line("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let looked = ledger.note(LOOKED)?;
        let before = looked.as_deref().and_then(|text| text.split_once(' ')).filter(|(_, other)| *other == boot);
        let before = before.and_then(|(seconds, _)| seconds.parse::<u64>().ok());
        if before.is_some_and(|before| now.saturating_sub(before) < WINDOW.div_f64(SHARE).as_secs()) {
            self.looked = Some(Instant::now());
            return Ok(());
        }
        self.disturbed(ledger)?;
        ledger.set_note(LOOKED, &format!("{now} {boot}"))
    }

    /// Looks at what disturbs the machine when it is time again: a cell took so long.
    pub fn after_cell(&mut self, seconds: f64, ledger: &mut Ledger) -> Result<(), LedgerError> {
        self.cells_s += seconds;
        if self.cells_s * SHARE < WINDOW.as_secs_f64() {
            return Ok(());
        }
        self.disturbed(ledger)
    }

    fn disturbed(&mut self, ledger: &mut Ledger) -> Result<(), LedgerError> {
        (self.looked, self.cells_s) = (Some(Instant::now()), 0.0);
        let check = prony_machine::check(&self.tree, prony_machine::bench_cpu(&self.tree), WINDOW);
        let seen = check.disturbing().map(|finding| {
            let name = serde_json::to_value(finding.name).unwrap_or_default();
            (name.as_str().unwrap_or("disturbance").to_owned(), finding.evidence.clone())
        });
        ledger.disturbed(&seen.collect::<Vec<_>>())
    }
}

/// Slurm sets the frequency where it can and says nothing where it cannot: believed is only what the kernel says.
/// `--cpu-freq` takes a governor, a frequency in kHz, or `low`, `medium`, `high`, `highm1` (sbatch(1)).
fn frequency_unmet(requested: &str, facts: &Value) -> Option<Unmet> {
    let frequency = &facts["frequency"];
    let unmet = |found: String| Some(Unmet { property: "cpu_freq", expected: requested.to_owned(), found });
    let governors = frequency["governors"].as_object().filter(|governors| !governors.is_empty());
    let Some(governors) = governors else {
        return unmet("nothing: not reported by this machine".to_owned());
    };
    // A range is min-max, with a governor behind a colon.
    let (range, governor) = match requested.split_once(':') {
        Some((range, governor)) => (Some(range), Some(governor)),
        None if requested.chars().next().is_some_and(|first| first.is_ascii_digit()) => (Some(requested), None),
        None => (None, Some(requested)),
    };
    let named = matches!(governor, Some("low" | "medium" | "high" | "highm1"));
    if let Some(governor) = governor.filter(|_| !named) {
        let found: Vec<&str> = governors.keys().map(String::as_str).collect();
        if found.iter().any(|found| !found.eq_ignore_ascii_case(governor)) {
            return unmet(found.join(", "));
        }
    }
    let limit = |name: &str| frequency[name].as_u64();
    let (low, high) = (limit("limit_min_khz"), limit("limit_max_khz"));
    let limits = format!("{} to {} kHz", low.unwrap_or_default(), high.unwrap_or_default());
    if let Some(range) = range {
        let (least, most) = range.split_once('-').unwrap_or((range, range));
        let requested = least.parse::<u64>().ok().zip(most.parse::<u64>().ok());
        if requested.is_none_or(|requested| Some(requested) != low.zip(high)) {
            return unmet(limits);
        }
    }
    // All four of Slurm's names ask for one frequency.
    if named && (low.is_none() || low != high) {
        return unmet(limits);
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(requested: &str, facts: &Value) -> Option<String> {
        frequency_unmet(requested, facts).map(|unmet| unmet.found)
    }

    #[test]
    fn a_requested_frequency_is_believed_only_when_the_kernel_reports_it() {
        let facts = json!({"frequency": {"governors": {"performance": 8}, "limit_min_khz": 800_000, "limit_max_khz": 2_400_000}});
        assert_eq!(found("performance", &facts), None);
        assert_eq!(found("Performance", &facts), None);
        assert_eq!(found("powersave", &facts).as_deref(), Some("performance"));
        assert_eq!(found("2400000", &facts).as_deref(), Some("800000 to 2400000 kHz"));
        assert_eq!(found("800000-2400000:performance", &facts), None);
        assert_eq!(found("high", &facts).as_deref(), Some("800000 to 2400000 kHz"));
        let fixed = json!({"frequency": {"governors": {"userspace": 8}, "limit_min_khz": 2_400_000, "limit_max_khz": 2_400_000}});
        assert_eq!(found("2400000", &fixed), None);
        assert_eq!(found("high", &fixed), None);
        let mixed = json!({"frequency": {"governors": {"performance": 7, "powersave": 1}}});
        assert_eq!(found("performance", &mixed).as_deref(), Some("performance, powersave"));
        let virtual_machine = json!({"frequency": {"governors": {}}});
        assert_eq!(found("performance", &virtual_machine).as_deref(), Some("nothing: not reported by this machine"));
    }
}
