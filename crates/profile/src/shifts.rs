//! Differences of the shares of functions between two profiles.
//!
//! A profile is a count of stack samples, so that the share of a function differs from run to run by chance. Intervals of all
//! functions, of both kinds of share, hold the truth together: at a level of 5 % at least one of them misses it in at most 5 of 100
//! comparisons, and a build against itself names a function no more often than that.
//!
//! The chance of one run is that of counts (multinomial). What differs from run to run besides, as where memory lies and what is
//! cached, only several runs show, and it is no little: of single runs of one program 4 of 19 neighbours differ by more than
//! counts do, of `tar | gzip` 11 of 19 (docs/accuracy.md). So intervals are as much wider as the shares of runs scatter more than counts do, and
//! where a side has one run alone, nothing is judged.

use std::hash::{BuildHasher, Hasher};

use prony_stats::Interval;
use prony_stats::distribution::{normal_above, student_quantile_above};
use prony_stats::proportion::{difference, exact};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::shares::functions_of;
use crate::stacks::{NameId, Stacks};

/// Degrees of freedom that the scatter of all functions together has, compared with that of one function.
const PRIOR_FREEDOM: f64 = 4.0;
/// Functions in fewer samples of a run say nothing of how runs scatter.
const SCATTER_SAMPLES: f64 = 5.0;

/// A function in two profiles. Shares are parts of 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// Name of the function, demangled.
    pub name: String,
    /// Change of the share of samples that ended in the function.
    pub own: Growth,
    /// Change of the share of samples in which the function, or one that it called, was running.
    pub inclusive: Growth,
    /// Seen in interrupts alone, which belong to the code that caused them: not judged.
    pub is_interrupt: bool,
}

/// A share in two profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// Samples in the first and in the second.
    pub samples: [u64; 2],
    /// Shares in the first and the second profile, from 0 to 1.
    pub shares: [f64; 2],
    /// Growth of the share. Its level is that of all intervals together.
    pub growth: Interval,
}

/// The functions of two profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Shifts {
    /// All, those first that differ by more than chance, and of them those whose share changed most.
    pub functions: Vec<Shift>,
    /// Number of questions over which the error was distributed: shares that could differ by more than chance, each set
    /// of samples once.
    pub questions: usize,
    /// True if intervals include the variation between runs: each side has at least two runs. If not, they are based on
    /// counts only.
    pub is_judged: bool,
}

impl Shift {
    /// True if one of its intervals excludes 0: if [`Shifts::is_judged`], the function differs by more than chance.
    pub fn stands_out(&self) -> bool {
        !self.is_interrupt && (self.own.growth.excludes(0.0) || self.inclusive.growth.excludes(0.0))
    }

    /// The larger of its two changes.
    fn size(&self) -> f64 {
        self.own.growth.estimate.abs().max(self.inclusive.growth.estimate.abs())
    }
}

/// One kind of share of one function.
#[derive(Debug)]
struct Tally {
    /// Samples in each run, of both sides.
    runs: [Vec<u64>; 2],
    /// The same for all functions that the same samples count for.
    signature: u64,
}

impl Tally {
    fn weight(&self) -> u64 {
        self.runs.iter().flatten().sum()
    }
}

#[derive(Debug)]
struct Function {
    own: Tally,
    inclusive: Tally,
    outside_interrupts: bool,
}

