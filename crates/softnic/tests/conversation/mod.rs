//! A driver that talks to the device field by field: resets, rings, descriptors, tails, frames, and settings that change between them.
//!
//! Each number is drawn near one that mattered before: the ends of rings and of memory, the lengths and addresses of earlier descriptors,
//! the tail that the device knows. The choices come from a [`Source`]: random numbers in a test, the bytes of a fuzzer in `fuzz/`.

mod source;

use std::collections::VecDeque;

use prony_ixgbe_regs::{self as regs, REGISTERS};
use prony_softnic::{Device, DmaFault, DmaMemory, FRAME_BYTES_MAX, PagedMemory, Receipt, Validator};

pub use source::{Random, Source};

/// The driver's memory: some pages, and the last ones that have addresses.
const MEMORY: u64 = 0x4000_0000;
const MEMORY_BYTES: u64 = 64 << 10;
const LAST_PAGES: u64 = u64::MAX - 0x1fff;
const QUEUES: u64 = 16;
/// Queues that are set up, so that they meet each other's memory.
const BUSY_QUEUES: u64 = 3;
/// Earlier numbers that new ones are drawn near.
const REMEMBERED: usize = 8;
const DESCRIPTOR_BYTES: u64 = 16;

/// The driver's memory, and what the device wrote to it.
#[derive(Default)]
struct Watched {
    memory: PagedMemory,
    writes: Vec<(u64, u64)>,
}

impl DmaMemory for Watched {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), DmaFault> {
        self.memory.read(address, into)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DmaFault> {
        self.writes.push((address, bytes.len() as u64));
        self.memory.write(address, bytes)
    }

    fn read_descriptor(&mut self, address: u64) -> Result<[u64; 2], DmaFault> {
        assert!(address.is_multiple_of(DESCRIPTOR_BYTES), "{address:#x}");
        self.memory.read_descriptor(address)
    }

    fn write_descriptor(&mut self, address: u64, words: [u64; 2]) -> Result<(), DmaFault> {
        assert!(address.is_multiple_of(DESCRIPTOR_BYTES), "{address:#x}");
        self.writes.push((address, DESCRIPTOR_BYTES));
        self.memory.write_descriptor(address, words)
    }
}

/// What the driver believes of a ring.
#[derive(Debug, Clone, Copy, Default)]
struct Ring {
    base: u64,
    bytes: u64,
    tail: u64,
}

impl Ring {
    fn descriptors(&self) -> u64 {
        self.bytes / DESCRIPTOR_BYTES
    }
}

/// Frames that moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    pub sent: u64,
    pub delivered: u64,
}

/// A driver and its device.
pub struct Conversation<S> {
    source: S,
    memory: Watched,
    device: Device,
    validator: Validator,
    /// By direction, receive first, and queue.
    rings: [[Ring; BUSY_QUEUES as usize]; 2],
    addresses: VecDeque<u64>,
    lengths: VecDeque<u64>,
    frame: Vec<u8>,
    now_ns: u64,
    moved: Moved,
}

impl<S: Source> Conversation<S> {
    /// A device after power-on, and a driver that has not begun.
    pub fn new(source: S) -> Conversation<S> {
        let mut memory = Watched::default();
        memory.memory.map(MEMORY, MEMORY_BYTES);
        memory.memory.map(LAST_PAGES, 0x2000);
        let device = Device::new([0, 1, 2, 3, 4, 5], 0);
        let validator = Validator::new(0, device.mac());
        let frame = (0..=FRAME_BYTES_MAX).map(|place| place as u8).collect();
        let (addresses, lengths) = (VecDeque::from([MEMORY]), VecDeque::from([60]));
        Conversation {
            source,
            memory,
            device,
            validator,
            rings: Default::default(),
            addresses,
            lengths,
            frame,
            now_ns: 0,
            moved: Moved::default(),
        }
    }

    /// Says the next thing; false when the source is exhausted.
    pub fn step(&mut self) -> bool {
        let Some(step) = self.source.byte() else { return false };
        match step % 32 {
            0 if self.source.once_in(8) => self.write(regs::CTRL, u64::from(regs::CTRL_RST)),
            0 | 1 => self.set_up_everything(),
            2 | 3 => self.set_up_queue(),
            4 | 5 => self.put_descriptor(),
            6..=9 => self.put_frame(),
            10 | 11 => self.move_tail(),
            12 => self.move_head(),
            13..=16 => self.transmit(),
            17..=20 => self.receive(),
            21 => self.receive_burst(),
            22 => self.receive_raw(),
            23 | 24 => self.change_setting(),
            25 => self.change_interrupts(),
            26 => self.change_memory(),
            27 => self.build_headers(),
            28 => self.write_anything(),
            29 => self.read_everything(),
            _ => self.pass_time(),
        }
        self.check();
        true
    }

