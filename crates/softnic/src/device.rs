//! One port: its registers, its queues, its link.

pub(crate) mod burst;
pub(crate) mod interrupts;
pub(crate) mod offload;
pub(crate) mod receive;
pub(crate) mod transmit;

use std::collections::{BTreeMap, VecDeque};

use prony_ixgbe_regs::{self as regs, Access, BAR_BYTES, REGISTERS, Register, find};

use crate::device::interrupts::Interrupts;
use crate::device::receive::ReceiveUnit;
use crate::device::transmit::{TransmitQueue, TransmitUnit};
use crate::event::{Direction, Event};
use crate::frame::FRAME_BYTES_MAX;
use crate::numbered::{QUEUES, Registers};
use crate::ring::Ring;
use crate::rss::Rss;
use crate::statistics::Statistics;

/// Time from a reset, or from the start of negotiation, until the link is up, in nanoseconds. Shorter than real ones, which
/// take seconds; long enough for a driver that does not wait to find the link down.
const LINK_NS: u64 = 2_000_000;

/// ANLP1.STATE after the first step of a negotiation; the link says when it is over.
const ANLP1_BEGUN: u32 = 1;

/// Events that wait to be taken; further ones are counted.
const EVENTS_MAX: usize = 4096;

const RAL: u32 = regs::ral(0);
const RAH: u32 = regs::rah(0);
const RDH: u32 = regs::rdh(0);
const RDT: u32 = regs::rdt(0);
const RETA: u32 = regs::reta(0);
const RQSMR: u32 = regs::rqsmr(0);
const RSSRK: u32 = regs::rssrk(0);
const RXDCTL: u32 = regs::rxdctl(0);
const SRRCTL: u32 = regs::srrctl(0);
const TDH: u32 = regs::tdh(0);
const TDT: u32 = regs::tdt(0);
const TQSM: u32 = regs::tqsm(0);
const TXDCTL: u32 = regs::txdctl(0);

/// A port of an 82599.
#[derive(Debug, Clone)]
pub struct Device {
    /// Registers by word of the BAR, each at its first place.
    pub(crate) registers: Registers,
    /// What was written to words of the BAR at which there is no register, since the last reset.
    elsewhere: BTreeMap<u32, u32>,
    mac: [u8; 6],
    pub(crate) link: Link,
    pub(crate) interrupts: Interrupts,
    pub(crate) receive: ReceiveUnit,
    pub(crate) transmit: TransmitUnit,
    pub(crate) statistics: Statistics,
    pub(crate) events: Events,
    pub(crate) is_tracing: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    is_plugged: bool,
    pub(crate) is_up: bool,
    /// Time at which negotiation ends.
    up_at: Option<u64>,
}

/// Events in their order, up to a limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Events {
    waiting: VecDeque<Event>,
    lost: u64,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        match self.waiting.len() < EVENTS_MAX {
            true => self.waiting.push_back(event),
            false => self.lost += 1,
        }
    }
}

impl Device {
    /// A port as it is after power-on, with a cable, at time `now_ns`.
    pub fn new(mac: [u8; 6], now_ns: u64) -> Device {
        let mut device = Device {
            registers: Registers::new(),
            elsewhere: BTreeMap::new(),
            mac,
            link: Link { is_plugged: true, is_up: false, up_at: None },
            interrupts: Interrupts::default(),
            receive: ReceiveUnit::new(),
            transmit: TransmitUnit::new(),
            statistics: Statistics::default(),
            events: Events::default(),
            is_tracing: false,
        };
        device.reset(now_ns);
        device.events = Events::default();
        device
    }

    /// The address that the EEPROM has.
    pub fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Reports each used descriptor as an event, or no longer.
    pub fn set_tracing(&mut self, is_tracing: bool) {
        self.is_tracing = is_tracing;
    }

