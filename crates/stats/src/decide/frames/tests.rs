use super::*;
use crate::Seed;
use crate::decide::judge::{Look, Plan, Ratio, ReplayJudge};
use crate::noise::{normal, uniform};
use crate::verdict::Verdict;

/// Pairs of replays: frames of 1 to 5 ms, each replay in its own mood, frames with 3 % noise and a rare interrupt;
/// the frames in `slow` take 20 % longer in B, all others e^`common`.
fn replays(pairs: usize, frames: usize, slow: &[usize], common: f64, seed: u64) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut seed = Seed::new(seed);
    let mut replay = |is_b: bool| -> Vec<f64> {
        let mood = 0.03 * normal(&mut seed);
        let time = |frame: usize| {
            let effect = if is_b { common + if slow.contains(&frame) { 0.2 } else { 0.0 } } else { 0.0 };
            let interrupt = if uniform(&mut seed) < 0.01 { 0.002 } else { 0.0 };
            0.001 * (1 + frame % 5) as f64 * (mood + effect + 0.03 * normal(&mut seed)).exp() + interrupt
        };
        (0..frames).map(time).collect()
    };
    (0..pairs).map(|_| (replay(false), replay(true))).unzip()
}

#[test]
fn slower_frames_among_thousands_are_named_and_no_others() {
    const COMPARISONS: u64 = 40;
    let slow = [3, 77, 1500, 2048, 3625];
    let (mut found, mut others) = (0, 0);
    for seed in 0..COMPARISONS {
        let (a, b) = replays(24, 3626, &slow, 0.0, 5000 + seed);
        let changed = compare(&a, &b, 0.05, seed).expect("the replays match").changed;
        let planted = |change: &&FrameChange| slow.contains(&change.frame) && change.b_s > change.a_s;
        found += changed.iter().filter(planted).count() as u64;
        others += usize::from(changed.iter().any(|change| !slow.contains(&change.frame)));
    }
    assert!(found >= COMPARISONS * 5 * 95 / 100, "{found} of {}", COMPARISONS * 5);
    assert!(others <= 4, "in {others} of {COMPARISONS} comparisons another frame was named");
}

#[test]
fn equal_builds_differ_in_any_part_as_seldom_as_promised() {
    const COMPARISONS: u64 = 600;
    let mut different = 0;
    for seed in 0..COMPARISONS {
        let (a, b) = replays(16, 60, &[], 0.0, 1000 + seed);
        let found = compare(&a, &b, 0.05, seed).expect("the replays match");
        let mut judge =
            ReplayJudge::new(Plan { alpha: 0.05, margin: 0.01, budget_s: 1.0, metric: None, tolerates: false });
        a.iter().zip(&b).for_each(|(a, b)| judge.push(a, b, Ratio::of(a.iter().sum(), b.iter().sum())));
        let claimed = matches!(judge.finish(1.0).verdict, Verdict::Faster | Verdict::Slower);
        let quantile = found.quantiles.iter().any(|quantile| quantile.ratio.excludes(0.0));
        different += u64::from(claimed || quantile || found.ratio.excludes(0.0) || !found.changed.is_empty());
    }
    // 5 % of 600 and three standard errors.
    assert!(different <= 46, "{different} of {COMPARISONS}");
}

#[test]
fn a_change_of_all_frames_shows_in_the_time_a_frame() {
    let (a, b) = replays(20, 100, &[], 0.05, 9);
    let found = compare(&a, &b, 0.05, 1).expect("the replays match");
    assert!(found.ratio.low > 0.0 && !found.ratio.excludes(0.05), "{:?}", found.ratio);
    assert!(found.changed.is_empty(), "{:?}", found.changed);
    assert!((found.a.normalised_s - found.a.frame_s.estimate * 120_000.0).abs() < 1e-9);
    let median = &found.quantiles[0];
    assert!(median.p == 0.5 && median.ratio.low > 0.0 && !median.ratio.excludes(0.05), "{median:?}");
}

#[test]
fn replays_that_do_not_match_are_named() {
    let two = vec![vec![1.0; 3]; 2];
    assert_eq!(compare(&two, &two[..1], 0.05, 1), Err(FrameError::Unpaired { a: 2, b: 1 }));
    assert_eq!(compare(&[], &[], 0.05, 1), Err(FrameError::Empty));
    let short = vec![vec![1.0; 3], vec![1.0; 2]];
    let error = compare(&two, &short, 0.05, 1).expect_err("a replay is shorter");
    assert_eq!(error.to_string(), "replay 1 of B has 2 frames, expected 3");
}