    pub fn moved(&self) -> Moved {
        self.moved
    }

    fn write(&mut self, offset: u32, value: u64) {
        self.device.write(self.now_ns, offset, value as u32);
    }

    fn queue(&mut self) -> u64 {
        if self.source.once_in(16) { self.source.below(QUEUES) } else { self.source.below(BUSY_QUEUES) }
    }

    /// An address that mattered before, or one near it.
    fn address(&mut self) -> u64 {
        if !self.source.once_in(4) {
            return MEMORY + 0x4000 + self.source.below(0xb000);
        }
        let known = match self.source.below(8) {
            0 => MEMORY,
            1 => MEMORY + MEMORY_BYTES,
            2 => LAST_PAGES,
            3 => u64::MAX,
            // The ring of a queue: a device that writes to its own descriptors.
            4 => self.rings[self.source.below(2) as usize][self.source.below(BUSY_QUEUES) as usize].base,
            5 => MEMORY + self.source.below(MEMORY_BYTES),
            _ => self.addresses[self.source.below(self.addresses.len() as u64) as usize],
        };
        let step = self.source.any_of(&[1, 16, 64, 2048, 4096]);
        let address = self.source.near(known, step);
        if address.wrapping_sub(MEMORY) > MEMORY_BYTES {
            return address;
        }
        remember(&mut self.addresses, address);
        address
    }

    /// A length that mattered before, or one near it.
    fn length(&mut self) -> u64 {
        let known = match self.source.below(4) {
            0 => self.source.any_of(&[0, 12, 14, 18, 60, 64, 1518, 2048, 9018]),
            1 => FRAME_BYTES_MAX as u64,
            _ => self.lengths[self.source.below(self.lengths.len() as u64) as usize],
        };
        let length = self.source.near(known, 1) & 0xffff;
        if length > 2 * FRAME_BYTES_MAX as u64 {
            return length;
        }
        remember(&mut self.lengths, length);
        length
    }

    fn set_up_everything(&mut self) {
        self.memory.memory.map(MEMORY, MEMORY_BYTES);
        self.device.set_cable(self.now_ns, true);
        for (offset, value) in [
            (regs::CTRL, regs::CTRL_RST),
            (regs::AUTOC, regs::AUTOC_RESTART_AN),
            (regs::FCTRL, regs::FCTRL_UPE | regs::FCTRL_MPE | regs::FCTRL_BAM),
            (regs::RXCTRL, regs::RXCTRL_RXEN),
            (regs::DMATXCTL, regs::DMATXCTL_TE | 0x8100 << regs::DMATXCTL_VT_SHIFT),
            (regs::HLREG0, regs::HLREG0_TXPADEN | regs::HLREG0_JUMBOEN),
            (regs::MAXFRS, 9018 << regs::MAXFRS_MFS_SHIFT),
            (regs::VLNCTRL, 0x8100),
        ] {
            self.write(offset, value.into());
        }
        for queue in 0..BUSY_QUEUES as u32 {
            let (receive, transmit) = (MEMORY + 0x800 * u64::from(queue), MEMORY + 0x2000 + 0x800 * u64::from(queue));
            let tail = self.source.below(128);
            self.rings[0][queue as usize] = Ring { base: receive, bytes: 0x800, tail };
            self.rings[1][queue as usize] = Ring { base: transmit, bytes: 0x800, tail: 0 };
            for index in 0..128 {
                let buffer = MEMORY + 0x4000 + index * 0x100 % 0xb000;
                self.put(receive + index * DESCRIPTOR_BYTES, [buffer, 0]);
            }
            for (offset, value) in [
                (regs::srrctl(queue), u64::from(regs::SRRCTL_DESCTYPE_ADVANCED) | 1),
                (regs::rdbal(queue), receive),
                (regs::rdlen(queue), 0x800),
                (regs::rxdctl(queue), regs::RXDCTL_ENABLE.into()),
                (regs::rdt(queue), tail),
                (regs::tdbal(queue), transmit),
                (regs::tdlen(queue), 0x800),
                (regs::txdctl(queue), regs::TXDCTL_ENABLE.into()),
            ] {
                self.write(offset, value);
            }
        }
        self.now_ns += 10_000_000;
        self.device.handle_timeout(self.now_ns);
    }

