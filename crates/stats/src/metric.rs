//! What is measured of a run.

use serde::{Deserialize, Serialize};

/// Measured quantities of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Time on a core; of values that are no times of a process, these.
    Cpu,
    /// Wall time minus the wait for a core.
    #[serde(alias = "net")]
    Uncontended,
    /// Wall time of a run.
    Wall,
    /// Peak of the resident memory of a run.
    Rss,
    /// Bytes allocated per loop, as some tools count them.
    #[serde(rename = "allocated_bytes")]
    AllocatedBytes,
    /// Number of allocations per loop, as some tools count them.
    Allocations,
}

impl Metric {
    /// Name of the metric in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Cpu => "cpu",
            Metric::Uncontended => "uncontended",
            Metric::Wall => "wall",
            Metric::Rss => "rss",
            Metric::AllocatedBytes => "allocated_bytes",
            Metric::Allocations => "allocations",
        }
    }

    /// Unit of the values of this metric, as benchmarks name it.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Cpu | Metric::Uncontended | Metric::Wall => "second",
            Metric::Rss | Metric::AllocatedBytes => "byte",
            Metric::Allocations => "allocation",
        }
    }

    /// Metric of this name; `uncontended` and `net` are the same, as are `B/op` and `allocated_bytes`, and `allocs/op` and
    /// `allocations`.
    pub fn from_name(name: &str) -> Option<Metric> {
        match name {
            "cpu" => Some(Metric::Cpu),
            "uncontended" | "net" => Some(Metric::Uncontended),
            "wall" => Some(Metric::Wall),
            "rss" => Some(Metric::Rss),
            "allocated_bytes" | "B/op" => Some(Metric::AllocatedBytes),
            "allocations" | "allocs/op" => Some(Metric::Allocations),
            _ => None,
        }
    }

    /// The name in use for a metric that may have an older one, or one of the user's own.
    pub fn name_in_use(name: &str) -> &str {
        Metric::from_name(name).map_or(name, |metric| metric.name())
    }

    /// True for the times of a process.
    pub fn is_time(self) -> bool {
        matches!(self, Metric::Cpu | Metric::Uncontended | Metric::Wall)
    }

    /// True if values of this name are times of a process, of which there are several; others have a metric of their own.
    pub fn is_name_of_time(name: &str) -> bool {
        Metric::from_name(name).is_some_and(Metric::is_time)
    }

    /// The metric as people read it.
    pub const fn title(self) -> &'static str {
        match self {
            Metric::Cpu => "CPU time",
            Metric::Uncontended => "wall minus CPU wait",
            Metric::Wall => "wall time",
            Metric::Rss => "peak memory",
            Metric::AllocatedBytes => "allocated bytes",
            Metric::Allocations => "allocations",
        }
    }

    /// The only metric that can be judged for values that are called `name` and are not process times; `None` for
    /// process times. In a `duet` processes are judged by their CPU time.
    pub fn only(name: &str, duet: bool) -> Option<Metric> {
        match Metric::from_name(name) {
            Some(Metric::Wall | Metric::Uncontended | Metric::Rss) => None,
            Some(Metric::Cpu) if duet => None,
            _ => Some(Metric::Cpu),
        }
    }
}
