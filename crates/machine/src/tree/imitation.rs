//! A directory that answers as the kernel does, so that what changes a machine can be tested whole.
//!
//! Beside `proc` and `sys` it may hold `imitation/die_at`, the number of the change before which
//! this process is killed, and `imitation/later`, files as they are after a moment.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Signal, getpid, kill_process};

use crate::{CpuSet, Tree};

#[derive(Debug)]
pub(super) struct Imitation {
    directory: PathBuf,
    die_at: Option<u64>,
    steps: Cell<u64>,
    later: Cell<bool>,
}

impl Imitation {
    pub(super) fn of(directory: &Path) -> Imitation {
        let die_at = fs::read_to_string(directory.join("imitation/die_at")).ok();
        Imitation {
            directory: directory.to_owned(),
            die_at: die_at.and_then(|text| text.trim().parse().ok()),
            steps: Cell::new(0),
            later: Cell::new(false),
        }
    }

    /// The moment has passed: [`Imitation::later`] shows the other files.
    pub(super) fn time_passed(&self) {
        self.later.set(true);
    }

    /// Path that has the later content of `path`, if it differs.
    pub(super) fn later(&self, path: &str) -> Option<PathBuf> {
        let place = self.directory.join("imitation/later").join(path.trim_start_matches('/'));
        (self.later.get() && place.exists()).then_some(place)
    }

    /// Counts a change; at the one that is wanted, ends this process as `kill -9` does.
    pub(super) fn step(&self) {
        self.steps.set(self.steps.get() + 1);
        if self.die_at == Some(self.steps.get()) {
            // A process may always signal itself.
            let _ = kill_process(getpid(), Signal::KILL);
            loop {
                std::thread::park();
            }
        }
    }

    /// Content of a file after `value` was written to it.
    pub(super) fn answer(&self, tree: &Tree, path: &str, value: &str) -> io::Result<String> {
        let refused = || io::Error::from_raw_os_error(libc::EINVAL);
        let before = fs::read_to_string(tree.place(path))?;
        if path.ends_with("/cgroup.procs") || path.ends_with("/tasks") {
            return self.enter(&tree.place(path), value);
        }
        let (directory, name) = path.rsplit_once('/').ok_or_else(refused)?;
        let beside = |name: &str| tree.value::<u64>(&format!("{directory}/{name}"));
        let value = value.trim();
        if before.contains('[') {
            // A choice: the brackets move.
            let known = before.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect::<Vec<_>>();
            if !known.contains(&value) {
                return Err(refused());
            }
            let words = known.into_iter().map(|word| if word == value { format!("[{word}]") } else { word.to_owned() });
            return Ok(words.collect::<Vec<_>>().join(" ") + "\n");
        }
        let text = match name {
            "scaling_governor" => {
                let known = tree.read(&format!("{directory}/scaling_available_governors"))?;
                let preference = tree.place(&format!("{directory}/energy_performance_preference"));
                if value == "performance" && preference.exists() {
                    // intel_pstate moves it along, and nothing moves it back.
                    fs::write(preference, "performance\n")?;
                }
                known.split_whitespace().find(|&known| known == value).ok_or_else(refused)?.to_owned()
            }
            // The kernel keeps a limit within what the hardware can do.
            "scaling_min_freq" | "scaling_max_freq" => {
                let requested: u64 = value.parse().map_err(|_| refused())?;
                let least = beside("cpuinfo_min_freq").unwrap_or(0);
                let most = beside("cpuinfo_max_freq").unwrap_or(u64::MAX);
                requested.clamp(least, most.max(least)).to_string()
            }
            "energy_performance_preference"
                if tree.line(&format!("{directory}/scaling_governor")).as_deref() == Some("performance") =>
            {
                return Err(io::Error::from_raw_os_error(libc::EBUSY));
            }
            "smp_affinity_list" | "cpuset.cpus" => value.parse::<CpuSet>().map_err(|_| refused())?.to_string(),
            "cgroup.subtree_control" => match value.strip_prefix('+') {
                Some(added) if !before.split_whitespace().any(|known| known == added) => {
                    format!("{} {added}", before.trim()).trim().to_owned()
                }
                Some(_) => before.trim().to_owned(),
                None => {
                    let kept = before.split_whitespace().filter(|&known| Some(known) != value.strip_prefix('-'));
                    kept.collect::<Vec<_>>().join(" ")
                }
            },
            _ => value.to_owned(),
        };
        Ok(text + "\n")
    }

    /// The files that a control group has from its first moment.
    pub(super) fn fill_group(&self, group: &Path) -> io::Result<()> {
        let parent = group.parent().unwrap_or(group);
        let mut files = vec![("cgroup.procs", ""), ("cpuset.cpus", "\n"), ("cpuset.mems", "\n")];
        if parent.join("cgroup.controllers").exists() {
            files.extend([("cgroup.controllers", "cpuset\n"), ("cpuset.cpus.partition", "member\n")]);
        } else {
            files.push(("tasks", ""));
        }
        files.into_iter().try_for_each(|(name, text)| fs::write(group.join(name), text))
    }

    /// A process that enters a group leaves the one it was in; threads are not imitated. Returns
    /// what the file of the group that is entered reads then.
    fn enter(&self, place: &Path, member: &str) -> io::Result<String> {
        let refused = || io::Error::from_raw_os_error(libc::EINVAL);
        let member: u32 = member.parse().map_err(|_| refused())?;
        let group = place.parent().ok_or_else(refused)?;
        let around = [group.parent().unwrap_or(group), group];
        let below = around.into_iter().flat_map(|group| fs::read_dir(group).into_iter().flatten().flatten());
        let mut groups: Vec<PathBuf> = below.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        groups.extend(around.map(Path::to_owned));
        for name in ["cgroup.procs", "tasks"] {
            for file in groups.iter().map(|group| group.join(name)) {
                let Ok(text) = fs::read_to_string(&file) else { continue };
                let mut members: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
                members.retain(|&known| known != member);
                if file.parent() == Some(group) {
                    members.push(member);
                    members.sort_unstable();
                }
                let now: String = members.iter().map(|member| format!("{member}\n")).collect();
                if now != text {
                    fs::write(&file, now)?;
                }
            }
        }
        fs::read_to_string(place)
    }
}