    /// A ring near other rings, buffers and ends of memory; sometimes without disabling the queue first.
    fn set_up_queue(&mut self) {
        let (direction, queue) = (self.source.below(2), self.source.below(BUSY_QUEUES));
        let n = queue as u32;
        let (enable, [control, low, high, length, head, tail]) = match direction {
            0 => (
                regs::RXDCTL_ENABLE,
                [regs::rxdctl(n), regs::rdbal(n), regs::rdbah(n), regs::rdlen(n), regs::rdh(n), regs::rdt(n)],
            ),
            _ => (
                regs::TXDCTL_ENABLE,
                [regs::txdctl(n), regs::tdbal(n), regs::tdbah(n), regs::tdlen(n), regs::tdh(n), regs::tdt(n)],
            ),
        };
        let base = self.address();
        let known = self.source.any_of(&[0, 128, 256, 1024, 4096, 8192 * 16]);
        let step = self.source.any_of(&[1, 16, 128]);
        let bytes = self.source.near(known, step);
        let first = self.source.near(0, 1);
        let last = self.source.near(bytes / DESCRIPTOR_BYTES, 1);
        if !self.source.once_in(4) {
            self.write(control, 0);
        }
        let threshold = match self.source.once_in(2) {
            true => self.source.below(128) << regs::TXDCTL_WTHRESH_SHIFT,
            false => 0,
        };
        let enabled = u64::from(enable) | if direction == 1 { threshold } else { 0 };
        let mut writes =
            [(low, base), (high, base >> 32), (length, bytes), (head, first), (control, enabled), (tail, last)];
        // In another order than the datasheet's.
        if self.source.once_in(4) {
            writes.swap(self.source.below(6) as usize, self.source.below(6) as usize);
        }
        writes.into_iter().for_each(|(offset, value)| self.write(offset, value));
        self.rings[direction as usize][queue as usize] = Ring { base: base & !127, bytes, tail: last };
    }

    /// Writes a descriptor if it lies in the driver's memory.
    fn put(&mut self, place: u64, words: [u64; 2]) {
        let _ = self.memory.memory.write_descriptor(place & !(DESCRIPTOR_BYTES - 1), words);
    }

    /// The place of a descriptor near the tail of a ring.
    fn place(&mut self, ring: Ring, ahead: u64) -> u64 {
        let index = ring.tail.wrapping_add(ahead) % ring.descriptors().max(1);
        ring.base.wrapping_add(index * DESCRIPTOR_BYTES)
    }

    fn put_descriptor(&mut self) {
        let ring = self.rings[self.source.below(2) as usize][self.source.below(BUSY_QUEUES) as usize];
        let ahead = self.source.near(0, 1);
        let place = self.place(ring, ahead);
        let words = match self.source.below(4) {
            0 => self.context(),
            1 => [self.address(), self.source.number(8)],
            _ => self.data(),
        };
        self.put(place, words);
    }

    /// 7.2.3.2.3: lengths of headers near those of IPv4, IPv6 and VLAN, an L4 type, the number of the context, MSS.
    fn context(&mut self) -> [u64; 2] {
        let mac_bytes = {
            let known = self.source.any_of(&[0, 14, 18, 127]);
            self.source.near(known, 1)
        } & 0x7f;
        let ip_bytes = {
            let known = self.source.any_of(&[0, 20, 40, 60, 511]);
            self.source.near(known, 1)
        } & 0x1ff;
        let first = ip_bytes
            | mac_bytes << regs::TXC_LENGTHS_MACLEN_SHIFT
            | self.source.number(2) << regs::TXC_LENGTHS_VLAN_SHIFT;
        let command = regs::TXD_DEXT
            | regs::TXD_DTYP_CONTEXT
            | self.source.any_of(&[0, regs::TXC_IPV4])
            | self.source.any_of(&[0, regs::TXC_L4T_UDP, regs::TXC_L4T_TCP, regs::TXC_L4T_SCTP, regs::TXC_L4T_MASK]);
        let index = self.source.any_of(&[0, regs::TXC_IDX_IDX]);
        let mss = {
            let known = self.source.any_of(&[0, 1, 1460]);
            self.source.near(known, 1)
        } & 0xffff;
        [first, u64::from(command) | u64::from(index) << 32 | mss << 48]
    }

