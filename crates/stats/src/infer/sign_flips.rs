//! Is the ratio of two sums 1? For pairs of unequal weight, by flipping the signs of whole pairs.
//!
//! Each pair is what a stretch of work took in A and in B, run in random order. At a supposed ratio e^θ the difference
//! d = b·e^(−θ/2) − a·e^(θ/2) of a pair is as likely to have either sign, whatever its size and whatever pairs have in
//! common, so the sum of all may be set against what it is under random signs (Fisher 1935, §21). A pair that
//! is far out counts no more than three times the typical one of its weight (Huber 1964); the limit is made of sizes
//! alone, which leaves the signs free. Unlike ranks of ratios, sums keep what each pair weighs.

use crate::describe::distribution::{normal_above, normal_quantile_above};
use crate::describe::quantile::median;
use crate::interval::Interval;
use crate::seed::Seed;

/// Times of a piece of work in either build, in one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Value of the pair in A.
    pub a: f64,
    /// Value of the pair in B.
    pub b: f64,
}

/// Differences farther out than this many medians of their weight are cut; two deviations of a normal sample, at the
/// price of 1 % more spread (Huber 1964, table I).
const FAR: f64 = 3.0;
/// Above this many pairs the sum is normal to the digits that matter; up to there signs are drawn.
const DRAWN_PAIRS_MAX: usize = 64;
/// Draws: levels near 0.005, as of a first look, are then right to a third of themselves.
const DRAWS: usize = 2047;
/// Another way must promise an error smaller by this than what was best so far, more than luck does.
const GAIN_MIN: f64 = 0.8;
/// And rest on this many pairs, as pairs are the observations.
const EFFECTIVE_PAIRS_MIN: f64 = 12.0;
/// The signs of the draws are part of the definition: equal pairs, equal answer.
const DRAWS_SEED: u64 = 0x5167_4e5f_f11b_5eed;

/// ln(ΣB/ΣA) with far pairs cut: the θ at which the differences cancel. `None` without a pair above 0.
pub fn estimate(pairs: &[Pair]) -> Option<f64> {
    let (mut low, mut high) = bounds(pairs)?;
    // Every difference falls as θ grows, and so does a sum of them with equal limits up to rounding.
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        if differences(pairs, middle).iter().sum::<f64>() > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high))
}

/// Standard error of [`estimate`], with pairs as the observations.
pub fn standard_error(pairs: &[Pair], estimate: f64) -> f64 {
    let sizes = differences(pairs, estimate).iter().map(|difference| difference.powi(2)).sum::<f64>().sqrt();
    sizes / pairs.iter().map(|pair| weight(pair, estimate)).sum::<f64>()
}

/// The differences at ratio e^`theta`, those far out cut.
pub fn differences(pairs: &[Pair], theta: f64) -> Vec<f64> {
    let half = (0.5 * theta).exp();
    let raw: Vec<f64> = pairs.iter().map(|pair| pair.b / half - pair.a * half).collect();
    // Noise of parts that come one by one grows with the root of their number.
    let scale = |pair: &Pair| weight(pair, theta).sqrt();
    let sizes: Vec<f64> =
        raw.iter().zip(pairs).filter(|(_, pair)| scale(pair) > 0.0).map(|(d, pair)| d.abs() / scale(pair)).collect();
    let limit = FAR * median(&sizes).unwrap_or(0.0);
    raw.iter().zip(pairs).map(|(d, pair)| d.clamp(-limit * scale(pair), limit * scale(pair))).collect()
}

/// Weight of a pair; independent of which one is A.
fn weight(pair: &Pair, theta: f64) -> f64 {
    let half = (0.5 * theta).exp();
    0.5 * (pair.b / half + pair.a * half)
}

/// Chance of a sum as far out as that at ratio e^`theta`, two-sided.
pub fn p_value(pairs: &[Pair], theta: f64) -> f64 {
    Signs::of(pairs.len()).p_value(&differences(pairs, theta))
}

/// Index of the way to total the same pairs with the smallest error at ratio e^`theta`.
///
/// The first is taken unless a later one promises an error smaller by a fifth than what was best so far, and rests
/// on twelve pairs or more, counted by their weights. What decides are sizes of differences and weights at that ratio: the same however
/// the signs fall, so a test at that ratio stays exact.
pub fn choose(ways: &[Vec<Pair>], theta: f64) -> usize {
    let mut best = (0, f64::INFINITY);
    for (at, pairs) in ways.iter().enumerate() {
        let error = standard_error(pairs, theta);
        let usable = at == 0 || effective_pairs(pairs, theta) >= EFFECTIVE_PAIRS_MIN;
        if usable && error < GAIN_MIN * best.1 {
            best = (at, error);
        }
    }
    best.0
}

