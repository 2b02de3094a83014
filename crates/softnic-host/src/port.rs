//! One port: the device and the register file through which its driver sees it.
//!
//! The register file is plain shared memory, so that a write is noticed when the device looks, and not when it is made: of
//! two writes to one register between two looks, only the second is seen; a write of the value that is there already is not
//! seen at all; and a read has no effect.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;

use prony_ixgbe_regs::{self as regs, Access, BAR_BYTES, REGISTERS, Register, find};
use prony_softnic::Device;

use crate::bar::Bar;
use crate::uio::Uio;

/// A register that a driver has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Offset of the register in the BAR, in bytes.
    pub offset: u32,
    /// Value that the driver wrote.
    pub value: u32,
}

impl Written {
    /// Name of the register: `RDT[0]`, or its offset.
    pub fn register(self) -> String {
        match find(self.offset) {
            Some((register, index)) if register.is_array => format!("{}[{index}]", register.name),
            Some((register, _)) => register.name.to_owned(),
            None => format!("{:#07x}", self.offset),
        }
    }
}

/// A port and its register file.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) device: Device,
    pub(crate) bar: Bar,
    /// Registers that are looked at: CTRL first. The same register may be at two places.
    watched: Vec<Watched>,
    /// Statistics and tables, which are many and not urgent: they are looked at when another register has changed, and
    /// once in this many looks.
    tables: Vec<Watched>,
    looks: u32,
    /// What stood at offsets at which the model has no register.
    elsewhere: Vec<(u32, u32)>,
    /// Places in it that are not 0, which is almost none of them: a reset takes no longer than a driver waits for it.
    elsewhere_set: BTreeSet<usize>,
    receive_tail: u32,
    transmit_tail: u32,
    /// The device file of its interrupt, if the driver finds one.
    pub(crate) uio: Option<Uio>,
    /// EIMS is shown with [`EIMS_SHOWN`], so that a driver that enables interrupts again is seen.
    pub(crate) marks_mask: bool,
    /// The driver has disabled all interrupts since the last reset, as it does before one (datasheet 4.6.3.1).
    is_masked: bool,
}

/// Reserved in EIMS (8.2.3.5.3). A driver that clears its mask by EIMC and then writes the same mask to EIMS within moments would
/// change nothing in EIMS, and its interrupts would stay off; with this bit shown, its write is another value than what is there.
const EIMS_SHOWN: u32 = 1 << 31;

/// Reserved in CTRL (8.2.3.1.1). A driver that writes a reset there and, before the device has looked, the register without it, as it
/// waits for its end by clearing it, leaves nothing to be seen; but it has written all of CTRL, and this bit is gone.
const CTRL_SHOWN: u32 = 1 << 31;

/// Looks from one at the tables to the next, while a driver changes no other register.
const LOOKS_PER_TABLES: u32 = 16;
/// Times that registers are read in a look until two of them agree: more than a driver that sets up a queue needs.
const READS: u32 = 16;
/// Tables of the filters, of RSS and of the statistics.
const TABLES: [u32; 5] = [regs::vfta(0), regs::reta(0), regs::rssrk(0), regs::rqsmr(0), regs::tqsm(0)];

#[derive(Debug)]
struct Watched {
    register: &'static Register,
    index: u32,
    /// One of the places of the register.
    offset: u32,
    /// True for the tail of a ring, which changes with every batch.
    is_tail: bool,
    /// Contents of the register file when it was last looked at.
    seen: u32,
    /// What it holds now: another value than `seen` only during a look.
    found: u32,
}

impl Port {
    pub(crate) fn new(device: Device, bar: Bar, uio: Option<Uio>) -> Port {
        let mut watched: Vec<Watched> = Vec::new();
        for register in REGISTERS {
            let places = [Some((register.offset, register.stride)), register.alias];
            for (first, stride) in places.into_iter().flatten() {
                let is_tail = [regs::rdt(0), regs::tdt(0)].contains(&register.offset);
                let watch = |index: u32| {
                    let offset = first + index * stride;
                    Watched { register, index, offset, is_tail, seen: 0, found: 0 }
                };
                watched.extend((0..register.count).map(watch));
            }
        }
        let is_table =
            |watch: &Watched| watch.register.access == Access::ReadClear || TABLES.contains(&watch.register.offset);
        let (tables, mut watched): (Vec<Watched>, Vec<Watched>) = watched.into_iter().partition(is_table);
        // A driver that disables and enables interrupts within one look wants them enabled.
        watched.sort_by_key(
            |watch| if watch.register.offset == regs::EIMC { regs::EIMS - 1 } else { watch.register.offset },
        );
        debug_assert!(watched.first().is_some_and(|first| first.register.offset == regs::CTRL));
        let elsewhere = (0..BAR_BYTES as u32).step_by(4).filter(|&offset| regs::find(offset).is_none());
        let elsewhere = elsewhere.map(|offset| (offset, 0)).collect();
        let mut port = Port {
            device,
            bar,
            watched,
            tables,
            looks: 0,
            elsewhere,
            elsewhere_set: BTreeSet::new(),
            receive_tail: 0,
            transmit_tail: 0,
            uio,
            marks_mask: false,
            is_masked: false,
        };
        port.publish();
        port
    }

