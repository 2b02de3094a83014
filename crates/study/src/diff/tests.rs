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
                        origin: Default::default(),
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
        factors: vec![crate::Factor { name: "engine".to_owned(), levels: name("engine", 2), numbers: None }],
        workloads: name("map", 2).into_iter().map(|name| Workload { name, axes: Default::default() }).collect(),
        machines: name("host", 3)
            .into_iter()
            .map(|name| Machine { name, facts: serde_json::Value::Null, disturbances: Vec::new() })
            .collect(),
        cells,
        seed: 1,
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
fn what_only_one_has_is_left_out_and_told() {
    let old = study("old", |_, level, place| jitter(place, level));
    let mut new = old.clone();
    new.cells.retain(|cell| cell.levels == [0]);
    let found = diff(&old, &new, 0.05, 0.02).expect("they have cells in common");
    assert_eq!(found.configurations.len(), 1);
    assert_eq!(found.left_out, ["`engine=engine-1`: the new study has no values of it"]);
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