/// Effective number of pairs: (Σw)²/Σw² for their weights w.
fn effective_pairs(pairs: &[Pair], theta: f64) -> f64 {
    let weights = pairs.iter().map(|pair| weight(pair, theta));
    let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), weight| (sum + weight, squares + weight * weight));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// The way with the smallest error at its own estimate, and that.
pub fn best(ways: &[Vec<Pair>]) -> Option<(usize, f64)> {
    let mut found = (0, estimate(ways.first()?)?);
    // Each way's estimate may favour another; a few turns settle it, and any end is as good.
    for _ in 0..ways.len() {
        let way = choose(ways, found.1);
        if way == found.0 {
            break;
        }
        found = (way, estimate(&ways[way])?);
    }
    Some(found)
}

/// The estimate with the interval of all ratios that flips do not reject, at each of `levels`.
///
/// `ways`: the same pairs totalled in one way or several, of which [`choose`] takes one for each ratio. Up to 64 pairs the
/// signs are drawn 2,047 times, always the same; above, the sum is normal. `None` without a pair above 0.
pub fn intervals<const LEVELS: usize>(ways: &[Vec<Pair>], levels: [f64; LEVELS]) -> Option<[Interval; LEVELS]> {
    let (way, estimate) = best(ways)?;
    let pairs = &ways[way];
    let error = standard_error(pairs, estimate);
    let signs = Signs::of(pairs.len());
    let (least, most) = bounds(pairs)?;
    let n = pairs.iter().filter(|pair| weight(pair, 0.0) > 0.0).count();
    let bound = |level: f64, side: f64| {
        if level <= 0.0 {
            return side * f64::INFINITY;
        }
        let rejected = |distance: f64| {
            let theta = estimate + side * distance;
            signs.p_value(&differences(&ways[choose(ways, theta)], theta)) <= level
        };
        let farthest = (most - least).max(1e-6);
        let (mut inside, mut outside) = (0.0, error * normal_quantile_above(level / 2.0).max(0.1));
        while !rejected(outside) {
            if outside > farthest {
                return side * f64::INFINITY;
            }
            (inside, outside) = (outside, 1.5 * outside.max(1e-9));
        }
        while outside - inside > 1e-3 * error.max(1e-9) {
            let middle = 0.5 * (inside + outside);
            if rejected(middle) { outside = middle } else { inside = middle }
        }
        estimate + side * outside
    };
    Some(levels.map(|level| Interval {
        estimate,
        low: bound(level, -1.0),
        high: bound(level, 1.0),
        confidence: 1.0 - level,
        n,
    }))
}

/// The least and greatest log ratio of a pair, a little wider.
fn bounds(pairs: &[Pair]) -> Option<(f64, f64)> {
    let logs = pairs.iter().filter(|pair| pair.a > 0.0 && pair.b > 0.0).map(|pair| (pair.b / pair.a).ln());
    let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| (low.min(log), high.max(log)));
    (low <= high).then_some((low - 1e-6, high + 1e-6))
}

/// Random signs of all pairs, a draw a row; none where the normal distribution does.
struct Signs {
    draws: Vec<u64>,
}

impl Signs {
    fn of(pairs: usize) -> Signs {
        let mut seed = Seed::new(DRAWS_SEED);
        let draws = if pairs <= DRAWN_PAIRS_MAX { (0..DRAWS).map(|_| seed.bits()).collect() } else { Vec::new() };
        Signs { draws }
    }

