//! A flame graph from folded stacks (Gregg 2016), the root on top: who is called lies below the caller.

use std::collections::BTreeMap;

use prony_text::{significant, thousands, without_directories};

use crate::svg::drawing::{Anchor, Drawing, FLAME};

const WIDTH: f64 = 1080.0;
const ROW: f64 = 17.0;
/// Narrower boxes are left out, with all that lies below them.
const NARROWEST: f64 = 1.6;
/// Deeper calls are left out.
const DEEPEST: usize = 60;

/// Tree of calls with the number of stack samples at each caller.
#[derive(Debug, Default)]
pub struct Stacks {
    /// Stack samples in this function and what it calls.
    pub samples: u64,
    callees: BTreeMap<String, Stacks>,
}

impl Stacks {
    /// Reads folded stacks: `main;run;tick 42` a line. Lines without a count at their end are passed over.
    pub fn folded(text: &str) -> Stacks {
        let mut root = Stacks::default();
        for line in text.lines() {
            let Some((stack, samples)) = line.trim_end().rsplit_once(' ') else { continue };
            let Ok(samples) = samples.parse::<u64>() else { continue };
            let mut here = &mut root;
            here.samples = here.samples.saturating_add(samples);
            for function in stack.split(';').take(DEEPEST) {
                here = here.callees.entry(function.to_owned()).or_default();
                here.samples = here.samples.saturating_add(samples);
            }
        }
        root
    }

    /// Callees that are wide enough to be drawn make this many rows.
    fn rows(&self, per_sample: f64) -> usize {
        let wide = self.callees.values().filter(|callee| callee.samples as f64 * per_sample >= NARROWEST);
        wide.map(|callee| 1 + callee.rows(per_sample)).max().unwrap_or(0)
    }
}

/// Draws stacks; `None` without any.
pub fn draw(name: &str, stacks: &Stacks) -> Option<Drawing> {
    if stacks.samples == 0 {
        return None;
    }
    let per_sample = WIDTH / stacks.samples as f64;
    let height = ROW * stacks.rows(per_sample) as f64 + 4.0;
    let label = format!("flame graph of {name}: {} stack samples", thousands(stacks.samples as usize));
    let mut drawing = Drawing::new(WIDTH, height, &label);
    drawing.group(FLAME);
    place(&mut drawing, stacks, stacks.samples, per_sample, 0.0, 0);
    drawing.end();
    Some(drawing)
}

fn place(drawing: &mut Drawing, stacks: &Stacks, all: u64, per_sample: f64, left: f64, depth: usize) {
    let mut x = left;
    for (function, callee) in &stacks.callees {
        let width = callee.samples as f64 * per_sample;
        if width >= NARROWEST {
            let share = significant(callee.samples as f64 / all as f64 * 100.0);
            let tip = format!("{function}: {share} % of {} stack samples", thousands(all as usize));
            let y = 2.0 + ROW * depth as f64;
            drawing.rect(&format!("f{}", hue(function)), (x, y), (width, ROW), &tip);
            if width > 28.0 {
                drawing.text(
                    "",
                    Anchor::Start,
                    (x + 3.0, y + 12.5),
                    &crate::svg::drawing::cut(&without_directories(function), width - 4.0),
                );
            }
            place(drawing, callee, all, per_sample, x, depth + 1);
        }
        x += width;
    }
}

/// One of five shades, the same for the same name (FNV-1a).
fn hue(function: &str) -> u32 {
    function.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)) % 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_stacks_add_up_and_odd_lines_are_passed_over() {
        let stacks = Stacks::folded("main;tick;send 3\nmain;tick 2\nno count\nmain;load 5\n\n");
        assert_eq!(stacks.samples, 10);
        assert_eq!(stacks.callees["main"].callees["tick"].samples, 5);
        let svg = draw("a <server>", &stacks).expect("there are stacks").inline();
        assert!(svg.contains("tick: 50.0 % of 10 stack samples"), "{svg}");
        assert!(!svg.contains("<server>"));
    }

    #[test]
    fn a_profile_of_any_depth_and_width_stays_small() {
        let text: String = (0..20_000).map(|at| format!("{};leaf{at} 1\n", vec!["deep"; 500].join(";"))).collect();
        let svg = draw("deep", &Stacks::folded(&text)).expect("there are stacks").inline();
        assert!(svg.len() < 40_000, "{}", svg.len());
    }
}
