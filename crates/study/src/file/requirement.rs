//! What a machine must be before a cell runs on it: refused, not warned of.

use std::cmp::Ordering;

use prony_machine::CpuSet;
use serde_json::Value;

use super::filter::{Comparison, finite};

/// Something a machine must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// What is asked: `governor`.
    pub what: What,
    /// What it must be, as the study says it: `performance`, `>= 4`, `off`.
    pub expected: String,
}

/// What can be asked of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The governor of every CPU.
    Governor,
    /// Turbo is `on` or `off`.
    Turbo,
    /// Hyper-threads are `on` or `off`.
    Smt,
    /// Its cores: a number, or a bound as `>= 4`.
    Cores,
    /// Its sockets.
    Sockets,
    /// Memory in GiB.
    MemoryGib,
    /// Swap is `on` or `off`.
    Swap,
    /// Version of the kernel: `6.1` means 6.1 and all 6.1.x, `>= 6.1` those and later ones.
    Kernel,
    /// CPUs that must be isolated: `2-3`.
    Isolated,
    /// `none`, or a part of the hypervisor's name.
    Hypervisor,
    /// A part of the processor's name.
    Model,
    /// `x86_64`, `aarch64`.
    Architecture,
    /// The clock: `tsc`.
    ClockSource,
    /// `prony machine tune` is in force: `on` or `off`.
    Tuned,
}

/// A requirement that a machine does not fulfil.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: expected {expected}, found {found}")]
pub struct Unmet {
    /// What was asked.
    pub what: &'static str,
    /// What it must be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

impl What {
    /// All that can be asked.
    pub const ALL: [What; 14] = [
        What::Governor,
        What::Turbo,
        What::Smt,
        What::Cores,
        What::Sockets,
        What::MemoryGib,
        What::Swap,
        What::Kernel,
        What::Isolated,
        What::Hypervisor,
        What::Model,
        What::Architecture,
        What::ClockSource,
        What::Tuned,
    ];

    /// Its key in the study file.
    pub fn name(self) -> &'static str {
        match self {
            What::Governor => "governor",
            What::Turbo => "turbo",
            What::Smt => "smt",
            What::Cores => "cores",
            What::Sockets => "sockets",
            What::MemoryGib => "memory_gib",
            What::Swap => "swap",
            What::Kernel => "kernel",
            What::Isolated => "isolated",
            What::Hypervisor => "hypervisor",
            What::Model => "model",
            What::Architecture => "architecture",
            What::ClockSource => "clock_source",
            What::Tuned => "tuned",
        }
    }

    fn is_switch(self) -> bool {
        matches!(self, What::Turbo | What::Smt | What::Swap | What::Tuned)
    }

    fn is_number(self) -> bool {
        matches!(self, What::Cores | What::Sockets | What::MemoryGib)
    }
}

impl Requirement {
    /// Reads what a machine must be.
    ///
    /// # Errors
    /// What was expected, when `expected` is nothing that `what` can be.
    pub fn new(what: What, expected: &str) -> Result<Requirement, &'static str> {
        let expected = expected.trim();
        if what.is_switch() && !matches!(expected, "on" | "off") {
            return Err("\"on\" or \"off\"");
        }
        if what.is_number() && finite(bound(expected).1).is_none() {
            return Err("a number, or a bound as \">= 4\"");
        }
        if what == What::Kernel && version(bound(expected).1).is_none() {
            return Err("a version as \"6.1\", or a bound as \">= 6.1\"");
        }
        if what == What::Isolated && !expected.parse::<CpuSet>().is_ok_and(|cpus| !cpus.is_empty()) {
            return Err("a list of CPUs as \"2-3,8\"");
        }
        match expected.is_empty() {
            true => Err("a text that is not empty"),
            false => Ok(Requirement { what, expected: expected.to_owned() }),
        }
    }

    /// Checks it against what `prony machine show --json` says.
    ///
    /// # Errors
    /// [`Unmet`] when it is otherwise, or when the machine does not tell.
    pub fn check(&self, facts: &Value) -> Result<(), Unmet> {
        let (met, found) = self.look(facts);
        match met {
            true => Ok(()),
            false => Err(Unmet {
                what: self.what.name(),
                expected: self.expected.clone(),
                found: found.unwrap_or_else(|| "nothing: this machine does not tell".to_owned()),
            }),
        }
    }

    /// Whether it is met, and what was found.
    fn look(&self, facts: &Value) -> (bool, Option<String>) {
        let text = |pointer: &str| facts.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let truth = |pointer: &str| facts.pointer(pointer).and_then(Value::as_bool).map(switch);
        let number = |pointer: &str| facts.pointer(pointer).and_then(Value::as_f64);
        let equal = |found: Option<String>| (found.as_deref() == Some(&*self.expected), found);
        let part = |found: Option<String>| {
            let met = found.as_ref().is_some_and(|found| found.to_lowercase().contains(&self.expected.to_lowercase()));
            (met, found)
        };
        match self.what {
            What::Governor => {
                let governors = facts.pointer("/frequency/governors").and_then(Value::as_object);
                let names: Vec<&str> =
                    governors.into_iter().flat_map(|governors| governors.keys().map(String::as_str)).collect();
                (names == [&*self.expected], (!names.is_empty()).then(|| names.join(", ")))
            }
            What::Turbo => equal(truth("/frequency/turbo")),
            What::Tuned => equal(truth("/tuned")),
            // The kernel also says `notsupported`, `forceoff` and `notimplemented`: no hyper-threads run.
            What::Smt => equal(text("/cpu/smt").map(|state| switch(state == "on"))),
            What::Swap => equal(number("/swap_bytes").map(|bytes| switch(bytes > 0.0))),
            What::Cores => self.compared(number("/cpu/cores")),
            What::Sockets => self.compared(number("/cpu/sockets")),
            What::MemoryGib => self.compared(number("/memory_bytes").map(|bytes| bytes / f64::from(1 << 30))),
            What::Kernel => {
                let found = text("/kernel/release");
                let met = found.as_deref().and_then(version).is_some_and(|found| self.is_version(&found));
                (met, found)
            }
            What::Isolated => {
                let found = text("/cpu/isolated");
                let wanted: CpuSet = self.expected.parse().unwrap_or_default();
                let isolated: CpuSet = found.as_deref().unwrap_or_default().parse().unwrap_or_default();
                (
                    wanted.without(&isolated).is_empty(),
                    found.map(|list| if list.is_empty() { "none".into() } else { list }),
                )
            }
            What::Hypervisor if self.expected == "none" => {
                let told = facts.get("hypervisor");
                let found = told.map(|told| told.as_str().unwrap_or("none").to_owned());
                (told.is_some_and(Value::is_null), found)
            }
            What::Hypervisor => part(text("/hypervisor")),
            What::Model => part(text("/cpu/model")),
            What::Architecture => equal(text("/cpu/architecture")),
            What::ClockSource => equal(text("/clock_source")),
        }
    }

    fn compared(&self, found: Option<f64>) -> (bool, Option<String>) {
        let (comparison, number) = bound(&self.expected);
        let met = found.zip(finite(number)).and_then(|(found, number)| found.partial_cmp(&number));
        let shown = found.map(|found| format!("{:.1}", found).trim_end_matches(".0").to_owned());
        (met.is_some_and(|ordering| comparison.holds(ordering)), shown)
    }

    /// Versions are compared as far as the study names them.
    fn is_version(&self, found: &[u64]) -> bool {
        let (comparison, wanted) = bound(&self.expected);
        let Some(wanted) = version(wanted) else { return false };
        let part = |at: usize| found.get(at).copied().unwrap_or(0);
        let ordering = wanted.iter().enumerate().map(|(at, wanted)| part(at).cmp(wanted)).find(|each| each.is_ne());
        comparison.holds(ordering.unwrap_or(Ordering::Equal))
    }
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// `>= 4` as its two parts; without a sign it must be equal.
fn bound(text: &str) -> (Comparison, &str) {
    Comparison::strip(text).map_or((Comparison::Equal, text), |(comparison, rest)| (comparison, rest.trim()))
}

