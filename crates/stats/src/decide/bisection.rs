//! Which version of a row changed something: binary search whose answers may be wrong, with a bound for the whole search.
//!
//! Version 0 is the last one known to be unchanged, the last version is known to be changed. [`Bisection`] says which version
//! to ask next; [`ErrorBudget`] says at which level.
//!
//! # Error of the search
//!
//! Each question is answered by a test that looks several times at growing data and may end without an answer (repeated
//! confidence intervals, Jennison & Turnbull 1989; [`crate::infer::spending`]). By the union bound, a search contains a wrong answer
//! with a probability of at most the sum of the levels of its questions, however they depend on each other. This is binary
//! search with repeated comparisons (Feige, Raghavan, Peleg & Upfal 1994, "Computing with noisy information", SIAM Journal on
//! Computing 23), in which each comparison is repeated as often as its own data require.
//! Searches that take back earlier answers (Karp & Kleinberg 2007, "Noisy binary search and its applications", SODA) need
//! fewer repetitions among very many versions, but an error rate that is known beforehand and the same for all versions; no
//! machine's noise has one.
//!
//! A version has one true answer, so a test of it can err in one direction only, and a two-sided test may use twice the level.
//!
//! Both versions at the border that is found were tested themselves, or given. Hence the answer "this version is changed, and
//! the one before it is not" holds with the stated probability also if other versions are not in order; there may be further
//! borders then.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::infer::proportion;

/// Result for a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionState {
    /// The version is as version 0 is.
    Unchanged,
    /// The version is as the last one is.
    Changed,
    /// Nothing is known about the version: it does not build, or its test did not decide.
    Unknown,
}

/// Binary search for the first changed version.
#[derive(Debug, Clone)]
pub struct Bisection {
    unchanged: usize,
    changed: usize,
    unknown: BTreeSet<usize>,
}

impl Bisection {
    /// Search between version 0, which is unchanged, and version `last`, at least 1, which is changed.
    pub fn new(last: usize) -> Bisection {
        Bisection { unchanged: 0, changed: last.max(1), unknown: BTreeSet::new() }
    }

    /// The version to ask next; `None` when no question is left.
    ///
    /// The middle of the widest stretch without an answer. Neighbours of a version that does not build often do not build
    /// either, so they are tested last.
    pub fn next(&self) -> Option<usize> {
        let middle = self.unchanged + self.changed;
        let inside = self.unknown.range(self.unchanged..self.changed).copied();
        let mut from = self.unchanged;
        let mut widest: Option<(usize, usize)> = None;
        for to in inside.chain([self.changed]) {
            let (width, version) = (to - from, from + (to - from) / 2);
            let off_centre = |version: usize| (2 * version).abs_diff(middle);
            let is_better = widest.is_none_or(|(other_width, other)| {
                width > other_width || width == other_width && off_centre(version) < off_centre(other)
            });
            if width > 1 && is_better {
                widest = Some((width, version));
            }
            from = to;
        }
        widest.map(|(_, version)| version)
    }

    /// Takes the answer about a version; about one that is no candidate any more it changes nothing.
    pub fn tell(&mut self, version: usize, answer: VersionState) {
        if version <= self.unchanged || version >= self.changed {
            return;
        }
        match answer {
            VersionState::Unchanged => self.unchanged = version,
            VersionState::Changed => self.changed = version,
            VersionState::Unknown => {
                self.unknown.insert(version);
            }
        }
    }

    /// Versions that may be the first changed one.
    pub fn candidates(&self) -> RangeInclusive<usize> {
        self.unchanged + 1..=self.changed
    }

    /// Number of answers that are at least needed, if every further version has one.
    pub fn answers_needed(&self) -> usize {
        answers_needed(self.changed - self.unchanged)
    }
}

/// ⌈log₂ `candidates`⌉.
fn answers_needed(candidates: usize) -> usize {
    candidates.max(1).next_power_of_two().ilog2() as usize
}

/// Error probability of a whole search, divided evenly among its questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorBudget {
    /// Error probability of the whole search.
    pub alpha: f64,
    /// Most questions of a search: twice what a search without undecided answers needs, and two for its ends.
    pub questions: usize,
}

