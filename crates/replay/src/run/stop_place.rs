//! Place at which a replay stops for a debugger: found while the demo is laid out, and marked on the tape.

use crate::run::tape::TapeError;
use prony_demo::{Head, Op};

/// Place at which a debugger is attached to a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopPlace {
    /// The first call of this frame, of the process whose frames are measured.
    Frame(u64),
    /// The call of this record.
    Record {
        /// Index of the process in the recording, from 0.
        process: u16,
        /// Number of the record within its process. The next call that is replayed, where it is a note of the recorder.
        record: u64,
    },
    /// Where the build diverges.
    Divergence,
}

/// Records of a process, at the first of which a debugger is attached that is to follow the build from there to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Index of the process in the recording, from 0.
    pub(crate) process: u16,
    /// Number of the first record within its process. One behind it counts instead where the process starts a program between them.
    pub(crate) from: u64,
    /// Number of the last record within its process.
    pub(crate) to: u64,
}

/// What a debugger is attached for: a place, and the records before it that it is to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StopPlan {
    pub(crate) stretch: Option<Stretch>,
    pub(crate) place: StopPlace,
}

impl StopPlan {
    /// A debugger that follows nothing.
    pub(crate) fn at(place: StopPlace) -> StopPlan {
        StopPlan { stretch: None, place }
    }
}

/// Records at which a replay stops: the first of a stretch, and that of the place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stops {
    pub(crate) first: Option<StopRecord>,
    pub(crate) place: Option<StopRecord>,
}

impl Stops {
    /// Numbers of the records of a process at which the replay stops.
    #[inline]
    pub(crate) fn of(&self, process: u16) -> [Option<u64>; 2] {
        [self.first, self.place].map(|stop| stop.filter(|stop| stop.process == process).map(|stop| stop.record))
    }

    /// The record at which a debugger is attached; none for a divergence.
    pub(crate) fn attached(&self) -> Option<StopRecord> {
        self.first.or(self.place)
    }
}

/// Record of a demo at which a replay stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StopRecord {
    /// Index of the process in the recording, from 0.
    pub(crate) process: u16,
    /// Number of the record within its process.
    pub(crate) record: u64,
    /// Frame of the process that is going on there.
    pub(crate) frame: u64,
}

/// Search for the record of a place, in a walk over the records of a demo.
#[derive(Debug)]
pub(crate) struct StopSearch {
    plan: StopPlan,
    /// Records that were found, one at most for each process.
    found: Vec<StopRecord>,
    /// First record of the stretch.
    first: Option<StopRecord>,
    /// First record of each frame of process 0.
    frames: Vec<u64>,
}

impl StopSearch {
    pub(crate) fn of(plan: StopPlan) -> StopSearch {
        StopSearch { plan, found: Vec::new(), first: None, frames: Vec::new() }
    }

    /// Looks at `count` records of `process` in a row, of which `head` is the first one; `frame` is going on.
    pub(crate) fn see(&mut self, process: u16, head: &Head, count: u64, frame: u64) {
        self.follow(process, head, count, frame);
        if process == 0 && frame == self.frames.len() as u64 {
            self.frames.push(head.order);
        }
        let record = match self.plan.place {
            StopPlace::Frame(wanted) if wanted == frame => head.order,
            StopPlace::Record { process: of, record } if of == process && head.order + count > record => {
                record.max(head.order)
            }
            _ => return,
        };
        if !self.found.iter().any(|found| found.process == process) {
            self.found.push(StopRecord { process, record, frame });
        }
    }

    /// Looks whether these records begin the stretch.
    fn follow(&mut self, process: u16, head: &Head, count: u64, frame: u64) {
        let Some(stretch) = self.plan.stretch else { return };
        if stretch.process != process || head.order > stretch.to {
            return;
        }
        let starts = |op: Op| head.op == op as u16 && head.ret == 0;
        // The first program's start, which has no number, is where its memory begins.
        if starts(Op::Exec) || starts(Op::ProgramStart) && head.aux != 0 {
            // What stood in memory is gone.
            self.first = None;
        } else if self.first.is_none() && head.order + count > stretch.from {
            self.first = Some(StopRecord { process, record: stretch.from.max(head.order), frame });
        }
    }

