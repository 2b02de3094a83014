//! SVG, written by hand: a few shapes with classes, so that the page and not the chart decides on colours.
//!
//! Marks of configuration k have the class `k`k: the legend hides them by it. What a mark says when pointed at is its `title`.

use std::fmt::{self, Display, Formatter, Write};

use prony_text::{Markup, printable};

use crate::svg::palette::{DARK, LIGHT, SERIES};

/// Rules for what is inside of charts; the page has them once, a file of its own each.
pub const CHART_CSS: &str = include_str!("chart.css");
/// Rules for flame graphs, which few pages have.
pub const FLAME_CSS: &str = include_str!("flame.css");
/// Class of the group around the boxes of a flame graph.
pub const FLAME: &str = "f";

/// Drawing of one chart, in SVG.
#[derive(Debug)]
pub struct Drawing {
    width: f64,
    height: f64,
    label: String,
    attributes: String,
    body: String,
}

/// A place, with one decimal at most.
#[derive(Debug, Clone, Copy)]
pub struct At(pub f64);

impl Display for At {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let tenths = if self.0.is_finite() { (self.0 * 10.0).round() as i64 } else { 0 };
        match tenths % 10 {
            0 => write!(out, "{}", tenths / 10),
            rest => write!(out, "{}{}.{}", if tenths < 0 { "-" } else { "" }, (tenths / 10).abs(), rest.abs()),
        }
    }
}

/// Anchor of a text: the end that has the given position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Left end of the text.
    Start,
    /// The text is centred on its point.
    Middle,
    /// Right end of the text.
    End,
}

/// Outlines of marks around their centre, about as large as each other. A second series of the same colour has another one.
const SHAPES: [&str; 6] = [
    "m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
    "m-3.2-3.2h6.4v6.4h-6.4z",
    "m0-4.4l4.2 7.4h-8.4z",
    "m0-4.6l4.6 4.6l-4.6 4.6l-4.6-4.6z",
    "m0 4.4l4.2-7.4h-8.4z",
    "m-4.2-1.4h2.8v-2.8h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8z",
];

impl Drawing {
    /// An empty chart; `label` says in words what it shows.
    pub fn new(width: f64, height: f64, label: &str) -> Drawing {
        Drawing { width, height, label: label.to_owned(), attributes: String::new(), body: String::new() }
    }

    /// Width in units, which are pixels unless the drawing is scaled.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// An attribute of the whole chart that the page's script reads.
    pub fn attribute(&mut self, name: &str, value: &str) {
        let _ = write!(self.attributes, " {name}=\"{}\"", Markup(value));
    }

    /// Draws a straight line between two points.
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = match (x1 == x2, y1 == y2) {
            (true, _) => write!(self.body, "<path class=\"{class}\" d=\"M{} {}V{}\"/>", At(x1), At(y1), At(y2)),
            (_, true) => write!(self.body, "<path class=\"{class}\" d=\"M{} {}H{}\"/>", At(x1), At(y1), At(x2)),
            _ => write!(self.body, "<path class=\"{class}\" d=\"M{} {}L{} {}\"/>", At(x1), At(y1), At(x2), At(y2)),
        };
    }

    /// A rectangle; `tip`: what it says when pointed at.
    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), tip: &str) {
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
            At(x),
            At(y),
            At(width.max(0.0)),
            At(height.max(0.0))
        );
        self.close("rect", tip);
    }

    /// A path of which `d` is already written.
    pub fn path(&mut self, class: &str, d: &str, tip: &str) {
        let _ = write!(self.body, "<path class=\"{class}\" d=\"{d}\"");
        self.close("path", tip);
    }

    /// A path of strokes so wide.
    pub fn wide_path(&mut self, class: &str, d: &str, width: f64) {
        let _ = write!(self.body, "<path class=\"{class}\" stroke-width=\"{}\" d=\"{d}\"/>", At(width));
    }

    /// A mark of a series, in the colour of the group around it.
    pub fn mark(&mut self, series: usize, (x, y): (f64, f64), tip: &str) {
        let shape = series % SHAPES.len();
        let _ = write!(self.body, "<use href=\"#p{shape}\" x=\"{}\" y=\"{}\"", At(x), At(y));
        self.close("use", tip);
    }

    /// A line of text, its baseline at the place.
    pub fn text(&mut self, class: &str, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(self.body, "<text{class}{anchor} x=\"{}\" y=\"{}\">{}</text>", At(x), At(y), Markup(text));
    }

    /// Text that is cut where it would be longer than `width`, and then whole when pointed at.
    pub fn text_within(&mut self, class: &str, anchor: Anchor, place: (f64, f64), width: f64, text: &str) {
        let shown = cut(text, width);
        if shown == text {
            return self.text(class, anchor, place, text);
        }
        let _ = write!(self.body, "<g><title>{}</title>", Markup(text));
        self.text(class, anchor, place, &shown);
        self.body.push_str("</g>");
    }

    /// Begins a group that is hidden together; [`Drawing::end`] ends it.
    pub fn group(&mut self, class: &str) {
        let _ = write!(self.body, "<g class=\"{class}\">");
    }

    /// Begins a group with attributes that the page's script reads.
    pub fn group_with(&mut self, class: &str, attributes: &[(&str, &str)]) {
        let _ = write!(self.body, "<g class=\"{class}\"");
        for (name, value) in attributes {
            let _ = write!(self.body, " {name}=\"{}\"", Markup(value));
        }
        self.body.push('>');
    }

    /// Ends the group that was begun last.
    pub fn end(&mut self) {
        self.body.push_str("</g>");
    }

    fn close(&mut self, element: &str, tip: &str) {
        let _ = match tip {
            "" => write!(self.body, "/>"),
            tip => write!(self.body, "><title>{}</title></{element}>", Markup(tip)),
        };
    }

    /// The element, for use inside of HTML.
    pub fn inline(&self) -> String {
        format!(
            "<svg viewBox=\"0 0 {} {}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{}\"{}>{}</svg>",
            At(self.width),
            At(self.height),
            Markup(&self.label),
            self.attributes,
            self.body
        )
    }

    /// A file of its own, light or dark as the viewer likes it; `series`: how many configurations it may show.
    pub fn file(&self, series: usize) -> String {
        let is_flame = self.body.starts_with(&format!("<g class=\"{FLAME}\">"));
        let css = format!("{}{CHART_CSS}{}", series_css(series), if is_flame { FLAME_CSS } else { "" });
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\">\n<title>{label}</title>\n<style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>\n\
             <defs>{shapes}</defs>\n<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n{body}\n</svg>\n",
            shapes = shapes(),
            width = At(self.width),
            height = At(self.height),
            label = Markup(&self.label),
            light = LIGHT.applied(&css),
            dark = DARK.applied(&css),
            body = self.body,
        )
    }
}

