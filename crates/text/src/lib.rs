//! Text of others, made harmless where it is shown.
//!
//! A demo, a study, a samples file, a profiled binary and a peer are written by strangers. What they call things is
//! shown, but it must not command the terminal, break a line or a table, hide, or become markup or a formula. A name
//! is shown as [`Untrusted`]; whole answers pass [`printable`] or [`json`] on their way out.
#![forbid(unsafe_code)]

mod character;
mod csv;
mod markup;
mod output;
mod untrusted;

pub use csv::csv_field;
pub use markup::{Markup, markdown, markdown_code};
pub use output::{json, printable, printable_line};
pub use untrusted::Untrusted;
