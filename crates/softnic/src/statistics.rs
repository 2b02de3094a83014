//! What a device counts, and the registers that show it.
//!
//! Datasheet 8.2.3.23: a read clears a register; one of 32 bits stays at its largest value. Frames and bytes are counted once,
//! by queue and by size; all other registers are sums of those.

use prony_ixgbe_regs as regs;

use crate::numbered::{QUEUES, Queues};

/// Bytes of the frame check sequence: the byte counters include it (datasheet 8.2.3.23.22).
const FCS_BYTES: usize = 4;
/// Sizes on the wire that have a register of their own: 64, up to 127, 255, 511, 1023 bytes, and more.
const SIZES: usize = 6;
/// Registers of byte counters have 36 bits.
const UPPER_MASK: u32 = 0xf;

/// Index of a frame's size among the registers for sizes. `bytes`: on the wire.
fn size_class(bytes: usize) -> usize {
    ((bytes | 64).ilog2() as usize - 6 + usize::from(bytes > 64)).min(SIZES - 1)
}

/// Frames and bytes of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    frames_by: Queues<u64>,
    bytes_by: Queues<u64>,
    /// Frames by size, but for the smallest ones that are to a single address: these are all others.
    sizes: [u64; SIZES],
    multicasts: u64,
    broadcasts: u64,
    /// Frames that are counted in `sizes`.
    sized: u64,
}

impl Traffic {
    /// `bytes`: without the frame check sequence; `frame`: with its destination in front.
    #[inline(always)]
    pub(crate) fn count(&mut self, queue: usize, bytes: usize, frame: &[u8]) {
        let bytes = bytes + FCS_BYTES;
        self.frames_by[queue] += 1;
        self.bytes_by[queue] += bytes as u64;
        if (bytes > 64) | is_group(frame) {
            self.count_special(bytes, frame);
        }
    }

    #[inline(never)]
    fn count_special(&mut self, bytes: usize, frame: &[u8]) {
        if let Some(frames) = self.sizes.get_mut(size_class(bytes)) {
            *frames += 1;
        }
        self.sized += 1;
        let is_broadcast = frame.starts_with(&[0xff; 6]);
        self.broadcasts += u64::from(is_broadcast);
        self.multicasts += u64::from(!is_broadcast && is_group(frame));
    }

    fn of_size(&self, size: usize) -> u64 {
        let others = if size == 0 { self.frames() - self.sized } else { 0 };
        self.sizes.get(size).map_or(0, |frames| frames + others)
    }

    pub(crate) fn frames(&self) -> u64 {
        self.frames_by.0.iter().sum()
    }

    fn bytes(&self) -> u64 {
        self.bytes_by.0.iter().sum()
    }
}

/// What a port has counted since its first moment. Resets and reads change only what the registers show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) received: Traffic,
    pub(crate) transmitted: Traffic,
    /// Frames that found no room in the packet buffer.
    missed: u64,
    /// Frames that a queue dropped.
    dropped_by: Queues<u64>,
    dropped_bytes: u64,
    /// Frames that no filter took, and their bytes.
    filtered: u64,
    filtered_bytes: u64,
    checksum_errors: u64,
}

impl Totals {
    /// Frames that were lost for lack of a descriptor, or of a queue.
    pub(crate) fn lost(&self) -> u64 {
        self.missed + self.dropped_by.0.iter().sum::<u64>()
    }

    /// 8.2.3.23: good frames are those that reached the packet buffer, whether they reach the host or not.
    fn good_received(&self) -> u64 {
        self.received.frames() + self.dropped_by.0.iter().sum::<u64>()
    }

    fn good_received_bytes(&self) -> u64 {
        self.received.bytes() + self.dropped_bytes
    }

