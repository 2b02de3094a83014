//! Makes a directory that imitates a machine from a file of `trees`. A line
//! `=== PATH` begins a file, which holds the lines up to the next such line.

use std::fs;
use std::path::Path;

/// Intel on bare metal: `intel_pstate`, two cores of two threads, control groups of version 2, irqbalance.
pub const INTEL: &str = include_str!("trees/intel-pstate.tree");
/// AMD on bare metal: `acpi-cpufreq` with boost, two cores of one thread, cpusets of version 1.
pub const AMD: &str = include_str!("trees/amd-acpi-cpufreq.tree");
/// A virtual machine with nothing to turn, and a noisy neighbour.
pub const VIRTUAL: &str = include_str!("trees/virtual-machine.tree");
/// A guest of `scripts/guest` with Debian 12's kernel and `isolcpus=domain,managed_irq,1 nohz_full=1 rcu_nocbs=1 irqaffinity=0`, a
/// thread spinning on CPU 1; some of its threads.
pub const RESERVED: &str = include_str!("trees/guest-isolated.tree");

/// Lays the files out below `directory`.
pub fn unpack(tree: &str, directory: &Path) {
    for file in tree.split("=== /").skip(1) {
        let (path, content) = file.split_once('\n').expect("a path ends its line");
        let place = directory.join(path);
        fs::create_dir_all(place.parent().expect("a file is in a directory")).expect("a scratch directory takes it");
        fs::write(place, content).expect("a scratch directory takes it");
    }
}
