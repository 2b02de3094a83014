use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The study of the ReHLDS article of May 2015: 6 of 12 configurations.
pub(crate) const SIX_OF_TWELVE: &str = include_str!("six_of_twelve.toml");

fn plan(text: &str) -> (Study, Plan) {
    let study = Study::parse(text).expect("it is a study");
    let plan = study.plan(&Contents::new()).expect("it has cells");
    (study, plan)
}

fn keys(plan: &Plan) -> BTreeSet<&str> {
    plan.blocks.iter().flat_map(|block| &block.cells).map(|cell| cell.key.as_str()).collect()
}

#[test]
fn the_article_has_six_configurations_in_each_of_its_blocks() {
    let (study, plan) = plan(SIX_OF_TWELVE);
    assert_eq!((plan.blocks.len(), plan.configurations, plan.cells()), (9 * 3 * 2, 6, 9 * 3 * 2 * 8));
    assert_eq!(keys(&plan).len(), plan.cells(), "every cell has a key of its own");
    assert_eq!(study.names(&plan.blocks[0].cells[0].levels).count(), 3);
}

#[test]
fn a_build_with_other_content_is_another_cell_and_a_moved_one_is_not() {
    let (study, before) = plan(SIX_OF_TWELVE);
    let hashes =
        |text: &str| study.paths().into_iter().map(|path| (path.to_owned(), format!("{text}{path}"))).collect();
    let one = study.plan(&hashes("a")).expect("it has cells");
    let other = study.plan(&hashes("b")).expect("it has cells");
    assert!(keys(&one).is_disjoint(&keys(&other)) && keys(&one).is_disjoint(&keys(&before)));

    let moved = Study::parse(&SIX_OF_TWELVE.replace("builds/", "elsewhere/")).expect("it is a study");
    let same =
        moved.paths().into_iter().map(|path| (path.to_owned(), format!("a{}", path.replace("elsewhere", "builds"))));
    assert_eq!(keys(&moved.plan(&same.collect()).expect("it has cells")), keys(&one));
}

#[test]
fn what_is_added_changes_no_other_cell_and_no_order() {
    let (_, before) = plan(SIX_OF_TWELVE);
    let more = SIX_OF_TWELVE.replace("repeats = 3", "repeats = 4");
    let more = more + "\n[[workload]]\nname = \"new\"\ncommand = \"{engine}\"\n[[machine]]\nname = \"third\"\n";
    let (study, after) = plan(&more);
    assert!(keys(&before).is_subset(&keys(&after)));
    let new = study.workloads.len() - 1;
    let kept: Vec<&Block> =
        after.blocks.iter().filter(|block| block.machine < 2 && block.repeat < 3 && block.workload != new).collect();
    let orders = |blocks: Vec<&Block>| -> BTreeMap<(usize, u32, usize), Vec<Planned>> {
        blocks.into_iter().map(|block| ((block.machine, block.repeat, block.workload), block.cells.clone())).collect()
    };
    assert_eq!(orders(kept), orders(before.blocks.iter().collect()));
}

#[test]
fn another_seed_is_another_order_of_the_same_cells() {
    let (_, one) = plan(SIX_OF_TWELVE);
    let (_, other) = plan(&SIX_OF_TWELVE.replace("seed = 2015", "seed = 2016"));
    let measured = |plan: &Plan| -> BTreeSet<String> {
        let cells = plan.blocks.iter().flat_map(|block| block.cells.clone());
        cells.filter(|cell| cell.role == Role::Measured).map(|cell| cell.key).collect()
    };
    assert_eq!(measured(&one), measured(&other));
    assert_ne!(one.blocks, other.blocks);
}

const SWEEP: &str = r#"
title = "how many clients"
metric = { name = "late_ticks", unit = "share", direction = "lower" }
seed = 5
[[factor]]
name = "host"
levels = ["a", "b"]
[[factor]]
name = "clients"
sweep = { from = 1, to = 64, scale = "log2" }
stop = { when = "late_ticks > 1 %", then = "bisect", resolution = 1 }
[[workload]]
name = "w"
command = "load {host} {clients}"
"#;

