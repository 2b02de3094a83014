//! Interrupts: causes, masks, vectors and how often they come (datasheet 7.3, 8.2.3.5).
//!
//! Causes of queues are looked for when interrupts are queried, and not when a frame moves: a ring whose head is another
//! one than before has moved some. While no cause is enabled, that costs one comparison.
//!
//! A cause is signalled once. A driver reads EICR to clear it, which a device behind plain memory does not see; therefore
//! a cause that is enabled again does not interrupt again until it comes again, and what was signalled is cleared from EICR at the
//! latest when its driver enables it again.

use prony_ixgbe_regs as regs;

use crate::device::Device;
use crate::event::Direction;
use crate::numbered::{QUEUES, Queues};

/// Vectors of MSI-X (9.3.8.2).
const VECTORS: usize = 64;
/// Unit of EITR, in nanoseconds (8.2.3.5.12).
pub(crate) const EITR_NS: u64 = 2000;
/// Vectors with an EITR of their own; others are not throttled.
const THROTTLED: u32 = 24;

/// Causes that wait to be signalled.
#[derive(Debug, Clone)]
pub(crate) struct Interrupts {
    /// Bits of EICR that came and were not signalled.
    pending: u32,
    /// Bits of EICR that were signalled and may still be set in it.
    signalled: u32,
    /// Heads of the rings of each direction when they were looked at last.
    heads: [Queues<u32>; 2],
    /// Earliest time of the next interrupt of each vector.
    free_at: [u64; VECTORS],
}

impl Default for Interrupts {
    fn default() -> Interrupts {
        Interrupts { pending: 0, signalled: 0, heads: Default::default(), free_at: [0; VECTORS] }
    }
}

impl Interrupts {
    /// Takes over what was written to EIMS. Returns the causes that are to be cleared from EICR.
    pub(crate) fn enable(&mut self, causes: u32) -> u32 {
        let handled = self.signalled & causes & !self.pending;
        self.signalled &= !handled;
        handled
    }
}

impl Device {
    /// Something other than a frame happened, which may interrupt the driver.
    pub(crate) fn raise(&mut self, causes: u32) {
        self.registers[regs::EICR] |= causes;
        self.interrupts.pending |= causes;
    }

    /// The vectors that interrupt the driver now, as bits. Each of them is signalled once.
    #[inline]
    pub fn take_interrupts(&mut self, now_ns: u64) -> u64 {
        match self.registers[regs::EIMS] {
            0 => 0,
            enabled => self.take_enabled(now_ns, enabled),
        }
    }

    #[inline(never)]
    fn take_enabled(&mut self, now_ns: u64, enabled: u32) -> u64 {
        self.look_at_heads();
        let mut due = self.interrupts.pending & enabled;
        let mut vectors = 0;
        while due != 0 {
            let cause = due & due.wrapping_neg();
            let Some(vector) = self.vector(cause) else {
                due &= !cause;
                continue;
            };
            // All causes of the vector are signalled by one interrupt.
            let bits = (0..32).map(|bit| 1 << bit).filter(|&bit| due & bit != 0 && self.vector(bit) == Some(vector));
            let causes = bits.fold(0, |causes, bit| causes | bit);
            due &= !causes;
            let interval_ns = self.interval_ns(vector);
            // IVAR_MISC has six bits for a vector, and EICR 16 for those of queues.
            let Some(free_at) = self.interrupts.free_at.get_mut(vector as usize) else { continue };
            if *free_at > now_ns {
                continue;
            }
            *free_at = now_ns.saturating_add(interval_ns);
            self.interrupts.pending &= !causes;
            vectors |= 1 << vector;
            self.signal(causes);
        }
        vectors
    }

    /// What an interrupt clears and masks by itself.
    fn signal(&mut self, causes: u32) {
        let gpie = self.registers[regs::GPIE];
        // 8.2.3.5.5: causes of queues only, by messages of several vectors only.
        let cleared = match gpie & regs::GPIE_MULTIPLE_MSIX != 0 {
            true => causes & self.registers[regs::EIAC] & regs::EICR_RTXQ_MASK,
            false => 0,
        };
        self.registers[regs::EICR] &= !cleared;
        self.interrupts.signalled |= causes & !cleared;
        // 7.3.1.5: with EIAME when a message is sent; without it when EICR is read.
        if gpie & regs::GPIE_EIAME != 0 {
            self.registers[regs::EIMS] &= !(causes & self.registers[regs::EIAM]);
        }
    }

