//! Samples as stacks of code addresses, before anything has a name.

use prony_machine::perf::{Sampling, Trigger};

use crate::space::{CodeLocation, Object};

/// Everything that one sampler recorded.
#[derive(Debug)]
pub struct Recording {
    /// Samples in the order of their times.
    pub samples: Vec<StackSample>,
    /// Every stack that was seen, once; innermost first. Callers are at their call, not behind it.
    pub stacks: Vec<Box<[CodeLocation]>>,
    /// Names of the threads that were sampled.
    pub names: Vec<String>,
    /// Objects that contain the code.
    pub objects: Vec<Object>,
    /// Samples and other records that found no place in a ring.
    pub lost: u64,
    /// Waits that had not ended when sampling did.
    pub unfinished: u64,
    /// Stacks that were deeper than the copy of [`Walk::Tables`]: their outermost functions are missing.
    pub cut: u64,
    /// Start, in nanoseconds of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// End, in nanoseconds of `CLOCK_MONOTONIC`.
    pub ended_ns: u64,
    /// Event that triggered the samples.
    pub trigger: Trigger,
    /// Samples a second of a thread that runs.
    pub frequency_hz: u32,
    /// True if kernel stacks are included; otherwise time in the kernel is missing.
    pub kernel: bool,
    /// Method by which callers were found.
    pub walk: Walk,
    /// Unit of the samples' weights.
    pub weight_unit: WeightUnit,
}

/// Stack of one thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackSample {
    /// Time of the sample, in nanoseconds of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// Kernel's number of the process.
    pub pid: i32,
    /// Kernel's number of the thread.
    pub tid: i32,
    /// Name of the thread, in [`Recording::names`].
    pub name: u32,
    /// Index of the stack in [`Recording::stacks`].
    pub stack: u32,
    /// 1, or how long it waited there.
    pub weight: u64,
}

/// Units of the numbers behind stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WeightUnit {
    /// Stack samples, each with weight 1.
    #[default]
    Samples,
    /// Time that threads waited off the CPU, in microseconds.
    WaitingUs,
}

impl Recording {
    pub(crate) fn new(sampling: &Sampling, walk: Walk, weight_unit: WeightUnit) -> Recording {
        Recording {
            samples: Vec::new(),
            stacks: Vec::new(),
            names: Vec::new(),
            objects: Vec::new(),
            lost: 0,
            unfinished: 0,
            cut: 0,
            began_ns: 0,
            ended_ns: 0,
            trigger: sampling.trigger,
            frequency_hz: sampling.frequency_hz,
            kernel: sampling.kernel,
            walk,
            weight_unit,
        }
    }

    /// The number of the kernel among the objects.
    pub const KERNEL: crate::space::ObjectId = crate::space::Spaces::KERNEL;

    /// Drops the samples that `keep` does not want.
    pub fn retain(&mut self, keep: impl FnMut(&StackSample) -> bool) {
        self.samples.retain(keep);
    }
}

/// Methods by which the callers of a function are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// Walk along frame pointers. Functions that have no frame, as compilers make of small ones, and the C library's
    /// would hide their callers: from the innermost one DWARF tables lead to the first that has.
    FramePointers,
    /// Walk by DWARF tables alone, on a copy of this number of bytes of the stack; a multiple of 8.
    Tables {
        /// Number of bytes copied of each stack.
        stack_bytes: u32,
    },
}

impl Walk {
    /// Bytes of the stack that are copied with each sample.
    pub(crate) fn stack_bytes(self) -> u32 {
        /// What lies between the stack pointer and the first frame that has a pointer: with 1 KiB one stack in six of a
        /// C++ program that allocates lacked its callers, with 2 KiB one in thirty, with 4 KiB one in five hundred.
        const FIRST_FRAMES_BYTES: u32 = 4096;
        match self {
            Walk::FramePointers => FIRST_FRAMES_BYTES,
            Walk::Tables { stack_bytes } => stack_bytes & !7,
        }
    }
}
