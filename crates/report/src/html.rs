//! Parts of the page that its sections share.

use maud::{Markup, PreEscaped, html};

use crate::drawing::Drawing;

/// Heading of a section: its title, and what it shows.
pub fn heading(title: &str, small: &str) -> Markup {
    html! { h2 { (title) " " small { (small) } } }
}

/// Chart that shrinks with the page, but not until its text cannot be read.
pub fn framed(chart: &Drawing) -> Markup {
    html! {
        div class="one" style={ "min-width:" (chart.width().min(860.0)) "px" } { (PreEscaped(chart.inline())) }
    }
}
