//! Demos that somebody made to do harm, and servers that turn against their recorder: the real command on both.

mod claims;
mod demos;
mod overlay;
mod place;
mod scratch;
mod servers;
