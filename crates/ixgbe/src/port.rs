//! What frames go through, a batch at a time.

use std::os::fd::BorrowedFd;

use crate::peer::VhostError;
use crate::pool::{Packet, Pool};

/// What frames go through, a batch at a time.
///
/// The pool is always the one that the port was opened with.
pub trait Port {
    /// Takes up to `max` received frames, and appends them to `packets`. Returns their number.
    fn rx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>, max: usize) -> usize;

    /// Sends packets from the front of `packets` and removes them; those for which there is no room stay. Returns the number
    /// that was sent.
    fn tx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize;

    /// Gives the buffers of sent packets back to the pool, as [`Port::tx_batch`] does.
    fn clean_up(&mut self, pool: &mut Pool);

    /// The file that can be read when frames came after [`Port::enable_interrupt`]; `None` if the port has no interrupts, or was
    /// opened without.
    fn interrupt(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Has the next frame that arrives interrupt, once; true if frames have arrived already, or the port has no interrupts.
    fn enable_interrupt(&mut self) -> bool {
        true
    }

    /// Frames that arrived since the port was opened and found no buffer or no room in the ring; `None` if that is not known.
    fn missed(&self) -> Option<u64> {
        None
    }

    /// Whether the port still works; a batch does not say so. A system call, where there is a peer.
    ///
    /// # Errors
    /// [`VhostError`]: the peer has gone, or makes mistakes. Nothing more comes from this port.
    fn check(&mut self) -> Result<(), VhostError> {
        Ok(())
    }
}
