use super::*;
use crate::Seed;
use crate::noise::{normal, uniform};

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
fn slower_frames_are_named_and_no_others() {
    let slow = [3, 77, 150];
    let (a, b) = replays(14, 200, &slow, 0.0, 5);
    let found = compare(&a, &b, 0.05, 1).expect("the replays match");
    let mut named: Vec<usize> = found.apart.iter().map(|change| change.frame).collect();
    named.sort_unstable();
    assert_eq!(named, slow);
    assert!(found.apart.iter().all(|change| change.b_s > change.a_s));
}

#[test]
fn equal_builds_have_no_slower_frames_as_often_as_promised() {
    const COMPARISONS: u64 = 200;
    let (mut changed, mut apart, mut ratio) = (0, 0, 0);
    for seed in 0..COMPARISONS {
        let (a, b) = replays(10, 60, &[], 0.0, 1000 + seed);
        let found = compare(&a, &b, 0.05, seed).expect("the replays match");
        changed += usize::from(!found.changed.is_empty());
        apart += usize::from(!found.apart.is_empty());
        ratio += usize::from(found.ratio.excludes(0.0));
    }
    // 5 % of 200 and three standard errors.
    assert!(changed <= 20 && apart <= 20 && ratio <= 20, "{changed} {apart} {ratio}");
}

#[test]
fn a_change_of_all_frames_shows_in_the_time_a_frame() {
    let (a, b) = replays(20, 100, &[], 0.05, 9);
    let found = compare(&a, &b, 0.05, 1).expect("the replays match");
    assert!(found.ratio.low > 0.0 && !found.ratio.excludes(0.05), "{:?}", found.ratio);
    assert!(found.apart.is_empty(), "{:?}", found.apart);
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
