//! Back to an earlier place of a replay: from a checkpoint of the server, where there is one.

use crate::channel::{Channel, Halted};
use crate::run::stop_place::{StopPlace, StopPlan};
use crate::server::launch::Launched;
use prony_channel::NoCheckpoint;
use std::io;
use std::time::{Duration, Instant};

/// How a server came to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By the replay that was begun for it.
    First,
    /// By another replay from the start, as there was no checkpoint: because of this, or because none lies before the place.
    Again(NoCheckpoint),
    /// From a checkpoint behind this record.
    Checkpoint(u64),
}

/// Interval at which a server is examined that goes on from a checkpoint.
const LOOK: Duration = Duration::from_millis(2);
/// Time for a copy of a server to go on.
const MOST_START: Duration = Duration::from_secs(5);

/// Records at which a server that goes on from a checkpoint stops: the first of a stretch, and that of the place. Not known for a place of
/// another process, or beyond the demo. `frames`: first record of each frame of process 0; `divergence`: where the build has diverged.
pub(super) fn stops(plan: StopPlan, frames: &[u64], divergence: Option<u64>) -> Option<[Option<u64>; 2]> {
    let place = match plan.place {
        StopPlace::Frame(frame) => Some(*frames.get(usize::try_from(frame).ok()?)?),
        StopPlace::Record { process: 0, record } => Some(record),
        StopPlace::Record { .. } => return None,
        StopPlace::Divergence => None,
    };
    match plan.stretch {
        Some(stretch) if stretch.process == 0 => Some([Some(stretch.from), place]),
        Some(_) => None,
        // The build stops itself there.
        None if place.is_none() => divergence.map(|_| [None, None]),
        None => Some([place, None]),
    }
}

/// Goes on from the last checkpoint before the stops, until a thread waits there; the record of the checkpoint comes with it. `None` if there is none, or
/// the server does not come there as it did before: then another replay tells. `divergence`: record at which the build has diverged.
pub(super) fn go_on(
    channel: &Channel,
    server: &mut Launched,
    stops: [Option<u64>; 2],
    divergence: Option<u64>,
    patience: Duration,
) -> io::Result<Option<(Halted, u64)>> {
    let first = stops.iter().flatten().copied().chain(divergence).min();
    let Some((place, record)) = first.and_then(|first| channel.checkpoint_before(first)) else { return Ok(None) };
    if channel.no_checkpoint() != NoCheckpoint::Nothing && channel.no_checkpoint() != NoCheckpoint::Files {
        return Ok(None);
    }
    server.end()?;
    channel.go_on_from(place, stops);
    let begun = Instant::now();
    let pid = loop {
        match channel.went_on() {
            Some(pid) => break pid,
            None if begun.elapsed() > MOST_START => return Ok(None),
            None => std::thread::sleep(LOOK),
        }
    };
    if !server.follow(pid) {
        return Ok(None);
    }
    let (mut seen, mut since) = (channel.progress(), Instant::now());
    loop {
        if let Some(halted) = channel.halted() {
            // Where it diverges again, an ordinary replay tells whether it does.
            let found = channel.divergence().map(|found| found.record);
            let is_there = found.is_none() || found == divergence;
            return Ok(is_there.then_some((halted, record)));
        }
        if server.wait_for(LOOK)?.is_some() {
            return Ok(None);
        }
        let now = channel.progress();
        if now != seen {
            (seen, since) = (now, Instant::now());
        } else if since.elapsed() > patience {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::stop_place::Stretch;

    #[test]
    fn a_place_of_the_first_process_is_known_by_its_record() {
        let frames = [0, 7, 30];
        let of = |place, divergence| stops(StopPlan::at(place), &frames, divergence);
        assert_eq!(of(StopPlace::Frame(1), None), Some([Some(7), None]));
        assert_eq!(of(StopPlace::Frame(3), None), None);
        assert_eq!(of(StopPlace::Record { process: 0, record: 9 }, None), Some([Some(9), None]));
        assert_eq!(of(StopPlace::Record { process: 1, record: 9 }, None), None);
        assert_eq!(of(StopPlace::Divergence, None), None);
        assert_eq!(of(StopPlace::Divergence, Some(20)), Some([None, None]));
        let stretch = Some(Stretch { process: 0, from: 4, to: 9 });
        let plan = StopPlan { stretch, place: StopPlace::Record { process: 0, record: 9 } };
        assert_eq!(stops(plan, &frames, None), Some([Some(4), Some(9)]));
        let plan = StopPlan { stretch, place: StopPlace::Divergence };
        assert_eq!(stops(plan, &frames, Some(9)), Some([Some(4), None]));
    }
}
