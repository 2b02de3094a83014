//! Text as it is shown: that of others made harmless, numbers, and tables.
//!
//! A demo, a study, a samples file, a profiled binary and a peer are written by strangers. What they call things is
//! shown, but it must not command the terminal, break a line or a table, hide, or become markup or a formula. A name
//! is shown as [`Untrusted`]; whole answers pass [`printable`] or [`json`] on their way out.
//!
//! Numbers and tables, so that a terminal and a page write them alike: [`significant`], [`Quantity`], [`Table`].
#![forbid(unsafe_code)]

mod character;
mod csv;
mod date;
mod errors;
mod markup;
mod number;
mod output;
mod path;
mod quantity;
mod table;
mod untrusted;

pub use csv::csv_field;
pub use date::date;
pub use errors::without_error_numbers;
pub use markup::{Markup, markdown, markdown_code};
pub use number::{count, duration, fixed, plain, rounded, signed, significant, thousands};
pub use output::{json, printable, printable_line};
pub use path::without_directories;
pub use quantity::{Quantity, bytes, quantity};
pub use table::Table;
pub use untrusted::Untrusted;
