//! Drops unreliable packets before they are sent, when round trips grow.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::wire::ThrottleParameters;

/// Value at which nothing is dropped.
pub const SCALE: u32 = 32;
/// Step of the counter that spreads drops evenly; it has no divisor in common with the scale.
const STEP: u32 = 7;

/// The packet throttle of one peer: of 32 unreliable packets, about `value` are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketThrottle {
    /// Share of unreliable packets that are sent, from 0 to 32.
    pub value: u32,
    /// Upper limit of the value, from 0 to 32.
    pub limit: u32,
    counter: u32,
    /// Parameters of the adaptation: interval, acceleration, deceleration.
    pub parameters: ThrottleParameters,
}

impl PacketThrottle {
    pub(crate) fn new(parameters: ThrottleParameters) -> PacketThrottle {
        PacketThrottle { value: SCALE, limit: SCALE, counter: 0, parameters }
    }

    /// Adapts to a round trip, compared with those of the interval before.
    pub(crate) fn adapt(&mut self, sample_ms: u32, last_ms: u32, last_variance_ms: u32) {
        if last_ms <= last_variance_ms {
            self.value = self.limit;
        } else if sample_ms <= last_ms {
            self.value = self.value.saturating_add(self.parameters.acceleration).min(self.limit);
        } else if u64::from(sample_ms) > u64::from(last_variance_ms).saturating_mul(2).saturating_add(last_ms.into()) {
            self.value = self.value.saturating_sub(self.parameters.deceleration);
        }
    }

    /// Sets the limit, and cuts what is above it.
    pub(crate) fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
        self.value = self.value.min(limit);
    }

    /// True if the next unreliable packet is sent.
    pub(crate) fn admits(&mut self) -> bool {
        self.counter = self.counter.wrapping_add(STEP) % SCALE;
        self.counter <= self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(value: u32) -> usize {
        let mut throttle = PacketThrottle::new(ThrottleParameters::default());
        throttle.value = value;
        (0..SCALE).filter(|_| throttle.admits()).count()
    }

    #[test]
    fn of_each_32_packets_as_many_are_sent_as_the_throttle_says() {
        assert_eq!(admitted(32), 32);
        assert_eq!(admitted(16), 17, "0 is admitted too");
        assert_eq!(admitted(0), 1);
    }

    #[test]
    fn round_trips_move_it_between_zero_and_its_limit() {
        let mut throttle = PacketThrottle::new(ThrottleParameters::default());
        throttle.adapt(1000, 100, 10);
        assert_eq!(throttle.value, 30);
        throttle.adapt(110, 100, 10);
        assert_eq!(throttle.value, 30, "neither good nor bad");
        throttle.set_limit(29);
        throttle.adapt(50, 100, 10);
        assert_eq!(throttle.value, 29);
        (0..20).for_each(|_| throttle.adapt(1000, 100, 10));
        assert_eq!(throttle.value, 0);
        throttle.adapt(5, 1, 1);
        assert_eq!(throttle.value, 29, "round trips too short to judge");
    }
}
