//! Who is compared with whom, and what the judges say: all others with one command, or each with the fastest.

use prony_stats::judge::{Judge, Look, Outcome, Plan};
use prony_stats::multiplicity::holm;
use prony_stats::ranking::rank;
use prony_stats::{Interval, Metric, Verdict};

use crate::options::Reference;
use crate::report::{Comparison, Ranking};
use crate::sample::Times;

/// Two commands with the judge of their runs.
#[derive(Debug, Clone)]
struct Match {
    /// Index of the command that the other is compared with.
    first: usize,
    second: usize,
    judge: Judge,
    /// What the last look said.
    last: Option<Outcome>,
}

/// All comparisons of a bench.
///
/// Each judge has α/(m − 1) of m commands. With a command as the reference there are m − 1 of them, whose verdicts go through
/// Holm's steps at the end. Where the fastest is sought each two commands have a judge; of these, the m − 1
/// that compare with the truly fastest one, whichever that is, have to be right: see [`prony_stats::ranking`]. As intervals
/// hold at all looks together, a command may leave at any of them.
#[derive(Debug)]
pub struct Contest {
    reference: Reference,
    plan: Plan,
    matches: Vec<Match>,
    /// True for commands that still run.
    open: Vec<bool>,
    /// No look comes any more.
    is_over: bool,
}

impl Contest {
    pub fn new(subjects: usize, reference: Reference, plan: Plan) -> Contest {
        let alpha = plan.alpha / subjects.saturating_sub(1).max(1) as f64;
        let judge = Judge::new(Plan { alpha, ..plan });
        let between = |first: usize, second: usize| Match { first, second, judge: judge.clone(), last: None };
        let matches = match reference {
            Reference::Subject(reference) => {
                (0..subjects).filter(|&other| other != reference).map(|other| between(reference, other)).collect()
            }
            Reference::Fastest => {
                (0..subjects).flat_map(|a| (a + 1..subjects).map(move |b| (a, b))).map(|(a, b)| between(a, b)).collect()
            }
        };
        Contest { reference, plan, matches, open: vec![true; subjects], is_over: false }
    }

    /// The only metric that is judged; `None` for what the user waits for.
    pub fn metric(&self) -> Option<Metric> {
        self.plan.metric
    }

    /// Judges this metric, or what the user waits for; before the first pair only.
    pub fn judge_by(&mut self, metric: Option<Metric>) {
        self.plan.metric = metric;
        for Match { judge, .. } in &mut self.matches {
            *judge = Judge::new(Plan { metric, ..*judge.plan() });
        }
    }

    /// True if there is nothing to compare.
    pub fn is_of_one(&self) -> bool {
        self.matches.is_empty()
    }

    /// True if the command still runs.
    pub fn is_open(&self, subject: usize) -> bool {
        self.open[subject]
    }

    /// A round: what each command took that ran.
    pub fn push(&mut self, times: &[Option<Times>]) {
        for one in &mut self.matches {
            if let (Some(first), Some(second)) = (times[one.first], times[one.second]) {
                one.judge.push(second.against(&first));
            }
        }
    }

    /// The second command relative to the first, for showing only.
    pub fn live(&self) -> Option<Interval> {
        self.matches.first().and_then(|one| one.judge.live())
    }

    /// Asks the judges of commands that still run, if a look is due; true when there is nothing left to find out.
    pub fn look(&mut self, share: f64, elapsed_s: f64) -> bool {
        let Some(due) = self.running().next().and_then(|one| one.judge.due(share)) else { return self.is_over };
        self.look_at(due, due >= 1.0, elapsed_s);
        let left: Vec<usize> = match self.reference {
            Reference::Subject(reference) => {
                let decided = self.running().filter(|one| !one.is_unclear()).map(|one| one.second).collect();
                if due >= 1.0 || self.running().all(|one| !one.is_unclear()) {
                    self.is_over = true;
                }
                debug_assert!(!self.running().any(|one| one.second == reference), "nobody is compared with itself");
                decided
            }
            Reference::Fastest => {
                let slower: Vec<usize> = self.running().filter_map(Match::slower).collect();
                let stay = (0..self.open.len()).filter(|&one| self.open[one] && !slower.contains(&one)).count();
                // Verdicts that contradict each other leave no candidate; they are not relied on.
                if stay == 0 { Vec::new() } else { slower }
            }
        };
        left.into_iter().for_each(|subject| self.open[subject] = false);
        if self.reference == Reference::Fastest {
            let all_same = self.running().all(|one| one.verdict() == Some(Verdict::Same));
            self.is_over = due >= 1.0 || all_same;
        }
        self.is_over
    }

