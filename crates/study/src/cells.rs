//! Content of a cell, and its key, which is the same wherever the cell is planned.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::file::{Level, Study, Tuning, fill};
use crate::results::Role;

/// SHA-256 of what is shipped, as hex, by its path in the study file; see [`Study::paths`].
pub type Contents = BTreeMap<String, String>;

/// Content of a cell: commands or demos, environment and scheduling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The command as text for a splitter of words; `None`: the one that the demo recorded.
    pub command: Option<String>,
    /// The demo that the command replays.
    pub demo: Option<String>,
    /// Take the demo for one that this user recorded here.
    pub trust_demo: bool,
    /// Environment variables beside those of the executor.
    pub environment: BTreeMap<String, String>,
    /// CPU and real-time priority of its processes.
    pub tuning: Tuning,
}

impl Study {
    /// Everything that is shipped: builds, demos and files, by their paths in the study file.
    pub fn paths(&self) -> BTreeSet<&str> {
        let builds = self.factors.iter().flat_map(|factor| &factor.levels).filter_map(|level| level.build.as_ref());
        let of_workloads =
            self.workloads.iter().flat_map(|workload| workload.demo.iter().chain(workload.files.values()));
        builds.chain(of_workloads).map(String::as_str).collect()
    }

    /// Task that the configuration `levels` runs on a workload.
    ///
    /// `workload`, `levels`: indices into this study. `place`: where a path of the study file lies for the
    /// runner. `None` when an index leads nowhere.
    pub fn task(&self, workload: usize, levels: &[usize], place: &dyn Fn(&str) -> String) -> Option<Task> {
        let workload = self.workloads.get(workload)?;
        let chosen = self.chosen(levels)?;
        let value = |name: &str| -> Option<String> {
            let of_factor = || self.factors.iter().position(|factor| factor.name == name).map(|at| chosen[at]);
            match name {
                "workload" => Some(workload.name.clone()),
                "demo" => workload.demo.as_deref().map(place),
                _ => (workload.axes.get(name).cloned())
                    .or_else(|| workload.files.get(name).map(|path| place(path)))
                    .or_else(|| {
                        of_factor().map(|level| level.build.as_deref().map_or_else(|| level.name.clone(), place))
                    })
                    .or_else(|| chosen.iter().find_map(|level| level.set.get(name).cloned())),
            }
        };
        // Names that lead nowhere were refused when the file was read.
        let filled = |template: &String| fill(template, &value).ok();
        let mut environment = BTreeMap::new();
        for (variable, template) in
            workload.environment.iter().chain(chosen.iter().flat_map(|level| &level.environment))
        {
            environment.insert(variable.clone(), filled(template)?);
        }
        let command = chosen.iter().find_map(|level| level.command.as_ref()).or(workload.command.as_ref());
        let tuning = chosen.iter().fold(Tuning::default(), |all, level| Tuning {
            pin: all.pin.or(level.tuning.pin),
            fifo: all.fifo.or(level.tuning.fifo),
        });
        Some(Task {
            command: command.map(|command| filled(command).ok_or(())).transpose().ok()?,
            demo: workload.demo.as_deref().map(place),
            trust_demo: workload.trust_demo,
            environment,
            tuning,
        })
    }

    fn chosen(&self, levels: &[usize]) -> Option<Vec<&Level>> {
        let chosen = self.factors.iter().zip(levels).map(|(factor, &level)| factor.levels.get(level));
        chosen.collect::<Option<Vec<_>>>().filter(|chosen| chosen.len() == self.factors.len())
    }

    /// The part of the key that a configuration and its workload make; `None` when an index leads nowhere.
    ///
    /// Of a path in `contents` its hash counts and not its name, so that a build moved elsewhere is the same cell,
    /// and one built again under the same name is another.
    pub(crate) fn task_digest(&self, workload: usize, levels: &[usize], contents: &Contents) -> Option<[u8; 32]> {
        let place = |path: &str| contents.get(path).map_or_else(|| path.to_owned(), |hash| format!("sha256:{hash}"));
        let task = self.task(workload, levels, &place)?;
        let workload = &self.workloads[workload];
        let mut form = Canonical::new("prony cell 1");
        form.text(&self.metric.name);
        form.text(&workload.name);
        form.map(workload.axes.iter().map(|(name, value)| (name.as_str(), value.clone())));
        form.option(task.command.as_deref());
        form.option(task.demo.as_deref());
        form.map(task.environment.iter().map(|(name, value)| (name.as_str(), value.clone())));
        form.map(workload.files.iter().map(|(name, path)| (name.as_str(), place(path))));
        form.option(task.tuning.pin.map(|cpu| cpu.to_string()).as_deref());
        form.option(task.tuning.fifo.map(|priority| priority.to_string()).as_deref());
        // Two levels may run the same and be two all the same: that is how a factor without effect is made.
        let chosen = self.chosen(levels)?;
        form.map(self.factors.iter().zip(&chosen).map(|(factor, level)| (factor.name.as_str(), level.name.clone())));
        form.map(chosen.iter().filter_map(|level| level.build.as_deref()).map(|build| ("build", place(build))));
        Some(form.digest())
    }
}

/// The key of a cell; `task`: what [`Study::task_digest`] gave.
pub(crate) fn key(task: &[u8; 32], machine: &str, repeat: u32, role: Role) -> String {
    let mut form = Canonical::new(match role {
        Role::Measured => "measured",
        Role::WarmUp => "warm-up",
        Role::Control => "control",
    });
    form.bytes(task);
    form.text(machine);
    form.bytes(&repeat.to_le_bytes());
    form.digest().iter().fold(String::with_capacity(64), |mut hex, byte| {
        for digit in [byte >> 4, byte & 15] {
            hex.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
        hex
    })
}

/// Texts behind their lengths, so that no two lists of them are the same bytes.
struct Canonical(Sha256);

impl Canonical {
    fn new(what: &str) -> Canonical {
        let mut form = Canonical(Sha256::new());
        form.text(what);
        form
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn option(&mut self, text: Option<&str>) {
        self.0.update([u8::from(text.is_some())]);
        self.text(text.unwrap_or_default());
    }

    fn map<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, String)>) {
        let pairs: Vec<_> = pairs.collect();
        self.0.update((pairs.len() as u64).to_le_bytes());
        for (name, value) in pairs {
            self.text(name);
            self.text(&value);
        }
    }

    fn digest(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}