    fn p_value(&self, differences: &[f64]) -> f64 {
        let found = differences.iter().sum::<f64>().abs();
        if self.draws.is_empty() {
            let deviation = differences.iter().map(|difference| difference.powi(2)).sum::<f64>().sqrt();
            return if deviation > 0.0 { 2.0 * normal_above(found / deviation) } else { 1.0 };
        }
        // Sums in another order differ in the last bits.
        let found = found * (1.0 - 1e-12);
        let sum = |draw: &u64| {
            let signed = |(place, difference): (usize, &f64)| {
                if draw >> place & 1 == 1 { -difference } else { *difference }
            };
            differences.iter().enumerate().map(signed).sum::<f64>().abs()
        };
        let reached = self.draws.iter().filter(|draw| sum(draw) >= found).count();
        (1 + reached) as f64 / (DRAWS + 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{normal, uniform};

    /// Pairs of weight 1 to 10 with noise that grows with the root of it, B e^`effect` times as long.
    fn pairs(n: usize, effect: f64, seed: &mut Seed) -> Vec<Pair> {
        let mut pair = |_| {
            let weight = 1.0 + 9.0 * uniform(seed);
            let mut time = |effect: f64| effect.exp() * (weight + 0.02 * weight.sqrt() * normal(seed));
            Pair { a: time(0.0), b: time(effect) }
        };
        (0..n).map(&mut pair).collect()
    }

    #[test]
    fn ten_pairs_that_agree_are_as_rare_as_the_coins_say() {
        // 2 of 1,024 sign patterns reach a sum in which all ten agree; drawn, within three standard errors of that.
        let agreeing = [Pair { a: 1.0, b: 1.1 }; 10];
        let p = p_value(&agreeing, 0.0);
        assert!((p - 2.0 / 1024.0).abs() < 3.0 * (2.0 / 1024.0f64 / 2048.0).sqrt() + 1.0 / 2048.0, "{p}");
        let even = [Pair { a: 1.0, b: 1.1 }, Pair { a: 1.1, b: 1.0 }];
        assert_eq!(p_value(&even, 0.0), 1.0);
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_stated() {
        const EACH: usize = 400;
        let mut seed = Seed::new(11);
        for n in [12, 40, 200] {
            let mut missed = [0; 2];
            for _ in 0..EACH {
                let found = intervals(&[pairs(n, 0.02, &mut seed)], [0.05, 0.2]).expect("there are pairs");
                for (missed, interval) in missed.iter_mut().zip(found) {
                    *missed += usize::from(interval.excludes(0.02));
                }
            }
            for (missed, level) in missed.into_iter().zip([0.05, 0.2]) {
                let (expected, deviation) = (EACH as f64 * level, (EACH as f64 * level * (1.0 - level)).sqrt());
                let off = (missed as f64 - expected) / deviation;
                assert!(off.abs() < 3.1, "n = {n}, level {level}: {missed} of {EACH}");
            }
        }
    }

    #[test]
    fn the_choice_of_a_way_is_the_same_whichever_is_a() {
        let mut seed = Seed::new(8);
        for _ in 0..100 {
            let ways: Vec<Vec<Pair>> = [0.3, 0.1, 0.05]
                .map(|noise| {
                    let mut time = || 1.0 + noise * normal(&mut seed).abs();
                    (0..20).map(|_| Pair { a: time(), b: time() }).collect()
                })
                .to_vec();
            let signs: Vec<bool> = (0..20).map(|_| seed.coin()).collect();
            let flip = |(pair, flipped): (&Pair, &bool)| if *flipped { Pair { a: pair.b, b: pair.a } } else { *pair };
            let flipped: Vec<Vec<Pair>> =
                ways.iter().map(|pairs| pairs.iter().zip(&signs).map(flip).collect()).collect();
            assert_eq!(choose(&ways, 0.0), choose(&flipped, 0.0));
        }
    }

    #[test]
    fn a_pair_far_out_moves_little() {
        let mut seed = Seed::new(3);
        let mut some = pairs(40, 0.01, &mut seed);
        let before = estimate(&some).expect("there are pairs");
        some[7].b *= 3.0;
        let after = estimate(&some).expect("there are pairs");
        assert!((after - before).abs() < 0.005, "{before} {after}");
    }

    #[test]
    fn few_pairs_have_no_bounds_and_none_no_estimate() {
        let [interval] = intervals(&[pairs(40, 0.0, &mut Seed::new(1))], [0.0]).expect("there are pairs");
        assert_eq!((interval.low, interval.high), (f64::NEG_INFINITY, f64::INFINITY), "nothing is left to spend");
        let three = [Pair { a: 1.0, b: 1.1 }, Pair { a: 1.0, b: 1.2 }, Pair { a: 2.0, b: 2.1 }];
        let [interval] = intervals(&[three.to_vec()], [0.05]).expect("there are pairs");
        assert_eq!((interval.low, interval.high), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(intervals(&[vec![Pair { a: 0.0, b: 0.0 }]], [0.05]).is_none());
        assert!(estimate(&[]).is_none());
    }
}
