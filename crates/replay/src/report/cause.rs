//! A possible cause of a divergence.

use super::{FailedCall, Passed, ProcessorChange, ThreadReport};

/// A directory that the server listed, and that contained something else while recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedListing {
    /// The path by which the server opened it.
    pub path: String,
    /// Names that are there now and were not.
    pub added: Vec<String>,
    /// Names that were there and are not now.
    pub gone: Vec<String>,
}

/// What a number in an output is that differs from the recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unrecorded {
    /// A time since 1970: that of the recording there, that of the replay here; in these units a second.
    Time(u64),
    /// A time of `CLOCK_MONOTONIC`, which counts from the start of the machine; in these units a second.
    Uptime(u64),
    /// The inode of this file, here, as its directory lists it.
    Inode(String),
    /// An address of the process.
    Address,
}

/// Bytes of an output that differ from the recorded ones, and where the build has them from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traced {
    /// What has them.
    pub origin: TracedTo,
    /// The file that it is about.
    pub path: String,
    /// The bytes, as a text or in hexadecimal.
    pub content: String,
}

/// What has the bytes that a build sent in place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TracedTo {
    /// A call that a replay makes for real returned them.
    Call {
        /// C name of the call.
        name: String,
        /// The last recorded call of its thread before it.
        after_record: u64,
    },
    /// They stand in the file, which is not as it was while recording.
    File {
        /// Place of the first of them.
        byte: u64,
    },
}

/// Possible cause of a divergence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A file that was read while recording is not there.
    MissingFile,
    /// A call that is made for real fails here, and did not while recording.
    FailedCall(FailedCall),
    /// Such a call, about a file whose name differs from a recorded one only by a number: the name was made from a time,
    /// an inode or a random number.
    MadeUpName(FailedCall, String),
    /// A call that is made for real failed while recording, and not here.
    UnfailedCall(FailedCall),
    /// The thread whose turn it is uses the CPU and makes no call.
    Busy(ThreadReport),
    /// The thread whose turn it is sleeps, or there is none.
    Blocked(ThreadReport),
    /// The recorder could not record this.
    Missed(String),
    /// The demo was recorded without an order of threads and processes.
    SideBySide,
    /// Threads ran at the same time, where the recording has them one after another: this many times, and which was passed
    /// last.
    Raced(u64, Option<Passed>),
    /// A number in the output that the replay has of its own, with the recorded number and that of the build.
    Unrecorded(Unrecorded, String, String),
    /// Bytes of the output that differ come from here.
    Traced(Traced),
    /// This directory, which the server listed, contained something else while recording.
    Listing(ChangedListing),
    /// One of several threads made this call, where in the recording it did not have to: threads share memory without a call.
    SharedMemory(String),
    /// The server wrote these files while recording, in no state directory.
    Written(Vec<String>),
    /// Programs without records wrote these files while the server was recorded.
    WrittenByOthers(Vec<String>),
    /// Content of these files differs from the recording.
    ChangedFiles(Vec<String>),
    /// Other versions of these libraries were loaded than in the recording.
    Libraries(Vec<String>),
    /// Numbers in the output that are close to the recorded ones.
    CloseNumbers,
    /// The build reads its clock more often than recorded, or less, so that what it sends by time goes out in other frames: reads
    /// that were added and skipped.
    ClockReads(u64, u64),
    /// The program at the recorded place is another one now.
    ReplacedProgram,
    /// The build is another one than the recorded, or has other arguments.
    OtherBuild,
    /// The processor is another one.
    Processor(ProcessorChange),
    /// Nothing is known that could have.
    Unknown,
}

impl Cause {
    /// Name of the cause in JSON and in the guide.
    pub fn key(&self) -> &'static str {
        match self {
            Cause::MissingFile => "missing_file",
            Cause::FailedCall(_) => "failed_call",
            Cause::MadeUpName(..) => "made_up_name",
            Cause::UnfailedCall(_) => "unfailed_call",
            Cause::Busy(_) => "busy",
            Cause::Blocked(_) => "blocked",
            Cause::Missed(_) => "missed",
            Cause::SideBySide => "side_by_side",
            Cause::Raced(..) => "raced",
            Cause::Unrecorded(..) => "unrecorded_value",
            Cause::Traced(_) => "real_result",
            Cause::Listing(_) => "changed_listing",
            Cause::SharedMemory(_) => "shared_memory",
            Cause::Written(_) => "written_files",
            Cause::WrittenByOthers(_) => "written_by_others",
            Cause::ChangedFiles(_) => "changed_files",
            Cause::Libraries(_) => "libraries",
            Cause::CloseNumbers => "close_numbers",
            Cause::ClockReads(..) => "clock_reads",
            Cause::ReplacedProgram => "replaced_program",
            Cause::OtherBuild => "other_build",
            Cause::Processor(_) => "processor",
            Cause::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn the_guide_has_a_row_for_each_cause() {
        let source = include_str!("cause.rs");
        let (_, keys) = source.split_once("pub fn key(&self)").expect("it is above");
        let keys = keys.split("\n    }\n").next().unwrap_or_default().split('"').skip(1).step_by(2);
        let guide = include_str!("../../../../docs/guide/divergences.md");
        let (_, table) =
            guide.split_once("\n| | what the report shows | cause | what to do |\n").expect("it has the table");
        let table = table.split("\n\n").next().unwrap_or_default();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        assert_eq!(rows.collect::<BTreeSet<_>>(), keys.collect::<BTreeSet<_>>());
    }
}