    /// A data descriptor, or a legacy one.
    fn data(&mut self) -> [u64; 2] {
        let (address, length) = (self.address(), self.length());
        let mut command = regs::TXD_DTYP_DATA | regs::TXD_DEXT;
        for bit in [regs::TXD_EOP, regs::TXD_RS, regs::TXD_IFCS, regs::TXD_VLE, regs::TXD_TSE] {
            command |= if self.source.once_in(2) { bit } else { 0 };
        }
        let mut options = 0;
        for bit in [regs::TXD_OLINFO_IDX, regs::TXD_OLINFO_CC, regs::TXD_OLINFO_IXSM, regs::TXD_OLINFO_TXSM] {
            options |= if self.source.once_in(3) { bit } else { 0 };
        }
        if self.source.once_in(4) {
            // Where to sum from and where to put it, near the ends of the frame.
            command = command & !(regs::TXD_DEXT | regs::TXD_DTYP_MASK) | self.source.any_of(&[0, regs::TXL_IC]);
            let at = self.source.near(length, 1) as u32;
            command |= at << regs::TXL_CSO_SHIFT & regs::TXL_CSO_MASK;
            options = (self.source.near(length, 1) as u32) << regs::TXL_TAG_CSS_SHIFT & regs::TXL_TAG_CSS_MASK;
        }
        let total = self.source.near(length, 1) << regs::TXD_OLINFO_PAYLEN_SHIFT & 0xffff_ffff;
        [address, length | u64::from(command) | (u64::from(options) | total) << 32]
    }

    /// A frame in several descriptors, behind a context that fits it or not, and the tail behind it.
    fn put_frame(&mut self) {
        let queue = self.source.below(BUSY_QUEUES);
        let ring = self.rings[1][queue as usize];
        let number = self.source.any_of(&[1, 1, 1, 2, 3, 40]);
        let mut ahead = 0;
        if self.source.once_in(2) {
            let (place, words) = (self.place(ring, ahead), self.context());
            self.put(place, words);
            ahead += 1;
        }
        for part in 0..number {
            let [address, mut words] = self.data();
            // Most frames end where they should.
            if !self.source.once_in(8) {
                words &= !u64::from(regs::TXD_EOP);
                words |= if part + 1 == number { regs::TXD_EOP.into() } else { 0 };
            }
            let place = self.place(ring, ahead);
            self.put(place, [address, words]);
            ahead += 1;
        }
        let tail = ring.tail.wrapping_add(ahead) % ring.descriptors().max(1);
        self.set_tail(1, queue, tail);
        if self.source.once_in(2) {
            let limit = self.source.near(ahead, 1) as u32;
            self.transmit_of(queue, limit);
        }
    }

    fn set_tail(&mut self, direction: usize, queue: u64, tail: u64) {
        match direction {
            0 => self.device.set_receive_tail(queue as usize, tail as u32),
            _ => self.device.set_transmit_tail(queue as usize, tail as u32),
        }
        if let Some(ring) = self.rings[direction].get_mut(queue as usize) {
            ring.tail = tail;
        }
    }

    fn move_tail(&mut self) {
        let (direction, queue) = (self.source.below(2) as usize, self.queue());
        let ring = self.rings[direction].get(queue as usize).copied().unwrap_or_default();
        let known = self.source.any_of(&[0, ring.tail, ring.descriptors()]);
        let tail = self.source.near(known, 1);
        self.set_tail(direction, queue, tail);
    }

    fn move_head(&mut self) {
        let (direction, queue) = (self.source.below(2), self.queue() as u32);
        let offset = if direction == 0 { regs::rdh(queue) } else { regs::tdh(queue) };
        let ring = self.rings[direction as usize].get(queue as usize).copied().unwrap_or_default();
        let known = self.source.any_of(&[0, ring.tail, ring.descriptors()]);
        let head = self.source.near(known, 1);
        self.write(offset, head);
    }

    fn transmit(&mut self) {
        let queue = self.queue();
        let known = self.source.any_of(&[0, 1, 32, 64]);
        let limit = self.source.near(known, 1) as u32 % 1000;
        self.transmit_of(queue, limit);
    }

