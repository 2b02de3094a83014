//! Place at which a replay stops for a debugger: found while the demo is laid out, and marked on the tape.

use crate::run::tape::TapeError;
use prony_demo::Head;

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
    place: StopPlace,
    /// Records that were found, one at most for each process.
    found: Vec<StopRecord>,
}

impl StopSearch {
    pub(crate) fn of(place: StopPlace) -> StopSearch {
        StopSearch { place, found: Vec::new() }
    }

    /// Looks at `count` records of `process` in a row, of which `head` is the first one; `frame` is going on.
    pub(crate) fn see(&mut self, process: u16, head: &Head, count: u64, frame: u64) {
        let record = match self.place {
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

    /// The record of the place; none for a divergence. `main`: the process whose frames are measured; `frames`: their number.
    ///
    /// # Errors
    /// When the demo has no such place.
    pub(crate) fn found(&self, main: u16, frames: u64) -> Result<Option<StopRecord>, TapeError> {
        let of = |process: u16| self.found.iter().find(|found| found.process == process).copied();
        match self.place {
            StopPlace::Divergence => Ok(None),
            StopPlace::Frame(frame) => of(main).map(Some).ok_or(TapeError::NoFrame { frame, frames }),
            StopPlace::Record { process, record } => {
                of(process).map(Some).ok_or(TapeError::NoRecord { process, record })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(order: u64) -> Head {
        Head { size: 0, op: 1, thread: 0, order, time: 0, ret: 0, fd: -1, aux: 0 }
    }

    fn search(place: StopPlace) -> StopSearch {
        let mut search = StopSearch::of(place);
        for (process, order, count, frame) in [(0, 0, 1, 0), (1, 0, 2, 0), (0, 2, 5, 1), (0, 7, 1, 2), (1, 2, 1, 1)] {
            search.see(process, &head(order), count, frame);
        }
        search
    }

    #[test]
    fn a_frame_is_that_of_the_main_process() {
        let found = search(StopPlace::Frame(1)).found(0, 3).expect("it is there");
        assert_eq!(found, Some(StopRecord { process: 0, record: 2, frame: 1 }));
        let found = search(StopPlace::Frame(1)).found(1, 2).expect("it is there");
        assert_eq!(found, Some(StopRecord { process: 1, record: 2, frame: 1 }));
        let missing = search(StopPlace::Frame(3)).found(0, 3).expect_err("there are three");
        assert_eq!(missing.to_string(), "expected a frame below 3, found frame 3");
    }

    #[test]
    fn a_record_may_stand_in_a_run_of_clock_reads_or_be_a_note() {
        let of = |process, record| search(StopPlace::Record { process, record }).found(0, 3);
        assert_eq!(of(0, 4).expect("a read"), Some(StopRecord { process: 0, record: 4, frame: 1 }));
        assert_eq!(of(0, 1).expect("a note"), Some(StopRecord { process: 0, record: 2, frame: 1 }));
        assert_eq!(of(1, 2).expect("the last"), Some(StopRecord { process: 1, record: 2, frame: 1 }));
        assert_eq!(of(1, 3).expect_err("none").to_string(), "process 1 has no call at record 3 or behind it");
        assert_eq!(search(StopPlace::Divergence).found(0, 3).expect("anywhere"), None);
    }
}
