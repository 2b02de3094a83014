//! Flame graphs as SVG files that stand alone: search and zoom are scripts in them. `inferno` draws them.

use std::hash::BuildHasher;
use std::io;

use inferno::flamegraph::color::{Color, PaletteMap};
use inferno::flamegraph::{self, Direction, Options, TextTruncateDirection};
use prony_text::printable_line;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::recording::WeightUnit;
use crate::stacks::Stacks;
use crate::symbols::shortened;

/// Draws a flame graph, the root at the bottom. `title`: what was sampled; `subtitle`: how.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] without any stack.
pub fn flame_graph(stacks: &Stacks, title: &str, subtitle: &str) -> io::Result<Vec<u8>> {
    draw(&lines(stacks), title, subtitle, stacks.weight_unit())
}

/// Draws the second profile; what grew against the first is red, what shrank blue. The first is scaled to the same
/// number of samples. The two are in one vocabulary, as [`crate::pair`] makes it; each may be of several runs.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] without any stack in one of them.
pub fn differential_flame_graph(a: &[Stacks], b: &[Stacks], title: &str, subtitle: &str) -> io::Result<Vec<u8>> {
    let total = |runs: &[Stacks]| runs.iter().map(|stacks| stacks.total() as f64).sum::<f64>();
    let (of_a, of_b) = (total(a), total(b));
    if of_a == 0.0 {
        return Err(no_stacks());
    }
    let scale = of_b / of_a;
    // A line has both counts; stacks are matched by their text, as the numbers of names differ.
    let mut both: FxHashMap<String, [u64; 2]> = FxHashMap::default();
    for (place, stacks) in
        [a, b].into_iter().enumerate().flat_map(|(place, runs)| runs.iter().map(move |of| (place, of)))
    {
        for line in lines(stacks).lines() {
            let Some((stack, count)) = line.rsplit_once(' ') else { continue };
            both.entry(stack.to_owned()).or_default()[place] += count.parse::<u64>().unwrap_or(0);
        }
    }
    let mut lines: Vec<String> = both
        .into_iter()
        .map(|(stack, [a, b])| format!("{stack} {} {b}\n", (a as f64 * scale).round() as u64))
        .collect();
    lines.sort_unstable();
    draw(&lines.concat(), title, subtitle, b.first().map_or(WeightUnit::Samples, Stacks::weight_unit))
}

/// Folded stacks with names that fit into boxes; the same ones next to each other become one box.
fn lines(stacks: &Stacks) -> String {
    let mut short = Stacks::new(stacks.weight_unit());
    let names: Vec<_> = stacks.names().iter().map(|name| short.name(&shortened(name))).collect();
    for (stack, weight) in stacks.iter() {
        let stack: Vec<_> = stack.iter().map(|&name| names[name as usize]).collect();
        short.add(&stack, weight);
    }
    short.folded()
}

fn draw(lines: &str, title: &str, subtitle: &str, weight_unit: WeightUnit) -> io::Result<Vec<u8>> {
    if lines.is_empty() {
        return Err(no_stacks());
    }
    let mut options = Options::default();
    options.title = printable_line(title).into_owned();
    options.subtitle = Some(printable_line(subtitle).into_owned());
    let mut colours = PaletteMap::default();
    for name in lines.lines().filter_map(|line| line.rsplit_once(' ')).flat_map(|(stack, _)| stack.split(';')) {
        colours.insert(name, colour(name));
    }
    options.palette_map = Some(&mut colours);
    options.deterministic = true;
    // Per cent: half a pixel. A smaller box is not seen or found, and towers of them make the picture high.
    options.min_width = 0.05;
    options.direction = Direction::Straight;
    // The start of a name says more than its arguments.
    options.text_truncate_direction = TextTruncateDirection::Right;
    options.count_name = match weight_unit {
        WeightUnit::Samples => "samples".to_owned(),
        WeightUnit::WaitingUs => "µs".to_owned(),
    };
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.lines(), &mut svg)?;
    Ok(svg)
}

