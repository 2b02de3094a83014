//! Required properties of a machine: without them, cells are refused there.
#![deny(clippy::indexing_slicing)]

use std::cmp::Ordering;

use prony_machine::CpuSet;
use serde_json::Value;

use super::filter::{Comparison, finite};

/// Something a machine must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// Property of the machine, for instance `governor`.
    pub property: MachineProperty,
    /// Required value as the study states it: `performance`, `>= 4`, `off`.
    pub expected: String,
}

/// Property of a machine that a study can require.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineProperty {
    /// The governor of every CPU.
    Governor,
    /// Turbo is `on` or `off`.
    Turbo,
    /// Hyper-threads are `on` or `off`.
    Smt,
    /// Number of cores: an exact number, or a bound such as `>= 4`.
    Cores,
    /// Number of processor sockets: an exact number, or a bound.
    Sockets,
    /// Size of the memory, in GiB.
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
    /// Architecture as the kernel names it: `x86_64`, `aarch64`.
    Architecture,
    /// Clock source of the kernel, such as `tsc`.
    ClockSource,
    /// `prony machine tune` is in force: `on` or `off`.
    Tuned,
}

/// A requirement that a machine does not fulfil.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{property}: expected {expected}, found {found}")]
pub struct Unmet {
    /// Required property, by its key in the study file.
    pub property: &'static str,
    /// Required value as the study states it.
    pub expected: String,
    /// Actual value on this machine.
    pub found: String,
}

impl MachineProperty {
    /// All properties.
    pub const ALL: [MachineProperty; 14] = [
        MachineProperty::Governor,
        MachineProperty::Turbo,
        MachineProperty::Smt,
        MachineProperty::Cores,
        MachineProperty::Sockets,
        MachineProperty::MemoryGib,
        MachineProperty::Swap,
        MachineProperty::Kernel,
        MachineProperty::Isolated,
        MachineProperty::Hypervisor,
        MachineProperty::Model,
        MachineProperty::Architecture,
        MachineProperty::ClockSource,
        MachineProperty::Tuned,
    ];

    /// Key of the property in the study file.
    pub fn name(self) -> &'static str {
        match self {
            MachineProperty::Governor => "governor",
            MachineProperty::Turbo => "turbo",
            MachineProperty::Smt => "smt",
            MachineProperty::Cores => "cores",
            MachineProperty::Sockets => "sockets",
            MachineProperty::MemoryGib => "memory_gib",
            MachineProperty::Swap => "swap",
            MachineProperty::Kernel => "kernel",
            MachineProperty::Isolated => "isolated",
            MachineProperty::Hypervisor => "hypervisor",
            MachineProperty::Model => "model",
            MachineProperty::Architecture => "architecture",
            MachineProperty::ClockSource => "clock_source",
            MachineProperty::Tuned => "tuned",
        }
    }

    fn is_switch(self) -> bool {
        matches!(self, MachineProperty::Turbo | MachineProperty::Smt | MachineProperty::Swap | MachineProperty::Tuned)
    }

    fn is_number(self) -> bool {
        matches!(self, MachineProperty::Cores | MachineProperty::Sockets | MachineProperty::MemoryGib)
    }
}

