//! Looking several times at growing data without spending more error than planned.

use std::f64::consts::PI;

use crate::describe::distribution::{normal_above, normal_quantile_above};

/// Times of the looks, as shares of the time budget.
pub const LOOKS: [f64; 5] = [1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0, 1.0];

/// Part of `alpha` that may be spent when a share `u` of the budget is used: α·ln(1 + (e − 1)·u).
///
/// Source: Lan & DeMets 1983, Biometrika 70; this one keeps the bounds about equal at all looks, as Pocock's do.
pub fn spent(alpha: f64, u: f64) -> f64 {
    alpha * ((std::f64::consts::E - 1.0) * u.clamp(0.0, 1.0)).ln_1p()
}

/// Steps of a grid from 0 to the bound; even, for Simpson's rule. Levels of five looks are then right to four digits.
const GRID_STEPS: usize = 32;

/// The level at which each look may test so that all looks together err with probability `alpha`, two-sided.
///
/// Under "no difference" the statistics of neighbouring looks are normal with a correlation known from the pairs that
/// they share. The chance to be within all bounds so far is carried from look to look as a density on a grid
/// (Armitage, McPherson & Rowe 1969; Jennison & Turnbull 2000, ch. 19). A level never falls below the error newly spent,
/// which needs no distribution at all to be valid.
#[derive(Debug, Clone)]
pub struct Boundary {
    alpha: f64,
    spent: f64,
    inside: Option<Density>,
}

/// Density of the statistic z among paths that crossed no bound, at even steps from 0 to `bound`; it is symmetric.
#[derive(Debug, Clone)]
struct Density {
    bound: f64,
    heights: [f64; GRID_STEPS + 1],
}

impl Boundary {
    /// Boundary with nothing of `alpha` spent.
    pub fn new(alpha: f64) -> Boundary {
        Boundary { alpha, spent: 0.0, inside: None }
    }

    /// Remaining boundary when `alpha` was spent up to a share `u` of the budget by looks at something else. The next
    /// level is what it newly spends, which is valid whatever these looks and the next have in common.
    pub fn resume(alpha: f64, u: f64) -> Boundary {
        Boundary { alpha, spent: spent(alpha, u), inside: None }
    }

    /// The level of a look at share `u` of the budget, if it were now; 0 when no error is left to spend.
    ///
    /// `shared`: squared correlation with the statistic of the look before, for nested samples the share of pairs that
    /// it knew already. The first look has nothing to share.
    pub fn level(&self, u: f64, shared: f64) -> f64 {
        let new = spent(self.alpha, u) - self.spent;
        if new <= 0.0 {
            return 0.0;
        }
        let Some((inside, step)) = self.inside.as_ref().zip(Step::new(shared)) else { return new };
        if !inside.resolves(step) {
            return new;
        }
        let crossing = |level: f64| {
            let bound = normal_quantile_above(level / 2.0);
            2.0 * inside.integrate(|z| step.above(z, bound) + step.above(-z, bound)) - new
        };
        // With nothing in common with earlier looks the level is `new`; with everything, all that was ever spent.
        let (mut low, mut high) = (new, self.spent + new);
        let (mut low_miss, mut high_miss) = (crossing(low), crossing(high));
        // Regula falsi, Illinois variant (Dowell & Jarratt 1971).
        for _ in 0..12 {
            if low_miss >= 0.0 || high_miss <= 0.0 || high - low < 1e-6 * new {
                break;
            }
            let between = (low * high_miss - high * low_miss) / (high_miss - low_miss);
            let miss = crossing(between);
            if miss < 0.0 {
                (low, low_miss, high_miss) = (between, miss, high_miss / 2.0);
            } else {
                (high, high_miss, low_miss) = (between, miss, low_miss / 2.0);
            }
        }
        low
    }

