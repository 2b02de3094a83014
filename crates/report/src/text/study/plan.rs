//! Plan of a study as text for people.

use std::fmt::Write;

use prony_stats::effects::{OTHERS_MIN, Over};
use prony_study::file::{Factor, Study};
use prony_study::{Alias, Basis, Direction, Edges, Effect, Estimate, Intervals, LeftOut, Plan, Reason, Role};
use prony_text::{Untrusted, count, duration, printable_line, thousands};

use prony_study::StudyPlan;

/// Most aliases and contexts that are listed; `--json` has all.
const MOST_LISTED: usize = 12;
/// Number of digits shown of a key: enough to tell cells apart.
const KEY_DIGITS: usize = 12;

/// The answer: what would run, for how long, and what it could tell.
pub fn text(planned: &StudyPlan) -> String {
    let StudyPlan { study, plan, estimate } = planned;
    let mut out = format!("{}\n", Untrusted::new(&study.title));
    row(&mut out, "metric", &metric(study));
    for (at, factor) in study.factors.iter().enumerate() {
        let random = if factor.random { ", random" } else { "" };
        row(&mut out, if at == 0 { "factors" } else { "" }, &format!("{}: {}{random}", factor.name, levels(factor)));
    }
    row(&mut out, "cells", &cell_counts(plan));
    row(&mut out, "blocks", &blocks(study, plan));
    row(&mut out, "time", &estimate.as_ref().map_or_else(|| UNKNOWN_TIME.to_owned(), |each| time(study, each)));
    for (at, left_out) in plan.left_out.iter().enumerate() {
        row(&mut out, if at == 0 { "left out" } else { "" }, &left_out_words(left_out));
    }
    design(&mut out, study, plan);
    if !study.factors.is_empty() {
        row(&mut out, "intervals", &intervals(study));
    }
    out
}

/// Precision with which effects will be known, before anything has run.
fn intervals(study: &Study) -> String {
    let Intervals { of, others } = study.intervals();
    let workloads = study.workloads.len() as u64;
    let like_these = match (others, workloads) {
        (true, _) => format!("others like them: from the spread of {workloads}"),
        (false, 1) => "other workloads: none, with only one".to_owned(),
        (false, _) => format!("others like them: none from {workloads}, {OTHERS_MIN} are needed"),
    };
    let random = study.factors.iter().filter(|factor| factor.random);
    let random: Vec<String> =
        random.map(|factor| format!("levels of {} like these {}", factor.name, factor.levels.len())).collect();
    let and_random = random.iter().map(|random| format!(" and {random}")).collect::<String>();
    match of {
        Some(Over::Machines) => format!("for machines like these {}{and_random}", study.machines.len()),
        Some(Over::RandomLevels) => {
            format!("for {}{and_random}; for other workloads: none", these(workloads))
        }
        Some(Over::Repeats) => {
            format!("for {}, over {}; for {like_these}", these(workloads), count(u64::from(study.repeats), "repeat"),)
        }
        Some(Over::Workloads) => {
            format!("none for these {workloads} workloads without repeats: set `repeats = 5`; for {like_these}")
        }
        None => "none: one machine, one workload, one repeat; set `repeats = 5`".to_owned(),
    }
}

fn these(workloads: u64) -> String {
    if workloads == 1 { "this workload".to_owned() } else { format!("these {workloads} workloads") }
}

const UNKNOWN_TIME: &str = "unknown: set `seconds_per_cell` in the study, or use --earlier";

fn row(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "  {name:<12}{}", printable_line(value));
}

fn metric(study: &Study) -> String {
    let metric = &study.metric;
    let better = match metric.direction {
        Direction::Lower => "lower is better",
        Direction::Higher => "higher is better",
    };
    let normalised = metric
        .normalise
        .as_ref()
        .map_or_else(String::new, |normalise| format!(", for {} {}", thousands(normalise.to as u64), normalise.by));
    format!("{} in {}, {better}{normalised}", metric.name, metric.unit)
}

fn levels(factor: &Factor) -> String {
    let names: Vec<&str> = factor.levels.iter().map(|level| level.name.as_str()).collect();
    let listed = match names.as_slice() {
        [first, second, .., last] if names.len() > MOST_LISTED => {
            format!("{first}, {second} … {last} ({} levels)", names.len())
        }
        names => names.join(", "),
    };
    factor.stop.as_ref().map_or(listed.clone(), |stop| format!("{listed}; stops when {}", stop.text))
}

fn cell_counts(plan: &Plan) -> String {
    let of = |role| plan.blocks.iter().flat_map(|block| &block.cells).filter(|cell| cell.role == role).count() as u64;
    format!(
        "{}: {} measured, {}, {}",
        thousands(plan.cells() as u64),
        thousands(of(Role::Measured)),
        count(of(Role::WarmUp), "warm-up"),
        count(of(Role::Control), "control"),
    )
}

fn blocks(study: &Study, plan: &Plan) -> String {
    let sizes = plan.blocks.iter().map(|block| block.cells.len().saturating_sub(2) as u64);
    let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    let each = match least == most {
        true => format!("{} in each", count(most, "configuration")),
        false => format!("{least} to {} in each", count(most, "configuration")),
    };
    let all = study.machines.len() * study.workloads.len() * study.repeats as usize;
    let missing = match all - plan.blocks.len() {
        0 => String::new(),
        missing => format!(", without {} that became empty", thousands(missing as u64)),
    };
    format!(
        "{}: {} × {} × {}{missing}; {each}",
        thousands(plan.blocks.len() as u64),
        count(study.machines.len() as u64, "machine"),
        count(study.workloads.len() as u64, "workload"),
        count(u64::from(study.repeats), "repeat"),
    )
}