/// Changes of the shares of functions; `level`: the two-sided error of all intervals together. Each side is one run or
/// more; the two are in one vocabulary, as [`crate::pair`] makes it.
///
/// Bonferroni's correction, over the questions alone that could have been answered with yes at all (Tarone 1990): a function in
/// so few samples that even all of them on one side would be chance takes no error from others. Functions that the same samples count
/// for, as a caller of one function, are one question.
pub fn shifts(a: &[Stacks], b: &[Stacks], level: f64) -> Shifts {
    let sides = [a, b];
    let functions = functions(sides);
    let observed = sides.map(|runs| runs.iter().map(Stacks::effective_observations).collect::<Vec<_>>());
    let totals = sides.map(|runs| runs.iter().map(Stacks::total).collect::<Vec<_>>());
    let chance = Chance::of(&functions, observed, totals);

    let mut seen = FxHashSet::default();
    let tallies = functions.values().filter(|function| function.outside_interrupts);
    let tallies = tallies.flat_map(|function| [&function.own, &function.inclusive]);
    let mut weights: Vec<u64> = tallies.filter(|tally| seen.insert(tally.signature)).map(Tally::weight).collect();
    weights.sort_unstable();
    // The smallest number of questions such that no more than this many could be answered with yes at its level.
    let could_differ = |spread: usize| {
        let least = chance.least_weight(level / spread as f64);
        weights.len() - weights.partition_point(|&weight| weight < least)
    };
    let candidates: Vec<usize> = (1..=weights.len().max(1)).collect();
    let spread = candidates.partition_point(|&spread| could_differ(spread) > spread) + 1;
    let each = level / spread as f64;
    // The same samples, the same interval: of a function that calls nothing, self and inclusive.
    let mut known: FxHashMap<u64, Interval> = FxHashMap::default();
    let mut growth = |tally: &Tally| Growth {
        samples: [0, 1].map(|side| tally.runs[side].iter().sum()),
        shares: chance.shares(tally),
        growth: *known
            .entry(tally.signature)
            .or_insert_with(|| Interval { confidence: 1.0 - level, ..chance.growth(tally, each) }),
    };
    let mut functions: Vec<Shift> = functions
        .iter()
        .map(|(name, function)| Shift {
            name: (*name).to_owned(),
            own: growth(&function.own),
            inclusive: growth(&function.inclusive),
            is_interrupt: !function.outside_interrupts,
        })
        .collect();
    functions.sort_by(|x, y| {
        let own = |shift: &Shift| shift.own.growth.estimate.abs();
        y.stands_out()
            .cmp(&x.stands_out())
            .then_with(|| y.size().total_cmp(&x.size()))
            .then_with(|| own(y).total_cmp(&own(x)))
            .then_with(|| x.name.cmp(&y.name))
    });
    Shifts { functions, questions: spread, is_judged: a.len().min(b.len()) > 1 }
}

/// In how many samples of each run each function was.
fn functions(sides: [&[Stacks]; 2]) -> FxHashMap<&str, Function> {
    let mut functions: FxHashMap<&str, Function> = FxHashMap::default();
    let empty = || Tally { runs: sides.map(|runs| vec![0; runs.len()]), signature: 0 };
    let mut seen = Vec::new();
    for (side, runs) in sides.iter().enumerate() {
        for (run, stacks) in runs.iter().enumerate() {
            for (stack, weight) in stacks.iter() {
                let signature = signature(stacks, stack);
                let interrupt = stack.iter().position(|&name| is_interrupt(stacks.text(name)));
                let outside = &stack[..interrupt.unwrap_or(stack.len())];
                let add = |tally: &mut Tally| {
                    tally.signature = tally.signature.wrapping_add(signature);
                    tally.runs[side][run] += weight;
                };
                for &name in functions_of(stack, &mut seen) {
                    let function = functions.entry(stacks.text(name)).or_insert_with(|| Function {
                        own: empty(),
                        inclusive: empty(),
                        outside_interrupts: false,
                    });
                    function.outside_interrupts |= outside.contains(&name);
                    add(&mut function.inclusive);
                    if stack.last() == Some(&name) {
                        add(&mut function.own);
                    }
                }
            }
        }
    }
    functions
}

/// A number for a stack; sums of them tell sets of stacks apart.
fn signature(stacks: &Stacks, stack: &[NameId]) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    for &name in stack {
        hasher.write(stacks.text(name).as_bytes());
        hasher.write_u8(b';');
    }
    // Sums need well mixed numbers: the end of MurmurHash3 (Appleby 2011).
    let mut bits = hasher.finish();
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

/// True for the function in which the kernel of x86-64 or aarch64 enters an interrupt.
fn is_interrupt(name: &str) -> bool {
    const ENTRIES: [&str; 8] = [
        "asm_common_interrupt",
        "common_interrupt",
        "apic_timer_interrupt",
        "ret_from_intr",
        "el0t_64_irq",
        "el1h_64_irq",
        "el0_irq",
        "el1_irq",
    ];
    let plain = name.strip_suffix("_[k]").unwrap_or(name);
    ENTRIES.contains(&plain) || plain.starts_with("asm_sysvec_")
}

/// Random variation of the counts between runs.
struct Chance {
    /// Samples that tell as much as those of each run.
    observed: [Vec<f64>; 2],
    /// Total weight of each run, of both profiles.
    totals: [Vec<u64>; 2],
    /// Ratio of the variation of shares between runs to that of counts, over all functions; `None`: one run on each
    /// side.
    scatter: Option<f64>,
}