impl ErrorBudget {
    /// Budget of a search for the first changed version among versions 1 to `last`.
    pub fn new(alpha: f64, last: usize) -> ErrorBudget {
        ErrorBudget { alpha, questions: 2 * answers_needed(last) + 2 }
    }

    /// Probability with which one question may be answered wrongly.
    pub fn level(&self) -> f64 {
        self.alpha / self.questions as f64
    }

    /// Level of a two-sided test that answers one question, as it can be wrong in one direction only.
    pub fn two_sided_level(&self) -> f64 {
        2.0 * self.level()
    }

    /// Number of replays after which a version that never diverged is unchanged, where the changed end diverged in
    /// `diverged` of `of` replays. `None` if it never diverged.
    ///
    /// One divergence proves a change, so only misses are errors. Half of the error is that of the lower bound of the rate
    /// at which a changed version diverges (Clopper & Pearson 1934), the other half is shared by the questions: with a rate
    /// p, all of r replays miss with a probability of (1 − p)^r.
    pub fn replays_needed(&self, diverged: u32, of: u32) -> Option<u32> {
        if diverged == 0 {
            return None;
        }
        let (diverged, of) = (f64::from(diverged.min(of)), f64::from(of));
        let rate = proportion::exact(diverged / of, of, self.alpha).low;
        let missed = (self.level() / 2.0).ln() / (-rate).ln_1p();
        Some(missed.ceil().clamp(1.0, f64::from(u32::MAX)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::decide::judge::{Judge, Look, Plan};
    use crate::metric::Metric;
    use crate::noise::{Machine, Noise, uniform};
    use crate::verdict::Verdict;

    /// Asks `oracle` until no question is left; the search and how many questions it took.
    fn search(last: usize, mut oracle: impl FnMut(usize) -> VersionState) -> (Bisection, usize) {
        let mut search = Bisection::new(last);
        let mut questions = 0;
        while let Some(version) = search.next() {
            search.tell(version, oracle(version));
            questions += 1;
            assert!(questions <= last, "a version is asked twice");
        }
        (search, questions)
    }

    fn truth(first: usize, version: usize) -> VersionState {
        if version >= first { VersionState::Changed } else { VersionState::Unchanged }
    }

    #[test]
    fn each_change_is_found_with_the_fewest_questions() {
        for last in [1, 2, 3, 64, 100] {
            for first in 1..=last {
                let (found, questions) = search(last, |version| truth(first, version));
                assert_eq!(found.candidates(), first..=first);
                assert!(questions <= answers_needed(last), "{questions} questions for {last} versions");
            }
        }
    }

    #[test]
    fn versions_without_an_answer_leave_candidates_that_hold_the_change() {
        let mut seed = Seed::new(3);
        for _ in 0..2000 {
            let (last, broken) = (2 + seed.below(80), uniform(&mut seed));
            let first = 1 + seed.below(last);
            let builds: Vec<bool> = (0..=last).map(|_| uniform(&mut seed) >= broken).collect();
            let answer = |version: usize| if builds[version] { truth(first, version) } else { VersionState::Unknown };
            let (found, _) = search(last, answer);
            let candidates = found.candidates();
            assert!(candidates.contains(&first), "{candidates:?} are without {first}");
            // All but the last are versions that do not build.
            assert!(candidates.clone().rev().skip(1).all(|version| !builds[version]), "{candidates:?}");
        }
    }

    #[test]
    fn a_stretch_that_does_not_build_costs_few_questions() {
        let broken = 20..52;
        let (found, questions) = search(64, |version| match broken.contains(&version) {
            true => VersionState::Unknown,
            false => truth(60, version),
        });
        assert_eq!(found.candidates(), 60..=60);
        assert!(questions <= 10, "{questions}");
    }

    #[test]
    fn the_levels_of_all_questions_sum_up_to_the_error_of_the_search() {
        let budget = ErrorBudget::new(0.05, 64);
        assert_eq!(budget.questions, 14);
        assert!((budget.level() * 14.0 - 0.05).abs() < 1e-15);
        assert_eq!(ErrorBudget::new(0.05, 1).questions, 2);
    }

    #[test]
    fn rare_divergences_need_many_replays() {
        let budget = ErrorBudget::new(0.05, 64);
        assert_eq!(budget.replays_needed(0, 10), None);
        // 0.025^(1/10) = 0.6915 at least, and 0.3085^6 < 0.05/28 < 0.3085^5.
        assert_eq!(budget.replays_needed(10, 10), Some(6));
        let rare = budget.replays_needed(1, 10).expect("it diverged once");
        // Clopper & Pearson: 0.00253.
        assert!((2480..2520).contains(&rare), "{rare}");
    }

    /// Searches in which every question is answered wrongly as often as it may be.
    #[test]
    fn a_search_is_wrong_as_seldom_as_promised_if_its_answers_are() {
        const SEARCHES: usize = 4000;
        let (mut seed, budget) = (Seed::new(11), ErrorBudget::new(0.05, 96));
        let mut wrong = 0;
        for _ in 0..SEARCHES {
            let first = 1 + seed.below(96);
            let (found, _) = search(96, |version| match (uniform(&mut seed) < budget.level(), truth(first, version)) {
                (false, answer) => answer,
                (true, VersionState::Changed) => VersionState::Unchanged,
                (true, _) => VersionState::Changed,
            });
            wrong += usize::from(found.candidates() != (first..=first));
        }
        // 7 of 16 questions: 2.2 % are expected.
        assert!((40..=130).contains(&wrong), "{wrong} of {SEARCHES}");
    }

    #[test]
    fn a_build_that_diverges_seldom_is_not_missed_more_often_than_promised() {
        const SEARCHES: usize = 2000;
        let (mut seed, budget) = (Seed::new(12), ErrorBudget::new(0.05, 64));
        for rate in [0.3, 0.8] {
            let mut wrong = 0;
            for _ in 0..SEARCHES {
                let first = 1 + seed.below(64);
                let diverged = (0..10).filter(|_| uniform(&mut seed) < rate).count() as u32;
                // Without one the question is another.
                let Some(replays) = budget.replays_needed(diverged, 10) else { continue };
                let (found, _) = search(64, |version| {
                    let diverges = version >= first && (0..replays).any(|_| uniform(&mut seed) < rate);
                    if diverges { VersionState::Changed } else { VersionState::Unchanged }
                });
                wrong += usize::from(found.candidates() != (first..=first));
            }
            assert!(wrong <= SEARCHES * 5 / 100, "{wrong} of {SEARCHES} at a rate of {rate}");
        }
    }

    /// The answer of a comparison on a noisy machine with a threshold of 1 % between both ends.
    fn compared(noise: Noise, effect: f64, level: f64, seed: u64) -> VersionState {
        let mut machine = Machine::new(noise, seed);
        let mut judge =
            Judge::new(Plan { alpha: level, margin: 0.0, budget_s: 20.0, metric: Some(Metric::Cpu), tolerates: false });
        loop {
            let mut pair = machine.pair(|_: &mut Seed| effect);
            pair.cpu.log -= 0.01;
            judge.push(pair);
            if let Some(outcome) = judge.look(machine.elapsed_s) {
                return match outcome.verdict {
                    Verdict::Slower => VersionState::Changed,
                    Verdict::Faster => VersionState::Unchanged,
                    Verdict::Same | Verdict::Unclear => VersionState::Unknown,
                };
            }
        }
    }

    #[test]
    fn two_per_cent_among_64_versions_are_found_on_a_noisy_machine() {
        const SEARCHES: usize = 100;
        let budget = ErrorBudget::new(0.05, 64);
        let mut seed = Seed::new(13);
        for noise in [Noise::Bursts, Noise::Autocorrelated { like_the_last: 0.6 }] {
            let (mut found, mut wrong) = (0, 0);
            for _ in 0..SEARCHES {
                let first = 1 + seed.below(64);
                let (search, _) = search(64, |version| {
                    let effect = if version >= first { 0.02 } else { 0.0 };
                    compared(noise, effect, budget.two_sided_level(), seed.bits())
                });
                found += usize::from(search.candidates() == (first..=first));
                wrong += usize::from(!search.candidates().contains(&first));
            }
            assert!(wrong <= 5, "{noise:?}: {wrong} of {SEARCHES} wrong");
            assert!(found >= 90, "{noise:?}: {found} of {SEARCHES} found");
        }
    }
}
