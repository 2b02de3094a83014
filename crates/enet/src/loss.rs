//! Packet loss: share of commands that had to be sent again.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

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
        if now.saturating_sub(epoch) < INTERVAL_MS {
            return;
        }
        let lost = u64::from(self.lost).saturating_mul(SCALE.into());
        let Some(share) = lost.checked_div(self.sent.into()) else { return };
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        // 64 bits: a command lost many times in an interval makes shares above 1.
        fn smooth<const WEIGHT: u64>(old: u32, new: u32) -> u32 {
            let sum = u64::from(old).saturating_mul(const { WEIGHT - 1 }).saturating_add(new.into());
            u32::try_from(sum.checked_div(WEIGHT).unwrap_or(sum)).unwrap_or(u32::MAX)
        }
        self.variance = smooth::<4>(self.variance, share.abs_diff(self.mean));
        self.mean = smooth::<8>(self.mean, share);
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