    /// Looks: spends up to share `u`, and returns the level as [`Boundary::level`] does.
    pub fn look(&mut self, u: f64, shared: f64) -> f64 {
        let level = self.level(u, shared);
        if level <= 0.0 {
            return 0.0;
        }
        let bound = normal_quantile_above(level / 2.0);
        let heights = match (&self.inside, Step::new(shared)) {
            (Some(inside), Some(step)) if inside.resolves(step) => {
                Density::on_grid(bound, |at| inside.integrate(|z| step.density(z, at) + step.density(-z, at)))
            }
            // Alike or with nothing in common: paths inside now are taken for all paths, which errs by what was spent.
            _ => Density::on_grid(bound, |z| (-0.5 * z * z).exp() / (2.0 * PI).sqrt()),
        };
        self.inside = Some(Density { bound, heights });
        self.spent = spent(self.alpha, u);
        level
    }
}

/// From one look's statistic to the next: z' = correlation · z + deviation · ε.
#[derive(Clone, Copy)]
struct Step {
    correlation: f64,
    deviation: f64,
}

impl Step {
    /// `None` where the looks have nothing, or all, in common.
    fn new(shared: f64) -> Option<Step> {
        let inside = shared > 1e-6 && shared < 1.0 - 1e-6;
        inside.then(|| Step { correlation: shared.sqrt(), deviation: (1.0 - shared).sqrt() })
    }

    fn above(self, from: f64, bound: f64) -> f64 {
        normal_above((bound - self.correlation * from) / self.deviation)
    }

    fn density(self, from: f64, to: f64) -> f64 {
        let distance = (to - self.correlation * from) / self.deviation;
        (-0.5 * distance * distance).exp() / (self.deviation * (2.0 * PI).sqrt())
    }
}

impl Density {
    fn on_grid(bound: f64, height: impl Fn(f64) -> f64) -> [f64; GRID_STEPS + 1] {
        std::array::from_fn(|point| height(bound * point as f64 / GRID_STEPS as f64))
    }

    /// Simpson's rule needs steps that are small against the spread that a look adds.
    fn resolves(&self, step: Step) -> bool {
        step.deviation > self.bound / GRID_STEPS as f64
    }

    /// ∫ density · f from 0 to the bound, by Simpson's rule; `f` sums both signs of its argument.
    fn integrate(&self, f: impl Fn(f64) -> f64) -> f64 {
        let step = self.bound / GRID_STEPS as f64;
        let weight = |point: usize| match point {
            0 | GRID_STEPS => 1.0,
            point if point % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let terms =
            self.heights.iter().enumerate().map(|(point, height)| weight(point) * height * f(step * point as f64));
        terms.sum::<f64>() * step / 3.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_even_looks_have_the_levels_of_the_books() {
        // Reboussin, DeMets, Kim & Lan 2000 (LanDeM): Pocock-type spending, two-sided 5 %, five even looks.
        let mut boundary = Boundary::new(0.05);
        for (look, expected) in [2.438, 2.427, 2.410, 2.397, 2.386].into_iter().enumerate() {
            let level = boundary.look((look + 1) as f64 / 5.0, look as f64 / (look + 1) as f64);
            let bound = normal_quantile_above(level / 2.0);
            assert!((bound - expected).abs() < 0.001, "look {look}: {bound} is not {expected}");
        }
    }

    #[test]
    fn looks_with_nothing_in_common_have_what_is_newly_spent() {
        let mut boundary = Boundary::new(0.05);
        boundary.look(0.25, 0.0);
        assert!((boundary.level(0.5, 0.0) - (spent(0.05, 0.5) - spent(0.05, 0.25))).abs() < 1e-12);
        assert!(boundary.level(0.5, 0.5) > boundary.level(0.5, 0.1));
        assert_eq!(boundary.level(0.25, 0.5), 0.0);
    }

    #[test]
    fn a_single_look_has_all_of_alpha() {
        assert!((Boundary::new(0.05).look(1.0, 0.0) - 0.05).abs() < 1e-15);
    }
}
