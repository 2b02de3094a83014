use super::*;
use crate::Seed;
use crate::noise::{normal, uniform};

fn factor(name: &str, levels: usize) -> Factor {
    Factor { name: name.to_owned(), levels: (0..levels).map(|level| format!("{name}-{level}")).collect(), sweep: false }
}

/// Two factors of two levels. The first makes machines faster by 0.2 on average, by 0.1 more or less on each, and by 0.03
/// more or less on each workload of each; the second by 0.1; both together by `extra` more.
struct Imitated {
    machines: usize,
    workloads: usize,
    repeats: u32,
    extra: f64,
    /// Share of the cells that failed.
    lost: f64,
}

impl Imitated {
    fn design(&self, seed: &mut Seed) -> Design {
        let mut observations = Vec::new();
        for machine in 0..self.machines {
            let (speed, first) = (normal(seed), 0.2 + 0.1 * normal(seed));
            for workload in 0..self.workloads {
                let own = first + 0.03 * normal(seed);
                for repeat in 0..self.repeats {
                    let block = speed + workload as f64 + 0.05 * normal(seed);
                    for levels in [[0, 0], [0, 1], [1, 0], [1, 1]] {
                        let [a, b] = levels.map(|level| level as f64);
                        let ln_value = block - own * a - 0.1 * b - self.extra * a * b + 0.02 * normal(seed);
                        if uniform(seed) > self.lost {
                            observations.push(Observation {
                                machine,
                                workload,
                                repeat,
                                levels: levels.to_vec(),
                                ln_value,
                            });
                        }
                    }
                }
            }
        }
        let factors = vec![factor("engine", 2), factor("plugins", 2)];
        Design { factors, observations, better: Better::Lower, comparable_workloads: false, shared_repeats: false }
    }
}

/// Shares of intervals that hold the truth, of 2,000: of the first effect, of the interaction.
fn covered(imitated: &Imitated) -> [f64; 2] {
    const STUDIES: u64 = 2000;
    let mut hits = [0.0; 2];
    for at in 0..STUDIES {
        let found = effects(&imitated.design(&mut Seed::new(at)), 0.05);
        let first = &found.effects[0].size.interval;
        hits[0] += f64::from(u8::from(!first.excludes(0.2 + imitated.extra / 2.0)));
        hits[1] += f64::from(u8::from(!found.interactions[0].size.interval.excludes(imitated.extra)));
    }
    hits.map(|count| count / STUDIES as f64)
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for machines in [3, 6, 12] {
        let whole = Imitated { machines, workloads: 3, repeats: 2, extra: 0.05, lost: 0.0 };
        for share in covered(&whole) {
            assert!((0.93..=0.97).contains(&share), "{machines} machines: {share}");
        }
    }
}

#[test]
fn intervals_hold_with_failed_cells() {
    for machines in [3, 6, 12] {
        let with_holes = Imitated { machines, workloads: 4, repeats: 1, extra: 0.05, lost: 0.15 };
        for share in covered(&with_holes) {
            assert!((0.93..=0.97).contains(&share), "{machines} machines: {share}");
        }
    }
}

/// One machine, whose workloads gain 0.2 and 0.3 more or less each; the second scatters three times as much as the first.
/// The design, and the mean gain of its very workloads.
fn on_one_machine(workloads: usize, repeats: u32, seed: &mut Seed) -> (Design, f64) {
    let (mut observations, mut gains) = (Vec::new(), Vec::new());
    for workload in 0..workloads {
        let (gain, scatter) = (0.2 + 0.3 * normal(seed), if workload == 1 { 0.06 } else { 0.02 });
        gains.push(gain);
        for repeat in 0..repeats {
            let block = workload as f64 + 0.1 * normal(seed);
            for level in 0..2 {
                let ln_value = block - gain * level as f64 + scatter * normal(seed);
                observations.push(Observation { machine: 0, workload, repeat, levels: vec![level], ln_value });
            }
        }
    }
    let truth = gains.iter().sum::<f64>() / workloads as f64;
    let factors = vec![factor("engine", 2)];
    (Design { factors, observations, better: Better::Lower, comparable_workloads: false, shared_repeats: false }, truth)
}

