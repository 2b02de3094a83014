//! The clients: what keeps a server busy while it is recorded.

pub mod dns;
pub mod http;
pub mod huffman;
pub mod memcached;
pub mod quake;
pub mod teeworlds;
pub mod tools;
