//! Parts that all pages share: the document around them, its head, and how a chart is framed.

use maud::{Markup, PreEscaped, html};
use prony_text::printable;
use sha2::{Digest, Sha256};

use crate::study::sentences::{Chip, Tone, Verdict};
use crate::svg::drawing::{CHART_CSS, Drawing, FLAME_CSS, series_css, shapes};
use crate::svg::palette::{DARK, LIGHT, Scheme};

const CSS: &str = include_str!("document.css");
/// Light and dark, and what a mark says when it is pointed at. It opens a function that [`document`] closes.
const COMMON: &str = include_str!("common.js");

/// One HTML document with its style and script in it. `series`: how many colours of series it may show; `parts`: scripts
/// behind what all pages have. `style`: what only some pages have.
pub fn document(title: &str, series: usize, (style, parts): (&str, &[&str]), version: &str, body: &Markup) -> String {
    let script = without_comments(&format!("{COMMON}{}}})();\n", parts.concat()));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        script_hash(&script)
    );
    let style = format!("\n{}{CSS}{style}{}{CHART_CSS}", schemes(Scheme::variables), series_css(series));
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                // Nothing is loaded and only this script runs, whatever a name tries.
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(style)) }
            }
            body {
                svg width="0" height="0" style="position:absolute" aria-hidden="true" { defs { (PreEscaped(shapes())) } }
                (body)
                footer {
                    "Made by prony " (version) ". Colours after Okabe and Ito, distinguishable with any \
                     colour vision. This page loads nothing from the network."
                }
                div id="tip" role="status" hidden {}
                script { (PreEscaped(script)) }
            }
        }
    };
    // Markup in names is escaped above, and here what would turn the direction of the text around, or hide.
    printable(&page.into_string()).into_owned()
}

/// Head of a page: its title, what is below it, and the button for light and dark.
pub fn head(title: &str, below: &Markup) -> Markup {
    html! {
        header {
            div {
                h1 { (title) }
                p { (below) }
            }
            button id="theme" hidden aria-label="light or dark" { "Dark" }
        }
    }
}

/// The answer in a sentence, with its basis.
pub fn verdict(verdict: &Verdict) -> Markup {
    html! {
        p class={ "verdict " (class(verdict.tone)) } {
            strong { (verdict.claim) }
            @if !verdict.basis.is_empty() { " " span { (verdict.basis) } }
        }
    }
}

/// Reasons to trust the answer, or not to.
pub fn chips(chips: &[Chip]) -> Markup {
    html! {
        ul class="chips" aria-label="whether to trust it" {
            @for chip in chips {
                li class=(class(chip.tone)) title=(chip.tip) { (chip.text) }
            }
        }
    }
}

/// Class that gives a statement its colour.
pub fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Plain => "plain",
    }
}

/// Style of a page with flame graphs, besides that of all pages.
pub fn flame_style() -> String {
    format!("{}{FLAME_CSS}", schemes(Scheme::flame_variables))
}

/// Variables: light, dark where the reader's system or choice says so, and light on paper.
fn schemes(variables: fn(&Scheme) -> String) -> String {
    let (light, dark) = (variables(&LIGHT), variables(&DARK));
    format!(
        ":root{{{light}}}@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\
         :root[data-theme=dark]{{{dark}}}@media print{{:root:root:root{{{light}}}}}\n"
    )
}

/// A script without the lines that explain it, which a page need not carry.
fn without_comments(script: &str) -> String {
    script.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}

/// The hash by which the policy knows a script (Content Security Policy Level 3, 2.3.1).
fn script_hash(script: &str) -> String {
    let digest = Sha256::digest(script.as_bytes());
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("sha256-");
    // Base 64 (RFC 4648, 4); 32 bytes leave two over, so one `=` ends it.
    for bytes in digest.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(bytes.get(at).copied().unwrap_or(0)));
        for letter in 0..=bytes.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * letter) & 63) as usize]));
        }
    }
    text.push('=');
    text
}

/// Heading of a section: its title, and what it shows.
pub fn heading(title: &str, small: &str) -> Markup {
    html! { h2 { (title) " " small { (small) } } }
}

/// A chart that is drawn twice, each with letters that can be read at its width: the page shows the one that fits.
pub fn fitting(broad: &Drawing, narrow: &Drawing) -> Markup {
    html! {
        div class="broad" { (PreEscaped(broad.inline())) }
        div class="narrow" { (PreEscaped(narrow.inline())) }
    }
}

/// Chart that shrinks with the page, but not until its text cannot be read.
pub fn framed(chart: &Drawing) -> Markup {
    html! {
        div class="one" style={ "min-width:" (chart.width().min(860.0)) "px" } { (PreEscaped(chart.inline())) }
    }
}
