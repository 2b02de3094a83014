//! From the wire to the driver.

use prony_ixgbe_regs as regs;

use crate::device::Device;
use crate::dma::{DmaFault, DmaMemory};
use crate::event::{Direction, Event, Target};
use crate::frame::FRAME_BYTES_MAX;
use crate::numbered::Queues;
use crate::packet::{IPV4, IPV6, Packet, Sum, Transport, be16};
use crate::ring::Ring;
use crate::rss::Rss;

/// Length of an Ethernet header, in bytes.
pub(crate) const HEADER_BYTES: usize = 14;

const BROADCAST: u64 = 0xffff_ffff_ffff;
/// Place of the Ethernet type, or of a VLAN tag before it, and length of that tag.
pub(crate) const TYPE_AT: usize = 12;
pub(crate) const TAG_BYTES: usize = 4;
pub(crate) const DD: u64 = regs::RXD_DD as u64;
pub(crate) const EOP: u64 = regs::RXD_EOP as u64;

/// Fate of a frame from the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// The frame is in a buffer of the driver.
    Delivered {
        /// Number of the queue, from 0.
        queue: u32,
    },
    /// No descriptor was free, or the queue is disabled: RXMPC or QPRDC counts it.
    Missed,
    /// The receiver is off, or the link is down.
    Down,
    /// It is not for this port, or its length is not one that this port takes.
    Filtered,
    /// The driver gave the device an address that is no DMA memory of its own; the queue stands still.
    Faulted,
}

/// The receive unit: its queues, and what it does with a frame before it is in one.
#[derive(Debug, Clone)]
pub(crate) struct ReceiveUnit {
    pub(crate) queues: Queues<ReceiveQueue>,
    pub(crate) filter: Filter,
    pub(crate) vlan: Vlan,
    pub(crate) rss: Rss,
    /// A received frame without its VLAN tag.
    pub(crate) stripped: Box<[u8]>,
    /// RXCTRL.RXEN, and the link is up.
    pub(crate) is_active: bool,
}

impl ReceiveUnit {
    pub(crate) fn new() -> ReceiveUnit {
        ReceiveUnit {
            queues: Default::default(),
            filter: Filter::default(),
            vlan: Vlan::default(),
            rss: Rss::default(),
            stripped: vec![0; FRAME_BYTES_MAX].into_boxed_slice(),
            is_active: false,
        }
    }
}

/// State of a receive queue and its ring.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReceiveQueue {
    pub(crate) ring: Ring,
    pub(crate) is_enabled: bool,
    is_halted: bool,
    is_legacy: bool,
    buffer_bytes: usize,
    /// SRRCTL.DROP_EN: a frame without a descriptor is dropped by the queue, and does not wait in the packet buffer.
    drops: bool,
    /// RXDCTL.VME: VLAN tags go into the descriptor, and not into the buffer.
    strips: bool,
}

impl ReceiveQueue {
    pub(crate) fn set_ring(&mut self, ring: Ring, is_enabled: bool) {
        (self.ring, self.is_enabled, self.is_halted) = (ring, is_enabled, false);
    }

    /// Takes over the value written to SRRCTL.
    pub(crate) fn configure(&mut self, srrctl: u32) {
        // In KiB; 0 is not one of the values of the datasheet, and taken as the default.
        let kib = match srrctl & regs::SRRCTL_BSIZEPACKET_MASK {
            0 => 2,
            kib => kib as usize,
        };
        self.buffer_bytes = kib << 10;
        self.is_legacy = srrctl & regs::SRRCTL_DESCTYPE_MASK == 0;
        self.drops = srrctl & regs::SRRCTL_DROP_EN != 0;
    }

    /// True if frames can be put into it that are not more than their bytes and their length.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.is_enabled && !self.is_halted && !self.is_legacy
    }

    #[inline]
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// The driver gave an address that is no memory of its own.
    pub(crate) fn halt(&mut self) {
        self.is_halted = true;
    }

    /// Takes over the value written to RXDCTL, as far as it is not about the ring.
    pub(crate) fn set_control(&mut self, rxdctl: u32) {
        self.strips = rxdctl & regs::RXDCTL_VME != 0;
    }
}

