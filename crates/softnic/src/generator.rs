//! One end of the wire: numbered frames.

use crate::frame::{stamp, template};
use crate::sizes::Sizes;

/// The source of the frames that enter one port.
#[derive(Debug, Clone)]
pub struct Generator {
    stream: u8,
    sequence: u64,
    sizes: Sizes,
    /// Bytes of the next frame.
    bytes: usize,
    frame: Box<[u8]>,
}

impl Generator {
    /// `stream`: number of the port; `to`: its address.
    pub fn new(stream: u8, to: [u8; 6], mut sizes: Sizes) -> Generator {
        Generator { stream, sequence: 0, bytes: sizes.next_bytes(), sizes, frame: template(stream, to) }
    }

    /// Frames from the next one on have these sizes.
    pub fn set_sizes(&mut self, sizes: Sizes) {
        self.sizes = sizes;
        self.bytes = self.sizes.next_bytes();
    }

    /// Sequence number of the next frame: as many were made before.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Makes the next frame. `now_ns`: what its way is measured from.
    #[inline]
    pub fn next_frame(&mut self, now_ns: u64) -> &[u8] {
        let bytes = self.bytes;
        stamp(&mut self.frame[..bytes], self.stream, self.sequence, now_ns);
        self.sequence += 1;
        self.bytes = self.sizes.next_bytes();
        &self.frame[..bytes]
    }
}
