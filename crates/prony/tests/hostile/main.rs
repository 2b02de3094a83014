//! Demos that were made to do harm, and servers that turn against their recorder: the real command on both.

mod claims;
mod demos;
mod overlay;
mod sandbox;
mod scratch;
mod servers;
