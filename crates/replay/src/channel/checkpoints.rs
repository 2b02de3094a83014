//! Checkpoints of a replay, as the process outside sees them.

use super::memory::wake_all;
use super::{Channel, Feeder};
use prony_channel::{CheckpointState, HaltState, NO_STOP, NoCheckpoint};
use std::sync::atomic::Ordering;

impl Feeder {
    /// Records of process 0 at which a thread is to wait for a debugger; `None` if there are no checkpoints, after which they may be others.
    pub(crate) fn stops(&self) -> Option<[Option<u64>; 2]> {
        let checkpoints = &self.control().checkpoints;
        let stop =
            |place: usize| Some(checkpoints.stops[place].load(Ordering::Relaxed)).filter(|&stop| stop != NO_STOP);
        (checkpoints.interval.load(Ordering::Relaxed) > 0).then(|| [stop(0), stop(1)])
    }
}

/// Records from one checkpoint to the next at first: about a millisecond of a replay.
const FIRST_INTERVAL: u64 = 2048;

impl Channel {
    /// Has the server copied now and then, to go on from there. `stops`: records of process 0 at which a thread waits for a debugger.
    pub(crate) fn want_checkpoints(&self, stops: [Option<u64>; 2]) {
        self.stop_at(stops);
        let checkpoints = &self.control().checkpoints;
        checkpoints.interval.store(FIRST_INTERVAL, Ordering::Relaxed);
        checkpoints.due.store(FIRST_INTERVAL, Ordering::Relaxed);
        checkpoints.wanted.store(true, Ordering::Relaxed);
    }

    /// What keeps the server from being copied; nothing where it is, or was not seen to be in the way yet.
    pub(crate) fn no_checkpoint(&self) -> NoCheckpoint {
        let seen = self.control().checkpoints.hindrance.load(Ordering::Relaxed).unwrap_or(NoCheckpoint::Nothing);
        let [main, ..] = &self.control().processes;
        if self.control().processes_used.load(Ordering::Relaxed) > 1 {
            NoCheckpoint::Children
        } else if main.threads.load(Ordering::Relaxed) > 1 {
            NoCheckpoint::Threads
        } else {
            seen
        }
    }

    /// The last checkpoint before a record: its place in the list, and the record that was answered last.
    pub(crate) fn checkpoint_before(&self, record: u64) -> Option<(usize, u64)> {
        let all = self.control().checkpoints.all.iter().enumerate();
        let waiting = all.filter(|(_, one)| one.state.is(CheckpointState::Waiting, Ordering::Acquire));
        let known = waiting.map(|(place, one)| (place, one.record.load(Ordering::Relaxed)));
        known.filter(|&(_, at)| at < record).max_by_key(|&(_, at)| at)
    }

    /// Has a server go on from this checkpoint, and wait for a debugger at the first records from these numbers on. The server before it has
    /// ended.
    pub(crate) fn go_on_from(&self, place: usize, stops: [Option<u64>; 2]) {
        let control = self.control();
        let Some(checkpoint) = control.checkpoints.all.get(place) else { return };
        control.halt.state.store(HaltState::Absent, Ordering::Relaxed);
        control.processes[0].pid.store(0, Ordering::Relaxed);
        self.stop_at(stops);
        checkpoint.state.store(CheckpointState::Wanted, Ordering::Release);
        wake_all(checkpoint.state.word());
    }

    fn stop_at(&self, stops: [Option<u64>; 2]) {
        for (to, stop) in self.control().checkpoints.stops.iter().zip(stops) {
            to.store(stop.unwrap_or(NO_STOP), Ordering::Relaxed);
        }
    }

    /// Kernel's id of the server that goes on from a checkpoint, once it does.
    pub(crate) fn went_on(&self) -> Option<i32> {
        Some(self.control().processes[0].pid.load(Ordering::Acquire)).filter(|&pid| pid > 0)
    }

    /// Ends the copies: the server has ended.
    pub(crate) fn drop_checkpoints(&self) {
        for checkpoint in &self.control().checkpoints.all {
            if !checkpoint.state.is(CheckpointState::Free, Ordering::Acquire) {
                checkpoint.state.store(CheckpointState::Dropped, Ordering::Release);
                wake_all(checkpoint.state.word());
            }
        }
    }
}