    fn transmit_of(&mut self, queue: u64, limit: u32) {
        let waiting = self.device.transmit_waiting(queue as usize);
        self.memory.writes.clear();
        let (now_ns, validator, moved) = (self.now_ns, &mut self.validator, &mut self.moved);
        let used = self.device.transmit(&mut self.memory, queue as usize, limit, |frame| {
            assert!((14..=FRAME_BYTES_MAX).contains(&frame.len()), "{} bytes", frame.len());
            validator.handle_frame(now_ns, frame);
            moved.sent += 1;
        });
        assert!(used <= limit && used <= waiting, "{used} of {waiting}, up to {limit}");
        // A device that sends writes descriptors back, at most each used one and those that waited for their threshold.
        assert!(self.memory.writes.iter().all(|&(_, bytes)| bytes == DESCRIPTOR_BYTES));
    }

    fn receive(&mut self) {
        let bytes = self.length() as usize % (self.frame.len() + 1);
        self.memory.writes.clear();
        match self.device.receive(&mut self.memory, &self.frame[..bytes]) {
            Receipt::Delivered { queue } => {
                assert!(u64::from(queue) < QUEUES);
                self.moved.delivered += 1;
            }
            Receipt::Faulted => {}
            _ => assert!(self.memory.writes.is_empty(), "nothing is delivered, and something written"),
        }
        let written: u64 = self.memory.writes.iter().map(|&(_, bytes)| bytes).sum();
        let descriptors = self.memory.writes.len().div_ceil(2) as u64;
        assert!(written <= bytes as u64 + descriptors * DESCRIPTOR_BYTES, "{written} bytes for a frame of {bytes}");
    }

    fn receive_burst(&mut self) {
        let bytes = self.length() as usize % (self.frame.len() + 1);
        let number = self.source.near(32, 1) as usize % 200;
        let frames = std::iter::repeat_n(&self.frame[..bytes], number);
        let receipts = self.device.receive_burst(&mut self.memory, frames);
        assert_eq!(receipts.delivered + receipts.missed + receipts.refused, number as u64);
        self.moved.delivered += receipts.delivered;
    }

    fn receive_raw(&mut self) {
        let (bytes, length) = (self.length() as usize % (self.frame.len() + 1), self.length());
        let is_end = self.source.once_in(2);
        self.device.receive_raw(&mut self.memory, &self.frame[..bytes], length as u16, is_end);
    }

    /// Settings that frames under way depend on.
    fn change_setting(&mut self) {
        let queue = self.queue() as u32;
        let (offset, value) = match self.source.below(14) {
            0 => (regs::srrctl(queue), self.source.number(4)),
            1 => (regs::srrctl(queue), u64::from(regs::SRRCTL_DESCTYPE_ADVANCED) | self.source.below(4)),
            2 => (
                regs::rxdctl(queue),
                self.source.any_of(&[0, regs::RXDCTL_VME, regs::RXDCTL_VME | regs::RXDCTL_ENABLE]).into(),
            ),
            3 => (regs::VLNCTRL, 0x8100 | self.source.number(4) & 0xf000_0000),
            4 => (regs::vfta(self.source.below(128) as u32), self.source.any_of(&[0, u64::MAX])),
            5 => (regs::MRQC, u64::from(regs::MRQC_MRQE_RSS) | self.source.number(4) & 0xffff_0000),
            6 => (regs::rssrk(self.source.below(10) as u32), self.source.number(4)),
            7 => (regs::reta(self.source.below(32) as u32), self.source.number(4)),
            8 => (regs::RXCSUM, self.source.number(4)),
            9 => (regs::HLREG0, self.source.number(4)),
            10 => (regs::MAXFRS, self.length() << regs::MAXFRS_MFS_SHIFT),
            11 => (regs::DMATXCTL, u64::from(regs::DMATXCTL_TE) | self.source.number(2) << regs::DMATXCTL_VT_SHIFT),
            12 => (
                regs::txdctl(queue),
                u64::from(regs::TXDCTL_ENABLE)
                    | self.source.below(128) << regs::TXDCTL_WTHRESH_SHIFT
                    | u64::from(self.source.any_of(&[0, regs::TXDCTL_SWFLSH])),
            ),
            // The length of a ring that works.
            _ => (self.source.any_of(&[regs::rdlen(queue), regs::tdlen(queue)]), 128 * self.source.below(64)),
        };
        self.write(offset, value);
    }