    /// Shows all registers after a reset, which has cleared the statistics. CTRL comes last: a driver that waits for the end of a
    /// reset finds everything else done.
    pub(crate) fn publish(&mut self) {
        for watched in self.watched.iter_mut().chain(&mut self.tables).rev() {
            watched.seen = match watched.register.access {
                Access::ReadClear => 0,
                _ => shown(&self.device, watched, self.marks_mask),
            };
            watched.found = watched.seen;
            self.bar.write32(watched.offset, watched.seen);
        }
        while let Some(place) = self.elsewhere_set.pop_first() {
            if let Some((offset, seen)) = self.elsewhere.get_mut(place) {
                *seen = 0;
                self.bar.write32(*offset, 0);
            }
        }
        self.receive_tail = self.device.receive_tail(0);
        self.transmit_tail = self.device.transmit_tail(0);
    }

    /// Looks at the tails of the first queues, as far as fewer than `enough` descriptors are known. A line that the driver
    /// writes with every batch is taken from its cache by each look.
    #[inline]
    pub(crate) fn look_at_short_tails(&mut self, enough: u32) {
        if self.device.receive_room(0) < enough {
            self.look_at_receive_tail();
        }
        if self.device.transmit_waiting(0) < enough {
            self.look_at_transmit_tail();
        }
    }

    /// Looks at the tails of the first queues only: what changes with every batch.
    #[inline]
    pub(crate) fn look_at_tails(&mut self) {
        self.look_at_receive_tail();
        self.look_at_transmit_tail();
    }

    /// Looks at the tails of other queues than the first, of those that are set in these bits.
    #[inline]
    pub(crate) fn look_at_other_tails(&mut self, receive: u32, transmit: u32) {
        if (receive | transmit) & !1 == 0 {
            return;
        }
        for queue in bits(receive & !1) {
            let tail = self.bar.read32(regs::rdt(queue as u32));
            if tail != self.device.receive_tail(queue) {
                self.device.set_receive_tail(queue, tail);
            }
        }
        for queue in bits(transmit & !1) {
            let tail = self.bar.read32(regs::tdt(queue as u32));
            if tail != self.device.transmit_tail(queue) {
                self.device.set_transmit_tail(queue, tail);
            }
        }
    }

    #[inline]
    fn look_at_receive_tail(&mut self) {
        let tail = self.bar.read32(regs::rdt(0));
        if tail != self.receive_tail {
            self.receive_tail = tail;
            self.device.set_receive_tail(0, tail);
        }
    }

    #[inline]
    fn look_at_transmit_tail(&mut self) {
        let tail = self.bar.read32(regs::tdt(0));
        if tail != self.transmit_tail {
            self.transmit_tail = tail;
            self.device.set_transmit_tail(0, tail);
        }
    }

