//! Two builds at the output that the new one makes differently, on a page: both beside each other.

use maud::{Markup, html};
use prony_demo::dump::{hex, printable};
use prony_replay::{DifferingValue, LastWrite, SideBySide, StackFrame};
use prony_text::thousands;

use crate::divergence::{class_name, frame_name, in_short, sides, variables, write_in_words};
use crate::html::document::{document, head, heading, verdict};
use crate::study::sentences::{Tone, Verdict};

/// Two columns, below each other where there is no room.
const STYLE: &str = "
.both{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1rem}
.both ol{padding-left:2.2rem}
.both code,.both pre{overflow-wrap:anywhere;white-space:pre-wrap}
";
/// Frames of a stack that are listed.
const FRAMES_MAX: usize = 40;

/// A page of both builds. `demo`: name of the demo; `commands`: the old build and the new one; `version`: of prony.
pub fn page_of_both(demo: &str, commands: [&str; 2], both: &SideBySide, version: &str) -> String {
    let found = &both.divergence;
    let claim = Verdict {
        tone: Tone::Bad,
        claim: format!("the new build diverges: {}", in_short(found)),
        basis: String::new(),
    };
    let place = format!("record {}, frame {}: {}", thousands(found.record), thousands(found.frame), found.call);
    let body = html! {
        (head(&format!("{demo}: two builds"), &html! { (place) }))
        main {
            (verdict(&claim))
            (heading("Bytes", class_name(found.class)))
            div class="both" {
                div { h3 { "recorded" } pre { (hex(&found.window.expected)) "\n" (printable(&found.window.expected)) } }
                div { h3 { "new build" } pre { (hex(&found.window.found)) "\n" (printable(&found.window.found)) } }
            }
            (heading("The call", "the stack that makes it, innermost first"))
            div class="both" {
                @for (title, command, side) in sides(commands, both) {
                    div { h3 { (title) " build " small { code { (command) } } } (stack(&side.stack)) }
                }
            }
            (values(&both.at_call))
            (heading("Where the byte was computed", "its last change before the call"))
            div class="both" {
                @for (title, _, side) in sides(commands, both) {
                    div {
                        h3 { (title) " build" }
                        @match &side.write {
                            Some((_, write)) => {
                                p { (write_in_words(found.window.differing, write)) }
                                @if let LastWrite::Written(written) = write { (stack(&written.stack)) }
                            }
                            None => p { "The byte is not among those that this build sends." }
                        }
                    }
                }
            }
            (values(&both.at_write))
        }
    };
    document(&format!("{demo}: two builds"), 0, (STYLE, &[]), version, &body)
}

fn stack(frames: &[StackFrame]) -> Markup {
    html! {
        ol start="0" {
            @for frame in frames.iter().take(FRAMES_MAX) {
                li {
                    code { (frame_name(frame)) " (" (variables(&frame.arguments)) ")" }
                    br;
                    small {
                        @match (&frame.file, frame.line) {
                            (Some(file), Some(line)) => { (file) ":" (line) }
                            _ => { (frame.object) }
                        }
                    }
                }
            }
        }
    }
}

fn values(values: &[DifferingValue]) -> Markup {
    html! {
        @if !values.is_empty() {
            div class="wide" { table {
                thead { tr { th { "function" } th { "variable" } th { "old build" } th { "new build" } } }
                tbody {
                    @for DifferingValue { function, name, values: [old, new] } in values {
                        tr { td { code { (function) } } td { code { (name) } } td { code { (old) } } td { code { (new) } } }
                    }
                }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::text::both::tests::{divergence, sample};

    #[test]
    fn a_page_has_both_stacks_and_escapes_what_builds_are_called() {
        let page = super::page_of_both("x.demo", ["./old <b>", "./new"], &sample(divergence()), "0.0.0");
        assert!(page.contains("./old &lt;b&gt;") && !page.contains("./old <b>"));
        assert_eq!(page.matches("send_answer (fd=3, round=7)").count(), 4);
        assert_eq!(page.matches("answered.c:33").count(), 2);
        assert!(page.contains("&lt;mempcpy&gt;"));
        assert!(page.contains("<td><code>21</code></td><td><code>22</code></td>"));
    }
}