/// The colour of each series, before [`CHART_CSS`], which takes parts of it back.
pub fn series_css(series: usize) -> String {
    (0..series).fold(String::new(), |mut css, k| {
        // Lines that small multiples have in common are as many as there are colours.
        let common = if series > SERIES && k < SERIES { format!(",.c{k}") } else { String::new() };
        let _ = write!(css, ".k{k}{common}{{fill:var(--s{0});stroke:var(--s{0})}}", k % SERIES);
        css
    })
}

/// The shapes that marks refer to; a page has them once.
pub fn shapes() -> String {
    SHAPES.iter().enumerate().fold(String::new(), |mut out, (shape, d)| {
        let _ = write!(out, "<path id=\"p{shape}\" d=\"M0 0{d}\"/>");
        out
    })
}

/// A mark alone, as in a legend: of a configuration, or of a line that small multiples have in common.
pub fn key(series: usize, is_common: bool) -> String {
    let class = if is_common { 'c' } else { 'k' };
    format!(
        "<svg class=\"key\" viewBox=\"-6 -6 12 12\" width=\"12\" height=\"12\" aria-hidden=\"true\"><g class=\"m {class}{series}\"><use \
         href=\"#p{}\"/></g></svg>",
        series % SHAPES.len()
    )
}

/// Width of a letter of 12 units, on average over the widest of the fonts that systems have for their pages: DejaVu Sans.
const LETTER: f64 = 7.2;

/// Beginning of a text that fits into `width`, with an ellipsis if it is cut.
pub fn cut(text: &str, width: f64) -> String {
    let most = (width / LETTER).max(2.0) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Approximate width of a text, in units.
pub fn width(text: &str) -> f64 {
    // As `Markup` shows it: what is harmful has the width of its escape.
    printable(text).chars().count() as f64 * LETTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_is_as_wide_as_it_is_shown() {
        assert_eq!(width("a\u{1b}b"), width(&Markup("a\u{1b}b").to_string()));
    }

    #[test]
    fn places_have_one_decimal_at_most() {
        let texts = [1.0, 1.25, -0.04, -0.3, 12.96, f64::NAN].map(|place| At(place).to_string());
        assert_eq!(texts, ["1", "1.3", "0", "-0.3", "13", "0"]);
    }

    #[test]
    fn a_name_in_a_chart_is_text_and_nothing_else() {
        let mut drawing = Drawing::new(10.0, 10.0, "<script>");
        drawing.text("", Anchor::Start, (0.0, 0.0), "</text><script>");
        drawing.rect("b", (0.0, 0.0), (1.0, 1.0), "\"><script>");
        drawing.attribute("data-x", "\"><script>");
        for svg in [drawing.inline(), drawing.file(1)] {
            assert!(!svg.contains("<script"), "{svg}");
        }
    }

    #[test]
    fn a_file_has_its_colours_in_it_for_both_schemes() {
        let file = Drawing::new(10.0, 10.0, "a chart").file(3);
        assert!(!file.contains("var("), "{file}");
        assert!(file.contains(LIGHT.series[2]) && file.contains(DARK.series[2]));
    }

    #[test]
    fn a_long_text_is_cut_and_whole_in_its_tip() {
        let mut drawing = Drawing::new(10.0, 10.0, "");
        drawing.text_within("", Anchor::End, (0.0, 0.0), 40.0, "a very long name");
        assert!(drawing.inline().contains("<title>a very long name</title>"));
        assert!(drawing.inline().contains(">a ve…</text>"), "{}", drawing.inline());
    }
}