    /// Finds the queues that have moved frames, and raises their causes.
    fn look_at_heads(&mut self) {
        for direction in [Direction::Receive, Direction::Transmit] {
            for queue in 0..QUEUES {
                let (is_enabled, head) = match direction {
                    Direction::Receive => {
                        (self.receive.queues[queue].is_enabled, self.receive.queues[queue].ring.head())
                    }
                    Direction::Transmit => {
                        (self.transmit.queues[queue].is_enabled, self.transmit.queues[queue].ring.head())
                    }
                };
                let [received, transmitted] = &mut self.interrupts.heads;
                let before = match direction {
                    Direction::Receive => &mut received[queue],
                    Direction::Transmit => &mut transmitted[queue],
                };
                if !is_enabled || *before == head {
                    continue;
                }
                *before = head;
                if let Some(number) = self.allocation(direction, queue as u32) {
                    // Numbers from 16 on have causes in other registers, for more queues than there are here.
                    self.raise(1 << (number % 16));
                }
            }
        }
    }

    /// 8.2.3.5.16: what a queue is mapped to. A byte each for receive queue 2n, transmit queue 2n, and the same of 2n + 1.
    pub(crate) fn allocation(&self, direction: Direction, queue: u32) -> Option<u32> {
        let shift = 16 * (queue % 2) + if direction == Direction::Transmit { 8 } else { 0 };
        let allocation = self.registers[regs::ivar(queue / 2)] >> shift;
        (allocation & regs::IVAR_VALID != 0).then_some(allocation & regs::IVAR_ALLOC_MASK)
    }

    /// The vector that signals a cause.
    fn vector(&self, cause: u32) -> Option<u32> {
        // 8.2.3.5.18: without several messages, all causes have the first.
        if self.registers[regs::GPIE] & regs::GPIE_MULTIPLE_MSIX == 0 {
            return Some(0);
        }
        if cause & regs::EICR_RTXQ_MASK != 0 {
            return Some(cause.trailing_zeros());
        }
        let other = self.registers[regs::IVAR_MISC];
        let number = (other & regs::IVAR_MISC_OTHER_MASK) >> regs::IVAR_MISC_OTHER_SHIFT;
        (other & regs::IVAR_MISC_OTHER_VALID != 0).then_some(number)
    }

