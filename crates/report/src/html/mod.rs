//! Pages, each one HTML document that needs nothing else.

pub mod bench;
pub mod both;
pub mod capacity;
pub mod cells;
pub mod compare;
pub mod demo;
pub mod document;
pub mod escape;
pub mod grid;
pub mod limits;
pub mod stored;
pub mod study;