impl Requirement {
    /// Reads what a machine must be.
    ///
    /// # Errors
    /// What was expected, when `expected` is nothing that `property` can be.
    pub fn new(property: MachineProperty, expected: &str) -> Result<Requirement, &'static str> {
        let expected = expected.trim();
        if property.is_switch() && !matches!(expected, "on" | "off") {
            return Err("\"on\" or \"off\"");
        }
        if property.is_number() && finite(bound(expected).1).is_none() {
            return Err("a number, or a bound such as \">= 4\"");
        }
        if property == MachineProperty::Kernel && version(bound(expected).1).is_none() {
            return Err("a version such as \"6.1\", or a bound such as \">= 6.1\"");
        }
        if property == MachineProperty::Isolated && !expected.parse::<CpuSet>().is_ok_and(|cpus| !cpus.is_empty()) {
            return Err("a list of CPUs such as \"2-3,8\"");
        }
        match expected.is_empty() {
            true => Err("a non-empty text"),
            false => Ok(Requirement { property, expected: expected.to_owned() }),
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
                property: self.property.name(),
                expected: self.expected.clone(),
                found: found.unwrap_or_else(|| "nothing: not reported by this machine".to_owned()),
            }),
        }
    }

    /// Result of a requirement: met or not, and the value that was found.
    fn look(&self, facts: &Value) -> (bool, Option<String>) {
        let text = |pointer: &str| facts.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let truth = |pointer: &str| facts.pointer(pointer).and_then(Value::as_bool).map(switch);
        let number = |pointer: &str| facts.pointer(pointer).and_then(Value::as_f64);
        let equal = |found: Option<String>| (found.as_deref() == Some(&*self.expected), found);
        let part = |found: Option<String>| {
            let met = found.as_ref().is_some_and(|found| found.to_lowercase().contains(&self.expected.to_lowercase()));
            (met, found)
        };
        match self.property {
            MachineProperty::Governor => {
                let governors = facts.pointer("/frequency/governors").and_then(Value::as_object);
                let names: Vec<&str> =
                    governors.into_iter().flat_map(|governors| governors.keys().map(String::as_str)).collect();
                (names == [&*self.expected], (!names.is_empty()).then(|| names.join(", ")))
            }
            MachineProperty::Turbo => equal(truth("/frequency/turbo")),
            MachineProperty::Tuned => equal(truth("/tuned")),
            // The kernel also says `notsupported`, `forceoff` and `notimplemented`: no hyper-threads run.
            MachineProperty::Smt => equal(text("/cpu/smt").map(|state| switch(state == "on"))),
            MachineProperty::Swap => equal(number("/swap_bytes").map(|bytes| switch(bytes > 0.0))),
            MachineProperty::Cores => self.compared(number("/cpu/cores")),
            MachineProperty::Sockets => self.compared(number("/cpu/sockets")),
            MachineProperty::MemoryGib => {
                self.compared(number("/memory_bytes").map(|bytes| bytes / f64::from(1 << 30)))
            }
            MachineProperty::Kernel => {
                let found = text("/kernel/release");
                let met = found.as_deref().and_then(version).is_some_and(|found| self.is_version(&found));
                (met, found)
            }
            MachineProperty::Isolated => {
                let found = text("/cpu/isolated");
                let wanted: CpuSet = self.expected.parse().unwrap_or_default();
                let isolated: CpuSet = found.as_deref().unwrap_or_default().parse().unwrap_or_default();
                (
                    wanted.without(&isolated).is_empty(),
                    found.map(|list| if list.is_empty() { "none".into() } else { list }),
                )
            }
            MachineProperty::Hypervisor if self.expected == "none" => {
                let hypervisor = facts.get("hypervisor");
                let found = hypervisor.map(|name| name.as_str().unwrap_or("none").to_owned());
                (hypervisor.is_some_and(Value::is_null), found)
            }
            MachineProperty::Hypervisor => part(text("/hypervisor")),
            MachineProperty::Model => part(text("/cpu/model")),
            MachineProperty::Architecture => equal(text("/cpu/architecture")),
            MachineProperty::ClockSource => equal(text("/clock_source")),
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

    fn check(property: MachineProperty, expected: &str) -> Result<(), String> {
        let facts = json!({
            "cpu": { "model": "Intel(R) Xeon(R) E-2288G", "architecture": "x86_64", "sockets": 1, "cores": 8,
                     "isolated": "2-3,6", "smt": "notsupported" },
            "memory_bytes": 16u64 << 30, "swap_bytes": 0, "kernel": { "release": "6.1.0-28-amd64" },
            "hypervisor": null, "frequency": { "governors": { "performance": 7, "powersave": 1 }, "turbo": null },
            "clock_source": "tsc", "tuned": false,
        });
        let requirement = Requirement::new(property, expected).expect("it can be asked");
        requirement.check(&facts).map_err(|unmet| unmet.to_string())
    }

    #[test]
    fn what_is_met_is_met() {
        for (property, expected) in [
            (MachineProperty::Cores, "8"),
            (MachineProperty::Cores, ">= 4"),
            (MachineProperty::MemoryGib, "> 15.5"),
            (MachineProperty::Smt, "off"),
            (MachineProperty::Swap, "off"),
            (MachineProperty::Kernel, "6.1"),
            (MachineProperty::Kernel, ">= 5.19"),
            (MachineProperty::Kernel, "< 6.2"),
            (MachineProperty::Isolated, "2,6"),
            (MachineProperty::Hypervisor, "none"),
            (MachineProperty::Model, "xeon"),
            (MachineProperty::ClockSource, "tsc"),
            (MachineProperty::Tuned, "off"),
        ] {
            assert_eq!(check(property, expected), Ok(()), "{} {expected}", property.name());
        }
    }

    #[test]
    fn what_is_not_met_says_what_was_found() {
        let error = |property, expected| check(property, expected).expect_err("it is otherwise");
        assert_eq!(
            error(MachineProperty::Governor, "performance"),
            "governor: expected performance, found performance, powersave"
        );
        assert_eq!(
            error(MachineProperty::Turbo, "off"),
            "turbo: expected off, found nothing: not reported by this machine"
        );
        assert_eq!(error(MachineProperty::Cores, "> 8"), "cores: expected > 8, found 8");
        assert_eq!(error(MachineProperty::Kernel, ">= 6.1.1"), "kernel: expected >= 6.1.1, found 6.1.0-28-amd64");
        assert_eq!(error(MachineProperty::Isolated, "1-2"), "isolated: expected 1-2, found 2-3,6");
        assert_eq!(
            error(MachineProperty::Hypervisor, "KVM"),
            "hypervisor: expected KVM, found nothing: not reported by this machine"
        );
        let nothing = Requirement::new(MachineProperty::Hypervisor, "none").expect("it can be asked");
        assert!(nothing.check(&Value::Null).is_err(), "a machine of which nothing is known is no bare metal");
    }

    #[test]
    fn unknown_properties_are_refused() {
        for (property, expected) in [
            (MachineProperty::Turbo, "maybe"),
            (MachineProperty::Cores, "many"),
            (MachineProperty::Kernel, "new"),
            (MachineProperty::Isolated, "3-1"),
            (MachineProperty::Model, " "),
        ] {
            assert!(Requirement::new(property, expected).is_err(), "{} {expected}", property.name());
        }
    }
}