    /// Looks at all registers: writes of the driver go to the device, and what the device changed is shown.
    ///
    /// `written`: called with each write, in the order of the offsets.
    pub(crate) fn look(&mut self, now_ns: u64, mut written: impl FnMut(Written)) {
        self.device.handle_timeout(now_ns);
        self.looks = self.looks.wrapping_add(1);
        let looks_at_tables = self.read();
        let mut is_reset = false;
        let masks = |value: u32| value & regs::EIMC_ALL_MASK == regs::EIMC_ALL_MASK;
        // CTRL is first, so that what masks in the same look is not seen yet when it is written.
        let is_cleared = self.watched.first().is_some_and(|ctrl| ctrl.found == 0 && ctrl.seen != 0);
        let masks_now = |watched: &Watched| watched.offset == regs::EIMC && masks(watched.found);
        let takes_back = is_cleared && (self.is_masked || self.watched.iter().any(masks_now));
        for watched in self.watched.iter_mut().chain(looked_at(&mut self.tables, looks_at_tables)) {
            let value = watched.found;
            if value == watched.seen {
                continue;
            }
            watched.seen = value;
            let value = match watched.offset {
                regs::EIMS if self.marks_mask => value & !EIMS_SHOWN,
                regs::CTRL if takes_back => regs::CTRL_RST,
                regs::CTRL => value & !CTRL_SHOWN,
                _ => value,
            };
            if let (regs::EIMS, Some(uio)) = (watched.offset, &mut self.uio) {
                uio.arm(value);
            }
            match watched.offset {
                regs::EIMC => self.is_masked |= masks(value),
                regs::EIMS => self.is_masked = false,
                _ => {}
            }
            written(Written { offset: watched.offset, value });
            self.device.write(now_ns, watched.offset, value);
            if watched.offset == regs::CTRL && self.device.value(regs::CTRL) != value {
                is_reset = true;
                break;
            }
        }
        if is_reset {
            self.is_masked = false;
            self.publish();
            if let Some(uio) = &mut self.uio {
                uio.handle_reset();
            }
            return;
        }
        if let Some(uio) = &mut self.uio {
            uio.poll(&mut self.device);
        }
        for watched in self.watched.iter_mut().chain(looked_at(&mut self.tables, looks_at_tables)) {
            let value = shown(&self.device, watched, self.marks_mask);
            // The device never changes a tail but in a reset. What it knows of one may be newer than what was seen here, and
            // older than what the driver has written since.
            if value != watched.seen && !watched.is_tail {
                // What the driver wrote since the look above is not lost: it stays, and the next look finds it.
                match watched.register.access {
                    Access::ReadOnly | Access::ReadClear => self.bar.write32(watched.offset, value),
                    _ => self.bar.replace32(watched.offset, watched.seen, value),
                }
                (watched.seen, watched.found) = (value, value);
            }
        }
        self.receive_tail = self.device.receive_tail(0);
        self.transmit_tail = self.device.transmit_tail(0);
    }

    /// Shows what an interrupt has changed, before the driver is notified of it: what it writes then comes after this.
    pub(crate) fn publish_interrupts(&mut self) {
        for watched in self.watched.iter_mut().filter(|watched| [regs::EICR, regs::EIMS].contains(&watched.offset)) {
            let value = shown(&self.device, watched, self.marks_mask);
            if value != watched.seen {
                self.bar.replace32(watched.offset, watched.seen, value);
                (watched.seen, watched.found) = (value, value);
            }
        }
    }

    /// Reads all registers, and if one was written, again until two times agree: then they had these values at one moment, and
    /// no queue is found enabled whose base address was read before the driver set it. A reset waits for nothing.
    ///
    /// Returns whether tables were read, too.
    fn read(&mut self) -> bool {
        let mut looks_at_tables = self.looks.is_multiple_of(LOOKS_PER_TABLES);
        for _ in 0..READS {
            let mut is_new = false;
            for watched in self.watched.iter_mut().chain(looked_at(&mut self.tables, looks_at_tables)) {
                let value = self.bar.read32(watched.offset);
                is_new |= value != watched.found && !watched.is_tail;
                watched.found = value;
            }
            let ctrl = self.watched.first().map_or(0, |ctrl| ctrl.found);
            let is_reset = ctrl & (regs::CTRL_RST | regs::CTRL_LRST) != 0;
            if !is_new || is_reset {
                break;
            }
            looks_at_tables = true;
        }
        looks_at_tables
    }

    /// Looks at the whole BAR for writes to offsets at which the model has no register. Takes tens of microseconds.
    pub(crate) fn look_everywhere(&mut self, now_ns: u64, mut written: impl FnMut(Written)) {
        for (place, (offset, seen)) in self.elsewhere.iter_mut().enumerate() {
            let value = self.bar.read32(*offset);
            if value != *seen {
                *seen = value;
                self.elsewhere_set.insert(place);
                written(Written { offset: *offset, value });
                self.device.write(now_ns, *offset, value);
            }
        }
    }
}

/// What the register file shows of a register that a read does not clear.
#[inline]
fn shown(device: &Device, watched: &Watched, marks_mask: bool) -> u32 {
    let value = device.value_of(watched.register, watched.index);
    match watched.offset {
        regs::EIMS if marks_mask => value | EIMS_SHOWN,
        regs::CTRL => value | CTRL_SHOWN,
        _ => value,
    }
}