    /// Takes the oldest event that was not taken yet.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.waiting.pop_front()
    }

    /// Events that were not taken in time.
    pub fn events_lost(&self) -> u64 {
        self.events.lost
    }

    /// A driver writes a register.
    ///
    /// `offset`: in bytes; a write that is not to a whole register does nothing.
    pub fn write(&mut self, now_ns: u64, offset: u32, value: u32) {
        let Some((register, index)) = find(offset) else {
            if offset.is_multiple_of(4) && (offset as usize) < BAR_BYTES {
                self.elsewhere.insert(offset, value);
                self.events.push(Event::UnknownRegister { offset, value });
            }
            return;
        };
        let place = register.offset + index * register.stride;
        let before = self.registers[place];
        let value = match (register.access, register.offset) {
            (Access::ReadOnly | Access::ReadClear, _) => return,
            (Access::WriteClear, _) => before & !value,
            (Access::WriteSet, regs::EICS) => {
                self.raise(value);
                0
            }
            (Access::WriteSet, regs::EIMS) => {
                self.registers[regs::EICR] &= !self.interrupts.enable(value);
                before | value
            }
            (Access::WriteSet, _) => before | value,
            (Access::WriteOnly, _) => {
                self.registers[regs::EIMS] &= !value;
                0
            }
            // The device says that it has read its EEPROM and cleared its memories; no write takes that back.
            (_, regs::EEC) => value | regs::EEC_ARD | regs::EEC_EE_PRES,
            (_, regs::RDRXCTL) => value | regs::RDRXCTL_DMAIDONE,
            (_, regs::EERD) if value & regs::EERD_START != 0 => read_eeprom(value),
            // There is no PHY: nothing pulls the lines of the management bus down, and all bits that it reads are 1.
            (_, regs::MSCA) if value & regs::MSCA_MDICMD != 0 => {
                if value & regs::MSCA_READ != 0 {
                    self.registers[regs::MSRWD] |= regs::MSRWD_READ_DATA_MASK;
                }
                value & !regs::MSCA_MDICMD
            }
            _ => value,
        };
        self.registers[place] = value;
        self.after_write(now_ns, register.offset, index as usize, value);
    }

    /// What a write brings about beside the value.
    fn after_write(&mut self, now_ns: u64, first: u32, index: usize, value: u32) {
        match first {
            regs::CTRL if value & (regs::CTRL_RST | regs::CTRL_LRST) != 0 => {
                self.reset(now_ns);
                self.events.push(Event::Reset);
            }
            // 5.2.5.3.2: a driver requests the end of all DMA before a reset, and waits until there is none.
            regs::CTRL => {
                let status = &mut self.registers[regs::STATUS];
                *status |= regs::STATUS_MASTER_ENABLE;
                if value & regs::CTRL_GIO_MASTER_DISABLE != 0 {
                    *status &= !regs::STATUS_MASTER_ENABLE;
                }
            }
            regs::AUTOC if value & regs::AUTOC_RESTART_AN != 0 => {
                self.registers[regs::AUTOC] &= !regs::AUTOC_RESTART_AN;
                let negotiates = value & regs::AUTOC_LMS_NEGOTIATES != 0;
                let state = if negotiates { ANLP1_BEGUN << regs::ANLP1_STATE_SHIFT } else { 0 };
                self.registers[regs::ANLP1] = state;
                self.set_link(false);
                self.link.up_at = Some(now_ns.saturating_add(LINK_NS));
            }
            regs::RXCTRL => self.update_receiving(),
            regs::DMATXCTL => self.update_transmitting(),
            regs::HLREG0 | regs::MAXFRS => self.update_frames(),
            regs::FCTRL | RAL | RAH => self.update_filter(),
            SRRCTL => self.receive.queues[index].configure(value),
            RXDCTL => {
                self.receive.queues[index].set_control(value);
                self.update_queue(Direction::Receive, index, value & regs::RXDCTL_ENABLE != 0);
            }
            TXDCTL => {
                self.transmit.queues[index].set_control(value);
                // 8.2.3.9.10: the bit clears itself.
                self.registers[regs::txdctl(index as u32)] &= !regs::TXDCTL_SWFLSH;
                self.update_queue(Direction::Transmit, index, value & regs::TXDCTL_ENABLE != 0);
            }
            regs::VLNCTRL => self.receive.vlan.set_control(value),
            regs::MRQC => self.receive.rss.set_command(value),
            RSSRK => self.receive.rss.set_key(index, value),
            RETA => self.receive.rss.set_queues(index, value),
            RQSMR => self.statistics.map_receive(index, value),
            TQSM => self.statistics.map_transmit(index, value),
            RDT => self.set_receive_tail(index, value),
            TDT => self.set_transmit_tail(index, value),
            // Software sets heads while a queue is disabled (8.2.3.8.4); drivers do so right after they enabled it, too.
            RDH if self.receive.queues[index].is_enabled => {
                self.receive.queues[index].ring.set_head(value);
            }
            TDH if self.transmit.queues[index].is_enabled => {
                self.transmit.queues[index].ring.set_head(value);
            }
            _ => {}
        }
    }

    /// A driver has written RDT of a queue: as [`Device::write`], without looking the register up.
    #[inline]
    pub fn set_receive_tail(&mut self, queue: usize, tail: u32) {
        self.registers[regs::rdt(queue as u32)] = tail;
        let receive = &mut self.receive.queues[queue];
        if receive.is_enabled && !receive.ring.set_tail(tail) {
            let descriptors = receive.ring.descriptors();
            let direction = Direction::Receive;
            self.events.push(Event::BadTail { direction, queue: queue as u32, tail, descriptors });
        }
    }

    /// A driver has written TDT of a queue: as [`Device::write`], without looking the register up.
    #[inline]
    pub fn set_transmit_tail(&mut self, queue: usize, tail: u32) {
        self.registers[regs::tdt(queue as u32)] = tail;
        let transmit = &mut self.transmit.queues[queue];
        if transmit.is_enabled && !transmit.ring.set_tail(tail) {
            let descriptors = transmit.ring.descriptors();
            let direction = Direction::Transmit;
            self.events.push(Event::BadTail { direction, queue: queue as u32, tail, descriptors });
        }
    }

    /// RDT of a queue, as [`Device::value`] has it, without looking the register up.
    #[inline]
    pub fn receive_tail(&self, queue: usize) -> u32 {
        self.registers[regs::rdt(queue as u32)]
    }

    /// TDT of a queue, as [`Device::value`] has it, without looking the register up.
    #[inline]
    pub fn transmit_tail(&self, queue: usize) -> u32 {
        self.registers[regs::tdt(queue as u32)]
    }

    /// What a register shows, without the effects of a read.
    pub fn value(&self, offset: u32) -> u32 {
        let Some((register, index)) = find(offset) else {
            return self.elsewhere.get(&offset).copied().unwrap_or(0);
        };
        self.value_of(register, index)
    }

    /// As [`Device::value`], of a register of the table. `index`: below its count.
    #[inline]
    pub fn value_of(&self, register: &Register, index: u32) -> u32 {
        let queue = index as usize;
        match register.offset {
            RDH if self.receive.queues[queue].is_enabled => self.receive.queues[queue].ring.head(),
            TDH if self.transmit.queues[queue].is_enabled => self.transmit.queues[queue].ring.head(),
            first => {
                let stored = self.registers[first + index * register.stride];
                // All statistics, and nothing else, are cleared by a read alone.
                match register.access {
                    Access::ReadClear => self.statistics.value(first, index).unwrap_or(stored),
                    _ => stored,
                }
            }
        }
    }

    /// A driver reads a register: statistics and interrupt causes are cleared by that.
    pub fn read(&mut self, offset: u32) -> u32 {
        let value = self.value(offset);
        if let Some((register, index)) = find(offset) {
            match register.access {
                Access::ReadClear => self.statistics.clear(register.offset, index),
                Access::WriteClear => self.registers[register.offset] = 0,
                _ => {}
            }
        }
        value
    }

    /// Plugs the cable in, or pulls it.
    pub fn set_cable(&mut self, now_ns: u64, is_plugged: bool) {
        self.link.is_plugged = is_plugged;
        self.link.up_at = is_plugged.then(|| now_ns.saturating_add(LINK_NS));
        if !is_plugged {
            self.set_link(false);
        }
    }

    /// Time at which [`Device::handle_timeout`] has something to do.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.transmit.queues.0.iter().filter_map(TransmitQueue::poll_timeout).chain(self.link.up_at).min()
    }

    /// Does what is due by now.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if self.link.up_at.is_some_and(|at| at <= now_ns) {
            self.link.up_at = None;
            self.set_link(self.link.is_plugged);
        }
        for index in 0..QUEUES {
            if self.transmit.queues[index].is_enabled {
                let interval_ns = self.transmit_interval_ns(index as u32);
                self.transmit.queues[index].handle_timeout(now_ns, interval_ns);
            }
        }
    }

    /// Time between interrupts of a transmit queue, if it has a vector and that one has a timer.
    fn transmit_interval_ns(&self, queue: u32) -> Option<u64> {
        let vector = self.allocation(Direction::Transmit, queue)?;
        Some(self.interval_ns(vector)).filter(|&interval_ns| interval_ns > 0)
    }

    /// True if the link is up.
    pub fn is_link_up(&self) -> bool {
        self.link.is_up
    }

    fn set_link(&mut self, is_up: bool) {
        let links = if is_up { regs::LINKS_UP | regs::LINKS_SPEED_10G } else { 0 };
        self.registers[regs::LINKS] = links;
        let status = &mut self.registers[regs::STATUS];
        *status = if is_up { *status | regs::STATUS_LINK_UP } else { *status & !regs::STATUS_LINK_UP };
        if self.link.is_up != is_up {
            self.link.is_up = is_up;
            self.raise(regs::EICR_LSC);
            self.events.push(Event::Link { up: is_up });
        }
        self.update_receiving();
    }

    /// Frames that the device took from the wire, since it was made.
    pub fn received(&self) -> u64 {
        self.statistics.totals().received.frames()
    }

    /// Frames that the device sent, since it was made.
    pub fn transmitted(&self) -> u64 {
        self.statistics.totals().transmitted.frames()
    }

    /// Frames from the wire that found no room, since it was made.
    pub fn missed(&self) -> u64 {
        self.statistics.totals().lost()
    }

    /// Queues of a direction that work, as bits.
    pub fn enabled_queues(&self, direction: Direction) -> u32 {
        let bit = |queue: usize, is_enabled: bool| u32::from(is_enabled) << queue;
        match direction {
            Direction::Receive => (0..QUEUES).map(|n| bit(n, self.receive.queues[n].is_enabled)).sum(),
            Direction::Transmit => (0..QUEUES).map(|n| bit(n, self.transmit.queues[n].is_enabled)).sum(),
        }
    }

    /// Puts the device into its state after a software reset (datasheet 4.2.1.6.1).
    fn reset(&mut self, now_ns: u64) {
        self.elsewhere.clear();
        // A queue that stops shows its head, which a reset then clears.
        for queue in 0..QUEUES {
            self.update_queue(Direction::Receive, queue, false);
            self.update_queue(Direction::Transmit, queue, false);
        }
        for register in REGISTERS {
            for index in 0..register.count {
                self.registers[register.offset + index * register.stride] = register.reset;
            }
        }
        let [a, b, c, d, e, f] = self.mac;
        self.registers[RAL] = u32::from_le_bytes([a, b, c, d]);
        self.registers[RAH] = u32::from_le_bytes([e, f, 0, 0]) | regs::RAH_AV;
        for queue in 0..QUEUES {
            self.receive.queues[queue].configure(self.registers[regs::srrctl(queue as u32)]);
            self.receive.queues[queue].set_control(0);
            self.transmit.queues[queue].set_control(0);
        }
        self.statistics.reset();
        self.receive.rss = Rss::default();
        self.receive.vlan.set_control(self.registers[regs::VLNCTRL]);
        self.update_transmitting();
        self.set_link(false);
        self.interrupts = Interrupts::default();
        self.link.up_at = self.link.is_plugged.then(|| now_ns.saturating_add(LINK_NS));
        self.update_filter();
        self.update_frames();
        self.update_receiving();
    }

    fn update_receiving(&mut self) {
        let is_enabled = self.registers[regs::RXCTRL] & regs::RXCTRL_RXEN != 0;
        self.receive.is_active = is_enabled && self.link.is_up;
    }

    fn update_transmitting(&mut self) {
        let dmatxctl = self.registers[regs::DMATXCTL];
        self.transmit.is_active = dmatxctl & regs::DMATXCTL_TE != 0;
        self.transmit.tag_ethertype = (dmatxctl >> regs::DMATXCTL_VT_SHIFT) as u16;
    }

    fn update_frames(&mut self) {
        let (hlreg0, maxfrs) = (self.registers[regs::HLREG0], self.registers[regs::MAXFRS]);
        self.transmit.pads = hlreg0 & regs::HLREG0_TXPADEN != 0;
        // With the frame check sequence, and room for a VLAN tag whether there is one or not; MAXFRS counts only for jumbo frames
        // (8.2.3.22.13).
        let bytes = match hlreg0 & regs::HLREG0_JUMBOEN != 0 {
            true => (maxfrs >> regs::MAXFRS_MFS_SHIFT) as usize,
            false => 1522,
        };
        self.receive.filter.bytes_max = bytes.saturating_sub(4).min(FRAME_BYTES_MAX);
    }

    fn update_filter(&mut self) {
        let fctrl = self.registers[regs::FCTRL];
        self.receive.filter.all_unicast = fctrl & regs::FCTRL_UPE != 0;
        self.receive.filter.all_multicast = fctrl & regs::FCTRL_MPE != 0;
        self.receive.filter.broadcast = fctrl & regs::FCTRL_BAM != 0;
        self.receive.filter.addresses.clear();
        for index in 0..QUEUES as u32 {
            let low = self.registers[regs::ral(index)];
            let high = self.registers[regs::rah(index)];
            if high & regs::RAH_AV != 0 {
                self.receive.filter.addresses.push(u64::from(low) | u64::from(high & regs::RAH_RAH_MASK) << 32);
            }
        }
    }

    /// The driver enables or disables a queue, or writes its control register again.
    fn update_queue(&mut self, direction: Direction, index: usize, is_wanted: bool) {
        let n = index as u32;
        let (was_enabled, [low, high, bytes, head, tail]) = match direction {
            Direction::Receive => (
                self.receive.queues[index].is_enabled,
                [regs::rdbal(n), regs::rdbah(n), regs::rdlen(n), regs::rdh(n), regs::rdt(n)],
            ),
            Direction::Transmit => (
                self.transmit.queues[index].is_enabled,
                [regs::tdbal(n), regs::tdbah(n), regs::tdlen(n), regs::tdh(n), regs::tdt(n)],
            ),
        };
        if was_enabled == is_wanted {
            return;
        }
        let register = |offset: u32| self.registers[offset];
        let base = u64::from(register(low)) | u64::from(register(high)) << 32;
        let (length, tail) = (register(bytes), register(tail));
        let ring = Ring::new(base, length, register(head)).filter(|_| is_wanted);
        if let (true, None) = (is_wanted, &ring) {
            self.events.push(Event::BadRing { direction, queue: n, bytes: length });
            return;
        }
        // What the head was is in the register again, from which the next ring begins.
        let found = match direction {
            Direction::Receive => self.receive.queues[index].ring.head(),
            Direction::Transmit => self.transmit.queues[index].ring.head(),
        };
        if was_enabled {
            self.registers[head] = found;
        }
        let mut ring = ring.unwrap_or_default();
        // A driver may write the tail before or after it enables the queue; a register file that is looked at now and then
        // does not tell in which order.
        ring.set_tail(tail);
        let (base, descriptors) = (ring.base(), ring.descriptors());
        match direction {
            Direction::Receive => self.receive.queues[index].set_ring(ring, is_wanted),
            Direction::Transmit => self.transmit.queues[index].set_ring(ring, is_wanted),
        }
        self.events.push(match is_wanted {
            true => Event::QueueEnabled { direction, queue: n, base, descriptors },
            false => Event::QueueDisabled { direction, queue: n },
        });
    }
}

/// 6.4.2.3: the words up to this one have the sum 0xbaba.
const EEPROM_CHECKSUM: u32 = 0x3f;

/// What EERD shows when it has read a word of the EEPROM, in which there is the checksum and nothing else: all sections and
/// options are absent. The address of the port is in its register.
fn read_eeprom(eerd: u32) -> u32 {
    let address = (eerd & regs::EERD_ADDR_MASK) >> regs::EERD_ADDR_SHIFT;
    let word = if address == EEPROM_CHECKSUM { 0xbaba } else { 0 };
    eerd & regs::EERD_ADDR_MASK | regs::EERD_DONE | word << regs::EERD_DATA_SHIFT
}
