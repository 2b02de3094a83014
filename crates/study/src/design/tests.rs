use std::fmt::Write;

use super::*;
use crate::file::Study;

fn design(factors: &str, more: &str) -> (Study, Design) {
    let text = format!(
        "title = \"t\"\nmetric = {{ name = \"cpu\", unit = \"second\", direction = \"lower\" }}\n{more}\n{factors}\n\
         [[workload]]\nname = \"w\"\ncommand = \"true\"\n"
    );
    let study = Study::parse(&text).expect("it is a study");
    let plan = study.plan(&BTreeMap::new()).expect("it has cells");
    (study, plan.design)
}

fn effect(study: &Study, effect: &Effect) -> String {
    let each = effect
        .0
        .iter()
        .map(|&(factor, level)| format!("{}={}", study.factors[factor].name, study.factors[factor].levels[level].name));
    each.collect::<Vec<_>>().join("×")
}

fn words((study, design): &(Study, Design)) -> String {
    let mut out = format!(
        "rank {:?} of {}, main {:?} of {}\n",
        design.rank, design.effects, design.main_rank, design.main_effects
    );
    for alias in &design.aliases {
        let with: Vec<String> = alias.with.iter().map(|other| effect(study, other)).collect();
        let _ = writeln!(out, "{} ~ {}", effect(study, &alias.effect), with.join(" + "));
    }
    for (factor, edges) in study.factors.iter().zip(&design.edges) {
        for pair in &edges.pairs {
            let (from, to) = (&factor.levels[pair.from].name, &factor.levels[pair.to].name);
            let _ = writeln!(out, "{} {from}-{to}: {} {:?}", factor.name, pair.count, pair.contexts);
        }
    }
    out
}

const TWO_BY_TWO: &str =
    "[[factor]]\nname = \"a\"\nlevels = [\"x\", \"y\"]\n[[factor]]\nname = \"b\"\nlevels = [\"x\", \"y\"]\n";

#[test]
fn a_full_cross_estimates_everything() {
    let expected = "rank Some(3) of 3, main Some(2) of 2\na x-y: 2 [[0, 0], [0, 1]]\nb x-y: 2 [[0, 0], [1, 0]]\n";
    assert_eq!(words(&design(TWO_BY_TWO, "")), expected);
}

#[test]
fn a_missing_corner_leaves_the_interaction_unknown() {
    let expected = "rank Some(2) of 3, main Some(2) of 2\na=y×b=y ~ \na x-y: 1 [[0, 0]]\nb x-y: 1 [[0, 0]]\n";
    assert_eq!(words(&design(TWO_BY_TWO, "where = \"not (a == 'y' and b == 'y')\"")), expected);
}

#[test]
fn what_always_changes_together_is_aliased_and_has_no_edge() {
    let expected = "rank Some(1) of 3, main Some(1) of 2\nb=y ~ a=y\na=y×b=y ~ a=y\na x-y: 0 []\nb x-y: 0 []\n";
    assert_eq!(words(&design(TWO_BY_TWO, "zip = [[\"a\", \"b\"]]")), expected);
}

#[test]
fn a_half_fraction_aliases_each_effect_with_an_interaction() {
    let three = format!("{TWO_BY_TWO}[[factor]]\nname = \"c\"\nlevels = [\"x\", \"y\"]\n");
    let half = "only = [{ a = 'x', b = 'x', c = 'y' }, { a = 'y', b = 'x', c = 'x' }, { a = 'x', b = 'y', c = 'x' },\
                { a = 'y', b = 'y', c = 'y' }]";
    let design = design(&three, half);
    assert_eq!((design.1.rank, design.1.effects, design.1.main_rank), (Some(3), 6, Some(3)));
    assert!(design.1.edges.iter().all(|edges| edges.pairs[0].count == 0));
    assert_eq!(design.1.aliases.len(), 3);
    assert!(design.1.aliases.iter().all(|alias| alias.effect.0.len() == 2 && !alias.with.is_empty()));
}

#[test]
fn blocks_take_out_what_only_differs_between_them() {
    // `a` never varies within a workload: no block can tell its effect, however many there are.
    let text = "title = \"t\"\nmetric = { name = \"cpu\", unit = \"second\", direction = \"lower\" }\n\
                where = \"a == 'x' and workload == '1' or a == 'y' and workload == '2'\"\n\
                [[workload]]\nname = \"{w}\"\naxes = { w = [1, 2] }\ncommand = \"true\"\n";
    let study = Study::parse(&format!("{text}{TWO_BY_TWO}")).expect("it is a study");
    let design = study.plan(&BTreeMap::new()).expect("it has cells").design;
    // Its interaction with `b` is reported: the effect of `b` may differ between the workloads' levels of `a`.
    let expected = "rank Some(2) of 3, main Some(1) of 2\na=y ~ \na x-y: 0 []\nb x-y: 2 [[0, 0], [1, 0]]\n";
    assert_eq!(words(&(study, design)), expected);
}

#[test]
fn ranks_are_those_of_plain_elimination_in_fractions() {
    // Ranks of random designs, against Gauss on the same columns in whole numbers without division (Bareiss 1968).
    let mut seed = prony_stats::Seed::new(11);
    for _ in 0..60 {
        let levels: Vec<usize> = (0..3).map(|_| 2 + seed.below(2)).collect();
        let all: usize = levels.iter().product();
        let kept: Vec<usize> = (0..all).filter(|_| seed.below(3) > 0).collect();
        if kept.is_empty() || kept.len() == all {
            continue;
        }
        let grid = Grid { strides: vec![levels[1] * levels[2], levels[2], 1], levels };
        let main = main_effects(&grid.levels);
        let effects = [main.clone(), pairs(&main)].concat();
        let row = |&configuration: &usize| {
            let has =
                |effect: &Effect| effect.0.iter().all(|&(factor, level)| grid.level(configuration, factor) == level);
            std::iter::once(1).chain(effects.iter().map(|effect| i128::from(has(effect)))).collect::<Vec<_>>()
        };
        let expected = rank(kept.iter().map(row).collect()) - 1;
        assert_eq!(Design::of(&grid, &[kept]).rank, Some(expected));
    }
}

fn rank(mut rows: Vec<Vec<i128>>) -> usize {
    let (mut rank, mut last) = (0, 1);
    for column in 0..rows[0].len() {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else { continue };
        rows.swap(rank, pivot);
        let (done, rest) = rows.split_at_mut(rank + 1);
        let pivot = &done[rank];
        for row in rest {
            let factor = row[column];
            for (entry, above) in row.iter_mut().zip(pivot) {
                *entry = (*entry * pivot[column] - factor * above) / last;
            }
        }
        last = pivot[column];
        rank += 1;
        if rank == rows.len() {
            break;
        }
    }
    rank
}
