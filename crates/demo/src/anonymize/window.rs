//! A stream of bytes that is looked at piece by piece, with nothing hidden between two pieces.

/// Bytes of a stream that are not decided yet, and some before them.
#[derive(Debug, Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    /// Start of the undecided bytes.
    start: usize,
    /// Bytes of the stream before those in the window.
    gone: u64,
}

impl Window {
    /// Adds bytes and lets `look` see the window: the bytes, where the undecided begin, how
    /// many bytes of the stream went before, and whether the stream ends. It answers up to where
    /// it has decided. `context`: bytes before that place to keep.
    pub(super) fn push(
        &mut self,
        more: &[u8],
        last: bool,
        context: usize,
        look: impl FnOnce(&[u8], usize, u64, bool) -> usize,
    ) {
        self.bytes.extend_from_slice(more);
        let decided = look(&self.bytes, self.start, self.gone, last);
        if last {
            *self = Window::default();
            return;
        }
        let kept = decided.saturating_sub(context);
        self.bytes.drain(..kept);
        self.gone += kept as u64;
        self.start = decided - kept;
    }
}
