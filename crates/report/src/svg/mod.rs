//! Charts as SVG.

pub mod axis;
pub mod bench;
pub mod chart;
pub mod drawing;
pub mod figures;
pub mod flame_file;
pub mod palette;
