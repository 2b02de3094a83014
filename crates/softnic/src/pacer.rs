//! When frames are due.

/// Rate of the frames that enter a port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// As many as the driver has descriptors for: nothing is lost on the way in.
    Max,
    /// Frames a second, whatever the driver does: those that find no descriptor are missed.
    Fixed(f64),
}

/// Frames that are due, on a schedule that is fixed beforehand.
#[derive(Debug, Clone, Copy)]
pub struct Pacer {
    per_ns: Option<f64>,
    start_ns: u64,
    emitted: u64,
}

impl Pacer {
    /// The first frame is due at `start_ns`.
    pub fn new(rate: Rate, start_ns: u64) -> Pacer {
        let per_ns = match rate {
            Rate::Max => None,
            Rate::Fixed(hz) => Some(hz / 1e9),
        };
        Pacer { per_ns, start_ns, emitted: 0 }
    }

    /// Frames that are due by now, at most `limit`; with [`Rate::Max`], `room` of them.
    #[inline]
    pub fn due(&self, now_ns: u64, room: u32, limit: u32) -> u32 {
        let Some(per_ns) = self.per_ns else { return room.min(limit) };
        let Some(elapsed_ns) = now_ns.checked_sub(self.start_ns) else { return 0 };
        let due = ((elapsed_ns as f64 * per_ns) as u64 + 1).saturating_sub(self.emitted);
        u32::try_from(due).unwrap_or(u32::MAX).min(limit)
    }

    /// Time at which the next frame was due: now, if there is no schedule.
    #[inline]
    pub fn due_ns(&self, now_ns: u64) -> u64 {
        match self.per_ns {
            None => now_ns,
            Some(per_ns) => (self.start_ns + (self.emitted as f64 / per_ns) as u64).min(now_ns),
        }
    }

    /// Records that a frame was emitted.
    #[inline]
    pub fn emit(&mut self) {
        self.emitted += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_look_finds_every_frame_that_was_due() {
        let mut pacer = Pacer::new(Rate::Fixed(1e6), 500);
        assert_eq!((pacer.due(0, 9, 100), pacer.due(500, 0, 100), pacer.due(1499, 0, 100)), (0, 1, 1));
        assert_eq!(pacer.due(10_600, 0, 100), 11);
        for n in 0..11 {
            assert_eq!(pacer.due_ns(20_000), 500 + n * 1000);
            pacer.emit();
        }
        assert_eq!((pacer.due(10_600, 0, 100), pacer.due(1_000_000_000, 0, 64)), (0, 64));
    }

    #[test]
    fn without_a_rate_the_room_decides() {
        let pacer = Pacer::new(Rate::Max, 0);
        assert_eq!((pacer.due(0, 511, 64), pacer.due(0, 3, 64), pacer.due_ns(77)), (64, 3, 77));
    }
}
