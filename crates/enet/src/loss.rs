//! Packet loss: share of commands that had to be sent again.

/// Scale of shares: the value of 1.
pub const SCALE: u32 = 1 << 16;
/// Interval between recomputations of the shares, in milliseconds.
const INTERVAL_MS: u64 = 10_000;

/// Packet loss of one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Smoothed share of commands sent again, in 65536ths.
    pub mean: u32,
    /// Smoothed distance of losses from their mean, on the same scale.
    pub variance: u32,
    /// Commands sent in the interval that goes on.
    pub sent: u32,
    /// Number of those that were sent again.
    pub lost: u32,
    epoch: Option<u64>,
}

impl Loss {
    /// Ends an interval that is over; called when something is sent.
    pub(crate) fn look(&mut self, now: u64) {
        let epoch = *self.epoch.get_or_insert(now);
        if now - epoch < INTERVAL_MS || self.sent == 0 {
            return;
        }
        let share = (u64::from(self.lost) * u64::from(SCALE) / u64::from(self.sent)) as u32;
        // 64 bits: a command lost many times in an interval makes shares above 1.
        let smooth = |old: u32, new: u32, weight: u64| {
            ((u64::from(old) * (weight - 1) + u64::from(new)) / weight).min(u32::MAX.into()) as u32
        };
        self.variance = smooth(self.variance, share.abs_diff(self.mean), 4);
        self.mean = smooth(self.mean, share, 8);
        (self.sent, self.lost, self.epoch) = (0, 0, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_smoothed_every_ten_seconds() {
        let mut loss = Loss::default();
        loss.look(5);
        (loss.sent, loss.lost) = (100, 25);
        loss.look(10_004);
        assert_eq!(loss.mean, 0);
        loss.look(10_005);
        assert_eq!((loss.mean, loss.variance), (SCALE / 4 / 8, SCALE / 4 / 4));
        assert_eq!((loss.sent, loss.lost), (0, 0));
        loss.look(30_000);
        assert_eq!(loss.mean, SCALE / 4 / 8, "nothing was sent");
    }
}