/// Numbers of the bits that are set, from the lowest on.
#[inline]
pub(crate) fn bits(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (lowest < 32).then_some(lowest as usize)
    })
}

/// The tables, if it is their turn.
fn looked_at(tables: &mut [Watched], is_their_turn: bool) -> &mut [Watched] {
    if is_their_turn { tables } else { &mut [] }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::sync::atomic::{AtomicU32, Ordering};

    use prony_softnic::Event;

    use super::*;

    fn port() -> Port {
        let file = tempfile::tempfile().expect("the temporary directory is writable");
        let bar = Bar::map(&file).expect("a file can be mapped");
        Port::new(Device::new([0, 1, 2, 3, 4, 5], 0), bar, None)
    }

    #[test]
    fn a_reset_is_over_when_ctrl_says_so_and_not_before() {
        let mut port = port();
        port.bar.write32(regs::ral(0), 0);
        port.bar.write32(regs::EIMC, u32::MAX);
        port.bar.write32(regs::CTRL, regs::CTRL_RST);
        let mut written = Vec::new();
        port.look(0, |write| written.push(write.offset));
        assert_eq!(written, [regs::CTRL]);
        assert_eq!((port.bar.read32(regs::CTRL), port.bar.read32(regs::EIMC)), (CTRL_SHOWN, 0));
        assert_eq!(port.bar.read32(regs::ral(0)).to_le_bytes(), [0, 1, 2, 3]);
    }

    #[test]
    fn a_reset_that_the_driver_takes_back_before_the_device_looks_is_one() {
        let mut port = port();
        port.bar.write32(regs::ral(0), 0);
        let reset = |port: &mut Port| {
            port.bar.write32(regs::CTRL, regs::CTRL_RST | regs::CTRL_LRST);
            port.bar.write32(regs::CTRL, port.bar.read32(regs::CTRL) & !(regs::CTRL_RST | regs::CTRL_LRST));
            port.look(0, |_| {});
            port.bar.read32(regs::ral(0)).to_le_bytes() == [0, 1, 2, 3]
        };
        // A driver that has not masked its interrupts has no reset in mind.
        assert!(!reset(&mut port));
        port.bar.write32(regs::EIMC, regs::EIMC_ALL_MASK);
        assert!(reset(&mut port));
        assert_eq!(port.bar.read32(regs::CTRL), CTRL_SHOWN);
        // One look may find the mask, and a later one the reset.
        port.bar.write32(regs::EIMC, regs::EIMC_ALL_MASK);
        port.look(0, |_| {});
        port.bar.write32(regs::ral(0), 0);
        assert!(reset(&mut port));
        // Other bits are left alone, and what is read is written back.
        port.bar.write32(regs::EIMC, regs::EIMC_ALL_MASK);
        port.bar.write32(regs::ral(0), 0);
        port.bar.write32(regs::CTRL, port.bar.read32(regs::CTRL) | regs::CTRL_GIO_MASTER_DISABLE);
        port.look(0, |write| assert_eq!(write.value & CTRL_SHOWN, 0));
        assert_eq!(port.bar.read32(regs::ral(0)), 0);
    }

    #[test]
    fn interrupts_that_are_disabled_and_enabled_between_two_looks_are_enabled() {
        let mut port = port();
        port.marks_mask = true;
        port.publish();
        for _ in 0..3 {
            port.bar.write32(regs::EIMC, u32::MAX);
            port.bar.write32(regs::EIMS, 5);
            port.look(0, |_| {});
            assert_eq!(port.device.value(regs::EIMS), 5);
        }
        port.bar.write32(regs::EIMC, 1);
        port.look(0, |_| {});
        assert_eq!(port.device.value(regs::EIMS), 4);
    }

    #[test]
    fn what_the_driver_writes_while_the_device_looks_is_not_lost() {
        let mut port = port();
        port.bar.write32(regs::CTRL_EXT, 5);
        port.bar.replace32(regs::CTRL_EXT, 4, 7);
        port.look(0, |_| {});
        assert_eq!((port.bar.read32(regs::CTRL_EXT), port.device.value(regs::CTRL_EXT)), (5, 5));
    }

    #[test]
    fn a_reset_shows_0_where_no_register_is() {
        let mut port = port();
        port.bar.write32(0x7_0000, 1);
        port.look_everywhere(0, |_| {});
        port.bar.write32(regs::CTRL, regs::CTRL_RST);
        port.look(0, |_| {});
        assert_eq!(port.bar.read32(0x7_0000), 0);
        port.look_everywhere(0, |write| panic!("{write:?}"));
    }

    #[test]
    fn a_queue_is_enabled_with_the_base_address_that_was_written_before() {
        let mut port = port();
        let file = tempfile::tempfile().expect("the temporary directory is writable");
        port.bar = Bar::map(&file).expect("a file can be mapped");
        port.publish();
        let (rounds, done) = (2000, AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let driver = Bar::map(&file).expect("a file can be mapped");
                for round in 1..=rounds {
                    driver.write32(regs::tdbal(0), round << 7);
                    driver.write32(regs::tdlen(0), 4096);
                    driver.write32(regs::txdctl(0), regs::TXDCTL_ENABLE);
                    while done.load(Ordering::Acquire) != round {
                        std::thread::yield_now();
                    }
                }
            });
            for round in 1..=rounds {
                let base = loop {
                    port.look(0, |_| {});
                    match port.device.poll_event() {
                        Some(Event::QueueEnabled { base, .. }) => break base,
                        Some(Event::BadRing { .. }) => panic!("round {round}: enabled without a ring"),
                        _ => {}
                    }
                };
                assert_eq!(base, u64::from(round) << 7);
                port.device.write(0, regs::CTRL, regs::CTRL_RST);
                port.publish();
                while port.device.poll_event().is_some() {}
                done.store(round, Ordering::Release);
            }
        });
    }

    #[test]
    fn a_tail_that_went_round_the_ring_between_two_looks_is_not_put_back() {
        let mut port = port();
        let tdt = regs::tdt(0);
        for (offset, value) in [(regs::tdlen(0), 256), (regs::txdctl(0), regs::TXDCTL_ENABLE), (tdt, 5)] {
            port.bar.write32(offset, value);
        }
        port.look(0, |_| {});
        for tail in [9, 14, 5] {
            port.bar.write32(tdt, tail);
            if tail != 5 {
                port.look_at_tails();
            }
        }
        port.look(0, |_| {});
        assert_eq!(port.bar.read32(tdt), 5);
        port.look_at_tails();
        assert_eq!(port.device.value(tdt), 5);
    }

    #[test]
    fn what_the_device_changes_is_seen_at_both_places_of_a_register() {
        let mut port = port();
        let alias = regs::REGISTERS.iter().find_map(|register| register.alias.filter(|_| register.name == "SRRCTL"));
        let (alias, _) = alias.expect("SRRCTL has two places");
        port.bar.write32(alias, 0x0200_0003);
        port.look(0, |_| {});
        assert_eq!(port.bar.read32(regs::srrctl(0)), 0x0200_0003);
    }

    #[test]
    fn tables_are_seen_with_another_register_or_after_some_looks() {
        let mut port = port();
        let reta = regs::reta(7);
        port.look(0, |_| {});
        port.bar.write32(reta, 0x0302_0100);
        port.bar.write32(regs::MRQC, regs::MRQC_MRQE_RSS);
        let mut written = Vec::new();
        port.look(0, |write| written.push(write.offset));
        assert_eq!(written, [regs::MRQC, reta]);
        port.bar.write32(regs::vfta(1), 2);
        let looks = (1..=LOOKS_PER_TABLES).find(|_| {
            port.look(0, |_| {});
            port.device.value(regs::vfta(1)) == 2
        });
        assert!(looks.is_some_and(|looks| looks > 1), "{looks:?}");
    }

    #[test]
    fn a_write_where_no_register_is_is_reported_once() {
        let mut port = port();
        port.bar.write32(0x7_0000, 1);
        let mut written = Vec::new();
        port.look_everywhere(0, |write| written.push(write));
        port.look_everywhere(0, |write| written.push(write));
        assert_eq!(written, [Written { offset: 0x7_0000, value: 1 }]);
    }

    #[test]
    fn a_register_file_that_is_cut_by_its_driver_reads_zeros() {
        let folder = tempfile::tempdir().expect("the temporary directory is writable");
        let path = folder.path().join("resource0");
        let options = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = options.expect("the folder is writable");
        let port = Port::new(Device::new([0; 6], 0), Bar::map(&file).expect("a file can be mapped"), None);
        assert_ne!(port.bar.read32(regs::EEC), 0);
        file.set_len(0).expect("it is ours");
        assert_eq!(port.bar.read32(regs::EEC), 0);
        assert!(crate::guard::was_taken());
    }
}
