//! Flame graphs as files: what `inferno` draws, in the colours of the pages, light or dark, and usable by key.

use crate::svg::palette::{DARK, LIGHT};

const CSS: &str = include_str!("flame_file.css");
const SCRIPT: &str = include_str!("flame_file.js");

/// A flame graph of [`prony_profile::flame_graph`] with the colours of all pages, an ellipsis where a name is cut, and keys: frames can be
/// focused, Enter zooms, Escape resets.
pub fn flame_file(svg: &[u8]) -> Vec<u8> {
    let svg = String::from_utf8_lossy(svg);
    // A name keeps its start. In a browser, the script cuts names again, by the width that they really have.
    let svg = svg.replace("..</text>", "…</text>").replace("substringLength) + \"..\"", "substringLength) + \"…\"");
    let svg = svg.replace("substring(0, x) + \"..\"", "substring(0, x) + \"…\"");
    // An ellipsis is one letter where two dots are two: a letter of the name is left in every box that has text.
    let svg = svg.replace("known_font_width) - 2;", "known_font_width) - 1;");
    let (light, dark) = (LIGHT.applied(CSS), DARK.applied(CSS));
    let style = format!("{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n</style>");
    let svg = svg.replacen("</style>", &style, 1);
    // The last end of an element is that of the document.
    match svg.rfind("</svg>") {
        Some(end) => format!(
            "{}<script type=\"text/ecmascript\"><![CDATA[\n{SCRIPT}]]></script>{}\n",
            &svg[..end],
            svg[end..].trim_end()
        ),
        None => svg,
    }
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use prony_profile::{Stacks, flame_graph};

    use super::*;

    fn file(folded: &str) -> String {
        let stacks = Stacks::from_folded(folded.as_bytes()).stacks;
        let svg = flame_graph(&stacks, "a title", "how").expect("there are stacks");
        String::from_utf8(flame_file(&svg)).expect("text")
    }

    #[test]
    fn a_name_that_does_not_fit_keeps_its_start() {
        let long = "the_start_of_a_name_that_goes_on_for_longer_than_its_box_is_wide_on_any_page";
        let svg = file(&format!("t;{long} 20\nt;other 80\n"));
        assert!(svg.contains(">the_start_of") && svg.contains("…</text>"), "{svg}");
        // The script of the file cuts at the same end.
        assert!(svg.contains("truncate_text_right = true") && !svg.contains("+ \"..\";\n"), "{svg}");
        assert_eq!(svg.matches(" + \"…\"").count(), 2);
        assert!(svg.contains("known_font_width) - 1;"), "no box shows nothing but an ellipsis");
    }

    #[test]
    fn the_colours_are_those_of_the_pages_in_both_schemes() {
        let svg = file("t;main 3\n");
        let (light, dark) = svg.split_once("@media (prefers-color-scheme:dark)").expect("two schemes");
        for (part, scheme) in [(light, &LIGHT), (dark, &DARK)] {
            for colour in [scheme.page, scheme.ink, scheme.soft, scheme.link] {
                assert!(part.contains(colour), "{colour}");
            }
        }
        assert!(!svg.contains("var(--"), "not everything that shows an SVG knows variables");
        assert_eq!((svg.matches("<script").count(), svg.matches("</style>").count()), (2, 1));
        assert!(svg.ends_with("]]></script></svg>\n"), "{svg}");
    }
}