/// The hue shows what a function is, the shade distinguishes one from another; the same function has the same colour in every graph.
/// Hues as flamegraph.pl has them.
fn colour(name: &str) -> Color {
    // The upper bits are the well mixed ones.
    let shade = (FxBuildHasher.hash_one(name) >> 48) as f64 / 65_536.0;
    let from = |least: f64, range: f64| (least + range * shade) as u8;
    match name {
        name if name.ends_with("_[k]") => Color { r: from(190.0, 65.0), g: from(90.0, 65.0), b: 0 },
        name if name.ends_with("_[j]") => Color { r: from(50.0, 60.0), g: from(200.0, 55.0), b: from(50.0, 60.0) },
        name if name.contains("::") => Color { r: from(175.0, 55.0), g: from(175.0, 55.0), b: from(50.0, 20.0) },
        _ => Color { r: from(200.0, 55.0), g: from(50.0, 80.0), b: from(50.0, 80.0) },
    }
}

fn no_stacks() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "there are no stacks to draw")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(text: &str) -> Stacks {
        Stacks::from_folded(text.as_bytes()).stacks
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
    fn no_name_holds_a_character_that_xml_forbids() {
        let hostile = "t\u{1b}[2J;a\u{0}b\u{9b}31m;\u{202e}evil\u{fffe} 3\n";
        let svg = flame_graph(&stacks(hostile), "a\u{7}", "b\u{c}").expect("drawn");
        let other =
            differential_flame_graph(&[stacks(hostile)], &[stacks(hostile)], "a\u{7}", "b\u{c}").expect("drawn");
        for svg in [svg, other] {
            let svg = String::from_utf8(svg).expect("text");
            // XML 1.0, 2.2: Char, without those that it discourages and those that turn text around.
            let forbidden = |c: char| c.is_control() && !"\t\n\r".contains(c) || "\u{fffe}\u{ffff}\u{202e}".contains(c);
            assert_eq!(svg.chars().find(|&c| forbidden(c)), None);
            assert!(svg.contains("<title>a\\x00b\\u{9b}31m (3 samples"), "{svg}");
        }
    }

    #[test]
    fn colours_tell_the_kernel_and_made_code_from_the_rest() {
        let svg = flame_graph(&stacks("t;main;read_[k] 3\nt;a.b_[j] 1\nt;N::f 1\n"), "", "").expect("drawn");
        let svg = String::from_utf8(svg).expect("text");
        for (name, shown) in [("main", "main"), ("read_[k]", "read"), ("a.b_[j]", "a.b"), ("N::f", "N::f")] {
            let Color { r, g, b } = colour(name);
            let drawn = svg.split_once(&format!("<title>{shown} (")).expect("a box").1;
            let drawn = drawn.split_once("fill=\"").expect("a colour").1;
            assert!(drawn.starts_with(&format!("rgb({r},{g},{b})")), "{name}: {drawn}");
        }
        let [plain, kernel, made, spaced] = ["main", "read_[k]", "a.b_[j]", "N::f"].map(colour);
        assert!(plain.r > plain.g && plain.g == plain.b, "red");
        assert!(kernel.r > kernel.g && kernel.b == 0, "orange");
        assert!(made.g > made.r && made.r == made.b, "green");
        assert!(spaced.r == spaced.g && spaced.g > spaced.b, "yellow");
    }

    #[test]
    fn what_grew_is_red_and_what_shrank_blue() {
        let svg = differential_flame_graph(&[stacks("t;f 80\nt;g 20\n")], &[stacks("t;f 20\nt;g 30\n")], "", "");
        let svg = String::from_utf8(svg.expect("drawn")).expect("text");
        // Scaled to fifty samples, f had 40 and g 10.
        assert!(svg.contains("f (20 samples, 40.00%; -40.00%)"), "{svg}");
        assert!(svg.contains("g (30 samples, 60.00%; +40.00%)"), "{svg}");
    }
}
