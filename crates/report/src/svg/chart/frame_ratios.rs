//! Two builds frame by frame: how many times as long each frame of a demo takes in B as in A, on an axis of ratios around 1.

use std::fmt::Write;

use prony_stats::quantile::{median, quantile_of_sorted, sorted};

use super::bench::{RIGHT, WIDTH, ratio_grid};
use super::frames_below;
use super::ratios::Ratios;
use crate::svg::drawing::{At, Drawing};

/// Stretches of frames along the chart.
const PARTS: usize = 180;
/// The axis holds all but these shares of the frames at either end: a frame of nothing takes any ratio.
const OUTSIDE: f64 = 0.01;

/// Log ratio of B to A for each frame, of the medians over the replays of each. A frame without a time in either has none and
/// is NaN.
///
/// `None` where the replays of the builds are not of the same frames.
pub fn frame_ratios(a: &[&[u64]], b: &[&[u64]]) -> Option<Vec<f64>> {
    let frames = a.first().map(|replay| replay.len()).filter(|&frames| frames > 0)?;
    if b.is_empty() || a.iter().chain(b).any(|replay| replay.len() != frames) {
        return None;
    }
    let at_frame = |replays: &[&[u64]], frame: usize| {
        let times: Vec<f64> = replays.iter().map(|replay| replay[frame] as f64).collect();
        median(&times).filter(|&time| time > 0.0).unwrap_or(f64::NAN)
    };
    Some((0..frames).map(|frame| (at_frame(b, frame) / at_frame(a, frame)).ln()).collect())
}

/// Draws these log ratios along the demo: from the first to the ninth decile of each stretch, and its median. `ratio`: of what, `B to A`.
pub fn draw(logs: &[f64], ratio: &str) -> Option<Drawing> {
    const BOTTOM: f64 = 190.0;
    let finite = sorted(&logs.iter().copied().filter(|log| log.is_finite()).collect::<Vec<_>>());
    let quantile = |p: f64| quantile_of_sorted(&finite, p);
    let (low, high) = (quantile(OUTSIDE)?, quantile(1.0 - OUTSIDE)?);
    let label = format!("ratio of {ratio} for each frame along the demo, equal ratios at equal distances");
    let mut drawing = Drawing::new(WIDTH, 232.0, &label);
    let axis = Ratios::over([low, high], BOTTOM, 12.0, 6);
    let left = ratio_grid(&mut drawing, &axis, RIGHT);
    let x = frames_below(&mut drawing, logs.len(), (left, RIGHT), (12.0, BOTTOM));
    let size = logs.len().div_ceil(PARTS).max(1);
    let (mut envelope, mut typical) = (String::new(), String::new());
    for (part, stretch) in logs.chunks(size).enumerate() {
        let ordered = sorted(&stretch.iter().copied().filter(|log| log.is_finite()).collect::<Vec<_>>());
        let [Some(low), Some(middle), Some(high)] = [0.1, 0.5, 0.9].map(|p| quantile_of_sorted(&ordered, p)) else {
            continue;
        };
        let [low, middle, high] = [low, middle, high].map(|log| axis.axis().at(log));
        let place = x.at((part * size) as f64 + stretch.len() as f64 / 2.0);
        // A stroke of no length is not drawn.
        let _ = write!(envelope, "M{} {}V{}", At(place), At(low), At(high.min(low - 0.5)));
        let _ = write!(typical, "{}{} {}", if typical.is_empty() { 'M' } else { 'L' }, At(place), At(middle));
    }
    let zero = axis.axis().at(0.0);
    drawing.line("zero", (left, zero), (RIGHT, zero));
    drawing.group("k1");
    drawing.wide_path("e k1", &envelope, ((RIGHT - left) * size as f64 / logs.len() as f64).max(1.0) + 0.2);
    drawing.path("usual thin", &typical, "");
    drawing.end();
    Some(drawing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_has_the_ratio_of_its_medians() {
        let a: [&[u64]; 3] = [&[100, 200, 0], &[100, 210, 0], &[900, 190, 0]];
        let b: [&[u64]; 3] = [&[200, 100, 5], &[200, 90, 5], &[100, 110, 5]];
        let ratios = frame_ratios(&a, &b).expect("the same frames");
        assert!((ratios[0] - 2f64.ln()).abs() < 1e-12 && (ratios[1] - 0.5f64.ln()).abs() < 1e-12, "{ratios:?}");
        assert!(ratios[2].is_nan(), "a frame that A spends no time in has no ratio");
        assert_eq!(frame_ratios(&a, &[&[1, 2]]), None);
        assert_eq!((frame_ratios(&[], &b), frame_ratios(&a, &[])), (None, None));
    }

    #[test]
    fn the_axis_is_of_ratios_around_one() {
        // Half of the frames take twice as long, half of them half as long; one takes a million times as long.
        let mut logs: Vec<f64> = (0..2_000).map(|at| if at < 1_000 { 2f64.ln() } else { 0.5f64.ln() }).collect();
        logs[7] = 1e6f64.ln();
        let svg = draw(&logs, "B to A").expect("drawn").inline();
        for label in [">×0.5</text>", ">×1</text>", ">×2</text>"] {
            assert!(svg.contains(label), "{label}: {svg}");
        }
        assert!(!svg.contains(">×1,000,000</text>"), "one frame must not press the others into a line: {svg}");
        let place = |label: &str| {
            let (before, _) = svg.split_once(label).expect("a label");
            let (_, y) = before.rsplit_once("y=\"").expect("a place");
            y.trim_end_matches('"').parse::<f64>().expect("a number")
        };
        let [half, one, twice] = [">×0.5</text>", ">×1</text>", ">×2</text>"].map(place);
        assert!((half - one - (one - twice)).abs() < 0.3, "{half} {one} {twice}");
        assert!(svg.contains("class=\"zero\""), "a line at 1");
        assert!(draw(&[f64::NAN; 3], "B to A").is_none());
    }
}
