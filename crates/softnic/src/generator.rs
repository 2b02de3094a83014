//! One end of the wire: numbered frames.

use crate::frame::{FLOW_BYTES_MIN, FLOWS_MAX, FRAME_BYTES_MAX, stamp, stamp_packet, template};
use crate::sizes::Sizes;

/// Frames that one call makes at most.
pub const FRAMES_MAX: usize = 32;
/// From one frame to the next in memory: with a power of two, all would be in the same few sets of a cache.
const STRIDE: usize = FRAME_BYTES_MAX + 64;

/// The source of the frames that enter one port.
#[derive(Debug, Clone)]
pub struct Generator {
    stream: u8,
    flows: u16,
    sequence: u64,
    sizes: Sizes,
    /// Several frames of the longest kind. What is stamped is not read again at once: a processor that reads in other pieces what
    /// it has just written waits until it is written.
    frames: Box<[u8]>,
    bytes: [usize; FRAMES_MAX],
}

impl Generator {
    /// `stream`: number of the port; `to`: its address.
    pub fn new(stream: u8, to: [u8; 6], sizes: Sizes) -> Generator {
        Generator::with_flows(stream, to, sizes, 0)
    }

    /// The same with frames that are packets of `flows` flows, [`FLOWS_MAX`] at most, for devices that spread them over queues.
    /// Such frames have [`FLOW_BYTES_MIN`] bytes or more, whatever the sizes say. `flows` = 0: of none.
    pub fn with_flows(stream: u8, to: [u8; 6], sizes: Sizes, flows: u16) -> Generator {
        let flows = flows.min(FLOWS_MAX);
        let mut frames = vec![0; FRAMES_MAX * STRIDE].into_boxed_slice();
        let template = template(stream, to, flows);
        for frame in frames.chunks_exact_mut(STRIDE) {
            frame.iter_mut().zip(&template).for_each(|(byte, &value)| *byte = value);
        }
        Generator { stream, flows, sequence: 0, sizes, frames, bytes: [0; FRAMES_MAX] }
    }

    /// Frames from the next one on have these sizes.
    pub fn set_sizes(&mut self, sizes: Sizes) {
        self.sizes = sizes;
    }

    /// Sequence number of the next frame: as many were made before.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Makes the next frame. `now_ns`: what its way is measured from.
    #[inline]
    pub fn next_frame(&mut self, now_ns: u64) -> &[u8] {
        self.next_frames([now_ns]).next().expect("a time, a frame")
    }

    /// Makes the next frames, one for each time in nanoseconds, up to [`FRAMES_MAX`].
    #[inline]
    pub fn next_frames(&mut self, times_ns: impl IntoIterator<Item = u64>) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut number = 0;
        for ((time_ns, frame), bytes) in
            times_ns.into_iter().zip(self.frames.chunks_exact_mut(STRIDE)).zip(&mut self.bytes)
        {
            *bytes = self.sizes.next_bytes().min(frame.len());
            if self.flows == 0 {
                stamp::<0>(frame.get_mut(..*bytes).unwrap_or_default(), self.stream, self.sequence, time_ns);
            } else {
                *bytes = (*bytes).max(FLOW_BYTES_MIN);
                let frame = frame.get_mut(..*bytes).unwrap_or_default();
                stamp_packet(frame, self.stream, self.flows, self.sequence, time_ns);
            }
            self.sequence += 1;
            number += 1;
        }
        let frames = self.frames.chunks_exact(STRIDE).zip(&self.bytes).take(number);
        frames.map(|(frame, &bytes)| frame.get(..bytes).unwrap_or_default())
    }
}
