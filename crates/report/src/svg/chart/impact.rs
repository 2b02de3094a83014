//! Chart of the effects: a dot for each machine, a bar for the interval, a line from the least to the greatest.

use prony_stats::effects::{Effect, Over, Size};

use super::labels_below;
use super::ratios::Ratios;
use crate::change::{self, Form};
use crate::study::matrix::Matrix;
use crate::study::quantity::Changing;
use crate::study::sentences::{is_significant, over, step};
use crate::svg::drawing::{Anchor, At, Drawing, width};

/// Width of a strip, in pixels.
const STRIP: f64 = 540.0;
/// Room at its ends for half of a label.
const ROOM: f64 = 24.0;
/// Length of the arrow of a range that continues into that room.
const ARROW: f64 = 14.0;
const ROW: f64 = 30.0;

/// The effects that the table lists, as changes of the study's quantity: steps of a sweep have a chart of their own, only its ends are
/// listed.
pub fn listed(matrix: &Matrix<'_>, effects: &[Effect]) -> Vec<Effect> {
    let changing = Changing::of(&matrix.results.metric);
    let is_listed = |effect: &&Effect| match &matrix.results.factors[effect.factor].numbers {
        Some(numbers) => effect.from == 0 && effect.to + 1 == numbers.len(),
        None => true,
    };
    let changed = |effect: &Effect| Effect { size: changing.size(&effect.size), ..effect.clone() };
    effects.iter().filter(is_listed).map(changed).collect()
}

/// The axis that all strips share, of ratios: over intervals and dots. The range of single pairs is many times as wide
/// where pairs scatter, and ends in an arrow there.
pub fn axis(effects: &[Effect]) -> Ratios {
    let values = effects.iter().flat_map(|effect| {
        let size = &effect.size;
        let ends = [size.median, size.interval.low, size.interval.high];
        ends.into_iter().chain(size.units.iter().map(|&(_, value)| value))
    });
    Ratios::over(values, ROOM, STRIP - ROOM, 7)
}

/// How means with their intervals are written in one table, and how its ranges are.
pub fn forms(effects: &[Effect]) -> (Form, Form) {
    let sizes = || effects.iter().map(|effect| &effect.size);
    (Form::column(sizes().map(|size| &size.interval)), Form::ranges(sizes().map(|size| (size.min, size.max))))
}

/// The strip of one effect, for its row of the table.
pub fn strip(matrix: &Matrix<'_>, effect: &Effect, axis: &Ratios) -> Drawing {
    let (factor, step) = step(matrix.results, effect);
    let Size { interval, min, max, .. } = &effect.size;
    let label = format!("{factor} {step}: {}, range {}", change::change(interval), change::range(*min, *max));
    let mut drawing = Drawing::new(STRIP, 24.0, &label);
    place(&mut drawing, matrix, &effect.size, axis, 0.0, 12.0);
    drawing
}

/// The scale above or below the strips.
pub fn scale(axis: &Ratios) -> Drawing {
    let mut drawing = Drawing::new(STRIP, 18.0, "ratio, equal ratios at equal distances");
    labels_below(&mut drawing, axis.axis(), (0.0, 0.0), |tick| axis.label(tick));
    drawing
}

/// All of the table as one chart, for a file.
pub fn draw(matrix: &Matrix<'_>, effects: &[Effect]) -> Option<Drawing> {
    let listed = listed(matrix, effects);
    if listed.is_empty() {
        return None;
    }
    let axis = axis(&listed);
    let names: Vec<String> = listed
        .iter()
        .map(|effect| {
            let (factor, step) = step(matrix.results, effect);
            format!("{factor}: {step}")
        })
        .collect();
    let (form, _) = forms(&listed);
    let left = names.iter().map(|name| width(name)).fold(60.0, f64::max).min(260.0) + 16.0;
    let numbers = 210.0;
    let bottom = 30.0 + ROW * listed.len() as f64;
    let mut drawing = Drawing::new(left + numbers + STRIP + 8.0, bottom + 26.0, "effect of each component");
    drawing.text("q small", Anchor::Start, (8.0, 16.0), "component");
    drawing.text("q small", Anchor::End, (left + numbers - 14.0, 16.0), "mean [95 %]");
    for &tick in axis.axis().ticks() {
        let x = left + numbers + axis.axis().at(tick);
        drawing.line("grid", (x, 22.0), (x, bottom));
        drawing.text("q small", Anchor::Middle, (x, bottom + 15.0), &axis.label(tick));
    }
    for (row, (effect, name)) in listed.iter().zip(&names).enumerate() {
        let y = 30.0 + ROW * (row as f64 + 0.5);
        let (plain, bold) = if is_significant(effect) { ("", "t") } else { ("q", "q") };
        drawing.text_within(plain, Anchor::Start, (8.0, y + 4.0), left - 10.0, name);
        drawing.text(bold, Anchor::End, (left + numbers - 14.0, y + 4.0), &form.change(&effect.size.interval));
        place(&mut drawing, matrix, &effect.size, &axis, left + numbers, y);
    }
    Some(drawing)
}

/// From the least to the greatest, with an arrow where that lies beyond the axis.
fn range(drawing: &mut Drawing, size: &Size, axis: &Ratios, left: f64, y: f64) {
    let axis = axis.axis();
    let (first, last) = axis.ends();
    let (least, greatest) = (size.min, size.max);
    // A hair beyond is what rounding makes of an end.
    let hair = (last - first) * 1e-6;
    let mut end = |value: f64, is_beyond: bool, outwards: f64| match is_beyond {
        false => left + axis.at(value),
        true => {
            let x = left + axis.at(value) + outwards * ARROW;
            let back = At(x - 4.0 * outwards);
            let d = format!("M{back} {}L{} {}L{back} {}", At(y - 3.0), At(x), At(y), At(y + 3.0));
            drawing.path("range", &d, "");
            x
        }
    };
    let from = end(least, least < first - hair, -1.0);
    let to = end(greatest, greatest > last + hair, 1.0);
    drawing.line("range", (from, y), (to, y));
}

fn place(drawing: &mut Drawing, matrix: &Matrix<'_>, size: &Size, axis: &Ratios, left: f64, y: f64) {
    let at = |log: f64| left + axis.axis().at(log);
    let zero = at(0.0);
    drawing.line("zero", (zero, y - 11.0), (zero, y + 11.0));
    range(drawing, size, axis, left, y);
    if size.interval.width().is_finite() {
        let (low, high) = (at(size.interval.low), at(size.interval.high));
        let tip = format!("mean {}", change::change(&size.interval));
        drawing.rect("ci", (low, y - 5.0), (high - low, 10.0), &tip);
    }
    for &(unit, value) in &size.units {
        let name = match size.over {
            Over::Machines => matrix.results.machines[unit].name.clone(),
            Over::Workloads => matrix.results.workloads[unit].name.clone(),
            Over::RandomLevels => matrix.results.random_levels(unit),
            Over::Repeats => format!("{} {}", over(size.over), unit + 1),
        };
        let d = format!("M{} {}m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z", At(at(value)), At(y));
        drawing.path("dot", &d, &format!("{name}: {}", change::value(value)));
    }
    let median = at(size.median);
    drawing.line("usual", (median, y - 8.0), (median, y + 8.0));
}
