//! Looking several times at growing data without spending more error than planned.

use crate::distribution::{normal_above, normal_quantile_above};

/// When the judge looks, as shares of the time budget.
pub const LOOKS: [f64; 5] = [1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0, 1.0];

/// How much of `alpha` may be spent when a share `u` of the budget is used: α·ln(1 + (e − 1)·u).
///
/// Source: Lan & DeMets 1983, Biometrika 70; this one keeps the bounds about equal at all looks, as Pocock's do.
pub fn spent(alpha: f64, u: f64) -> f64 {
    alpha * ((std::f64::consts::E - 1.0) * u.clamp(0.0, 1.0)).ln_1p()
}

/// Odd, for Simpson's rule. The levels of five looks are then right to four digits.
const GRID_POINTS: usize = 65;

/// The level at which each look may test so that all looks together err with probability `alpha`, two-sided.
///
/// Sums of symmetric terms over n pairs behave at the looks like a Brownian motion at times n. The chance to be still
/// within all bounds so far is carried from look to look as a density on a grid (Armitage, McPherson & Rowe 1969;
/// Jennison & Turnbull 2000, ch. 19). A level never falls below the error newly spent, which needs no
/// distribution at all to be valid.
#[derive(Debug, Clone)]
pub struct Boundary {
    alpha: f64,
    spent: f64,
    pairs: f64,
    inside: Option<Density>,
}

/// Density of the sum among paths that crossed no bound, at even steps from −`bound` to `bound`.
#[derive(Debug, Clone)]
struct Density {
    bound: f64,
    heights: [f64; GRID_POINTS],
}

impl Boundary {
    /// Nothing spent yet.
    pub fn new(alpha: f64) -> Boundary {
        Boundary { alpha, spent: 0.0, pairs: 0.0, inside: None }
    }

    /// The level of a look at share `u` of the budget with `pairs` pairs, if it were now.
    ///
    /// 0 when there is no new pair, or no error left to spend.
    pub fn level(&self, u: f64, pairs: usize) -> f64 {
        let new = spent(self.alpha, u) - self.spent;
        let grown = pairs as f64 - self.pairs;
        if new <= 0.0 || grown <= 0.0 {
            return 0.0;
        }
        let Some(inside) = &self.inside else { return new };
        let step = grown.sqrt();
        if step < inside.spacing() {
            return new;
        }
        let scale = (pairs as f64).sqrt();
        let crossing = |level: f64| {
            let bound = normal_quantile_above(level / 2.0) * scale;
            inside.integrate(|at| normal_above((bound - at) / step) + normal_above((bound + at) / step))
        };
        // With nothing in common with earlier looks the level is `new`; with everything, all that was ever spent.
        let (mut low, mut high) = (new, self.spent + new);
        for _ in 0..30 {
            let middle = 0.5 * (low + high);
            if crossing(middle) < new { low = middle } else { high = middle }
        }
        low
    }

    /// Looks: spends up to share `u`, and returns the level as [`Boundary::level`] does.
    pub fn look(&mut self, u: f64, pairs: usize) -> f64 {
        let level = self.level(u, pairs);
        if level <= 0.0 {
            return 0.0;
        }
        let bound = normal_quantile_above(level / 2.0) * (pairs as f64).sqrt();
        let step = (pairs as f64 - self.pairs).sqrt();
        let density =
            |distance: f64| (-0.5 * (distance / step).powi(2)).exp() / (step * (2.0 * std::f64::consts::PI).sqrt());
        match &self.inside {
            // Too little is new for the grid to tell: the density stays.
            Some(inside) if step < inside.spacing() => {}
            Some(inside) => {
                let next = |point| inside.integrate(|from| density(Density::place(bound, point) - from));
                self.inside = Some(Density { bound, heights: std::array::from_fn(next) });
            }
            None => {
                let first = |point| density(Density::place(bound, point));
                self.inside = Some(Density { bound, heights: std::array::from_fn(first) });
            }
        }
        self.spent = spent(self.alpha, u);
        self.pairs = pairs as f64;
        level
    }
}

impl Density {
    fn place(bound: f64, point: usize) -> f64 {
        bound * (2.0 * point as f64 / (GRID_POINTS - 1) as f64 - 1.0)
    }

    fn spacing(&self) -> f64 {
        2.0 * self.bound / (GRID_POINTS - 1) as f64
    }

    /// ∫ density · f, by Simpson's rule.
    fn integrate(&self, f: impl Fn(f64) -> f64) -> f64 {
        let sum: f64 = (0..GRID_POINTS)
            .map(|point| {
                let weight = match point {
                    0 => 1.0,
                    point if point == GRID_POINTS - 1 => 1.0,
                    point if point % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                weight * self.heights[point] * f(Density::place(self.bound, point))
            })
            .sum();
        sum * self.spacing() / 3.0
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
            let level = boundary.look((look + 1) as f64 / 5.0, 100 * (look + 1));
            let bound = normal_quantile_above(level / 2.0);
            assert!((bound - expected).abs() < 0.001, "look {look}: {bound} is not {expected}");
        }
    }

    #[test]
    fn a_look_without_new_pairs_spends_nothing() {
        let mut boundary = Boundary::new(0.05);
        assert!(boundary.look(0.25, 20) > 0.0);
        assert_eq!(boundary.look(0.5, 20), 0.0);
        assert!(boundary.look(1.0, 40) > 0.05 * (1.0 - spent(1.0, 0.25)));
    }

    #[test]
    fn a_single_look_has_all_of_alpha() {
        assert!((Boundary::new(0.05).look(1.0, 10) - 0.05).abs() < 1e-15);
    }
}
