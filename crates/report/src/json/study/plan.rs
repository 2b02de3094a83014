//! Plan of a study as JSON.

use prony_study::file::Study;
use prony_study::{Basis, Design, Effect, Reason};
use serde_json::{Map, Value, json};

use prony_study::StudyPlan;

/// The answer; `with_cells`: each cell of the plan too.
pub fn answer(planned: &StudyPlan, with_cells: bool) -> Value {
    let StudyPlan { study, plan, estimate } = planned;
    let factors = study.factors.iter().map(|factor| {
        let levels: Vec<&str> = factor.levels.iter().map(|level| level.name.as_str()).collect();
        let stop = factor.stop.as_ref().map(|stop| &stop.text);
        json!({ "name": factor.name, "levels": levels, "numbers": factor.numbers, "stop": stop, "random": factor.random })
    });
    let left_out = plan.left_out.iter().map(|left_out| match &left_out.reason {
        Reason::Only => json!({ "by": "only", "cells": left_out.cells }),
        Reason::Where => json!({ "by": "where", "cells": left_out.cells }),
        Reason::Skip { filter, why } => {
            json!({ "by": "skip", "where": filter, "why": why, "cells": left_out.cells })
        }
    });
    let estimate = estimate.as_ref().map(|estimate| {
        let machines = study.machines.iter().zip(&estimate.machine_seconds);
        let machines: Map<String, Value> =
            machines.map(|(machine, seconds)| (machine.name.clone(), json!(seconds))).collect();
        let cells = match estimate.basis {
            Basis::Stated => None,
            Basis::Earlier(cells) => Some(cells),
        };
        json!({ "seconds": estimate.seconds(), "machine_seconds": machines, "earlier_cells": cells })
    });
    let intervals = study.intervals();
    let mut answer = json!({
        "title": study.title,
        "metric": study.metric,
        "seed": study.seed,
        "repeats": study.repeats,
        "factors": factors.collect::<Vec<_>>(),
        "workloads": study.workloads.iter().map(|each| json!({ "name": each.name, "axes": each.axes })).collect::<Vec<_>>(),
        "machines": study.machines.iter().map(|machine| &machine.name).collect::<Vec<_>>(),
        "configurations": plan.configurations,
        "blocks": plan.blocks.len(),
        "cells": plan.cells(),
        "estimate": estimate,
        "left_out": left_out.collect::<Vec<_>>(),
        "design": design(study, &plan.design),
        // What intervals will take for drawn again: with `repeats` they speak of these very workloads.
        "intervals": json!({ "of": intervals.of, "like_these": intervals.others }),
    });
    if with_cells {
        answer["plan"] = cells(planned);
    }
    answer
}

fn design(study: &Study, design: &Design) -> Value {
    let aliases = design.aliases.iter().map(|alias| {
        let with: Vec<Value> = alias.with.iter().map(|other| effect(study, other)).collect();
        json!({ "effect": effect(study, &alias.effect), "with": with })
    });
    let mut edges = Vec::new();
    for (at, (factor, found)) in study.factors.iter().zip(&design.edges).enumerate() {
        for pair in &found.pairs {
            let contexts = pair.contexts.iter().map(|context| {
                let others = study.factors.iter().enumerate().zip(context).filter(|((other, _), _)| *other != at);
                let named = others.map(|((_, other), &level)| (other.name.clone(), json!(other.levels[level].name)));
                Value::Object(named.collect())
            });
            edges.push(json!({
                "factor": factor.name,
                "from": factor.levels[pair.from].name,
                "to": factor.levels[pair.to].name,
                "count": pair.count,
                "contexts": contexts.collect::<Vec<_>>(),
            }));
        }
    }
    json!({
        "rank": design.rank,
        "effects": design.effects,
        "main_rank": design.main_rank,
        "main_effects": design.main_effects,
        "interactions_examined": design.interactions_examined,
        "aliases": aliases.collect::<Vec<_>>(),
        "edges": edges,
    })
}

fn effect(study: &Study, effect: &Effect) -> Value {
    let each = effect.0.iter().map(|&(factor, level)| {
        let factor = &study.factors[factor];
        (factor.name.clone(), json!(factor.levels[level].name))
    });
    Value::Object(each.collect())
}

fn cells(planned: &StudyPlan) -> Value {
    let StudyPlan { study, plan, .. } = planned;
    let all = plan.blocks.iter().flat_map(|block| {
        block.cells.iter().map(move |cell| {
            json!({
                "key": cell.key,
                "machine": study.machines[block.machine].name,
                "workload": study.workloads[block.workload].name,
                "repeat": block.repeat,
                "role": cell.role,
                "levels": study.names(&cell.levels).collect::<Vec<_>>(),
            })
        })
    });
    Value::Array(all.collect())
}
