//! Frames that a comparison of replays is about: those in which the server did something, where most frames are idle.

use prony_demo::FrameActivity;
use prony_stats::Interval;
use serde::Serialize;

/// Kinds of frames, by what the server did in them while it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameKind {
    /// Frames in which it sent.
    Sending,
    /// Frames in which it received.
    Receiving,
    /// Frames in which it received or sent.
    Working,
    /// All frames.
    All,
}

impl FrameKind {
    /// True for a frame of this kind.
    pub fn holds(self, activity: FrameActivity) -> bool {
        match self {
            FrameKind::Sending => activity.sent,
            FrameKind::Receiving => activity.received,
            FrameKind::Working => !activity.is_idle(),
            FrameKind::All => true,
        }
    }
}

/// Frames that were judged, where those are not all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedFrames {
    /// Kind of the frames.
    pub kind: FrameKind,
    /// True if the kind was not requested, but chosen for what most frames of the demo are.
    pub is_automatic: bool,
    /// Number of frames of this kind.
    pub frames: u64,
    /// Number of all frames that were timed.
    pub of_frames: u64,
    /// Share of the CPU time of all frames that the judged ones took, in A and in B; medians over the replays.
    pub share_of_time: [f64; 2],
    /// Log ratio ln(B/A) of the CPU time of the other frames. It is informational: no part of the verdict.
    pub others: Option<Interval>,
}

/// The chosen entries of the list of frame times, each of which stands for one frame, or for several in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) kind: FrameKind,
    pub(crate) is_automatic: bool,
    /// Indices of the chosen entries, ascending.
    entries: Vec<usize>,
    /// Number of entries.
    of: usize,
    frames_in_each: u64,
}

impl Choice {
    /// Entries of the requested kind, or of the kind that suits the demo. `activity`: of each frame that is timed; `a_s`: time of each
    /// entry in a replay of A.
    ///
    /// Without a request, all frames are chosen unless fewer than half of them send, or work, and take more than half of the
    /// time. B has no part in it, so that the choice favours no verdict.
    pub(crate) fn of(
        requested: Option<FrameKind>,
        activity: &[FrameActivity],
        frames_in_each: u64,
        a_s: &[f64],
    ) -> Choice {
        let each = usize::try_from(frames_in_each).unwrap_or(usize::MAX).max(1);
        let entries: Vec<FrameActivity> = activity
            .chunks_exact(each)
            .map(|frames| frames.iter().fold(FrameActivity::default(), |all, frame| all.with(*frame)))
            .take(a_s.len())
            .collect();
        let chosen = |kind: FrameKind| -> Vec<usize> {
            (0..a_s.len())
                .filter(|&entry| kind == FrameKind::All || entries.get(entry).is_some_and(|&one| kind.holds(one)))
                .collect()
        };
        let choice = |kind, is_automatic| Choice {
            kind,
            is_automatic,
            entries: chosen(kind),
            of: a_s.len(),
            frames_in_each: frames_in_each.max(1),
        };
        if let Some(kind) = requested {
            return choice(kind, false);
        }
        // Where the demo and the replay count their frames differently, nothing is known of any.
        let is_known = entries.len() == a_s.len();
        let kinds = [FrameKind::Sending, FrameKind::Working];
        let suits = |choice: &Choice| choice.entries.len() * 2 < choice.of && choice.share(a_s) > 0.5;
        kinds
            .into_iter()
            .filter(|_| is_known)
            .map(|kind| choice(kind, true))
            .find(suits)
            .unwrap_or_else(|| choice(FrameKind::All, true))
    }

    /// True if the comparison is about all frames.
    pub(crate) fn is_all(&self) -> bool {
        self.entries.len() == self.of
    }

