//! Decoders: programs that read the datagrams of one protocol and name the fields in them, for `prony replay --decoder`.
//!
//! `docs/formats/decoder.md` has every byte of what is said in both directions. A decoder
//! in Rust implements [`Decoder`] and calls [`serve`]; `python/prony_decoder.py` is the same for Python. `prony replay`
//! uses the other half: it writes [`Datagram`]s and reads [`Decoded`]s.
//!
//! ```no_run
//! use prony_decoder::{Datagram, Decoded, Decoder, Direction, Field, Value};
//!
//! /// Every datagram of this server is a score, a byte, behind a zero.
//! struct Scores;
//!
//! impl Decoder for Scores {
//!     fn name(&self) -> &str {
//!         "scores 1"
//!     }
//!
//!     fn decode(&mut self, datagram: &Datagram) -> Decoded {
//!         match (datagram.direction, &datagram.payload[..]) {
//!             (Direction::FromServer, [0, score]) => Decoded::Fields(vec![Field::new("score", Value::Integer((*score).into()))]),
//!             _ => Decoded::Opaque(String::new()),
//!         }
//!     }
//! }
//!
//! prony_decoder::serve(Scores).expect("prony reads what is written");
//! ```

#![deny(clippy::indexing_slicing)]
#![forbid(unsafe_code)]

mod answer;
mod datagram;
mod serve;

pub use answer::{AnswerError, Decoded, Field, MOST_FIELDS, MOST_NAME_BYTES, Reply, Value, hello, read_hello};
pub use datagram::{Datagram, Direction, FrameError, GREETING, MOST_FRAME_BYTES, greeting};
pub use serve::{Decoder, serve};

/// Version of the conversation; a decoder that speaks another one is refused.
pub const VERSION: u32 = 1;

/// Longest line that a decoder may answer with, in bytes.
pub const MOST_LINE_BYTES: usize = 4 << 20;
