//! Times of frames of both builds, pair by pair, divided into those that are judged and all others.

use prony_demo::FrameActivity;
use prony_stats::frames::{self, FrameComparison, FrameError};
use prony_stats::quantile::median;

use super::chosen::{Choice, FrameKind, JudgedFrames};

/// Times of frames so far.
#[derive(Debug)]
pub(super) struct FrameTimes {
    /// What the server did in each frame that is timed.
    pub(super) activity: Vec<FrameActivity>,
    /// Frames that each entry of a list of frame times stands for.
    pub(super) frames_in_each: u64,
    /// The frames that are judged, once a replay of A has been timed.
    pub(super) choice: Option<Choice>,
    /// Times in seconds of the judged frames of each build's replays, in pairs.
    judged_s: [Vec<Vec<f64>>; 2],
    /// CPU time in seconds of all other frames, in pairs.
    others_s: [Vec<f64>; 2],
}

impl FrameTimes {
    /// No times yet.
    pub(super) fn new() -> FrameTimes {
        FrameTimes {
            activity: Vec::new(),
            frames_in_each: 1,
            choice: None,
            judged_s: [Vec::new(), Vec::new()],
            others_s: [Vec::new(), Vec::new()],
        }
    }

    /// Chooses the frames that are judged, if that was not done. `a_s`: times of a replay of A.
    pub(super) fn choose(&mut self, requested: Option<FrameKind>, a_s: &[f64]) -> &Choice {
        self.choice.get_or_insert_with(|| Choice::of(requested, &self.activity, self.frames_in_each, a_s))
    }

    /// Keeps the times of a pair: of the judged frames, and of all.
    pub(super) fn push(&mut self, judged_s: [Vec<f64>; 2], all_s: &[Vec<f64>; 2]) {
        for (build, chosen_s) in judged_s.into_iter().enumerate() {
            self.others_s[build].push(all_s[build].iter().sum::<f64>() - chosen_s.iter().sum::<f64>());
            self.judged_s[build].push(chosen_s);
        }
    }

    /// Comparison of the judged frames, each with its number in the demo.
    pub(super) fn compared(&self, alpha: f64, seed: u64) -> Result<FrameComparison, FrameError> {
        let [a, b] = &self.judged_s;
        let mut compared = frames::compare(a, b, alpha, seed)?;
        if let Some(choice) = &self.choice {
            compared.changed.iter_mut().for_each(|change| change.frame = choice.number(change.frame));
        }
        Ok(compared)
    }

    /// The frames that were judged, if not all of them.
    pub(super) fn judged(&self, alpha: f64) -> Option<JudgedFrames> {
        let choice = self.choice.as_ref().filter(|choice| !choice.is_all())?;
        let [frames, of_frames] = choice.counts();
        let share = |build: usize| {
            let chosen = self.judged_s[build].iter().map(|frames_s| frames_s.iter().sum::<f64>());
            let shares = chosen.zip(&self.others_s[build]).map(|(chosen, others)| chosen / (chosen + others));
            median(&shares.collect::<Vec<f64>>()).unwrap_or(f64::NAN)
        };
        Some(JudgedFrames {
            kind: choice.kind,
            is_automatic: choice.is_automatic,
            frames,
            of_frames,
            share_of_time: [0, 1].map(share),
            others: frames::change_of_totals(&self.others_s[0], &self.others_s[1], alpha),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build whose idle frames are as fast as before, and whose others take half as long again: by all frames, the median says
    /// nothing of it.
    #[test]
    fn a_slowdown_where_the_server_works_is_in_every_quantile_of_the_judged_frames() {
        let of = |requested: Option<FrameKind>| {
            let mut times = FrameTimes::new();
            times.activity = (0..100).map(|frame| FrameActivity { received: false, sent: frame % 5 == 0 }).collect();
            for pair in 0..20 {
                let noise = 1.0 + 0.01 * f64::from(pair % 3);
                let frame =
                    |frame: usize, slower: f64| noise * if frame.is_multiple_of(5) { 2e-3 * slower } else { 1e-5 };
                let all_s = [1.0, 1.5].map(|slower| (0..100).map(|at| frame(at, slower)).collect::<Vec<f64>>());
                let choice = times.choose(requested, &all_s[0]);
                let judged_s = all_s.each_ref().map(|frames_s| choice.select(frames_s));
                times.push(judged_s, &all_s);
            }
            let compared = times.compared(0.05, 1).expect("there are pairs");
            let judged = times.judged(0.05);
            (compared.frames, compared.quantiles.iter().map(|quantile| quantile.ratio.estimate.exp()).collect(), judged)
        };
        let near = |ratios: &[f64], expected: [f64; 3]| ratios.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6);
        let (frames, ratios, judged): (usize, Vec<f64>, Option<JudgedFrames>) = of(None);
        assert!(near(&ratios, [1.5; 3]), "{ratios:?}");
        let judged = judged.expect("not all frames");
        assert_eq!((frames, judged.kind, judged.is_automatic), (20, FrameKind::Sending, true));
        assert_eq!((judged.frames, judged.of_frames), (20, 100));
        assert!((judged.share_of_time[0] - 0.04 / 0.0408).abs() < 1e-9, "{judged:?}");
        assert!(judged.others.is_some_and(|others| others.estimate.abs() < 1e-9), "{judged:?}");
        let (frames, ratios, judged) = of(Some(FrameKind::All));
        assert!(near(&ratios, [1.0, 1.5, 1.5]) && frames == 100 && judged.is_none(), "{ratios:?}");
    }
}
