//! CPU time of the judged frames of replays in all layouts. The frames are chosen once, by the first replay.

use prony_demo::FrameActivity;
use prony_stats::quantile::median;

use super::answer::{Layout, LayoutsEnded};
use crate::demo::{Choice, FrameKind, JudgedFrames};

/// Which frames are judged, and what share of the time they take.
#[derive(Debug, Default)]
pub struct Judged {
    requested: Option<FrameKind>,
    /// What the recorded server did in each frame that is timed.
    pub activity: Vec<FrameActivity>,
    /// The judged frames, and the number of entries of the list of frame times, once a build has been replayed.
    choice: Option<(Choice, usize)>,
    /// Share of the CPU time of all frames that the judged ones took, in each replay of A and B.
    shares: [Vec<f64>; 2],
}

impl Judged {
    /// Frames of the requested kind; `None`: those that suit the demo.
    pub fn of(requested: Option<FrameKind>) -> Judged {
        Judged { requested, ..Judged::default() }
    }

    /// CPU seconds of the judged frames of a replay. `frames_s`: of each entry of its list, which stands for `frames_in_each`.
    ///
    /// # Errors
    /// [`LayoutsEnded`] where no frame is to be judged, or the judged ones are not known to be those of the other replays.
    pub fn time_s(&mut self, layout: Layout, frames_s: &[f64], frames_in_each: u64) -> Result<f64, LayoutsEnded> {
        let (choice, entries) = self.choice.get_or_insert_with(|| {
            (Choice::of(self.requested, &self.activity, frames_in_each, frames_s), frames_s.len())
        });
        if choice.is_empty() {
            return Err(LayoutsEnded::NoFrame(choice.kind, choice.counts()[1]));
        }
        if choice.is_all() {
            // The total is the same work, however it is divided.
            return Ok(frames_s.iter().sum());
        }
        if frames_s.len() != *entries {
            let found = frames_s.len() as u64 * frames_in_each;
            return Err(LayoutsEnded::OtherFrames(layout, [choice.counts()[1], found]));
        }
        self.shares[layout.side].push(choice.share(frames_s));
        Ok(choice.select(frames_s).iter().sum())
    }

    /// The frames that were judged, if not all of them.
    pub fn frames(&self) -> Option<JudgedFrames> {
        let choice = self.choice.as_ref().map(|(choice, _)| choice).filter(|choice| !choice.is_all())?;
        let [frames, of_frames] = choice.counts();
        Some(JudgedFrames {
            kind: choice.kind,
            is_automatic: choice.is_automatic,
            frames,
            of_frames,
            share_of_time: self.shares.each_ref().map(|shares| median(shares).unwrap_or(f64::NAN)),
            others: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Layout = Layout { side: 0, number: 0, seed: None };
    const B: Layout = Layout { side: 1, number: 2, seed: Some(7) };

    fn judged(requested: Option<FrameKind>) -> Judged {
        let activity = (0..10).map(|frame| FrameActivity { received: false, sent: frame % 5 == 0 }).collect();
        Judged { requested, activity, ..Judged::default() }
    }

    /// Two frames in ten send.
    fn frames(sending_s: f64, frames: usize) -> Vec<f64> {
        (0..frames).map(|frame| if frame % 5 == 0 { sending_s } else { 1.0 }).collect()
    }

    #[test]
    fn the_first_replay_chooses_the_frames_of_all() {
        let mut judged = judged(None);
        assert_eq!(judged.time_s(A, &frames(16.0, 10), 1).ok(), Some(32.0));
        // Alone, it would have been judged by all of its frames.
        assert_eq!(judged.time_s(B, &frames(2.0, 10), 1).ok(), Some(4.0));
        let found = judged.frames().expect("not all frames");
        assert_eq!((found.kind, found.is_automatic, found.frames, found.of_frames), (FrameKind::Sending, true, 2, 10));
        assert_eq!(found.share_of_time, [0.8, 4.0 / 12.0]);
    }

    #[test]
    fn some_frames_are_compared_only_with_the_same_ones() {
        let mut some = judged(Some(FrameKind::Sending));
        assert_eq!(some.time_s(A, &frames(2.0, 10), 1).ok(), Some(4.0));
        assert!(matches!(some.time_s(B, &frames(2.0, 8), 1), Err(LayoutsEnded::OtherFrames(B, [10, 8]))));
        let mut all = judged(Some(FrameKind::All));
        assert_eq!(all.time_s(A, &frames(2.0, 10), 1).ok(), Some(12.0));
        assert_eq!(all.time_s(B, &frames(2.0, 8), 1).ok(), Some(10.0));
        assert!(all.frames().is_none());
        let none = judged(Some(FrameKind::Receiving)).time_s(A, &frames(2.0, 10), 1);
        assert!(matches!(none, Err(LayoutsEnded::NoFrame(FrameKind::Receiving, 10))), "{none:?}");
    }
}
