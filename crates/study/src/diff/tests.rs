use prony_stats::Seed;

use super::*;
use crate::results::{Cell, Direction, Machine, Metric, Role, State, Workload};

/// One factor of two levels, three machines, two workloads, two repeats; `value` of machine, level and place.
pub(crate) fn study(title: &str, value: impl Fn(usize, usize, usize) -> f64) -> Results {
    let mut cells = Vec::new();
    for machine in 0..3 {
        for workload in 0..2 {
            for repeat in 0..2 {
                for level in 0..2 {
                    let place = cells.len();
                    cells.push(Cell {
                        key: place.to_string(),
                        machine,
                        workload,
                        repeat,
                        levels: vec![level],
                        role: Role::Measured,
                        state: State::Done,
                        attempt: 1,
                        value: Some(value(machine, level, place)),
                        spread: None,
                        samples: None,
                        seconds: None,
                        provenance: Default::default(),
                    });
                }
            }
        }
    }
    let name = |kind: &str, count: usize| (0..count).map(|at| format!("{kind}-{at}")).collect::<Vec<String>>();
    Results {
        title: title.to_owned(),
        metric: Metric {
            name: "cpu".to_owned(),
            unit: "second".to_owned(),
            direction: Direction::Lower,
            normalise: None,
        },
        factors: vec![crate::Factor {
            name: "engine".to_owned(),
            levels: name("engine", 2),
            numbers: None,
            random: false,
        }],
        workloads: name("map", 2).into_iter().map(|name| Workload { name, axes: Default::default() }).collect(),
        machines: name("host", 3)
            .into_iter()
            .map(|name| Machine { name, facts: serde_json::Value::Null, disturbances: Vec::new() })
            .collect(),
        cells,
        seed: 1,
        random: Vec::new(),
    }
}

/// A little of everything, and no two alike.
fn jitter(place: usize, salt: usize) -> f64 {
    1.0 + 0.001 * ((place * 7 + salt * 3) % 11) as f64
}

#[test]
fn a_level_that_became_slower_is_named() {
    let old = study("old", |machine, level, place| (1.0 + machine as f64) / (1.0 + level as f64) * jitter(place, 0));
    let new = study("new", |machine, level, place| {
        (1.0 + machine as f64) / (1.0 + level as f64) * jitter(place, 1) * if level == 1 { 1.2 } else { 1.0 }
    });
    let found = diff(&old, &new, 0.05, 0.02).expect("they are of one kind");
    let verdicts: Vec<_> = found.configurations.iter().map(|change| change.verdict).collect();
    assert_eq!(verdicts, [Verdict::Same, Verdict::Slower]);
    assert!((found.configurations[1].size.interval.estimate + 1.2f64.ln()).abs() < 0.01);
    let [effect] = found.effects.as_slice() else { panic!("{:?}", found.effects) };
    assert_eq!((effect.to.as_str(), effect.verdict), ("engine-1", Verdict::Slower));
    assert!((found.whole.interval.estimate + 1.2f64.ln() / 2.0).abs() < 0.01);
}

#[test]
fn names_are_matched_and_places_are_not() {
    let old = study("old", |machine, level, place| (1.0 + machine as f64) / (1.0 + level as f64) * jitter(place, 0));
    let mut new = old.clone();
    new.machines.reverse();
    new.factors[0].levels.reverse();
    for cell in &mut new.cells {
        cell.machine = 2 - cell.machine;
        cell.levels[0] = 1 - cell.levels[0];
    }
    let found = diff(&old, &new, 0.05, 0.02).expect("they are of one kind");
    assert!(found.configurations.iter().all(|change| change.verdict == Verdict::Same));
    assert_eq!(found.whole.interval.estimate, 0.0);
}

#[test]
fn what_only_one_has_is_left_out_and_reported() {
    let old = study("old", |_, level, place| jitter(place, level));
    let mut new = old.clone();
    new.cells.retain(|cell| cell.levels == [0]);
    let found = diff(&old, &new, 0.05, 0.02).expect("they have cells in common");
    assert_eq!(found.configurations.len(), 1);
    assert_eq!(found.left_out, ["`engine=engine-1`: no values in the new study"]);
    new.machines.iter_mut().for_each(|machine| machine.name += "-other");
    assert_eq!(diff(&old, &new, 0.05, 0.02), Err(JoinError::NothingInCommon { study: 1 }));
}

#[test]
fn studies_of_other_things_are_refused() {
    let old = study("old", |_, _, _| 1.0);
    let mut new = old.clone();
    new.metric.unit = "byte".to_owned();
    let error = diff(&old, &new, 0.05, 0.02).expect_err("units differ").to_string();
    assert_eq!(error, "expected the metric `cpu` in second (lower is better), found `cpu` in byte (lower is better)");
    let mut new = old.clone();
    new.factors[0].name = "library".to_owned();
    let error = diff(&old, &new, 0.05, 0.02).expect_err("factors differ").to_string();
    assert_eq!(error, "expected the factors `engine`, found `library`");
}