    /// A last look at the commands that still run, unless there was one.
    pub fn finish(&mut self, share: f64, elapsed_s: f64) {
        if !self.is_over {
            self.look_at(share, true, elapsed_s);
            self.is_over = true;
        }
    }

    fn look_at(&mut self, share: f64, last: bool, elapsed_s: f64) {
        let open = &self.open;
        for one in self.matches.iter_mut().filter(|one| open[one.first] && open[one.second]) {
            one.last = Some(one.judge.look_at(share, last, elapsed_s));
        }
    }

    /// Comparisons of commands that both still run.
    fn running(&self) -> impl Iterator<Item = &Match> {
        self.matches.iter().filter(|one| self.open[one.first] && self.open[one.second])
    }

    /// Comparisons with the reference, or with the first command, so that all of them together err with probability α.
    pub fn comparisons(&self, elapsed_s: f64) -> Vec<Comparison> {
        let reference = match self.reference {
            Reference::Subject(reference) => reference,
            Reference::Fastest => 0,
        };
        let matches: Vec<&Match> =
            self.matches.iter().filter(|one| one.first == reference && one.last.is_some()).collect();
        let outcomes: Vec<Outcome> = match matches.as_slice() {
            [only] => only.last.iter().cloned().collect(),
            several => {
                let judges: Vec<Judge> = several.iter().map(|one| one.judge.clone()).collect();
                holm(&judges, self.plan.alpha, elapsed_s)
            }
        };
        let of = |(one, outcome): (&&Match, Outcome)| Comparison { reference, subject: one.second, outcome };
        matches.iter().zip(outcomes).map(of).collect()
    }

    /// The commands in relation to the fastest; `None` if one of them is the reference, or nothing is known.
    pub fn ranking(&self) -> Option<Ranking> {
        let outcomes: Vec<&Outcome> = self.matches.iter().filter_map(|one| one.last.as_ref()).collect();
        if self.reference != Reference::Fastest || outcomes.is_empty() {
            return None;
        }
        let metric = self.common_metric(&outcomes);
        let unknown =
            Interval { estimate: f64::NAN, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence: 0.0, n: 0 };
        let interval = |one: &Match| {
            let block = one.last.as_ref().and_then(|outcome| metric.of(outcome));
            block.map(|block| block.interval).filter(|interval| interval.n > 0).unwrap_or(unknown)
        };
        let between = |a: usize, b: usize| {
            let [first, second] = [a.min(b), a.max(b)];
            let found = self.matches.iter().find(|one| (one.first, one.second) == (first, second));
            let interval = found.map_or(unknown, interval);
            match a < b {
                true => interval,
                false => {
                    Interval { estimate: -interval.estimate, low: -interval.high, high: -interval.low, ..interval }
                }
            }
        };
        Some(Ranking { metric, places: rank(self.open.len(), self.plan.margin, between) })
    }

    /// The metric that all ratios are of: CPU time where it stands for what the user waits for in every comparison.
    fn common_metric(&self, outcomes: &[&Outcome]) -> Metric {
        if let Some(metric) = self.plan.metric {
            return metric;
        }
        let all = |metric: Metric| outcomes.iter().all(|outcome| outcome.judged.contains(&metric));
        match () {
            () if all(Metric::Cpu) => Metric::Cpu,
            () if outcomes.iter().all(|outcome| outcome.uncontended.is_some()) => Metric::Uncontended,
            () => Metric::Wall,
        }
    }
}

impl Match {
    fn verdict(&self) -> Option<Verdict> {
        self.last.as_ref().map(|outcome| outcome.verdict)
    }

    fn is_unclear(&self) -> bool {
        !matches!(self.verdict(), Some(Verdict::Faster | Verdict::Slower | Verdict::Same))
    }

