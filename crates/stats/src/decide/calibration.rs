//! Number of inner loops that makes one value long enough to time.

/// A value shorter than this is mostly clock, interrupts and luck; as in pyperf.
pub const VALUE_S_MIN: f64 = 0.1;

/// Finds the loops for a value, one attempt after the other.
#[derive(Debug, Clone)]
pub struct Calibration {
    value_s_min: f64,
    loops: u64,
}

/// At once, however fast the attempt seemed: the first ones run on cold caches and a slow clock.
const GROWTH_MAX: f64 = 10.0;
/// Aims a fifth beyond, so that the last attempt seldom falls short by a hair.
const AIM: f64 = 1.2;

impl Calibration {
    /// Calibration for values of at least `value_s_min` seconds.
    pub fn new(value_s_min: f64) -> Calibration {
        Calibration { value_s_min, loops: 1 }
    }

    /// Loops of the next attempt, and of all values once [`Calibration::observe`] is content.
    pub fn loops(&self) -> u64 {
        self.loops
    }

    /// Takes the seconds of an attempt with [`Calibration::loops`]; true when it was long enough.
    pub fn observe(&mut self, seconds: f64) -> bool {
        if seconds >= self.value_s_min || self.loops > u64::MAX / 16 {
            return true;
        }
        let growth = (AIM * self.value_s_min / seconds.max(1e-9)).clamp(1.1, GROWTH_MAX);
        self.loops = (self.loops as f64 * growth).ceil() as u64;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lasts_as_long_as_requested() {
        for loop_s in [1e-9, 3e-6, 0.004, 0.2] {
            let mut calibration = Calibration::new(VALUE_S_MIN);
            let mut attempts = 1;
            while !calibration.observe(loop_s * calibration.loops() as f64) {
                attempts += 1;
            }
            let value_s = loop_s * calibration.loops() as f64;
            assert!((0.1..0.1f64.max(loop_s) * 1.3).contains(&value_s), "{loop_s}: {value_s}");
            assert!(attempts <= 11, "{loop_s}: {attempts}");
        }
    }

    #[test]
    fn loops_that_take_no_time_come_to_an_end() {
        let mut calibration = Calibration::new(VALUE_S_MIN);
        while !calibration.observe(0.0) {}
        assert!(calibration.loops() > 1 << 59);
    }
}