    /// What a register counts, as far as it is one sum for the whole port.
    fn of_port(&self, first: u32) -> Option<u64> {
        let (received, transmitted) = (&self.received, &self.transmitted);
        Some(match first {
            regs::GPRC => self.good_received(),
            regs::GPTC | regs::TPT => transmitted.frames(),
            regs::GORCL | regs::GORCH => self.good_received_bytes(),
            regs::GOTCL | regs::GOTCH => transmitted.bytes(),
            regs::TORL | regs::TORH => self.good_received_bytes() + self.filtered_bytes,
            regs::TPR => self.good_received() + self.missed + self.filtered,
            regs::MPRC => received.multicasts,
            regs::BPRC => received.broadcasts,
            regs::MPTC => transmitted.multicasts,
            regs::BPTC => transmitted.broadcasts,
            regs::XEC => self.checksum_errors,
            regs::PRC64..=regs::PRC1522 => received.of_size((first - regs::PRC64) as usize / 4),
            regs::PTC64..=regs::PTC1522 => transmitted.of_size((first - regs::PTC64) as usize / 4),
            RXMPC => self.missed,
            _ => return None,
        })
    }

    /// What a register counts for one queue.
    fn of_queue(&self, first: u32, queue: usize) -> Option<u64> {
        let counters = match first {
            QPRC => &self.received.frames_by,
            QPTC => &self.transmitted.frames_by,
            QPRDC => &self.dropped_by,
            QBRC_L | QBRC_H => &self.received.bytes_by,
            QBTC_L | QBTC_H => &self.transmitted.bytes_by,
            _ => return None,
        };
        counters.0.get(queue).copied()
    }
}

/// What a register showed when it was last cleared, by its place among all of them.
#[derive(Debug, Clone)]
struct Cleared {
    port: [u64; PORT.len()],
    queues: [Queues<u64>; QUEUE.len()],
}

/// The statistics of a port.
#[derive(Debug, Clone)]
pub(crate) struct Statistics {
    now: Totals,
    cleared: Cleared,
    /// By queue: the counter of each direction that counts it (RQSMR, TQSM).
    receive_counters: Queues<u8>,
    transmit_counters: Queues<u8>,
}

impl Default for Statistics {
    fn default() -> Statistics {
        let cleared = Cleared { port: [0; PORT.len()], queues: Default::default() };
        let counters = Queues::default();
        Statistics { now: Totals::default(), cleared, receive_counters: counters, transmit_counters: counters }
    }
}

impl Statistics {
    pub(crate) fn totals(&self) -> &Totals {
        &self.now
    }

    #[inline]
    pub(crate) fn count_received(&mut self, queue: usize, bytes: usize, frame: &[u8]) {
        self.now.received.count(queue, bytes, frame);
    }

    #[inline]
    pub(crate) fn count_transmitted(&mut self, queue: usize, frame: &[u8]) {
        self.now.transmitted.count(queue, frame.len(), frame);
    }

    /// A frame stays outside, as the packet buffer is full of frames that have no descriptor.
    pub(crate) fn count_missed(&mut self) {
        self.now.missed += 1;
    }

    /// A queue has no descriptor for a frame, and drops it.
    pub(crate) fn count_dropped(&mut self, queue: usize, bytes: usize) {
        self.now.dropped_by[queue] += 1;
        self.now.dropped_bytes += (bytes + FCS_BYTES) as u64;
    }

    pub(crate) fn count_filtered(&mut self, bytes: usize) {
        self.now.filtered += 1;
        self.now.filtered_bytes += (bytes + FCS_BYTES) as u64;
    }

    pub(crate) fn count_checksum_error(&mut self) {
        self.now.checksum_errors += 1;
    }

    /// The driver says which counter counts four of the queues, from `4 * index` on; other queues do not exist here.
    pub(crate) fn map_receive(&mut self, index: usize, value: u32) {
        map(&mut self.receive_counters, index, value);
    }

    /// As [`Statistics::map_receive`], of transmit queues.
    pub(crate) fn map_transmit(&mut self, index: usize, value: u32) {
        map(&mut self.transmit_counters, index, value);
    }

    /// All registers read 0 again.
    pub(crate) fn reset(&mut self) {
        for (cleared, &first) in self.cleared.port.iter_mut().zip(PORT) {
            *cleared = self.now.of_port(first).unwrap_or(0);
        }
        for (cleared, &first) in self.cleared.queues.iter_mut().zip(QUEUE) {
            *cleared = Queues(std::array::from_fn(|queue| self.now.of_queue(first, queue).unwrap_or(0)));
        }
        (self.receive_counters, self.transmit_counters) = Default::default();
    }

