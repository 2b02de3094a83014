//! Instructions of builds on a demo, frame by frame.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use prony_profile::{CountedFunction, CountedParts};

use super::{CountRange, CountedBuild, difference, widest};

/// Functions that are named of a frame.
const NAMED: usize = 3;

/// Instructions of each frame of one build. Frame 0 is what the server ran before its first one, the last what it ran behind the last one.
#[derive(Debug, Clone, Default)]
pub struct CountedFrames {
    /// Of each replay the instructions of its frames.
    totals: Vec<Vec<u64>>,
    /// The functions of each frame, in the first replay.
    functions: CountedParts,
}

/// A frame of one build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedFrame {
    /// Its number.
    pub frame: u64,
    /// Its instructions.
    pub count: CountRange,
    /// The functions that ran most of them in the first replay, at most three.
    pub most: Vec<(CountedFunction, u64)>,
}

/// A frame in two builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameChange {
    /// Its number.
    pub frame: u64,
    /// Instructions in A and in B.
    pub counts: [CountRange; 2],
    /// The functions that make most of the difference of the first replays, at most three, and what they run more in B.
    pub most: Vec<(CountedFunction, i64)>,
}

/// Frames of two builds beside each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameComparison {
    /// Number of frames that both builds have.
    pub common: u64,
    /// Frames that differ by more than the spread of their replays, the largest difference first.
    pub differing: Vec<FrameChange>,
}

impl CountedFrames {
    /// Takes in a replay.
    pub(super) fn add(&mut self, replay: CountedParts) {
        self.totals.push(replay.totals().collect());
        if self.totals.len() == 1 {
            self.functions = replay;
        }
    }

    /// True if the demo has no frames.
    pub fn is_empty(&self) -> bool {
        self.totals.is_empty()
    }

    /// Instructions of each frame that all replays have.
    pub fn counts(&self) -> Vec<CountRange> {
        let frames = self.totals.iter().map(Vec::len).min().unwrap_or_default();
        (0..frames).map(|frame| self.count(frame)).collect()
    }

    fn count(&self, frame: usize) -> CountRange {
        CountRange::over(self.totals.iter().filter_map(|totals| totals.get(frame).copied()))
    }

    /// The `number` frames with most instructions, without what was run before the first and behind the last.
    pub fn costliest(&self, number: usize) -> Vec<CountedFrame> {
        let counts = self.counts();
        let mut frames: Vec<usize> = (1..counts.len().saturating_sub(1)).collect();
        frames.sort_by_key(|&frame| Reverse(counts[frame].min));
        let frames = frames.into_iter().take(number).map(|frame| {
            let mut most: Vec<_> = self.functions.functions(frame).map(|(of, count)| (of.clone(), count)).collect();
            most.retain(|(of, _)| of.is_known());
            most.sort_by_key(|(_, count)| Reverse(*count));
            most.truncate(NAMED);
            CountedFrame { frame: frame as u64, count: counts[frame], most }
        });
        frames.collect()
    }

    /// What the functions of a frame run more in `other`, the most first.
    fn more(&self, other: &CountedFrames, frame: usize) -> Vec<(CountedFunction, i64)> {
        let mut more = BTreeMap::<&CountedFunction, i64>::new();
        for (frames, sign) in [(self, -1), (other, 1)] {
            for (function, count) in frames.functions.functions(frame) {
                let sum = more.entry(function).or_default();
                *sum = sum.saturating_add(sign * i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
        let mut more: Vec<_> = more.into_iter().filter(|(of, more)| of.is_known() && *more != 0).collect();
        more.sort_by_key(|(_, more)| Reverse(more.unsigned_abs()));
        more.into_iter().take(NAMED).map(|(function, more)| (function.clone(), more)).collect()
    }
}

impl FrameChange {
    /// Instructions that B runs more, where both have their least.
    pub fn difference(&self) -> i64 {
        difference(self.counts)
    }
}

impl FrameComparison {
    /// Compares two builds; `None` where one has no frames that were counted.
    pub fn of(a: &CountedBuild, b: &CountedBuild) -> Option<FrameComparison> {
        let (a, b) = (a.frames.as_ref()?, b.frames.as_ref()?);
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let both: Vec<[CountRange; 2]> = a.counts().into_iter().zip(b.counts()).map(<[CountRange; 2]>::from).collect();
        let mut differing: Vec<FrameChange> = Vec::new();
        for (frame, &counts) in both.iter().enumerate() {
            if difference(counts).unsigned_abs() > widest(counts) {
                differing.push(FrameChange { frame: frame as u64, counts, most: a.more(b, frame) });
            }
        }
        differing.sort_by_key(|change| Reverse(change.difference().unsigned_abs()));
        Some(FrameComparison { common: both.len() as u64, differing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(replays: &[&[(u64, u64)]]) -> CountedFrames {
        let mut frames = CountedFrames::default();
        for replay in replays {
            let mut text = "events: Ir\nob=/s\n".to_owned();
            for (number, (tick, send)) in replay.iter().enumerate() {
                text += &format!("part: {}\nfn=tick\n1 {tick}\nfn=send\n1 {send}\n", number + 1);
            }
            frames.add(CountedParts::read(text.as_bytes()).expect("it is sound"));
        }
        frames
    }

    fn build(replays: &[&[(u64, u64)]]) -> CountedBuild {
        CountedBuild {
            name: "s".to_owned(),
            replays: Vec::new(),
            not_counted: 0,
            calls: Vec::new(),
            frames: Some(frames(replays)),
            simulated: Vec::new(),
            inclusive: Vec::new(),
            stack_moves: false,
        }
    }

    #[test]
    fn the_costliest_frame_is_named_with_its_functions() {
        let frames = frames(&[
            &[(9000, 0), (10, 90), (50, 20), (60, 1), (7000, 1)],
            &[(9000, 0), (10, 93), (50, 20), (60, 1), (7000, 1)],
        ]);
        let costliest = frames.costliest(2);
        let of = |frame: &CountedFrame| (frame.frame, frame.count.min, frame.count.max, frame.most[0].0.symbol.clone());
        assert_eq!(of(&costliest[0]), (1, 100, 103, "send".to_owned()));
        assert_eq!(of(&costliest[1]), (2, 70, 70, "tick".to_owned()));
        assert_eq!(super::CountedFrames::default().costliest(2), []);
    }

    #[test]
    fn a_frame_differs_beyond_the_spread_of_its_replays() {
        let a = build(&[&[(100, 1), (100, 1), (100, 1)], &[(100, 1), (100, 3), (100, 1)]]);
        let b = build(&[&[(100, 1), (100, 2), (107, 0)]]);
        let compared = FrameComparison::of(&a, &b).expect("both have frames");
        assert_eq!(compared.common, 3);
        let [change] = compared.differing.as_slice() else { panic!("{compared:?}") };
        assert_eq!((change.frame, change.difference()), (2, 6));
        let most: Vec<(&str, i64)> = change.most.iter().map(|(of, more)| (of.symbol.as_str(), *more)).collect();
        assert_eq!(most, [("tick", 7), ("send", -1)]);
        assert_eq!(FrameComparison::of(&a, &CountedBuild { frames: None, ..b }), None);
    }
}