fn time(study: &Study, estimate: &Estimate) -> String {
    let basis = match estimate.basis {
        Basis::Stated => "from the study's `seconds_per_cell`".to_owned(),
        Basis::Earlier(cells) => format!("from {} that ran", count(cells as u64, "cell")),
    };
    let each: Vec<String> = study
        .machines
        .iter()
        .zip(&estimate.machine_seconds)
        .map(|(machine, &seconds)| format!("{} on {}", duration(seconds), machine.name))
        .collect();
    match each.as_slice() {
        [only] => format!("about {only}, {basis}"),
        several if several.len() <= MOST_LISTED => {
            format!("about {}, in parallel: {}; {basis}", duration(estimate.seconds()), several.join(", "))
        }
        several => {
            format!("about {} on the slowest of {} machines, {basis}", duration(estimate.seconds()), several.len())
        }
    }
}

fn left_out_words(left_out: &LeftOut) -> String {
    let cells = count(left_out.cells as u64, "cell");
    match &left_out.reason {
        Reason::Only => format!("{cells}: not listed in `only`"),
        Reason::Where => format!("{cells}: `where` does not hold"),
        Reason::Skip { why, .. } if left_out.cells > 0 => format!("{cells}: {}", why.trim()),
        Reason::Skip { filter, why } => format!("nothing by `{}`: {}", filter.trim(), why.trim()),
    }
}

fn design(out: &mut String, study: &Study, plan: &Plan) {
    let design = &plan.design;
    if study.factors.is_empty() {
        return;
    }
    let of_main = |rank| format!("{rank} of {} main effects", design.main_effects);
    let rank = match (design.rank, design.main_rank) {
        (Some(rank), Some(main)) if design.interactions_examined => {
            format!(
                "rank {rank} of {} effects within blocks, two-factor interactions included; {}",
                design.effects,
                of_main(main)
            )
        }
        (_, Some(main)) => format!("rank {} within blocks; too many interactions to examine", of_main(main)),
        _ => "too many levels to search for aliases".to_owned(),
    };
    row(out, "design", &rank);
    for (at, (factor, edges)) in study.factors.iter().zip(&design.edges).enumerate() {
        // No effect of a random level is ever stated.
        if factor.random {
            continue;
        }
        for pair in shown_edges(&edges.pairs) {
            row(out, "", &edge(study, at, factor, pair));
        }
    }
    for (at, alias) in design.aliases.iter().take(MOST_LISTED).enumerate() {
        row(out, if at == 0 { "confounded" } else { "" }, &alias_words(study, plan, alias));
    }
    if let Some(more @ 1..) = design.aliases.len().checked_sub(MOST_LISTED) {
        row(out, "", &format!("and {more} more: --json lists all"));
    }
}

/// Of a long sweep its weakest step stands for all.
fn shown_edges(pairs: &[Edges]) -> Vec<&Edges> {
    match pairs.len() <= MOST_LISTED {
        true => pairs.iter().collect(),
        false => pairs.iter().min_by_key(|pair| pair.count).into_iter().collect(),
    }
}

fn edge(study: &Study, at: usize, factor: &Factor, edges: &Edges) -> String {
    let (from, to) = (&factor.levels[edges.from].name, &factor.levels[edges.to].name);
    let start = format!("{}: {from} → {to}", factor.name);
    match (edges.count, edges.contexts.as_slice()) {
        (0, _) => format!("{start}: no matched comparison: no block contains both with all else equal"),
        (1, [only]) => {
            let others = study.factors.iter().enumerate().zip(only).filter(|((other, _), _)| *other != at);
            let others: Vec<String> =
                others.map(|((_, other), &level)| format!("{} = {}", other.name, other.levels[level].name)).collect();
            match others.is_empty() {
                true => format!("{start}: one matched comparison"),
                false => format!("{start}: one matched comparison, only with {}", others.join(" and ")),
            }
        }
        (count, _) => format!("{start}: {} matched comparisons", thousands(count as u64)),
    }
}

fn effect(study: &Study, effect: &Effect) -> String {
    let each = effect.0.iter().map(|&(factor, level)| {
        let factor = &study.factors[factor];
        format!("{} = {}", factor.name, factor.levels[level].name)
    });
    each.collect::<Vec<_>>().join(" × ")
}

fn alias_words(study: &Study, plan: &Plan, alias: &Alias) -> String {
    let name = effect(study, &alias.effect);
    if !alias.with.is_empty() {
        let with: Vec<String> = alias.with.iter().map(|other| effect(study, other)).collect();
        return format!("{name} is confounded with {}", with.join(", "));
    }
    let has = |levels: &[usize]| alias.effect.0.iter().all(|&(factor, level)| levels[factor] == level);
    match plan.blocks.iter().flat_map(|block| &block.cells).any(|cell| has(&cell.levels)) {
        true => format!("{name} never varies within a block"),
        false => format!("{name} is in no block"),
    }
}

/// Every cell in the order in which they run.
pub fn cells(planned: &StudyPlan) -> String {
    let StudyPlan { study, plan, .. } = planned;
    let mut out = String::new();
    for block in &plan.blocks {
        let (machine, workload) = (&study.machines[block.machine].name, &study.workloads[block.workload].name);
        for cell in &block.cells {
            let role = match cell.role {
                Role::Measured => "measured",
                Role::WarmUp => "warm-up",
                Role::Control => "control",
            };
            let levels: Vec<&str> = study.names(&cell.levels).collect();
            let key = cell.key.get(..KEY_DIGITS).unwrap_or_default();
            let repeat = block.repeat + 1;
            let line = format!("{key}  {machine}  repeat {repeat}  {workload}  {role:<8}  {}", levels.join(", "));
            let _ = writeln!(out, "{}", printable_line(&line));
        }
    }
    out
}