#[test]
fn an_interval_of_one_machine_holds_what_its_very_workloads_gain() {
    const STUDIES: u64 = 2000;
    for (workloads, repeats) in [(1, 5), (2, 2), (2, 5), (6, 2), (6, 5)] {
        let (mut hits, mut like_these, mut reaches) = (0, 0, Vec::new());
        for at in 0..STUDIES {
            let (design, truth) = on_one_machine(workloads, repeats, &mut Seed::new(at));
            let size = effects(&design, 0.05).effects.remove(0).size;
            assert_eq!(size.of, Over::Repeats);
            assert_eq!(size.over, if workloads == 1 { Over::Repeats } else { Over::Workloads });
            assert_eq!(size.others.is_some(), workloads > 2, "one or two workloads tell nothing of others");
            hits += usize::from(!size.interval.excludes(truth));
            like_these += usize::from(size.others.is_some_and(|others| !others.excludes(0.2)));
            reaches.push(size.interval.width() / 2.0);
        }
        // Satterthwaite's freedom is an estimate, which of two by two repeats is a rough one: a little to the safe side.
        let share = |count: usize| count as f64 / STUDIES as f64;
        assert!((0.935..=0.98).contains(&share(hits)), "{workloads} × {repeats}: {}", share(hits));
        if workloads > 2 {
            assert!((0.935..=0.965).contains(&share(like_these)), "{workloads} × {repeats}: {}", share(like_these));
        }
        // Workloads differ by 0.3, which is no reason to know these ones badly.
        let median = median(&reaches).expect("there are studies");
        let within = if repeats == 2 { 0.3 } else { 0.1 };
        assert!(median < within, "{workloads} × {repeats}: ± {median}");
    }
}

/// A change of 0.2 in `draws` layouts of a program, which make it faster or slower by 0.05 alike on all machines and workloads. Machines
/// gain 0.2 and 0.04 more or less.
fn in_layouts(machines: usize, workloads: usize, draws: u32, shared: bool, seed: &mut Seed) -> Design {
    let layouts: Vec<f64> = (0..draws).map(|_| 0.05 * normal(seed)).collect();
    let mut observations = Vec::new();
    for machine in 0..machines {
        let gain = if machines > 1 { 0.2 + 0.04 * normal(seed) } else { 0.2 };
        for workload in 0..workloads {
            for (repeat, layout) in (0..draws).zip(&layouts) {
                for level in 0..2 {
                    let ln_value = workload as f64 - (gain + layout) * level as f64 + 0.01 * normal(seed);
                    observations.push(Observation { machine, workload, repeat, levels: vec![level], ln_value });
                }
            }
        }
    }
    let factors = vec![factor("code", 2)];
    Design { factors, observations, better: Better::Lower, comparable_workloads: false, shared_repeats: shared }
}

/// Share of intervals that hold the change, of 2,000 studies.
fn held(machines: usize, workloads: usize, draws: u32, shared: bool) -> f64 {
    const STUDIES: u64 = 2000;
    let holds = |at: u64| {
        let design = in_layouts(machines, workloads, draws, shared, &mut Seed::new(at));
        let size = effects(&design, 0.05).effects.remove(0).size;
        if shared {
            let over = if machines > 1 { Over::Machines } else { Over::RandomLevels };
            assert_eq!((size.over, size.of), (over, over));
            assert_eq!(size.units.len(), if machines > 1 { machines } else { draws as usize });
        }
        !size.interval.excludes(0.2)
    };
    (0..STUDIES).filter(|&at| holds(at)).count() as f64 / STUDIES as f64
}

