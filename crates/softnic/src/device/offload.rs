//! What a driver has the device do to a frame before it is sent: checksums, and a VLAN tag (datasheet 7.2.4, 7.2.5).
#![deny(clippy::arithmetic_side_effects)]

use prony_ixgbe_regs as regs;

use crate::device::Device;
use crate::device::receive::{TAG_BYTES, TYPE_AT};
use crate::event::Malformed;
use crate::frame::FRAME_BYTES_MAX;
use crate::packet::{Transport, insert_header_sum, insert_transport_sum, internet_checksum};

/// Bits of the second word of a data descriptor that ask for something. In a legacy descriptor some of them mean something
/// else.
pub(crate) const ASKS: u64 = (regs::TXD_VLE | regs::TXL_IC) as u64
    | ((regs::TXD_OLINFO_IDX | regs::TXD_OLINFO_IXSM | regs::TXD_OLINFO_TXSM) as u64) << 32;

/// A context descriptor: where the headers of later frames are, and what is put into them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Context {
    lengths: u32,
    command: u32,
    index: u32,
}

impl Context {
    pub(crate) fn of([first, second]: [u64; 2]) -> Context {
        Context { lengths: first as u32, command: second as u32, index: (second >> 32) as u32 }
    }

    /// True for the second of the two contexts of its queue.
    pub(crate) fn is_second(&self) -> bool {
        self.index & regs::TXC_IDX_IDX != 0
    }

    fn mac_bytes(&self) -> usize {
        ((self.lengths & regs::TXC_LENGTHS_MACLEN_MASK) >> regs::TXC_LENGTHS_MACLEN_SHIFT) as usize
    }

    fn ip_bytes(&self) -> usize {
        (self.lengths & regs::TXC_LENGTHS_IPLEN_MASK) as usize
    }

    fn tag(&self) -> u16 {
        (self.lengths >> regs::TXC_LENGTHS_VLAN_SHIFT) as u16
    }

    fn transport(&self) -> Option<Transport> {
        match self.command & regs::TXC_L4T_MASK {
            regs::TXC_L4T_TCP => Some(Transport::Tcp),
            regs::TXC_L4T_UDP => Some(Transport::Udp),
            regs::TXC_L4T_SCTP => Some(Transport::Sctp),
            _ => None,
        }
    }
}

impl Device {
    /// Does what the descriptors of a frame of `bytes` bytes request. Returns its new length.
    ///
    /// `requested`: bits of all of them; `words`: the last one.
    #[inline(never)]
    pub(crate) fn offload(
        &mut self,
        index: usize,
        bytes: usize,
        requested: u64,
        words: u64,
    ) -> Result<usize, Malformed> {
        let frame = &mut *self.transmit.frames[index];
        let sent = frame.get_mut(..bytes).ok_or(Malformed::TooLong)?;
        let (command, above) = (requested as u32, (requested >> 32) as u32);
        let tag = if words as u32 & regs::TXD_DEXT != 0 {
            let [first, second] = &self.transmit.queues[index].contexts;
            let context = if above & regs::TXD_OLINFO_IDX == 0 { first } else { second };
            insert_sums(context, above, sent)?;
            context.tag()
        } else {
            // 7.2.3.2.2: from CSS to the end, put at CSO.
            let start = (words >> 32) as u32 & regs::TXL_TAG_CSS_MASK;
            let [start, place] =
                [start >> regs::TXL_TAG_CSS_SHIFT, (words as u32 & regs::TXL_CSO_MASK) >> regs::TXL_CSO_SHIFT];
            if command & regs::TXL_IC != 0 {
                let sum = sent.get(start as usize..).map(internet_checksum).ok_or(Malformed::BadOffload)?;
                let place = sent.get_mut(place as usize..).and_then(<[u8]>::first_chunk_mut);
                *place.ok_or(Malformed::BadOffload)? = sum.to_be_bytes();
            }
            (words >> 48) as u16
        };
        if command & regs::TXD_VLE == 0 {
            return Ok(bytes);
        }
        let longer = bytes.saturating_add(TAG_BYTES);
        if bytes < TYPE_AT {
            return Err(Malformed::TooShort);
        } else if longer > FRAME_BYTES_MAX {
            return Err(Malformed::TooLong);
        }
        frame.copy_within(TYPE_AT..bytes, TYPE_AT + TAG_BYTES);
        let [[a, b], [c, d]] = [self.transmit.tag_ethertype, tag].map(u16::to_be_bytes);
        let place = frame.get_mut(TYPE_AT..).and_then(<[u8]>::first_chunk_mut::<TAG_BYTES>);
        *place.ok_or(Malformed::TooShort)? = [a, b, c, d];
        Ok(longer)
    }
}

/// Writes the checksums that a data descriptor requests.
fn insert_sums(context: &Context, requested: u32, frame: &mut [u8]) -> Result<(), Malformed> {
    let (ip, transport) = (context.mac_bytes(), context.mac_bytes().saturating_add(context.ip_bytes()));
    // A header of IPv6 has no checksum.
    if requested & regs::TXD_OLINFO_IXSM != 0 && context.command & regs::TXC_IPV4 != 0 {
        let header = frame.get_mut(ip..transport).ok_or(Malformed::BadOffload)?;
        if !insert_header_sum(header) {
            return Err(Malformed::BadOffload);
        }
    }
    if requested & regs::TXD_OLINFO_TXSM != 0 {
        let rest = frame.get_mut(transport..).ok_or(Malformed::BadOffload)?;
        if !context.transport().is_some_and(|transport| insert_transport_sum(transport, rest)) {
            return Err(Malformed::BadOffload);
        }
    }
    Ok(())
}