/// The numbers a version begins with: those of `6.1.0-28-amd64` are 6, 1, 0.
fn version(text: &str) -> Option<Vec<u64>> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    text[..end].trim_end_matches('.').split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(what: What, expected: &str) -> Result<(), String> {
        let facts = json!({
            "cpu": { "model": "Intel(R) Xeon(R) E-2288G", "architecture": "x86_64", "sockets": 1, "cores": 8,
                     "isolated": "2-3,6", "smt": "notsupported" },
            "memory_bytes": 16u64 << 30, "swap_bytes": 0, "kernel": { "release": "6.1.0-28-amd64" },
            "hypervisor": null, "frequency": { "governors": { "performance": 7, "powersave": 1 }, "turbo": null },
            "clock_source": "tsc", "tuned": false,
        });
        let requirement = Requirement::new(what, expected).expect("it can be asked");
        requirement.check(&facts).map_err(|unmet| unmet.to_string())
    }

    #[test]
    fn what_is_met_is_met() {
        for (what, expected) in [
            (What::Cores, "8"),
            (What::Cores, ">= 4"),
            (What::MemoryGib, "> 15.5"),
            (What::Smt, "off"),
            (What::Swap, "off"),
            (What::Kernel, "6.1"),
            (What::Kernel, ">= 5.19"),
            (What::Kernel, "< 6.2"),
            (What::Isolated, "2,6"),
            (What::Hypervisor, "none"),
            (What::Model, "xeon"),
            (What::ClockSource, "tsc"),
            (What::Tuned, "off"),
        ] {
            assert_eq!(check(what, expected), Ok(()), "{} {expected}", what.name());
        }
    }

    #[test]
    fn what_is_not_met_says_what_was_found() {
        let error = |what, expected| check(what, expected).expect_err("it is otherwise");
        assert_eq!(
            error(What::Governor, "performance"),
            "governor: expected performance, found performance, powersave"
        );
        assert_eq!(error(What::Turbo, "off"), "turbo: expected off, found nothing: this machine does not tell");
        assert_eq!(error(What::Cores, "> 8"), "cores: expected > 8, found 8");
        assert_eq!(error(What::Kernel, ">= 6.1.1"), "kernel: expected >= 6.1.1, found 6.1.0-28-amd64");
        assert_eq!(error(What::Isolated, "1-2"), "isolated: expected 1-2, found 2-3,6");
        assert_eq!(
            error(What::Hypervisor, "KVM"),
            "hypervisor: expected KVM, found nothing: this machine does not tell"
        );
        let nothing = Requirement::new(What::Hypervisor, "none").expect("it can be asked");
        assert!(nothing.check(&Value::Null).is_err(), "a machine of which nothing is known is no bare metal");
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        for (what, expected) in [
            (What::Turbo, "maybe"),
            (What::Cores, "many"),
            (What::Kernel, "new"),
            (What::Isolated, "3-1"),
            (What::Model, " "),
        ] {
            assert!(Requirement::new(what, expected).is_err(), "{} {expected}", what.name());
        }
    }
}