#[test]
fn an_interval_over_shared_draws_holds_the_truth_however_many_workloads_there_are() {
    for (workloads, draws) in [(1, 4), (1, 12), (6, 4), (6, 12)] {
        let held = held(1, workloads, draws, true);
        assert!((0.935..=0.965).contains(&held), "{workloads} × {draws}: {held}");
    }
    let held = held(1, 6, 12, false);
    assert!(held < 0.7, "repeats of each workload would be independent: {held}");
}

#[test]
fn machines_and_shared_draws_both_scatter() {
    for (machines, draws) in [(3, 12), (6, 4), (6, 12)] {
        let held = held(machines, 2, draws, true);
        assert!((0.935..=0.985).contains(&held), "{machines} × {draws}: {held}");
    }
    let held = held(6, 2, 4, false);
    assert!(held < 0.85, "machines alone do not know what the layouts have in common: {held}");
}

#[test]
fn one_draw_tells_nothing_of_others() {
    for machines in [1, 3] {
        let size = effects(&in_layouts(machines, 2, 1, true, &mut Seed::new(1)), 0.05).effects.remove(0).size;
        assert_eq!((size.p, size.interval.low), (None, f64::NEG_INFINITY), "{machines}");
    }
}

#[test]
fn draws_are_the_units_of_a_model_without_edges_too() {
    let mut design = in_layouts(1, 2, 5, true, &mut Seed::new(3));
    // Half of a cross: a second factor that moves against the first in every other workload.
    design.factors.push(factor("other", 2));
    for one in &mut design.observations {
        one.levels.push(one.levels[0] ^ one.workload);
    }
    let size = effects(&design, 0.05).effects.remove(0).size;
    assert_eq!((size.over, size.units.len()), (Over::RandomLevels, 5));
}

#[test]
fn without_repeats_the_spread_of_workloads_is_all_there_is() {
    let (design, _) = on_one_machine(3, 1, &mut Seed::new(1));
    let size = effects(&design, 0.05).effects.remove(0).size;
    assert_eq!((size.over, size.of, size.others, size.one_repeat), (Over::Workloads, Over::Workloads, None, None));
    assert_eq!(Some(size.interval), student_interval(&size.units.iter().map(|unit| unit.1).collect::<Vec<_>>(), 0.05));
    let (design, _) = on_one_machine(1, 1, &mut Seed::new(1));
    let size = effects(&design, 0.05).effects.remove(0).size;
    assert_eq!((size.p, size.chance_beyond(0.01), size.interval.high), (None, None, f64::INFINITY));
}

#[test]
fn an_interval_from_all_pairs_would_hold_the_truth_half_of_the_time() {
    const STUDIES: u64 = 2000;
    let mut hits = 0;
    for at in 0..STUDIES {
        let imitated = Imitated { machines: 6, workloads: 3, repeats: 3, extra: 0.0, lost: 0.0 };
        let design = imitated.design(&mut Seed::new(at));
        let cells = Cells::of(&design);
        let edges = cells.edges(0, 0, 1);
        let pooled: Vec<f64> = cells.pairs(&edges, 0, 1).iter().map(|pair| pair.d).collect();
        let interval = student_interval(&pooled, 0.05).expect("there are pairs");
        hits += usize::from(!interval.excludes(0.2));
    }
    let share = hits as f64 / STUDIES as f64;
    assert!((0.3..0.6).contains(&share), "{share}");
}

#[test]
fn an_effect_is_seldom_claimed_where_there_is_none_even_with_many_questions() {
    // Four factors of two levels: 4 effects and 6 interactions, and one factor of three: beyond ten together.
    const STUDIES: u64 = 1000;
    let mut wrong = 0;
    for at in 0..STUDIES {
        let mut seed = Seed::new(at);
        let mut observations = Vec::new();
        for machine in 0..5 {
            for configuration in 0..24 {
                let levels = vec![configuration / 8, configuration / 4 % 2, configuration / 2 % 2, configuration % 2];
                let ln_value = 0.02 * normal(&mut seed);
                observations.push(Observation { machine, workload: 0, repeat: 0, levels, ln_value });
            }
        }
        let factors = vec![factor("a", 3), factor("b", 2), factor("c", 2), factor("d", 2)];
        let design =
            Design { factors, observations, better: Better::Lower, comparable_workloads: false, shared_repeats: false };
        let found = effects(&design, 0.05);
        assert!(found.comparisons > COMPARISONS_MAX);
        let of_effects = found.effects.iter().map(|effect| &effect.size);
        let sizes = of_effects.chain(found.interactions.iter().map(|interaction| &interaction.size));
        wrong += usize::from(sizes.into_iter().any(|size| size.is_found(0.05)));
    }
    // 5 % and three standard errors of a thousand studies.
    assert!(wrong as f64 / STUDIES as f64 <= 0.071, "{wrong} of {STUDIES}");
}