/// What the receiver takes from the wire.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) all_unicast: bool,
    pub(crate) all_multicast: bool,
    pub(crate) broadcast: bool,
    pub(crate) addresses: Vec<u64>,
    /// Without the frame check sequence.
    pub(crate) bytes_max: usize,
}

impl Filter {
    #[inline]
    pub(crate) fn takes(&self, frame: &[u8]) -> bool {
        let Some(start) = frame.first_chunk::<8>() else { return false };
        if !(HEADER_BYTES..=self.bytes_max).contains(&frame.len()) {
            return false;
        }
        let to = u64::from_le_bytes(*start) & BROADCAST;
        match (to & 1 == 0, to == BROADCAST) {
            (true, _) => self.all_unicast || self.addresses.contains(&to),
            (false, true) => self.broadcast || self.all_multicast,
            (false, false) => self.all_multicast,
        }
    }
}

/// VLNCTRL: what a VLAN tag is, and which of them are taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Vlan {
    vlnctrl: u32,
    ethertype: u16,
}

impl Vlan {
    pub(crate) fn set_control(&mut self, vlnctrl: u32) {
        (self.vlnctrl, self.ethertype) = (vlnctrl, (vlnctrl & regs::VLNCTRL_VET_MASK) as u16);
    }

    /// True for a frame that the device looks into. `frame`: at least a header.
    #[inline]
    pub(crate) fn parses(&self, frame: &[u8]) -> bool {
        let ethertype = be16(frame, TYPE_AT);
        (ethertype == IPV4) | (ethertype == IPV6) | (ethertype == self.ethertype)
    }
}

/// What a descriptor says of a frame beside its length and its end.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    /// RXD_INFO, and above it the hash or the identification. Stands in each descriptor of the frame.
    info: u64,
    /// Status and errors, and in the highest 16 bits the VLAN tag. Stands in the last descriptor of the frame.
    status: u64,
}

impl Device {
    /// A frame arrives, without its frame check sequence.
    #[inline]
    pub fn receive<M: DmaMemory>(&mut self, memory: &mut M, frame: &[u8]) -> Receipt {
        if !self.receive.is_active {
            return Receipt::Down;
        }
        if !self.receive.filter.takes(frame) {
            self.statistics.count_filtered(frame.len());
            return Receipt::Filtered;
        }
        match self.receive.vlan.parses(frame) {
            // Nothing of it is hashed or summed: such frames go to the first queue.
            false => self.deliver(memory, 0, frame, frame.len(), Marks::default()),
            true => self.receive_parsed(memory, frame),
        }
    }

    /// A frame arrives that the device looks into: with a VLAN tag, or of the Internet Protocol.
    #[inline(never)]
    fn receive_parsed<M: DmaMemory>(&mut self, memory: &mut M, frame: &[u8]) -> Receipt {
        let is_tagged = be16(frame, TYPE_AT) == self.receive.vlan.ethertype && frame.len() >= HEADER_BYTES + TAG_BYTES;
        let tag = is_tagged.then(|| be16(frame, TYPE_AT + 2));
        if tag.is_some_and(|tag| !self.takes_tag(tag)) {
            self.statistics.count_filtered(frame.len());
            return Receipt::Filtered;
        }
        let type_at = if is_tagged { TYPE_AT + TAG_BYTES } else { TYPE_AT };
        let (mut marks, mut index) = (Marks::default(), 0);
        if let Some(packet) = Packet::parse(be16(frame, type_at), frame.get(type_at + 2..).unwrap_or_default()) {
            marks = self.check(&packet);
            let shows_hash = self.value(regs::RXCSUM) & regs::RXCSUM_PCSD != 0;
            let mut shown = if shows_hash { 0 } else { u32::from(packet.identification()) };
            if let Some((kind, hash)) = self.receive.rss.hash(&packet) {
                index = self.receive.rss.queue(hash);
                marks.info |= u64::from(kind);
                if shows_hash {
                    shown = hash;
                }
            }
            marks.info |= u64::from(shown) << 32;
        }
        let mut stripped = std::mem::take(&mut self.receive.stripped);
        let mut delivered = frame;
        if let Some(tag) = tag.filter(|_| self.receive.queues[index].strips) {
            marks.status |= u64::from(regs::RXD_VP) | u64::from(tag) << 48;
            let (addresses, rest) = frame.split_at_checked(TYPE_AT).unwrap_or((frame, &[]));
            let rest = rest.get(TAG_BYTES..).unwrap_or_default();
            let kept = stripped.get_mut(..addresses.len() + rest.len()).unwrap_or_default();
            if let Some((front, back)) = kept.split_at_mut_checked(addresses.len()) {
                front.copy_from_slice(addresses);
                back.copy_from_slice(rest);
            }
            delivered = kept;
        }
        let receipt = self.deliver(memory, index, delivered, frame.len(), marks);
        self.receive.stripped = stripped;
        receipt
    }