    /// True if no frame is of the kind.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of frames that were chosen, and of all that are timed.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [self.entries.len(), self.of].map(|entries| entries as u64 * self.frames_in_each)
    }

    /// Values of the chosen entries.
    pub(crate) fn select<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.entries.iter().filter_map(|&entry| values.get(entry).copied()).collect()
    }

    /// Share of the total that the chosen entries have.
    pub(crate) fn share(&self, values: &[f64]) -> f64 {
        self.select(values).iter().sum::<f64>() / values.iter().sum::<f64>()
    }

    /// Number in the demo of the frame, or the first of several, that the chosen entry at this place stands for. Frame 0
    /// ends before the first entry: what a server does up to its first wait is no iteration of its loop.
    pub(crate) fn number(&self, place: usize) -> usize {
        let entry = self.entries.get(place).copied().unwrap_or(place);
        entry.saturating_mul(usize::try_from(self.frames_in_each).unwrap_or(usize::MAX)).saturating_add(1)
    }

    /// The chosen entries as the first one and the number of each run of consecutive ones; empty for all.
    pub(crate) fn runs(&self) -> Vec<[u64; 2]> {
        if self.is_all() {
            return Vec::new();
        }
        let mut runs: Vec<[u64; 2]> = Vec::new();
        for &entry in &self.entries {
            match runs.last_mut() {
                Some([first, number]) if *first + *number == entry as u64 => *number += 1,
                _ => runs.push([entry as u64, 1]),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `s`: sends, `r`: receives, `b`: both, `-`: idle.
    fn activity(text: &str) -> Vec<FrameActivity> {
        text.chars().map(|c| FrameActivity { received: "rb".contains(c), sent: "sb".contains(c) }).collect()
    }

    fn automatic(text: &str, a_s: &[f64]) -> (FrameKind, Vec<[u64; 2]>) {
        let choice = Choice::of(None, &activity(text), 1, a_s);
        assert!(choice.is_automatic);
        (choice.kind, choice.runs())
    }

    #[test]
    fn few_frames_that_take_most_of_the_time_are_chosen() {
        assert_eq!(
            automatic("--s--s-", &[1.0, 1.0, 9.0, 1.0, 1.0, 9.0, 1.0]),
            (FrameKind::Sending, vec![[2, 1], [5, 1]])
        );
        // It answers rarely, and works for what it receives.
        assert_eq!(
            automatic("-rr---s-", &[1.0, 9.0, 9.0, 1.0, 1.0, 1.0, 3.0, 1.0]),
            (FrameKind::Working, vec![[1, 2], [6, 1]])
        );
    }

    #[test]
    fn all_frames_are_chosen_where_most_work_or_idle_ones_take_the_time() {
        assert_eq!(automatic("ssr-", &[9.0, 9.0, 9.0, 1.0]), (FrameKind::All, vec![]));
        assert_eq!(automatic("-s-", &[9.0, 9.0, 9.0]), (FrameKind::All, vec![]));
        assert_eq!(automatic("---", &[9.0, 9.0, 9.0]), (FrameKind::All, vec![]));
        // The recording has another number of frames than the replay.
        assert_eq!(automatic("-s", &[1.0, 9.0, 1.0]), (FrameKind::All, vec![]));
    }

    #[test]
    fn a_requested_kind_is_taken_whatever_time_its_frames_take() {
        for (kind, expected) in [
            (FrameKind::Sending, vec![[1, 2]]),
            (FrameKind::Receiving, vec![[0, 2]]),
            (FrameKind::Working, vec![[0, 3]]),
            (FrameKind::All, vec![]),
        ] {
            let choice = Choice::of(Some(kind), &activity("rbs-"), 1, &[1.0; 4]);
            assert_eq!((choice.kind, choice.is_automatic, choice.runs()), (kind, false, expected));
        }
        assert!(Choice::of(Some(FrameKind::Sending), &activity("rr-"), 1, &[1.0; 3]).is_empty());
    }

    #[test]
    fn entries_of_several_frames_are_what_any_of_them_is() {
        // The last frame has no entry.
        let choice = Choice::of(Some(FrameKind::Sending), &activity("-s----s"), 2, &[1.0; 3]);
        assert_eq!((choice.runs(), choice.counts()), (vec![[0, 1]], [2, 6]));
        let choice = Choice::of(Some(FrameKind::Sending), &activity("----s-s"), 2, &[1.0; 3]);
        assert_eq!(choice.number(0), 5, "frames 5 and 6 of the demo, whose frame 0 is not timed");
    }

    #[test]
    fn chosen_values_and_their_share_are_those_of_the_kind() {
        let choice = Choice::of(Some(FrameKind::Sending), &activity("-s-s"), 1, &[1.0; 4]);
        assert_eq!((choice.select(&[10, 20, 30, 40]), choice.share(&[1.0, 6.0, 1.0, 8.0])), (vec![20, 40], 0.875));
    }
}