/// Cells of one machine and workload, by levels and value.
fn cells(machine: usize, workload: usize, values: &[(&[usize], f64)]) -> Vec<Observation> {
    let cell = |&(levels, value): &(&[usize], f64)| Observation {
        machine,
        workload,
        repeat: 0,
        levels: levels.to_vec(),
        ln_value: f64::ln(value),
    };
    values.iter().map(cell).collect()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn range_is_over_machines_and_edges_and_usual_is_the_median_of_machines() {
    let mut observations = Vec::new();
    for (machine, speed) in [1.0, 2.0, 4.0].into_iter().enumerate() {
        let (a, b) = ([1.5, 1.6, 1.7][machine], [1.2, 1.2, 1.3][machine]);
        observations.extend(cells(
            machine,
            0,
            &[(&[0, 0], speed), (&[1, 0], speed / a), (&[0, 1], speed / b), (&[1, 1], speed / b / a / 1.1)],
        ));
    }
    let factors = vec![factor("engine", 2), factor("plugins", 2)];
    let mut design =
        Design { factors, observations, better: Better::Lower, comparable_workloads: false, shared_repeats: false };
    let found = effects(&design, 0.05);
    let engine = &found.effects[0];
    assert_eq!((engine.pairs, engine.edges.len(), engine.size.interval.n), (6, 2, 3));
    near(engine.size.min, 1.5f64.ln());
    near(engine.size.max, (1.7f64 * 1.1).ln());
    near(engine.size.median, 1.6f64.ln() + 0.5 * 1.1f64.ln());
    assert_eq!(engine.edges[1].levels, [0, 1]);
    near(engine.edges[1].median, (1.6f64 * 1.1).ln());
    let given: Vec<_> = found.conditional.iter().map(|effect| (effect.factor, effect.given)).collect();
    assert_eq!(given, [(0, Some((1, 0))), (0, Some((1, 1))), (1, Some((0, 0))), (1, Some((0, 1)))]);
    near(found.conditional[0].size.median, 1.6f64.ln());
    let [interaction] = found.interactions.as_slice() else { panic!("{:?}", found.interactions) };
    assert_eq!((interaction.factor, interaction.with, interaction.pairs), (1, 0, 3));
    near(interaction.size.median, 1.1f64.ln());
    near(interaction.size.interval.width(), 0.0);
    assert!(interaction.size.is_found(0.05));
    // Of a rate, more is better.
    design.better = Better::Higher;
    near(effects(&design, 0.05).effects[0].size.median, -engine.size.median);
}

#[test]
fn levels_are_compared_with_their_neighbours_and_with_the_first() {
    let of = |levels, sweep| steps(&Factor { sweep, ..factor("x", levels) });
    assert_eq!(of(1, false), []);
    assert_eq!(of(2, true), [(0, 1)]);
    assert_eq!(of(3, true), [(0, 1), (1, 2), (0, 2)]);
    assert_eq!(of(4, false), [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3)]);
    assert_eq!(of(4, true), [(0, 1), (1, 2), (2, 3), (0, 3)]);
}