impl Chance {
    fn of(functions: &FxHashMap<&str, Function>, observed: [Vec<f64>; 2], totals: [Vec<u64>; 2]) -> Chance {
        let mut chance = Chance { observed, totals, scatter: None };
        if chance.freedom() > 0.0 {
            let tallies = functions.values().flat_map(|function| [&function.own, &function.inclusive]);
            let mut seen = FxHashSet::default();
            let scatters: Vec<f64> = tallies
                .filter(|tally| seen.insert(tally.signature) && chance.shows_scatter(tally))
                .map(|tally| chance.scatter_of(tally))
                .collect();
            let mean = scatters.iter().sum::<f64>() / scatters.len().max(1) as f64;
            chance.scatter = Some(if scatters.is_empty() { 1.0 } else { mean.max(1.0) });
        }
        chance
    }

    /// Runs beyond the first of each side.
    fn freedom(&self) -> f64 {
        self.observed.iter().map(|runs| runs.len().saturating_sub(1) as f64).sum()
    }

    fn shares(&self, tally: &Tally) -> [f64; 2] {
        [0, 1].map(|side| {
            let sum = |counts: &[u64]| counts.iter().sum::<u64>();
            sum(&tally.runs[side]) as f64 / sum(&self.totals[side]).max(1) as f64
        })
    }

    fn shows_scatter(&self, tally: &Tally) -> bool {
        let shares = self.shares(tally);
        [0, 1].into_iter().all(|side| {
            let least = shares[side].min(1.0 - shares[side]);
            self.observed[side].iter().all(|n| n * least >= SCATTER_SAMPLES)
        })
    }

    /// Pearson's chi-squared of the runs' counts around the mean of their side, over its degrees of freedom: 1 where they scatter as
    /// counts do.
    fn scatter_of(&self, tally: &Tally) -> f64 {
        let mut sum = 0.0;
        for (side, share) in self.shares(tally).into_iter().enumerate() {
            let variance = share * (1.0 - share);
            if variance <= 0.0 {
                continue;
            }
            for ((&count, &total), &n) in tally.runs[side].iter().zip(&self.totals[side]).zip(&self.observed[side]) {
                sum += (count as f64 / total.max(1) as f64 - share).powi(2) * n / variance;
            }
        }
        sum / self.freedom()
    }

    /// By how much a share grew, at this two-sided error.
    fn growth(&self, tally: &Tally, level: f64) -> Interval {
        let [a, b] = self.shares(tally);
        let n = [0, 1].map(|side| self.observed[side].iter().sum::<f64>());
        let Some(scatter_of_all) = self.scatter else {
            return difference(exact(a, n[0], level), exact(b, n[1], level));
        };
        // Of few runs one function's scatter is hardly known; that of all is lent to it (Smyth 2004, with a fixed prior).
        let freedom = self.freedom();
        let scatter = (PRIOR_FREEDOM * scatter_of_all + freedom * self.scatter_of(tally)) / (PRIOR_FREEDOM + freedom);
        let scatter = scatter.max(1.0);
        let level = 2.0 * normal_above(student_quantile_above(level / 2.0, freedom + PRIOR_FREEDOM));
        let interval = difference(exact(a, n[0] / scatter, level), exact(b, n[1] / scatter, level));
        Interval { n: (n[0].min(n[1])) as usize, ..interval }
    }

    /// The least weight of which a share could differ by more than chance: if all of it were on one side.
    fn least_weight(&self, level: f64) -> u64 {
        let n = [0, 1].map(|side| self.observed[side].iter().sum::<f64>());
        let totals = [0, 1].map(|side| self.totals[side].iter().sum::<u64>());
        let of_side = |side: usize| {
            let none = exact(0.0, n[1 - side], level);
            let differs = |weight: u64| {
                let share = weight as f64 / totals[side].max(1) as f64;
                difference(none, exact(share, n[side], level)).excludes(0.0)
            };
            let (mut low, mut high) = (0, totals[side]);
            while low < high {
                let middle = low + (high - low) / 2;
                if differs(middle) { high = middle } else { low = middle + 1 }
            }
            // Not even all of it.
            if differs(low) { low } else { u64::MAX }
        };
        of_side(0).min(of_side(1))
    }
}

#[cfg(test)]
mod tests;
