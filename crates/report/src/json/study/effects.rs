//! The answer of `prony study effects` as JSON.

use std::collections::BTreeMap;

use prony_stats::effects::{Edge, Effect, Interaction, Method, Over, Size, Work};
use prony_study::effects::Found;
use prony_study::{Metric, RandomFactor};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Percent, by_unit};
use crate::change::to_percent;
use crate::text::study::effects::{term_name, warnings};

/// JSON document of the answer.
#[derive(Debug, Serialize)]
pub struct EffectsDocument<'a> {
    title: &'a str,
    metric: &'a Metric,
    alpha: f64,
    cells: usize,
    done: usize,
    machines: usize,
    workloads: usize,
    /// Factors whose levels stand for others like them, of which no effects are stated.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    random: &'a [RandomFactor],
    /// Effects and interactions; beyond ten, `found` rests on `p_holm`.
    comparisons: usize,
    /// Each effect over all edges, then each with another factor fixed at one level.
    effects: Vec<One<'a>>,
    interactions: Vec<Depends<'a>>,
    /// Every factor at its last level against every factor at its first.
    whole: Option<Whole>,
    /// The control of each block against the cell that it repeats.
    controls: Option<Percent>,
    aliases: Vec<Alias>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct One<'a> {
    factor: &'a str,
    from: &'a str,
    to: &'a str,
    given: Option<BTreeMap<&'a str, &'a str>>,
    #[serde(flatten)]
    size: Percent,
    pairs: usize,
    machines: usize,
    edges: Vec<OneEdge<'a>>,
    #[serde(flatten)]
    units: Units,
    method: Method,
    /// `same`, or `different` where the ends had workloads of their own.
    workloads: &'static str,
    /// Bounds for other workloads of their kind, in per cent; null where they are the same, or not known.
    other_workloads_pct: Option<[f64; 2]>,
}

/// Each unit, under a name that says what it is.
#[derive(Debug, Serialize)]
struct Units {
    #[serde(skip_serializing_if = "Option::is_none")]
    per_machine: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_workload: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_repeat: Option<Map<String, Value>>,
    /// Combinations of the levels of random factors, the last one fastest.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_random_level: Option<Map<String, Value>>,
}

#[derive(Debug, Serialize)]
struct OneEdge<'a> {
    /// The levels of the other factors.
    levels: BTreeMap<&'a str, &'a str>,
    pairs: usize,
    usual_pct: f64,
    min_pct: f64,
    max_pct: f64,
}

#[derive(Debug, Serialize)]
struct Depends<'a> {
    factor: &'a str,
    from: &'a str,
    to: &'a str,
    with: With<'a>,
    /// Growth of the speed-up.
    #[serde(flatten)]
    size: Percent,
    pairs: usize,
    #[serde(flatten)]
    units: Units,
}

#[derive(Debug, Serialize)]
struct With<'a> {
    factor: &'a str,
    from: &'a str,
    to: &'a str,
}

#[derive(Debug, Serialize)]
struct Whole {
    #[serde(flatten)]
    size: Percent,
    pairs: usize,
    #[serde(flatten)]
    units: Units,
}

#[derive(Debug, Serialize)]
struct Alias {
    term: String,
    /// Terms of which this one is a sum, with their weights.
    same_as: Vec<(String, f64)>,
}

/// JSON document of the effects.
pub fn answer(found: &Found) -> EffectsDocument<'_> {
    let (cells, done) = found.cells();
    let all = found.effects.effects.iter().chain(&found.effects.conditional);
    EffectsDocument {
        title: &found.results.title,
        metric: &found.results.metric,
        alpha: found.alpha,
        cells,
        done,
        machines: found.results.machines.len(),
        workloads: found.results.workloads.len(),
        random: &found.results.random,
        comparisons: found.effects.comparisons,
        effects: all.map(|effect| one(found, effect)).collect(),
        interactions: found.effects.interactions.iter().map(|interaction| depends(found, interaction)).collect(),
        whole: found.whole.as_ref().map(|effect| Whole {
            size: Percent::of(&effect.size, found.alpha),
            pairs: effect.pairs,
            units: units(found, &effect.size),
        }),
        controls: found.controls.as_ref().map(|size| Percent::of(size, found.alpha)),
        aliases: found
            .effects
            .aliases
            .iter()
            .map(|alias| Alias {
                term: term_name(found, &alias.term),
                same_as: alias.same_as.iter().map(|(term, weight)| (term_name(found, term), *weight)).collect(),
            })
            .collect(),
        warnings: warnings(found),
    }
}

fn one<'a>(found: &'a Found, effect: &Effect) -> One<'a> {
    let factors = &found.results.factors;
    let name = |factor: usize| factors[factor].name.as_str();
    let other_workloads_pct = match &effect.work {
        Work::Different { other_workloads } if other_workloads.low.is_finite() && other_workloads.high.is_finite() => {
            Some([other_workloads.low, other_workloads.high].map(to_percent))
        }
        _ => None,
    };
    One {
        factor: name(effect.factor),
        from: found.level(effect.factor, effect.from),
        to: found.level(effect.factor, effect.to),
        given: effect.given.map(|(factor, level)| BTreeMap::from([(name(factor), found.level(factor, level))])),
        size: Percent::of(&effect.size, found.alpha),
        pairs: effect.pairs,
        machines: if effect.size.over == Over::Machines { effect.size.units.len() } else { 1 },
        edges: effect.edges.iter().map(|edge| one_edge(found, effect, edge)).collect(),
        units: units(found, &effect.size),
        method: effect.method,
        workloads: if effect.work == Work::Same { "same" } else { "different" },
        other_workloads_pct,
    }
}

fn one_edge<'a>(found: &'a Found, effect: &Effect, edge: &Edge) -> OneEdge<'a> {
    let others = edge.levels.iter().enumerate().filter(|&(factor, _)| factor != effect.factor);
    OneEdge {
        levels: others
            .map(|(factor, &level)| (found.results.factors[factor].name.as_str(), found.level(factor, level)))
            .collect(),
        pairs: edge.pairs,
        usual_pct: to_percent(edge.median),
        min_pct: to_percent(edge.min),
        max_pct: to_percent(edge.max),
    }
}

fn depends<'a>(found: &'a Found, interaction: &Interaction) -> Depends<'a> {
    let name = |factor: usize| found.results.factors[factor].name.as_str();
    Depends {
        factor: name(interaction.factor),
        from: found.level(interaction.factor, interaction.from),
        to: found.level(interaction.factor, interaction.to),
        with: With {
            factor: name(interaction.with),
            from: found.level(interaction.with, interaction.with_from),
            to: found.level(interaction.with, interaction.with_to),
        },
        size: Percent::of(&interaction.size, found.alpha),
        pairs: interaction.pairs,
        units: units(found, &interaction.size),
    }
}

fn units(found: &Found, size: &Size) -> Units {
    let named = |over: Over| (size.over == over).then(|| by_unit(size, &found.results));
    Units {
        per_machine: named(Over::Machines),
        per_workload: named(Over::Workloads),
        per_repeat: named(Over::Repeats),
        per_random_level: named(Over::RandomLevels),
    }
}