#[test]
fn half_of_a_cross_has_effects_without_edges() {
    let half: [&[usize]; 4] = [&[0, 0, 1], &[0, 1, 0], &[1, 0, 0], &[1, 1, 1]];
    let gains = [1.5f64, 1.2, 1.1];
    let mut observations = Vec::new();
    for machine in 0..2 {
        let value = |levels: &[usize]| -> f64 {
            levels.iter().zip(gains).map(|(&level, gain)| if level == 1 { 1.0 / gain } else { 1.0 }).product()
        };
        let values: Vec<(&[usize], f64)> = half.iter().map(|&levels| (levels, value(levels))).collect();
        observations.extend(cells(machine, 0, &values));
    }
    let factors = vec![factor("a", 2), factor("b", 2), factor("c", 2)];
    let design =
        Design { factors, observations, better: Better::Lower, comparable_workloads: false, shared_repeats: false };
    let found = effects(&design, 0.05);
    for (effect, gain) in found.effects.iter().zip(gains) {
        assert_eq!((effect.method, effect.edges.len()), (Method::Model, 0));
        near(effect.size.median, gain.ln());
    }
    assert_eq!((found.effects.len(), found.interactions.len(), found.aliases.len()), (3, 0, 3));
}

#[test]
fn factors_that_always_change_together_have_no_effect_of_their_own() {
    let observations = cells(0, 0, &[(&[0, 0], 2.0), (&[1, 1], 1.0)]);
    let factors = vec![factor("a", 2), factor("b", 2)];
    let design =
        Design { factors, observations, better: Better::Lower, comparable_workloads: false, shared_repeats: false };
    let found = effects(&design, 0.05);
    assert!(found.effects.is_empty(), "{found:?}");
    assert_eq!(found.aliases.len(), 2);
}

#[test]
fn other_workloads_at_either_end_are_compared_by_means_when_they_may_be() {
    let mut observations = Vec::new();
    for machine in 0..3 {
        let gain = [1.10, 1.11, 1.12][machine];
        for workload in 0..3 {
            let own = [0.9, 1.0, 1.1][workload];
            observations.extend(cells(machine, workload, &[(&[0], own)]));
            observations.extend(cells(machine, 3 + workload, &[(&[1], own / gain)]));
        }
    }
    let factors = vec![factor("engine", 2)];
    let mut design =
        Design { factors, observations, better: Better::Lower, comparable_workloads: true, shared_repeats: false };
    let found = effects(&design, 0.05);
    let engine = &found.effects[0];
    near(engine.size.median, 1.11f64.ln());
    assert_eq!(engine.pairs, 3);
    let Work::Different { other_workloads } = engine.work else { panic!("{engine:?}") };
    // Two means of three workloads each, whose logarithms have a standard deviation of 0.1004.
    assert!(engine.size.interval.width() < 0.05, "{:?}", engine.size.interval);
    let error = (2.0 * 0.1004f64.powi(2) / 3.0).sqrt();
    assert!((2.0 * 2.7 * error..2.0 * 2.9 * error).contains(&other_workloads.width()), "{other_workloads:?}");
    design.comparable_workloads = false;
    assert_eq!(effects(&design, 0.05).effects, [], "durations of other work say nothing");
}

#[test]
fn observations_that_do_not_fit_are_left_out() {
    let mut observations = cells(0, 0, &[(&[0], 2.0), (&[1], 1.0)]);
    observations.extend(cells(0, 0, &[(&[5], 2.0), (&[0, 0], 1.0), (&[1], f64::NAN), (&[0], 0.0)]));
    let factors = vec![factor("a", 2)];
    let design =
        Design { factors, observations, better: Better::Lower, comparable_workloads: false, shared_repeats: false };
    let found = effects(&design, 0.05);
    near(found.effects[0].size.median, 2f64.ln());
    assert_eq!((found.effects[0].size.p, found.effects[0].size.over), (None, Over::Repeats));
    assert!(found.effects[0].size.interval.high.is_infinite());
    let nothing = Design { factors: Vec::new(), observations: Vec::new(), ..design };
    assert!(effects(&nothing, 0.05).effects.is_empty());
}
