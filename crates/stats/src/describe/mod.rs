//! What values look like: quantiles, spread, outliers, and the distributions that the rest rests on.

pub mod distribution;
pub mod geometric_mean;
pub mod histogram;
pub mod outliers;
pub mod quantile;
pub mod spread;
pub mod variance_components;
