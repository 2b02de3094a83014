//! What a study says: its values in the order in which they are shown, and their answers in words.

pub mod by_level;
pub mod findings;
pub mod frames;
pub mod matrix;
pub mod provenance;
pub mod quantity;
pub mod sentences;