    /// First record of each frame of process 0.
    pub(crate) fn frames(self) -> Vec<u64> {
        self.frames
    }

    /// The records; none of the place for a divergence. `main`: the process whose frames are measured; `frames`: their number.
    ///
    /// # Errors
    /// When the demo has no such place.
    pub(crate) fn found(&self, main: u16, frames: u64) -> Result<Stops, TapeError> {
        let of = |process: u16| self.found.iter().find(|found| found.process == process).copied();
        let place = match self.plan.place {
            StopPlace::Divergence => None,
            StopPlace::Frame(frame) => Some(of(main).ok_or(TapeError::NoFrame { frame, frames })?),
            StopPlace::Record { process, record } => Some(of(process).ok_or(TapeError::NoRecord { process, record })?),
        };
        let none = |stretch: Stretch| TapeError::NoRecord { process: stretch.process, record: stretch.from };
        let first = self.plan.stretch.map(|stretch| self.first.ok_or_else(|| none(stretch))).transpose()?;
        Ok(Stops { first, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(order: u64) -> Head {
        Head { size: 0, op: 1, thread: 0, order, time: 0, ret: 0, fd: -1, aux: 0 }
    }

    fn search(plan: StopPlan) -> StopSearch {
        let mut search = StopSearch::of(plan);
        for (process, order, count, frame) in [(0, 0, 1, 0), (1, 0, 2, 0), (0, 2, 5, 1), (0, 7, 1, 2), (1, 2, 1, 1)] {
            search.see(process, &head(order), count, frame);
        }
        search
    }

    fn place_of(place: StopPlace, main: u16, frames: u64) -> Result<Option<StopRecord>, TapeError> {
        search(StopPlan::at(place)).found(main, frames).map(|stops| stops.place)
    }

    #[test]
    fn a_frame_is_that_of_the_main_process() {
        let found = place_of(StopPlace::Frame(1), 0, 3).expect("it is there");
        assert_eq!(found, Some(StopRecord { process: 0, record: 2, frame: 1 }));
        let found = place_of(StopPlace::Frame(1), 1, 2).expect("it is there");
        assert_eq!(found, Some(StopRecord { process: 1, record: 2, frame: 1 }));
        let missing = place_of(StopPlace::Frame(3), 0, 3).expect_err("there are three");
        assert_eq!(missing.to_string(), "expected a frame below 3, found frame 3");
    }

    #[test]
    fn a_record_may_stand_in_a_run_of_clock_reads_or_be_a_note() {
        let of = |process, record| place_of(StopPlace::Record { process, record }, 0, 3);
        assert_eq!(of(0, 4).expect("a read"), Some(StopRecord { process: 0, record: 4, frame: 1 }));
        assert_eq!(of(0, 1).expect("a note"), Some(StopRecord { process: 0, record: 2, frame: 1 }));
        assert_eq!(of(1, 2).expect("the last"), Some(StopRecord { process: 1, record: 2, frame: 1 }));
        assert_eq!(of(1, 3).expect_err("none").to_string(), "process 1 has no call at record 3 or behind it");
        assert_eq!(place_of(StopPlace::Divergence, 0, 3).expect("anywhere"), None);
    }

    #[test]
    fn a_stretch_begins_at_its_first_record_or_behind_the_start_of_a_program() {
        let plan = |from, to| StopPlan {
            stretch: Some(Stretch { process: 0, from, to }),
            place: StopPlace::Record { process: 0, record: to },
        };
        let first = |search: &StopSearch| search.found(0, 3).map(|stops| stops.first);
        assert_eq!(first(&search(plan(4, 7))).expect("a read"), Some(StopRecord { process: 0, record: 4, frame: 1 }));
        let mut started = StopSearch::of(plan(0, 9));
        for (order, op) in [(0, 1), (1, Op::Exec as u16), (2, 1), (9, 1), (10, Op::Exec as u16), (11, 1)] {
            started.see(0, &Head { op, ..head(order) }, 1, 0);
        }
        let stops = started.found(0, 3).expect("all are there");
        assert_eq!(stops.of(0), [Some(2), Some(9)]);
        assert_eq!(stops.of(1), [None, None]);
        assert_eq!(stops.attached().map(|stop| stop.record), Some(2));
    }
}