    /// True if the filter of VLANs takes frames with this tag (8.2.3.7.11).
    fn takes_tag(&self, tag: u16) -> bool {
        let Vlan { vlnctrl, .. } = self.receive.vlan;
        if vlnctrl & regs::VLNCTRL_VFE == 0 {
            return true;
        }
        let id = u32::from(tag & 0xfff);
        let is_member = self.value(regs::vfta(id / 32)) & 1 << (id % 32) != 0;
        let wants_cfi = vlnctrl & regs::VLNCTRL_CFIEN != 0;
        is_member && !(wants_cfi && (tag & 0x1000 != 0) != (vlnctrl & regs::VLNCTRL_CFI != 0))
    }

    /// What a packet is, and whether its checksums are right (7.1.6.2, 7.1.11).
    fn check(&mut self, packet: &Packet) -> Marks {
        let info = match (packet.is_ipv4, packet.has_options) {
            (true, false) => regs::RXD_INFO_IPV4,
            (true, true) => regs::RXD_INFO_IPV4 | regs::RXD_INFO_IPV4E,
            (false, false) => regs::RXD_INFO_IPV6,
            (false, true) => regs::RXD_INFO_IPV6 | regs::RXD_INFO_IPV6E,
        };
        let transport = packet.transport().map_or(0, |transport| match transport {
            Transport::Tcp => regs::RXD_INFO_TCP,
            Transport::Udp => regs::RXD_INFO_UDP,
            Transport::Sctp => regs::RXD_INFO_SCTP,
        });
        let mut status = 0;
        for (sum, checked, wrong) in [
            (packet.header_sum(), regs::RXD_IPCS, regs::RXD_IPE),
            (packet.transport_sum(), regs::RXD_L4CS, regs::RXD_L4E),
        ] {
            status |= match sum {
                Sum::Unknown => 0,
                Sum::Right => checked,
                Sum::Wrong => checked | wrong,
            };
        }
        if status & (regs::RXD_IPE | regs::RXD_L4E) != 0 {
            self.statistics.count_checksum_error();
        }
        Marks { info: (info | transport).into(), status: status.into() }
    }

    /// Puts a frame into a queue. `wire_bytes`: its length before a tag was stripped.
    #[inline(always)]
    fn deliver<M: DmaMemory>(
        &mut self,
        memory: &mut M,
        index: usize,
        frame: &[u8],
        wire_bytes: usize,
        marks: Marks,
    ) -> Receipt {
        let queue = &mut self.receive.queues[index];
        // Most frames need no division.
        let buffers = match frame.len() <= queue.buffer_bytes {
            true => 1,
            false => frame.len().div_ceil(queue.buffer_bytes),
        };
        if !queue.is_enabled || queue.is_halted || (queue.ring.owned() as usize) < buffers {
            match queue.is_enabled && !queue.drops {
                true => self.statistics.count_missed(),
                false => self.statistics.count_dropped(index, wire_bytes),
            }
            return Receipt::Missed;
        }
        let mut rest = frame;
        for _ in 0..buffers {
            let (part, after) = rest.split_at_checked(queue.buffer_bytes).unwrap_or((rest, &[]));
            rest = after;
            let place = queue.ring.head();
            let end = rest.is_empty();
            match fill(memory, queue, part, part.len() as u16, end, marks) {
                Ok(address) if self.is_tracing => self.events.push(Event::Descriptor {
                    direction: Direction::Receive,
                    queue: index as u32,
                    index: place,
                    address,
                    bytes: part.len() as u32,
                    end,
                }),
                Ok(_) => {}
                Err((target, fault)) => {
                    queue.is_halted = true;
                    let direction = Direction::Receive;
                    self.events.push(Event::Fault { direction, queue: index as u32, index: place, target, fault });
                    return Receipt::Faulted;
                }
            }
        }
        self.statistics.count_received(index, wire_bytes, frame);
        Receipt::Delivered { queue: index as u32 }
    }

