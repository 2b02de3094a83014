//! What a device counts, and the registers that show it.

use prony_ixgbe_regs as regs;

use crate::device::QUEUES;

/// Bytes of the frame check sequence: the byte counters include it (datasheet 8.2.3.23.22).
const FCS_BYTES: u64 = 4;

/// Frames and bytes of a port since its first moment. Resets and reads change only what the registers show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    pub(crate) transmitted: u64,
    pub(crate) transmitted_bytes: u64,
    pub(crate) missed: u64,
    pub(crate) received_by: [u64; QUEUES],
    pub(crate) transmitted_by: [u64; QUEUES],
}

/// The statistics of a port.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Statistics {
    now: Totals,
    /// Totals when each register was last cleared.
    cleared: Totals,
}

impl Statistics {
    pub(crate) fn totals(&self) -> &Totals {
        &self.now
    }

    #[inline]
    pub(crate) fn count_received(&mut self, queue: usize, bytes: usize) {
        self.now.received += 1;
        self.now.received_bytes += bytes as u64 + FCS_BYTES;
        self.now.received_by[queue] += 1;
    }

    #[inline]
    pub(crate) fn count_transmitted(&mut self, queue: usize, bytes: usize) {
        self.now.transmitted += 1;
        self.now.transmitted_bytes += bytes as u64 + FCS_BYTES;
        self.now.transmitted_by[queue] += 1;
    }

    pub(crate) fn count_missed(&mut self) {
        self.now.missed += 1;
    }

    /// All registers read 0 again.
    pub(crate) fn reset(&mut self) {
        self.cleared = self.now;
    }

    /// What a register shows; `None` for one that is no statistic.
    pub(crate) fn value(&self, first: u32, index: u32) -> Option<u32> {
        let (now, cleared) = (&self.now, &self.cleared);
        let low = |now: u64, cleared: u64| u32::try_from(now - cleared).unwrap_or(u32::MAX);
        Some(match first {
            regs::GPRC => low(now.received, cleared.received),
            regs::GPTC => low(now.transmitted, cleared.transmitted),
            regs::GORCL => (now.received_bytes - cleared.received_bytes) as u32,
            regs::GORCH => ((now.received_bytes - cleared.received_bytes) >> 32) as u32 & 0xf,
            regs::GOTCL => (now.transmitted_bytes - cleared.transmitted_bytes) as u32,
            regs::GOTCH => ((now.transmitted_bytes - cleared.transmitted_bytes) >> 32) as u32 & 0xf,
            RXMPC => match index {
                // All frames use the first packet buffer: there are no traffic classes.
                0 => low(now.missed, cleared.missed),
                _ => 0,
            },
            QPRC => {
                let queue = usize::try_from(index).ok()?;
                low(*now.received_by.get(queue)?, *cleared.received_by.get(queue)?)
            }
            QPTC => {
                let queue = usize::try_from(index).ok()?;
                low(*now.transmitted_by.get(queue)?, *cleared.transmitted_by.get(queue)?)
            }
            _ => return None,
        })
    }

    /// A driver has read this register.
    pub(crate) fn clear(&mut self, first: u32, index: u32) {
        let (now, cleared) = (&self.now, &mut self.cleared);
        match first {
            regs::GPRC => cleared.received = now.received,
            regs::GPTC => cleared.transmitted = now.transmitted,
            // The lower half is read first, and stays until the upper one was read.
            regs::GORCH => cleared.received_bytes = now.received_bytes,
            regs::GOTCH => cleared.transmitted_bytes = now.transmitted_bytes,
            RXMPC if index == 0 => cleared.missed = now.missed,
            QPRC => {
                if let Some(queue) = cleared.received_by.get_mut(index as usize) {
                    *queue = now.received_by[index as usize];
                }
            }
            QPTC => {
                if let Some(queue) = cleared.transmitted_by.get_mut(index as usize) {
                    *queue = now.transmitted_by[index as usize];
                }
            }
            _ => {}
        }
    }
}

const RXMPC: u32 = regs::rxmpc(0);
const QPRC: u32 = regs::qprc(0);
const QPTC: u32 = regs::qptc(0);