    /// The command that was found to be slower than the other.
    fn slower(&self) -> Option<usize> {
        match self.verdict()? {
            Verdict::Slower => Some(self.second),
            Verdict::Faster => Some(self.first),
            Verdict::Same | Verdict::Unclear => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use prony_stats::Seed;
    use prony_stats::ranking::Standing;

    use super::*;

    fn plan() -> Plan {
        Plan { alpha: 0.05, margin: 0.01_f64.ln_1p(), budget_s: 10.0, metric: None, tolerates: false }
    }

    /// Rounds of a tenth of a second until nothing is left to find out, of commands that take this many times 20 ms.
    fn run(contest: &mut Contest, factors: &[f64], rounds: u32) -> u32 {
        let mut seed = Seed::new(5);
        let mut noise = || 0.004 * (seed.below(1000) as f64 / 1000.0 - 0.5);
        for round in 1..=rounds {
            let times: Vec<Option<Times>> = factors
                .iter()
                .enumerate()
                .map(|(subject, factor)| {
                    let seconds = 0.02 * factor * f64::exp(noise());
                    contest.is_open(subject).then_some(Times {
                        cpu_s: seconds,
                        uncontended_s: Some(seconds),
                        wall_s: Some(seconds),
                        rss_bytes: None,
                    })
                })
                .collect();
            contest.push(&times);
            let elapsed_s = 0.1 * f64::from(round);
            if contest.look(elapsed_s / 10.0, elapsed_s) {
                return round;
            }
        }
        rounds
    }

    #[test]
    fn the_fastest_is_found_and_slower_ones_leave() {
        let mut contest = Contest::new(4, Reference::Fastest, plan());
        let rounds = run(&mut contest, &[2.0, 1.0, 1.1, 4.0], 100);
        assert!(rounds < 100, "all is clear long before the time is up");
        assert!(contest.is_open(1) && !contest.is_open(3));
        let ranking = contest.ranking().expect("there were looks");
        let order: Vec<usize> = ranking.places.iter().map(|place| place.candidate).collect();
        assert_eq!((ranking.metric, order), (Metric::Cpu, vec![1, 2, 0, 3]));
        assert_eq!(ranking.places[0].standing, Standing::Fastest);
        for (place, truth) in ranking.places[1..].iter().zip([1.1f64, 2.0, 4.0]) {
            assert_eq!(place.standing, Standing::Slower);
            assert!((place.ratio.low..=place.ratio.high).contains(&truth.ln()), "{place:?}");
        }
        // Files and JSON have the comparisons with the first command too.
        let verdicts: Vec<Verdict> =
            contest.comparisons(1.0).iter().map(|comparison| comparison.outcome.verdict).collect();
        assert_eq!(verdicts, [Verdict::Faster, Verdict::Faster, Verdict::Slower]);
    }

    #[test]
    fn equal_commands_end_as_the_same_and_the_reference_may_be_any() {
        let mut contest = Contest::new(3, Reference::Fastest, plan());
        run(&mut contest, &[1.0, 1.0, 1.0], 100);
        let places = contest.ranking().expect("there were looks").places;
        assert!(places.iter().all(|place| place.standing == Standing::Same), "{places:?}");
        let mut contest = Contest::new(3, Reference::Subject(2), plan());
        run(&mut contest, &[1.0, 2.0, 1.5], 100);
        assert!(contest.ranking().is_none());
        let comparisons = contest.comparisons(1.0);
        let verdicts: Vec<(usize, usize, Verdict)> =
            comparisons.iter().map(|one| (one.reference, one.subject, one.outcome.verdict)).collect();
        assert_eq!(verdicts, [(2, 0, Verdict::Faster), (2, 1, Verdict::Slower)]);
    }

    #[test]
    fn commands_that_end_before_any_look_are_judged_by_the_last_one() {
        let mut contest = Contest::new(2, Reference::Fastest, plan());
        run(&mut contest, &[1.0, 3.0], 3);
        contest.finish(1.0, 0.3);
        assert_eq!(contest.ranking().map(|ranking| ranking.places[0].standing), Some(Standing::Unclear));
        let mut unseen = Contest::new(1, Reference::Fastest, plan());
        assert!(unseen.is_of_one() && unseen.ranking().is_none());
        unseen.finish(1.0, 0.0);
        assert!(unseen.comparisons(0.0).is_empty());
    }
}
