use super::*;
use prony_stats::Seed;

const ALPHA: f64 = 0.05;
const MARGIN: f64 = ONE_PERCENT;

/// Nearly normal, from a seed: the sum of twelve uniform values, less its mean (Irwin–Hall).
fn normal(seed: &mut Seed) -> f64 {
    (0..12).map(|_| seed.below(1_000_000) as f64 / 1e6).sum::<f64>() - 6.0
}

/// A machine on which layouts differ by `between`, runs by `within`, and B by `code`; layout of A as built at `a`, of B at `b`.
struct Imitation {
    between: f64,
    within: f64,
    code: f64,
    as_built: [f64; 2],
    /// Share of a layout's effect that both sides have alike.
    alike: bool,
}

impl Imitation {
    fn times(&self, layouts: usize, rounds: usize, seed: &mut Seed) -> Times {
        let mut times: Times = [vec![Vec::new(); layouts + 1], vec![Vec::new(); layouts + 1]];
        let shared: Vec<f64> = (0..=layouts).map(|_| self.between * normal(seed)).collect();
        for (side, of_side) in times.iter_mut().enumerate() {
            let code = if side == 0 { 0.0 } else { self.code };
            for (layout, runs) in of_side.iter_mut().enumerate() {
                let own = if self.alike { shared[layout] } else { self.between * normal(seed) };
                let (place, runs_here) = if layout == 0 { (self.as_built[side], 3 * rounds) } else { (own, rounds) };
                runs.extend((0..runs_here).map(|_| 0.02 * (code + place + self.within * normal(seed)).exp()));
            }
        }
        times
    }

    fn estimate(&self, seed: &mut Seed) -> Estimate {
        estimate(&self.times(20, 8, seed), ALPHA, MARGIN, false).expect("there are layouts")
    }
}

#[test]
fn code_and_layout_are_apart() {
    let machine = Imitation { between: 0.01, within: 0.002, code: 0.03, as_built: [0.0, 0.06], alike: false };
    let found = machine.estimate(&mut Seed::new(3));
    assert_eq!(found.verdict, Verdict::Slower);
    assert!((found.code.estimate - 0.03).abs() < 0.01 && found.code.n == 20, "{found:?}");
    assert!((found.as_built[1].estimate - 0.06).abs() < 0.01 && found.as_built[1].low > 0.04, "{found:?}");
    assert!(!found.as_built[0].excludes(0.0), "{found:?}");
    assert!((found.of_builds.estimate - 0.09).abs() < 0.005, "{found:?}");
    assert!((0.006..0.02).contains(&found.spreads.ratio) && found.spreads.of_runs < 0.1, "{found:?}");
}

#[test]
fn a_layout_alone_is_no_difference_of_the_code() {
    let machine = Imitation { between: 0.02, within: 0.005, code: 0.0, as_built: [0.0, 0.1], alike: false };
    let mut seed = Seed::new(5);
    let n = 400;
    let (mut claimed, mut missed) = (0, 0);
    for _ in 0..n {
        let found = machine.estimate(&mut seed);
        claimed += usize::from(matches!(found.verdict, Verdict::Slower | Verdict::Faster));
        missed += usize::from(found.as_built[1].excludes(0.1));
        assert!(found.of_builds.low > 0.05, "{found:?}");
    }
    // 5 % of 400 is 20, with a standard deviation of 4.4.
    assert!(claimed <= 33, "{claimed} of {n} claimed");
    assert!(missed <= 33, "{missed} of {n} intervals of the layout miss it");
}

#[test]
fn layouts_that_are_alike_on_both_sides_take_far_fewer() {
    let apart = Imitation { between: 0.02, within: 0.001, code: 0.0, as_built: [0.0; 2], alike: false };
    let alike = Imitation { alike: true, ..apart };
    let [apart, alike] = [apart, alike].map(|machine| machine.estimate(&mut Seed::new(7)).spreads);
    let [apart, alike] = [apart, alike].map(|spreads| spreads.for_one_percent.expect("1 % is not beyond all numbers"));
    assert!(alike == 6 && apart > 50, "{alike} and {apart}");
}

#[test]
fn a_detectable_difference_is_found_nine_times_in_ten() {
    let null = Imitation { between: 0.02, within: 0.002, code: 0.0, as_built: [0.0; 2], alike: false };
    let mut seed = Seed::new(11);
    // The ratio of two sides scatters by √2 of one.
    let code = power::detectable(0.02 * std::f64::consts::SQRT_2, 20, ALPHA);
    let changed = Imitation { code, ..null };
    let found = (0..300).filter(|_| changed.estimate(&mut seed).verdict == Verdict::Slower).count();
    assert!((255..=288).contains(&found), "{found} of 300");
}

#[test]
fn few_layouts_or_rounds_have_no_interval() {
    let machine = Imitation { between: 0.02, within: 0.002, code: 0.0, as_built: [0.0; 2], alike: false };
    let mut seed = Seed::new(13);
    assert_eq!(estimate(&machine.times(1, 8, &mut seed), ALPHA, MARGIN, false), None);
    assert_eq!(estimate(&machine.times(8, 1, &mut seed), ALPHA, MARGIN, false), None);
    let few = estimate(&machine.times(5, 8, &mut seed), ALPHA, MARGIN, false).expect("there are layouts");
    assert!(few.verdict == Verdict::Unclear && few.code.low.is_infinite() && few.spreads.detectable.is_infinite());
    assert_eq!(estimate(&[Vec::new(), Vec::new()], ALPHA, MARGIN, false), None);
}

#[test]
fn a_tolerated_difference_is_not_claimed() {
    let machine = Imitation { between: 0.001, within: 0.0005, code: 0.02, as_built: [0.0; 2], alike: true };
    let times = machine.times(12, 8, &mut Seed::new(17));
    let verdict = |margin, tolerates| estimate(&times, ALPHA, margin, tolerates).expect("there are layouts").verdict;
    assert_eq!(verdict(0.05, false), Verdict::Slower);
    assert_eq!(verdict(0.05, true), Verdict::Same);
}

#[test]
fn an_unclear_comparison_needs_time_or_layouts() {
    use crate::layouts::{LayoutReport, LayoutsEnded, Needs};
    use prony_stats::Metric;
    use prony_stats::judge::Plan;
    use prony_stats::samples::Samples;

    let needs = |machine: &Imitation| {
        let mut seed = Seed::new(19);
        LayoutReport {
            samples: Samples::default(),
            metric: Metric::Cpu,
            estimate: estimate(&machine.times(8, 8, &mut seed), ALPHA, MARGIN, false),
            plan: Plan { alpha: ALPHA, margin: MARGIN, budget_s: 10.0, metric: None, tolerates: false },
            judged: None,
            rounds: 8,
            elapsed_s: 10.0,
            ended: LayoutsEnded::Complete,
            warnings: Vec::new(),
        }
        .needs()
    };
    let of_layouts = Imitation { between: 0.02, within: 0.001, code: 0.0, as_built: [0.0; 2], alike: false };
    // 86 by the true deviation; that of 8 layouts has a variance between 0.3 and 2 of the true one in nine of ten cases.
    assert!(matches!(needs(&of_layouts), Some(Needs::Layouts(26..175))), "{:?}", needs(&of_layouts));
    assert_eq!(needs(&Imitation { between: 0.0, within: 0.05, ..of_layouts }), Some(Needs::Time(20.0)));
    assert_eq!(needs(&Imitation { between: 0.0, within: 0.001, ..of_layouts }), None);
}
