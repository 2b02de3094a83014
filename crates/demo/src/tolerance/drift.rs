//! Statistics of tolerated differences over a replay: number, size, and growth.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Alignment, DecodedSummary, Rules, Tolerated};

/// Gathers the tolerated differences of one replay.
#[derive(Debug, Clone, Default)]
pub struct Drift {
    outputs_judged: u64,
    outputs_differing: u64,
    fields_differing: u64,
    fields: BTreeMap<(usize, usize), Series>,
}

#[derive(Debug, Clone, Default)]
struct Series {
    differing: u64,
    worst: Option<Worst>,
    /// Largest difference of each frame that has one, frames ascending.
    frame_max: Vec<(u64, f64)>,
}

#[derive(Debug, Clone, Copy)]
struct Worst {
    difference: f64,
    frame: u64,
    record: u64,
    offset: usize,
}

/// Result of a tolerant replay.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToleranceSummary {
    /// Outputs that were compared with the recorded ones.
    pub outputs_judged: u64,
    /// Outputs with at least one tolerated difference.
    pub outputs_differing: u64,
    /// Fields that differed, over all outputs.
    pub fields_differing: u64,
    /// Outputs that are early or late, or on one side only.
    pub alignment: Alignment,
    /// Fields of the rules that differed at least once, in the order of the file.
    pub fields: Vec<FieldDrift>,
    /// What a decoder found, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoded: Option<DecodedSummary>,
}

impl ToleranceSummary {
    /// True if anything was not as recorded: in an output, in their number, or in the frame that they were sent in.
    pub fn has_differences(&self) -> bool {
        self.outputs_differing > 0 || !self.alignment.is_level()
    }
}

/// Drift of a field over the whole replay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldDrift {
    /// Place of the rule in the file, from 0.
    pub rule: usize,
    /// Place of the field in its rule, from 0.
    pub field: usize,
    /// Field in words: rule, offset and type.
    pub name: String,
    /// Number of values that differed from the recorded ones.
    pub differing: u64,
    /// Largest difference in the field's unit; 0 for a masked field, whose size means nothing.
    pub largest: f64,
    /// Frame of the largest difference.
    pub largest_frame: u64,
    /// Record of the largest difference.
    pub largest_record: u64,
    /// Offset of the largest difference in its output, in bytes.
    pub largest_offset: usize,
    /// Over the frames; `None` for a masked field.
    pub growth: Option<Growth>,
}

/// Growth of the largest difference per frame over the frames in which the field differed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Growth {
    /// Frames with a difference: what the other numbers rest on.
    pub frames: usize,
    /// First frame with a difference.
    pub first_frame: u64,
    /// Last frame with a difference.
    pub last_frame: u64,
    /// Median of the per-frame maxima in the first tenth of those frames.
    pub first_tenth_median: f64,
    /// Median of the per-frame maxima in the last tenth of those frames.
    pub last_tenth_median: f64,
    /// Slope of the least-squares line through (frame, maximum), per frame; 0 under 2 frames.
    pub slope_per_frame: f64,
    /// Share of the variance that the line explains, 0 to 1; 0 when there is none.
    pub r_squared: f64,
    /// The largest difference of each frame, frames ascending.
    pub frame_max: Vec<(u64, f64)>,
}

impl Drift {
    /// Drift of which no pair was added yet.
    pub fn new() -> Drift {
        Drift::default()
    }

    /// Counts an output that was equal byte for byte.
    pub fn add_identical(&mut self) {
        self.outputs_judged += 1;
    }

    /// Adds what was tolerated in one output of `frame`, which is `record` of its process.
    pub fn add(&mut self, frame: u64, record: u64, tolerated: &Tolerated) {
        self.outputs_judged += 1;
        self.outputs_differing += 1;
        self.fields_differing += tolerated.fields.len() as u64;
        for found in &tolerated.fields {
            let series = self.fields.entry((tolerated.rule, found.field)).or_default();
            series.differing += 1;
            let difference = found.difference.unwrap_or(0.0);
            if series.worst.is_none_or(|worst| difference > worst.difference) {
                series.worst = Some(Worst { difference, frame, record, offset: found.offset });
            }
            if found.difference.is_none() {
                continue;
            }
            // Processes take turns, so a frame may come up again after a later one.
            raise(&mut series.frame_max, frame, difference);
        }
    }

    /// The findings; `rules` are those that judged.
    pub fn summary(&self, rules: &Rules) -> ToleranceSummary {
        let fields = self.fields.iter().filter_map(|(&(rule, field), series)| {
            let worst = series.worst?;
            Some(FieldDrift {
                rule,
                field,
                name: rules.describe(rule, field),
                differing: series.differing,
                largest: worst.difference,
                largest_frame: worst.frame,
                largest_record: worst.record,
                largest_offset: worst.offset,
                growth: growth(&series.frame_max),
            })
        });
        ToleranceSummary {
            outputs_judged: self.outputs_judged,
            outputs_differing: self.outputs_differing,
            fields_differing: self.fields_differing,
            alignment: Alignment::default(),
            fields: fields.collect(),
            decoded: None,
        }
    }
}

/// Place of a difference.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Location {
    pub(super) frame: u64,
    pub(super) record: u64,
}

/// Raises the value of a frame, in a list in the order of frames, to at least this one.
pub(super) fn raise(frame_max: &mut Vec<(u64, f64)>, frame: u64, value: f64) {
    let place = frame_max.partition_point(|&(other, _)| other < frame);
    match frame_max.get_mut(place).filter(|(other, _)| *other == frame) {
        Some((_, known)) => *known = known.max(value),
        None => frame_max.insert(place, (frame, value)),
    }
}

pub(super) fn growth(frame_max: &[(u64, f64)]) -> Option<Growth> {
    let (&(first_frame, _), &(last_frame, _)) = (frame_max.first()?, frame_max.last()?);
    let tenth = frame_max.len().div_ceil(10);
    let (slope_per_frame, r_squared) = least_squares(frame_max);
    Some(Growth {
        frames: frame_max.len(),
        first_frame,
        last_frame,
        first_tenth_median: median(frame_max.iter().take(tenth)),
        last_tenth_median: median(frame_max.iter().rev().take(tenth)),
        slope_per_frame,
        r_squared,
        frame_max: frame_max.to_vec(),
    })
}

fn median<'a>(points: impl Iterator<Item = &'a (u64, f64)>) -> f64 {
    median_of(points.map(|&(_, value)| value).collect())
}

/// The median of these values; 0 of none.
pub(super) fn median_of(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { at(middle) } else { f64::midpoint(at(middle.saturating_sub(1)), at(middle)) }
}

/// Slope and coefficient of determination of the least-squares line, both 0 where undefined.
fn least_squares(points: &[(u64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|&(x, _)| x as f64).sum::<f64>() / n;
    let mean_y = points.iter().map(|&(_, y)| y).sum::<f64>() / n;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for &(x, y) in points {
        let (dx, dy) = (x as f64 - mean_x, y - mean_y);
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    (finite(xy / xx), finite(xy * xy / (xx * yy)))
}