    /// What a register shows; `None` for one that is no statistic.
    pub(crate) fn value(&self, first: u32, index: u32) -> Option<u32> {
        let number = match self.now.of_port(first) {
            // All frames use the first packet buffer: there are no traffic classes.
            Some(_) if index > 0 => return Some(0),
            Some(now) => now.saturating_sub(*self.cleared.port.get(port_place(first)?)?),
            None => {
                let cleared = self.cleared.queues.get(queue_place(first)?)?;
                let counters = self.counters(first);
                let of = |queue: usize| self.now.of_queue(first, queue).unwrap_or(0).saturating_sub(cleared[queue]);
                (0..QUEUES).filter(|&queue| u32::from(counters[queue]) == index).map(of).sum()
            }
        };
        Some(match first {
            regs::GORCL | regs::GOTCL | regs::TORL | QBRC_L | QBTC_L => number as u32,
            regs::GORCH | regs::GOTCH | regs::TORH | QBRC_H | QBTC_H => (number >> 32) as u32 & UPPER_MASK,
            _ => u32::try_from(number).unwrap_or(u32::MAX),
        })
    }

    /// A driver has read this register.
    pub(crate) fn clear(&mut self, first: u32, index: u32) {
        // The lower half of a number of bytes is read first, and stays until the upper one was read.
        if matches!(first, regs::GORCL | regs::GOTCL | regs::TORL | QBRC_L | QBTC_L) {
            return;
        }
        if port_place(first).is_some() {
            if index == 0 {
                self.forget(first, 0);
            }
            return;
        }
        let counters = *self.counters(first);
        for queue in (0..QUEUES as u32).filter(|&queue| u32::from(counters[queue as usize]) == index) {
            self.forget(first, queue);
        }
    }

    /// A register shows 0, of one queue where it has several.
    fn forget(&mut self, first: u32, queue: u32) {
        // Both halves of a number are one.
        let both = match first {
            regs::GORCH => [first, regs::GORCL],
            regs::GOTCH => [first, regs::GOTCL],
            regs::TORH => [first, regs::TORL],
            QBRC_H => [first, QBRC_L],
            QBTC_H => [first, QBTC_L],
            _ => [first, first],
        };
        for first in both {
            let port = port_place(first).and_then(|place| self.cleared.port.get_mut(place));
            if let (Some(cleared), Some(now)) = (port, self.now.of_port(first)) {
                *cleared = now;
            }
            let queues = queue_place(first).and_then(|place| self.cleared.queues.get_mut(place));
            if let (Some(cleared), Some(now)) = (queues, self.now.of_queue(first, queue as usize)) {
                cleared[queue as usize] = now;
            }
        }
    }

    /// Which counter counts each queue, in the direction of a register.
    fn counters(&self, first: u32) -> &Queues<u8> {
        match first {
            QPTC | QBTC_L | QBTC_H => &self.transmit_counters,
            _ => &self.receive_counters,
        }
    }
}

/// True for frames to several: the bit of a destination that says so.
#[inline]
fn is_group(frame: &[u8]) -> bool {
    frame.first().is_some_and(|first| first & 1 != 0)
}

fn map(counters: &mut Queues<u8>, index: usize, value: u32) {
    for (counter, shift) in counters.0.iter_mut().skip(4 * index).take(4).zip((0..).step_by(8)) {
        *counter = (value >> shift & regs::RQSMR_COUNTER_MASK) as u8;
    }
}

fn port_place(first: u32) -> Option<usize> {
    PORT.iter().position(|&register| register == first)
}

fn queue_place(first: u32) -> Option<usize> {
    QUEUE.iter().position(|&register| register == first)
}

const RXMPC: u32 = regs::rxmpc(0);
const QPRC: u32 = regs::qprc(0);
const QPTC: u32 = regs::qptc(0);
const QPRDC: u32 = regs::qprdc(0);
const QBRC_L: u32 = regs::qbrc_l(0);
const QBRC_H: u32 = regs::qbrc_h(0);
const QBTC_L: u32 = regs::qbtc_l(0);
const QBTC_H: u32 = regs::qbtc_h(0);