    fn change_interrupts(&mut self) {
        let value = self.source.any_of(&[u64::MAX, 0, 1 << 2, 0xffff, 1 << 20]);
        let index = self.source.below(16) as u32;
        let offset = self.source.any_of(&[
            regs::EIMS,
            regs::EIMC,
            regs::EICS,
            regs::EIAC,
            regs::EIAM,
            regs::EICR,
            regs::GPIE,
            regs::IVAR_MISC,
            regs::ivar(index),
            regs::eitr(index),
        ]);
        let value = if self.source.once_in(2) { value } else { self.source.number(4) };
        self.write(offset, value);
        let enabled = self.device.value(regs::EIMS);
        let vectors = self.device.take_interrupts(self.now_ns);
        assert!(enabled != 0 || vectors == 0, "{vectors:#x} with all interrupts masked");
    }

    /// Memory that the driver takes away from under a ring or a buffer, or gives.
    fn change_memory(&mut self) {
        let address = self.address();
        match self.source.once_in(2) {
            true => self.memory.memory.unmap(address, 4096),
            false => self.memory.memory.map(MEMORY + address % MEMORY_BYTES, 4096),
        }
    }

    /// Headers that the device looks into, with lengths near those that they should have.
    fn build_headers(&mut self) {
        let mut at = 12;
        if self.source.once_in(3) {
            self.frame[at..at + 2].copy_from_slice(&[0x81, 0x00]);
            self.frame[at + 2] = self.source.number(1) as u8;
            at += 4;
        }
        let (ethertype, version) = self.source.any_of(&[([0x08, 0x00], 0x45), ([0x86, 0xdd], 0x60), ([0x88, 0xb5], 0)]);
        self.frame[at..at + 2].copy_from_slice(&ethertype);
        let version = self.source.near(version, 1) as u8;
        let known = self.source.any_of(&[20, 28, 40, 46, 60]);
        let length = (self.source.near(known, 1) as u16).to_be_bytes();
        let protocols = [0, 6, 17, 43, 44, 60, 132];
        let [protocol, next] = [self.source.any_of(&protocols), self.source.any_of(&protocols)];
        let header = &mut self.frame[at + 2..];
        header[0] = version;
        header[2..4].copy_from_slice(&length);
        if ethertype == [0x86, 0xdd] {
            header[4..6].copy_from_slice(&length);
            (header[6], header[40], header[41]) = (protocol, next, length[1]);
        } else {
            (header[6], header[7], header[9]) = (0, 0, protocol);
        }
        // The destination: this port, everybody, some group.
        self.frame[..6].copy_from_slice(&self.source.any_of(&[[0, 1, 2, 3, 4, 5], [0xff; 6], [1, 0, 0x5e, 0, 0, 1]]));
        if self.source.once_in(4) {
            let place = self.source.below(80) as usize;
            self.frame[place] = self.source.number(1) as u8;
        }
    }

    fn write_anything(&mut self) {
        let offset = match self.source.once_in(4) {
            true => self.source.below(0x10_0000) as u32,
            false => {
                let register = self.source.any_of(REGISTERS);
                register.offset + self.source.below(register.count.into()) as u32 * register.stride
            }
        };
        let value = self.source.number(4);
        self.write(offset, value);
    }

    fn read_everything(&mut self) {
        for register in REGISTERS {
            self.device.read(register.offset);
        }
    }

    fn pass_time(&mut self) {
        self.now_ns += self.source.any_of(&[0, 1_000, 100_000, 3_000_000]);
        self.device.handle_timeout(self.now_ns);
        if self.source.once_in(16) {
            let is_plugged = !self.source.once_in(8);
            self.device.set_cable(self.now_ns, is_plugged);
        }
        let is_tracing = self.source.once_in(4);
        self.device.set_tracing(is_tracing);
    }

    /// What holds whatever was said.
    fn check(&mut self) {
        while self.device.poll_event().is_some() {}
        assert_eq!(self.device.transmitted(), self.moved.sent, "each frame that was sent is counted once");
        assert!(self.device.received() >= self.moved.delivered, "each frame that was delivered is counted");
        for queue in 0..QUEUES as usize {
            let (room, descriptors) = (self.device.receive_room(queue), self.device.receive_descriptors(queue));
            assert!(room == 0 || room < descriptors, "queue {queue} has {room} of {descriptors}");
            assert!(self.device.value(regs::rdh(queue as u32)) < descriptors.max(1) || room == 0);
        }
    }
}

fn remember(numbers: &mut VecDeque<u64>, number: u64) {
    if numbers.len() >= REMEMBERED {
        numbers.pop_front();
    }
    numbers.push_back(number);
}
