//! Flame graphs as SVG files that stand alone: search and zoom are scripts in them. `inferno` draws them.

use std::io;

use inferno::flamegraph::{self, Direction, Options, color::Palette};
use rustc_hash::FxHashMap;

use crate::recording::Weighs;
use crate::stacks::Stacks;

/// Draws a flame graph, the root at the bottom. `title`: what was sampled; `subtitle`: how.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] without any stack.
pub fn flame_graph(stacks: &Stacks, title: &str, subtitle: &str) -> io::Result<Vec<u8>> {
    draw(&stacks.folded(), title, subtitle, stacks.weighs())
}

/// Draws the second profile; what grew against the first is red, what shrank blue. The first is scaled to the same
/// number of samples.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] without any stack in one of them.
pub fn differential_flame_graph(a: &Stacks, b: &Stacks, title: &str, subtitle: &str) -> io::Result<Vec<u8>> {
    if a.total() == 0 {
        return Err(no_stacks());
    }
    let scale = b.total() as f64 / a.total() as f64;
    // A line has both counts; stacks are matched by their text, as the numbers of names differ.
    let mut both: FxHashMap<String, [u64; 2]> = FxHashMap::default();
    for (place, stacks) in [a, b].into_iter().enumerate() {
        for line in stacks.folded().lines() {
            let Some((stack, count)) = line.rsplit_once(' ') else { continue };
            both.entry(stack.to_owned()).or_default()[place] += count.parse::<u64>().unwrap_or(0);
        }
    }
    let mut lines: Vec<String> = both
        .into_iter()
        .map(|(stack, [a, b])| format!("{stack} {} {b}\n", (a as f64 * scale).round() as u64))
        .collect();
    lines.sort_unstable();
    draw(&lines.concat(), title, subtitle, b.weighs())
}

fn draw(lines: &str, title: &str, subtitle: &str, weighs: Weighs) -> io::Result<Vec<u8>> {
    if lines.is_empty() {
        return Err(no_stacks());
    }
    let mut options = Options::default();
    options.title = title.to_owned();
    options.subtitle = Some(subtitle.to_owned());
    options.colors = Palette::default();
    // The same function has the same colour in every graph.
    options.hash = true;
    options.deterministic = true;
    options.direction = Direction::Straight;
    options.count_name = match weighs {
        Weighs::Samples => "samples".to_owned(),
        Weighs::WaitingUs => "µs".to_owned(),
    };
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.lines(), &mut svg)?;
    Ok(svg)
}

fn no_stacks() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "there are no stacks to draw")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(text: &str) -> Stacks {
        Stacks::from_folded(text.as_bytes()).0
    }

    #[test]
    fn a_flame_graph_stands_alone_and_names_of_others_are_no_markup() {
        let svg = flame_graph(&stacks("t;main;<script>alert(1)</script> 3\nt;main 1\n"), "a <b>", "4 samples");
        let svg = String::from_utf8(svg.expect("drawn")).expect("text");
        assert!(svg.contains("&lt;script&gt;alert") && !svg.contains("<script>alert"), "{svg}");
        assert!(svg.contains("(3 samples, 75.00%)") && svg.contains("a &lt;b&gt;"));
        assert!(!svg.contains("href=\"http") && !svg.contains("src=\"http"), "nothing is loaded from elsewhere");
        assert!(flame_graph(&Stacks::default(), "", "").is_err());
    }

    #[test]
    fn what_grew_is_red_and_what_shrank_blue() {
        let svg = differential_flame_graph(&stacks("t;f 80\nt;g 20\n"), &stacks("t;f 20\nt;g 30\n"), "", "");
        let svg = String::from_utf8(svg.expect("drawn")).expect("text");
        // Scaled to fifty samples, f had 40 and g 10.
        assert!(svg.contains("f (20 samples, 40.00%; -40.00%)"), "{svg}");
        assert!(svg.contains("g (30 samples, 60.00%; +40.00%)"), "{svg}");
    }
}