#[test]
fn sweeps_that_may_stop_run_upwards_and_their_control_comes_first_of_all() {
    let (study, plan) = plan(SWEEP);
    let cells = &plan.blocks[0].cells;
    for host in 0..2 {
        let points = cells.iter().filter(|cell| cell.role == Role::Measured && cell.levels[0] == host);
        assert_eq!(points.map(|cell| cell.levels[1]).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    }
    let control = cells.iter().find(|cell| cell.role == Role::Control).expect("each block has one");
    assert_eq!(control.levels[1], 0);

    let finer = study.with_point(1, 3.0).expect("3 is a new point");
    assert_eq!(finer.with_point(1, 3.0), None);
    let after = finer.plan(&Contents::new()).expect("it has cells");
    let missing: Vec<&str> = keys(&plan).difference(&keys(&after)).copied().collect();
    let measured = cells.iter().filter(|cell| cell.role == Role::Measured && missing.contains(&cell.key.as_str()));
    assert_eq!(measured.count(), 0, "a point between others changes none of their keys");
}

#[test]
fn what_is_left_out_is_counted_with_its_reason() {
    let text = SWEEP.replace("seed = 5", "repeats = 2\nwhere = \"clients >= 4\"\nskip = [{ where = \"host == 'b' and clients > 16\", why = \"too slow\" }, { where = \"clients == 1\", why = \"no load\" }]");
    let (_, plan) = plan(&text);
    let why = |filter: &str, why: &str| Reason::Skip { filter: filter.to_owned(), why: why.to_owned() };
    let expected = [
        LeftOut { reason: Reason::Where, cells: 8 },
        LeftOut { reason: why("host == 'b' and clients > 16", "too slow"), cells: 4 },
        LeftOut { reason: why("clients == 1", "no load"), cells: 0 },
    ];
    assert_eq!(plan.left_out, expected);
    assert_eq!(plan.cells(), 2 * (2 * 5 - 2 + 2));
}

#[test]
fn an_estimate_rests_on_earlier_cells_before_it_rests_on_words() {
    let (study, plan) = plan(&SWEEP.replace("seed = 5", "seconds_per_cell = 2"));
    let stated = plan.estimate(&study, None).expect("the file states it");
    assert_eq!((stated.seconds(), stated.basis), (32.0, Basis::Stated));
    let mut earlier = plan.results(&study);
    assert_eq!(plan.estimate(&study, Some(&earlier)).map(|estimate| estimate.basis), Some(Basis::Stated));
    for (cell, seconds) in earlier.cells.iter_mut().zip([3.0, 3.0, 3.0]) {
        (cell.state, cell.seconds) = (State::Done, Some(seconds));
    }
    let measured = plan.estimate(&study, Some(&earlier)).expect("cells were measured");
    assert_eq!((measured.seconds(), measured.basis), (48.0, Basis::Earlier(3)));
}

#[test]
fn an_estimate_knows_that_configurations_take_their_own_time() {
    let (study, plan) = plan(SWEEP);
    let mut earlier = plan.results(&study);
    // The last level takes a hundred times as long as the others: of four cells the median knows nothing of it.
    let seconds = |cell: &crate::Cell| if cell.levels[1] == 3 { 100.0 } else { 1.0 };
    for cell in &mut earlier.cells {
        (cell.state, cell.seconds) = (State::Done, Some(seconds(cell)));
    }
    let all: f64 = earlier.cells.iter().map(seconds).sum();
    assert!(all > 100.0, "some cells have the last level");
    assert_eq!(plan.estimate(&study, Some(&earlier)).map(|estimate| estimate.seconds()), Some(all));
}

#[test]
fn intervals_are_known_before_anything_runs() {
    let of = |machines: usize, workloads: usize, repeats: u32| {
        let mut study =
            Study::parse(&SWEEP.replace("seed = 5", &format!("repeats = {repeats}"))).expect("it is a study");
        let (machine, workload) = (study.machines[0].clone(), study.workloads[0].clone());
        study.machines = vec![machine; machines];
        study.workloads = vec![workload; workloads];
        let Intervals { of, others } = study.intervals();
        (of, others)
    };
    assert_eq!(of(1, 1, 1), (None, false));
    assert_eq!(of(1, 2, 1), (Some(Over::Workloads), false));
    assert_eq!(of(1, 1, 5), (Some(Over::Repeats), false));
    assert_eq!(of(1, 2, 5), (Some(Over::Repeats), false));
    assert_eq!(of(1, 3, 5), (Some(Over::Repeats), true));
    assert_eq!(of(2, 1, 1), (Some(Over::Machines), false));
}

#[test]
fn too_many_cells_are_refused() {
    let text = SWEEP.replace("seed = 5", "repeats = 1000000");
    let study = Study::parse(&text).expect("it is a study");
    assert_eq!(study.plan(&Contents::new()), Err(PlanError::TooManyCells { found: 16_000_000 }));
}

/// A study with up to 4 factors of up to 4 levels, some of them left out.
fn studies() -> impl Strategy<Value = String> {
    let factors = proptest::collection::vec(1usize..5, 0..5);
    (factors, 1u32..4, 1usize..4, 1usize..3, any::<u32>(), 0usize..4).prop_map(
        |(factors, repeats, workloads, machines, seed, skipped)| {
            let mut text = format!(
                "title = \"t\"\nseed = {seed}\nrepeats = {repeats}\n\
                 metric = {{ name = \"cpu\", unit = \"second\", direction = \"lower\" }}\n"
            );
            if factors.first().is_some_and(|&levels| skipped > 0 && skipped < levels) {
                text += &format!("skip = [{{ where = \"f0 >= {skipped}\", why = \"because\" }}]\n");
            }
            for (at, levels) in factors.iter().enumerate() {
                let levels: Vec<String> = (0..*levels).map(|level| level.to_string()).collect();
                text += &format!("[[factor]]\nname = \"f{at}\"\nlevels = [{}]\n", levels.join(", "));
            }
            for workload in 0..workloads {
                text += &format!("[[workload]]\nname = \"w{workload}\"\ncommand = \"true\"\n");
            }
            for machine in 0..machines {
                text += &format!("[[machine]]\nname = \"m{machine}\"\n");
            }
            text
        },
    )
}

proptest! {
    #[test]
    fn every_configuration_runs_exactly_once_a_block_after_one_warm_up_and_beside_one_control(text in studies()) {
        let (study, plan) = plan(&text);
        let pairs = study.machines.len() * study.workloads.len() * study.repeats as usize;
        prop_assert_eq!(plan.blocks.len(), pairs);
        let expected: BTreeSet<Vec<usize>> = {
            let grid = Grid::of(&study);
            let all = (0..grid.len()).map(|each| grid.configuration(each));
            all.filter(|levels| study.skips.is_empty() || {
                let first = study.factors[0].levels[levels[0]].name.parse::<usize>().expect("levels are numbers");
                let limit = study.skips[0].text.rsplit(' ').next().expect("it ends in a number");
                first < limit.parse().expect("it ends in a number")
            }).collect()
        };
        prop_assert_eq!(plan.configurations, expected.len());
        for block in &plan.blocks {
            prop_assert_eq!(block.cells[0].role, Role::WarmUp);
            let of = |role| block.cells.iter().filter(move |cell| cell.role == role).map(|cell| cell.levels.clone());
            prop_assert_eq!(of(Role::Measured).count(), expected.len());
            prop_assert_eq!(of(Role::Measured).collect::<BTreeSet<_>>(), expected.clone());
            prop_assert_eq!((of(Role::WarmUp).count(), of(Role::Control).count()), (1, 1));
        }
        prop_assert_eq!(keys(&plan).len(), plan.cells());
        prop_assert_eq!(plan.results(&study).cells.len(), plan.cells());
    }

    #[test]
    fn an_equal_study_has_an_equal_plan(text in studies()) {
        prop_assert_eq!(plan(&text).1, plan(&text).1);
    }
}