fn normal(seed: &mut Seed) -> f64 {
    (0..12).map(|_| seed.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
}

/// How fast a machine is from block to block, with 1/f noise (Voss and Clarke 1978): each octave is drawn again half as often
/// as the one before, and all are equally strong.
struct Moods {
    seed: Seed,
    octaves: [f64; 12],
    blocks: usize,
}

impl Moods {
    fn new(seed: u64) -> Moods {
        let mut seed = Seed::new(seed);
        Moods { octaves: std::array::from_fn(|_| normal(&mut seed)), seed, blocks: 0 }
    }

    fn of_next_block(&mut self) -> f64 {
        self.blocks += 1;
        for (octave, value) in self.octaves.iter_mut().enumerate() {
            if self.blocks.is_multiple_of(1 << octave) {
                *value = normal(&mut self.seed);
            }
        }
        0.01 * self.octaves.iter().sum::<f64>()
    }

    /// The next run of a study on this machine: this many levels and repeats, two workloads of which the second scatters three
    /// times as much. The last level takes e^`more` times as long, everything e^`all` times.
    fn run(&mut self, (levels, repeats): (usize, u32), more: f64, all: f64) -> Results {
        let mut found = study("one machine", |_, _, _| 1.0);
        let first = found.cells[0].clone();
        found.machines.truncate(1);
        found.factors[0].levels = (0..levels).map(|level| format!("engine-{level}")).collect();
        found.cells.clear();
        for (repeat, workload) in (0..repeats).flat_map(|repeat| [(repeat, 0), (repeat, 1)]) {
            let mood = self.of_next_block();
            for level in 0..levels {
                let own = 0.1 * level as f64 + if level + 1 == levels { more } else { 0.0 };
                // One cell in twenty is hit by something.
                let hit = if self.seed.below(20) == 0 { 0.03 } else { 0.0 };
                let noise = [0.005, 0.015][workload] * normal(&mut self.seed) + hit;
                let value = (workload as f64 + own + all + mood + noise).exp();
                let key = found.cells.len().to_string();
                found.cells.push(Cell {
                    key,
                    workload,
                    repeat,
                    levels: vec![level],
                    value: Some(value),
                    ..first.clone()
                });
            }
        }
        found
    }
}

/// Whether a diff claims anything.
fn claims(found: &Diff) -> bool {
    let configurations = found.configurations.iter().map(|change| change.verdict);
    let mut all = configurations.chain(found.effects.iter().map(|change| change.verdict)).chain([found.verdict]);
    all.any(|verdict| matches!(verdict, Verdict::Faster | Verdict::Slower))
}

#[test]
fn runs_of_one_study_differ_in_anything_as_seldom_as_promised() {
    const RUNS: usize = 401;
    for shape in [(2, 5), (4, 3), (4, 2), (2, 3)] {
        let mut moods = Moods::new(14);
        let runs: Vec<Results> = (0..RUNS).map(|_| moods.run(shape, 0.0, 0.0)).collect();
        let wrong = runs
            .windows(2)
            .filter(|pair| claims(&diff(&pair[0], &pair[1], 0.05, 0.01).expect("they are of one kind")))
            .count();
        // 5 % of 400; with three standard errors it would be 33.
        assert!(wrong <= 20, "{shape:?}: {wrong} of {}", RUNS - 1);
    }
}

#[test]
fn what_changed_between_runs_on_one_machine_is_found() {
    const RUNS: usize = 40;
    for (shape, last) in [((2, 5), "engine-1"), ((4, 3), "engine-3")] {
        let mut moods = Moods::new(15);
        let (mut of_level, mut of_all) = (0, 0);
        for _ in 0..RUNS {
            let old = moods.run(shape, 0.0, 0.0);
            let level = diff(&old, &moods.run(shape, 0.1, 0.0), 0.05, 0.01).expect("they are of one kind");
            let is_less = |effect: &EffectChange| effect.to == last && effect.verdict == Verdict::Slower;
            of_level += usize::from(level.effects.iter().any(is_less));
            // Of everything together moods must be distinguished, so it takes more.
            let all = diff(&old, &moods.run(shape, 0.0, 0.4), 0.05, 0.01).expect("they are of one kind");
            of_all += usize::from(all.verdict == Verdict::Slower);
        }
        let most = RUNS * 9 / 10;
        assert!(of_level >= most && of_all >= most, "{shape:?}: {of_level} and {of_all} of {RUNS}");
    }
}

#[test]
fn without_repeats_nothing_is_claimed_of_one_machine() {
    let mut moods = Moods::new(16);
    let [mut old, mut new] = [0.0, 0.5].map(|all| moods.run((4, 3), 0.0, all));
    for study in [&mut old, &mut new] {
        study.cells.retain(|cell| cell.repeat == 0);
    }
    let found = diff(&old, &new, 0.05, 0.02).expect("they are of one kind");
    assert_eq!((found.verdict, found.drift), (Verdict::Unclear, Drift::Unknown));
}