    /// Time between two interrupts of a vector; 0 if it is not throttled.
    pub(crate) fn interval_ns(&self, vector: u32) -> u64 {
        if vector >= THROTTLED {
            return 0;
        }
        let eitr = self.registers[regs::eitr(vector)];
        u64::from((eitr & regs::EITR_INTERVAL_MASK) >> regs::EITR_INTERVAL_SHIFT) * EITR_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dma::{DmaMemory, PagedMemory};

    const MEMORY: u64 = 0x1_0000;
    const FRAME: [u8; 60] = [0xff; 60];

    /// A port whose first receive queue works and has vector 2, and whose other causes have vector 1.
    fn device() -> (Device, PagedMemory) {
        let mut memory = PagedMemory::new();
        memory.map(MEMORY, 64 << 10);
        for index in 0..64 {
            memory.write_descriptor(MEMORY + 16 * index, [MEMORY + 0x1000, 0]).expect("it is mapped");
        }
        let mut device = Device::new([0; 6], 0);
        for (offset, value) in [
            (regs::GPIE, regs::GPIE_MULTIPLE_MSIX | regs::GPIE_EIAME),
            (regs::ivar(0), regs::IVAR_VALID | 2),
            (regs::IVAR_MISC, regs::IVAR_MISC_OTHER_VALID | 1 << regs::IVAR_MISC_OTHER_SHIFT),
            (regs::FCTRL, regs::FCTRL_BAM),
            (regs::RXCTRL, regs::RXCTRL_RXEN),
            (regs::rdbal(0), MEMORY as u32),
            (regs::rdlen(0), 1024),
            (regs::rxdctl(0), regs::RXDCTL_ENABLE),
            (regs::rdt(0), 63),
        ] {
            device.write(0, offset, value);
        }
        device.handle_timeout(10_000_000);
        (device, memory)
    }

    #[test]
    fn a_frame_interrupts_by_the_vector_of_its_queue_once() {
        let (mut device, mut memory) = device();
        device.write(0, regs::EIMS, 1 << 2);
        device.write(0, regs::EIAC, regs::EICR_RTXQ_MASK);
        assert_eq!(device.take_interrupts(0), 0);
        for _ in 0..2 {
            device.receive(&mut memory, &FRAME);
            device.receive(&mut memory, &FRAME);
            assert_eq!((device.take_interrupts(0), device.take_interrupts(0)), (1 << 2, 0));
            assert_eq!(device.value(regs::EICR) & 1 << 2, 0, "EIAC clears it");
        }
    }

    #[test]
    fn a_frame_that_came_before_its_cause_is_enabled_interrupts_then() {
        let (mut device, mut memory) = device();
        device.receive(&mut memory, &FRAME);
        assert_eq!(device.take_interrupts(0), 0);
        device.write(0, regs::EIMS, 1 << 2);
        assert_eq!(device.take_interrupts(0), 1 << 2);
    }

    #[test]
    fn a_cause_that_masks_itself_interrupts_again_when_it_is_enabled_again() {
        let (mut device, mut memory) = device();
        device.write(0, regs::EIAM, 1 << 2);
        device.write(0, regs::EIMS, 1 << 2);
        device.receive(&mut memory, &FRAME);
        assert_eq!((device.take_interrupts(0), device.value(regs::EIMS)), (1 << 2, 0));
        device.receive(&mut memory, &FRAME);
        assert_eq!(device.take_interrupts(0), 0);
        device.write(0, regs::EIMS, 1 << 2);
        assert_eq!(device.take_interrupts(0), 1 << 2);
        device.write(0, regs::EIMC, u32::MAX);
        device.receive(&mut memory, &FRAME);
        assert_eq!(device.take_interrupts(0), 0);
    }

    #[test]
    fn interrupts_of_a_vector_are_as_far_apart_as_its_timer_says() {
        let (mut device, mut memory) = device();
        device.write(0, regs::eitr(2), 5 << regs::EITR_INTERVAL_SHIFT);
        device.write(0, regs::EIMS, 1 << 2);
        device.receive(&mut memory, &FRAME);
        assert_eq!(device.take_interrupts(1000), 1 << 2);
        device.receive(&mut memory, &FRAME);
        assert_eq!((device.take_interrupts(10_999), device.take_interrupts(11_000)), (0, 1 << 2));
    }

    #[test]
    fn the_link_interrupts_by_the_vector_of_other_causes_and_is_cleared_when_enabled_again() {
        let (mut device, _) = device();
        device.write(0, regs::EIMS, regs::EICR_LSC);
        assert_eq!(device.take_interrupts(0), 1 << 1, "it came up");
        assert_ne!(device.value(regs::EICR) & regs::EICR_LSC, 0, "the driver reads it");
        device.write(0, regs::EIMS, regs::EICR_LSC);
        assert_eq!((device.take_interrupts(0), device.value(regs::EICR)), (0, 0));
        device.set_cable(0, false);
        assert_eq!(device.take_interrupts(0), 1 << 1);
        device.write(0, regs::IVAR_MISC, 0);
        device.set_cable(0, true);
        device.handle_timeout(20_000_000);
        assert_eq!(device.take_interrupts(0), 0, "it has no vector");
    }

    #[test]
    fn a_driver_interrupts_itself_and_without_several_messages_by_the_first() {
        let (mut device, _) = device();
        device.write(0, regs::EIMS, 1 << 7);
        device.write(0, regs::EICS, 1 << 7);
        assert_eq!(device.take_interrupts(0), 1 << 7);
        device.write(0, regs::GPIE, 0);
        device.write(0, regs::EICS, 1 << 7);
        assert_eq!(device.take_interrupts(0), 1);
        device.write(0, regs::EICS, 1 << 7);
        device.write(0, regs::CTRL, regs::CTRL_RST);
        device.write(0, regs::EIMS, 1 << 7);
        assert_eq!(device.take_interrupts(0), 0, "a reset takes everything back");
    }
}
