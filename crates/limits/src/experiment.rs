//! Experiments by name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A group of cases that answer one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Experiment {
    /// The clocks: of the core, of the time stamp, and what asking them costs.
    Clock,
    /// Memory written byte by byte, and the loop behind it.
    Write,
    /// Throughput of instructions per cycle, and slow instructions.
    Ports,
    /// Code as bytes: lengths of instructions, the footprint, where loops lie.
    Decode,
    /// Branches: cycles by pattern of taken branches.
    Branch,
    /// Equal work in registers of different widths.
    Simd,
    /// Latency of a load by how much memory it is chosen from.
    Cache,
    /// Bytes a second by how many there are, and how they are moved.
    Bandwidth,
    /// Equal copies of different contents: zeros, one value, noise.
    Contents,
    /// Several cores: scaling, and what it costs to talk.
    Threads,
    /// Page faults: cost of the first touch of a page.
    Fault,
    /// Files: rates of reading, by call and portion.
    File,
    /// Datagrams on loopback, and system calls.
    Net,
}

impl Experiment {
    /// All, in the order in which answers show them.
    pub const ALL: [Experiment; 13] = [
        Experiment::Clock,
        Experiment::Write,
        Experiment::Ports,
        Experiment::Decode,
        Experiment::Branch,
        Experiment::Simd,
        Experiment::Cache,
        Experiment::Bandwidth,
        Experiment::Contents,
        Experiment::Threads,
        Experiment::Fault,
        Experiment::File,
        Experiment::Net,
    ];

    /// Word that selects the experiment on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Experiment::Clock => "clock",
            Experiment::Write => "write",
            Experiment::Ports => "ports",
            Experiment::Decode => "decode",
            Experiment::Branch => "branch",
            Experiment::Simd => "simd",
            Experiment::Cache => "cache",
            Experiment::Bandwidth => "bandwidth",
            Experiment::Contents => "contents",
            Experiment::Threads => "threads",
            Experiment::Fault => "fault",
            Experiment::File => "file",
            Experiment::Net => "net",
        }
    }

    /// Experiment that the word selects; `None` if none.
    pub fn from_word(word: &str) -> Option<Experiment> {
        Experiment::ALL.into_iter().find(|experiment| experiment.word() == word)
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_has_a_word_of_its_own() {
        for experiment in Experiment::ALL {
            assert_eq!(Experiment::from_word(experiment.word()), Some(experiment));
        }
        assert_eq!(Experiment::from_word("other"), None);
    }
}