/// Registers that count for the whole port.
const PORT: &[u32] = &[
    regs::GPRC,
    regs::GPTC,
    regs::GORCL,
    regs::GORCH,
    regs::GOTCL,
    regs::GOTCH,
    regs::TORL,
    regs::TORH,
    regs::TPR,
    regs::TPT,
    regs::MPRC,
    regs::BPRC,
    regs::MPTC,
    regs::BPTC,
    regs::XEC,
    regs::PRC64,
    regs::PRC127,
    regs::PRC255,
    regs::PRC511,
    regs::PRC1023,
    regs::PRC1522,
    regs::PTC64,
    regs::PTC127,
    regs::PTC255,
    regs::PTC511,
    regs::PTC1023,
    regs::PTC1522,
    RXMPC,
];

/// Registers that count for the queues that are mapped to them.
const QUEUE: &[u32] = &[QPRC, QPTC, QPRDC, QBRC_L, QBRC_H, QBTC_L, QBTC_H];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counted_by_their_length_on_the_wire() {
        let classes =
            [(64, 0), (18, 0), (65, 1), (127, 1), (128, 2), (255, 2), (256, 3), (511, 3), (512, 4), (1023, 4)];
        for (bytes, class) in classes.into_iter().chain([(1024, 5), (1522, 5), (15_876, 5)]) {
            assert_eq!(size_class(bytes), class, "{bytes}");
        }
    }

    #[test]
    fn every_frame_is_in_one_register_of_each_kind() {
        let mut statistics = Statistics::default();
        for (bytes, to) in [(60, 0x10), (60, 0xff), (100, 0x01), (1514, 0x10)] {
            statistics.count_received(3, bytes, &[to; 14]);
        }
        statistics.count_dropped(3, 60);
        statistics.count_missed();
        statistics.count_filtered(60);
        let shown = |first: u32| statistics.value(first, 0).expect("it is a statistic");
        let sizes = [regs::PRC64, regs::PRC127, regs::PRC255, regs::PRC511, regs::PRC1023, regs::PRC1522].map(shown);
        assert_eq!(sizes, [2, 1, 0, 0, 0, 1]);
        assert_eq!([regs::MPRC, regs::BPRC, regs::GPRC, regs::TPR, RXMPC].map(shown), [1, 1, 5, 7, 1]);
        assert_eq!([regs::GORCL, regs::TORL].map(shown), [64 * 3 + 104 + 1518, 64 * 4 + 104 + 1518]);
        assert_eq!([QPRC, QPRDC, QBRC_L].map(shown), [4, 1, 64 * 2 + 104 + 1518]);
    }

    #[test]
    fn queues_are_counted_where_the_driver_maps_them() {
        let mut statistics = Statistics::default();
        statistics.map_receive(1, 0x0706_0505);
        statistics.count_received(4, 60, &[0; 14]);
        statistics.count_received(5, 60, &[0; 14]);
        statistics.count_received(6, 60, &[0; 14]);
        statistics.count_received(8, 60, &[0; 14]);
        let shown = |statistics: &Statistics, index| statistics.value(QPRC, index).expect("it is a statistic");
        assert_eq!([0, 5, 6, 7].map(|index| shown(&statistics, index)), [1, 2, 1, 0]);
        statistics.clear(QPRC, 5);
        assert_eq!([0, 5, 6].map(|index| shown(&statistics, index)), [1, 0, 1]);
        assert_eq!(statistics.value(QBRC_L, 5), Some(128), "a read clears one register");
    }

    #[test]
    fn the_lower_half_of_a_number_is_cleared_with_the_upper_one() {
        let mut statistics = Statistics::default();
        statistics.now.received.bytes_by[0] = 0x2_0000_0010;
        let both = |statistics: &Statistics| [regs::GORCL, regs::GORCH].map(|first| statistics.value(first, 0));
        assert_eq!(both(&statistics), [Some(0x10), Some(2)]);
        statistics.clear(regs::GORCL, 0);
        assert_eq!(both(&statistics), [Some(0x10), Some(2)]);
        statistics.clear(regs::GORCH, 0);
        assert_eq!(both(&statistics), [Some(0), Some(0)]);
    }

    #[test]
    fn a_counter_of_32_bits_stays_at_its_largest_value() {
        let mut statistics = Statistics::default();
        statistics.now.received.frames_by[0] = 1 << 33;
        assert_eq!(statistics.value(regs::GPRC, 0), Some(u32::MAX));
    }
}
