//! Normal, Student and binomial(½) distributions, as far as tests and intervals need them.

use std::f64::consts::{LN_2, SQRT_2};

/// P(Z ≤ z) of the standard normal distribution.
pub fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// P(Z > z) of the standard normal distribution, exact far out, where `1 − normal_below` would be 0.
pub fn normal_above(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// The z with P(Z > z) = `tail`, for 0 < `tail` < 1; infinite outside.
///
/// Acklam's rational approximation (2003), relative error 1.2e-9, and one step of Halley's rule on `erfc`.
pub fn normal_quantile_above(tail: f64) -> f64 {
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    if tail >= 1.0 {
        return f64::NEG_INFINITY;
    }
    if tail > 0.5 {
        return -normal_quantile_above(1.0 - tail);
    }
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] =
        [-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let z = if tail < 0.02425 {
        let q = (-2.0 * tail.ln()).sqrt();
        -polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    } else {
        let q = tail - 0.5;
        let r = q * q;
        -polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
    };
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if density == 0.0 {
        return z;
    }
    let step = (normal_above(z) - tail) / density;
    z + step / (1.0 - z * step / 2.0)
}

/// P(T > t) of Student's distribution, t ≥ 0; `freedom` need not be whole.
pub fn student_above(t: f64, freedom: f64) -> f64 {
    0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The t with P(T > t) = `tail` for Student's distribution, 0 < `tail` ≤ ½; `freedom` need not be whole.
pub fn student_quantile_above(tail: f64, freedom: f64) -> f64 {
    if tail <= 0.0 || freedom <= 0.0 {
        return f64::INFINITY;
    }
    let above = |t: f64| student_above(t, freedom);
    let mut high = 1.0;
    while above(high) > tail {
        high *= 2.0;
        if high > 1e12 {
            return f64::INFINITY;
        }
    }
    let mut low = 0.0;
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if above(middle) > tail { low = middle } else { high = middle }
    }
    high
}

/// Regularised incomplete beta function, by its continued fraction (Abramowitz & Stegun 26.5.8, modified Lentz).
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast below the mean of the distribution only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..500 {
        let m = f64::from(m);
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    let front = a * x.ln() + b * (1.0 - x).ln() - (libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b));
    front.exp() * fraction / a
}

/// P(X ≤ k) for X binomial with `n` tosses of a fair coin.
pub fn coin_at_most(n: usize, k: usize) -> f64 {
    if 2 * k + 1 >= 2 * n {
        return if k >= n { 1.0 } else { 1.0 - (-(n as f64) * LN_2).exp() };
    }
    if 2 * k >= n {
        return 1.0 - coin_at_most(n, n - k - 1);
    }
    // From the largest term downwards, each is less than the one before by k / (n − k + 1).
    let mut term = coin_exactly(n, k);
    let mut sum = 0.0;
    for at in (0..=k).rev() {
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
        term *= at as f64 / (n - at + 1) as f64;
    }
    sum
}

fn coin_exactly(n: usize, k: usize) -> f64 {
    let ln_factorial = |m: usize| libm::lgamma(m as f64 + 1.0);
    (ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k) - n as f64 * LN_2).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
    }

    #[test]
    fn quantiles_are_those_of_scipy() {
        // scipy.stats.norm.isf and t.isf, SciPy 1.17.
        near(normal_quantile_above(0.25), 0.6744897501960817);
        near(normal_quantile_above(0.025), 1.9599639845400545);
        near(normal_quantile_above(1e-6), 4.753424308822899);
        near(normal_quantile_above(1e-12), 7.034483825301131);
        near(normal_quantile_above(0.975), -1.9599639845400545);
        near(student_quantile_above(0.025, 1.0), 12.706204736174705);
        near(student_quantile_above(0.025, 9.0), 2.2621571627982053);
        near(student_quantile_above(0.005, 4.5), 4.2728239930112935);
        near(student_quantile_above(0.05, 30.0), 1.6972608865939574);
        near(student_quantile_above(1e-4, 12.0), 5.263273007825967);
        near(student_above(2.2621571627982053, 9.0), 0.025);
        near(normal_below(-1.9599639845400545), 0.025);
    }

    #[test]
    fn tosses_are_those_of_scipy() {
        // scipy.stats.binom.cdf(k, n, 0.5).
        near(coin_at_most(10, 2), 0.0546875);
        near(coin_at_most(15, 3), 0.017578125);
        near(coin_at_most(100, 40), 0.028443966820490444);
        near(coin_at_most(10_000, 4900), 0.023292763852473225);
        near(coin_at_most(5, 4), 0.96875);
        near(coin_at_most(5, 5), 1.0);
        assert_eq!(coin_at_most(10_000, 0), 0.0);
    }
}