    /// Fills a buffer of the first receive queue as a card with a fault does: the descriptor has whatever length and end it is
    /// given here. For tests of drivers; nothing is counted.
    ///
    /// `bytes`: at most as many as a buffer has.
    pub fn receive_raw<M: DmaMemory>(&mut self, memory: &mut M, bytes: &[u8], length: u16, is_end: bool) -> Receipt {
        let queue = &mut self.receive.queues[0];
        if !self.receive.is_active {
            return Receipt::Down;
        }
        if !queue.is_enabled || queue.is_halted || queue.ring.owned() == 0 {
            return Receipt::Missed;
        }
        let index = queue.ring.head();
        let bytes = bytes.get(..queue.buffer_bytes).unwrap_or(bytes);
        match fill(memory, queue, bytes, length, is_end, Marks::default()) {
            Ok(_) => Receipt::Delivered { queue: 0 },
            Err((target, fault)) => {
                queue.is_halted = true;
                self.events.push(Event::Fault { direction: Direction::Receive, queue: 0, index, target, fault });
                Receipt::Faulted
            }
        }
    }

    /// Descriptors of a receive queue that the driver has given to the device.
    #[inline]
    pub fn receive_room(&self, queue: usize) -> u32 {
        let queue = &self.receive.queues[queue];
        if queue.is_enabled && !queue.is_halted { queue.ring.owned() } else { 0 }
    }

    /// Descriptors of the ring of a receive queue; 0 while it is disabled.
    pub fn receive_descriptors(&self, queue: usize) -> u32 {
        self.receive.queues[queue].ring.descriptors()
    }
}

/// Fills the buffer of the first owned descriptor, and gives it back to the driver.
#[inline(always)]
fn fill<M: DmaMemory>(
    memory: &mut M,
    queue: &mut ReceiveQueue,
    part: &[u8],
    length: u16,
    is_end: bool,
    marks: Marks,
) -> Result<u64, (Target, DmaFault)> {
    let place = queue.ring.address(queue.ring.head());
    let [address, _] = memory.read_descriptor(place).map_err(|fault| (Target::Descriptor, fault))?;
    memory.write(address, part).map_err(|fault| (Target::Buffer, fault))?;
    let status = if is_end { DD | EOP | marks.status } else { DD };
    let length = u64::from(length);
    let written = match queue.is_legacy {
        true => write_legacy(memory, place, address, length, status),
        // 7.1.6.2: what was hashed, packet type, and the hash; status and errors, length, VLAN.
        false => memory.write_descriptor(place, [marks.info, status | length << 32]),
    };
    written.map_err(|fault| (Target::Descriptor, fault))?;
    queue.ring.advance();
    Ok(address)
}

/// 7.1.5: the address stays; length, checksum, the lowest byte of the status, the highest one of the errors, VLAN. Apart, so
/// that descriptors of the other kind do not pay for it.
#[cold]
#[inline(never)]
fn write_legacy<M: DmaMemory>(
    memory: &mut M,
    place: u64,
    address: u64,
    length: u64,
    status: u64,
) -> Result<(), DmaFault> {
    let second = length | (status & 0xff) << 32 | (status >> 24 & 0xff) << 40 | status >> 48 << 48;
    memory.write_descriptor(place, [address, second])
}
