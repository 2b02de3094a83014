//! The answer of `prony study effects` for people.

use std::fmt::Write;

use prony_stats::effects::{Effect, Interaction, Method, OTHERS_MIN, Over, Term, Work};
use prony_study::effects::Found;
use prony_text::{Untrusted, count, printable_line, signed};

use super::words::{columns, metric, sizes, spread, units};
use crate::change::change;
use crate::study::quantity::Changing;

/// Most indistinguishable terms that are listed; `--json` has all.
const ALIASES_MOST: usize = 8;

/// Text of the whole answer, for people.
pub fn text(found: &Found) -> String {
    let mut out = format!("{}: {}\n", Untrusted::new(&found.results.title), metric(&found.results.metric));
    let (_, done) = found.cells();
    let _ = writeln!(
        out,
        "{} on {} and {}{}; changes are of {}\n",
        count(done as u64, "cell"),
        count(found.results.machines.len() as u64, "machine"),
        count(found.results.workloads.len() as u64, "workload"),
        random(found),
        Untrusted::new(&changing(found).name),
    );
    out += &effects(found);
    if let Some(whole) = &found.whole {
        let [mean, median, range] = sizes(&changing(found), &whole.size);
        let range = if range.is_empty() { range } else { format!(", {range}") };
        let _ = writeln!(out, "\nall factors, first levels to last: {mean}, median {median}{range}");
    }
    out += &scope(found);
    depends(&mut out, found);
    rests(&mut out, found);
    apart(&mut out, found);
    out
}

/// `, in 12 levels of layout`: what the intervals hold for others like.
fn random(found: &Found) -> String {
    let each = found.results.random.iter();
    let named = each.map(|factor| {
        format!(", in {} of {}", count(factor.levels.len() as u64, "level"), Untrusted::new(&factor.name))
    });
    named.collect()
}

/// Effects as text, one line each.
fn effects(found: &Found) -> String {
    let over = found.effects.effects.first().map_or("machines", |effect| units(&effect.size));
    let percent = (1.0 - found.alpha) * 100.0;
    let mut rows = vec![[
        "factor".to_owned(),
        "from → to".to_owned(),
        format!("mean [{} %]", (percent * 10.0).round() / 10.0),
        "median".to_owned(),
        format!("range over {over}"),
        "based on".to_owned(),
        String::new(),
    ]];
    rows.extend(found.effects.effects.iter().map(|effect| {
        let verdict = if effect.size.is_found(found.alpha) { "" } else { "not significant" };
        let [mean, median, range] = sizes(&changing(found), &effect.size);
        [
            factor_name(found, effect.factor).to_string(),
            steps(found, effect),
            mean,
            median,
            range,
            rests_on(effect),
            verdict.to_owned(),
        ]
    }));
    columns(&rows)
}

/// Subject of the intervals of one machine, and what is known of other workloads.
fn scope(found: &Found) -> String {
    let of_these = |effect: &&Effect| effect.size.over == Over::Workloads && effect.size.of == Over::Repeats;
    let Some(first) = found.effects.effects.iter().find(of_these) else { return String::new() };
    let these = format!(
        "\nintervals are for these {} workloads, over their repeats; for others like them",
        first.size.units.len()
    );
    if first.size.others.is_none() {
        return format!("{these}, {OTHERS_MIN} or more are needed\n");
    }
    let others = found.effects.effects.iter().filter_map(|effect| {
        let others = changing(found).ratio(&effect.size.others?);
        Some([format!("  {}", factor_name(found, effect.factor)), steps(found, effect), change(&others)])
    });
    these + ":\n" + &columns(&others.collect::<Vec<_>>())
}

fn steps(found: &Found, effect: &Effect) -> String {
    format!("{} → {}", level_name(found, effect.factor, effect.from), level_name(found, effect.factor, effect.to))
}

fn rests_on(effect: &Effect) -> String {
    let over = format!("{} {}", effect.size.units.len(), units(&effect.size));
    match effect.method {
        Method::Model => format!("{over}, a model of all cells, because there is no matched comparison"),
        Method::Edges => {
            let edges = count(effect.edges.len() as u64, "matched comparison");
            format!("{over}, {edges}, {}", count(effect.pairs as u64, "pair"))
        }
    }
}

/// Effects that are not the same everywhere.
fn depends(out: &mut String, found: &Found) {
    let of_interest: Vec<&Interaction> =
        found.effects.interactions.iter().filter(|interaction| interaction.size.is_found(found.alpha)).collect();
    for interaction in &of_interest {
        let (name, with) = (factor_name(found, interaction.factor), factor_name(found, interaction.with));
        let _ = writeln!(
            out,
            "\nthe effect of {name} ({} → {}) depends on {with}: {} with {} than with {}",
            level_name(found, interaction.factor, interaction.from),
            level_name(found, interaction.factor, interaction.to),
            change(&changing(found).ratio(&interaction.size.interval)),
            level_name(found, interaction.with, interaction.with_to),
            level_name(found, interaction.with, interaction.with_from),
        );
        let either_way = [
            ((interaction.factor, interaction.from, interaction.to), interaction.with),
            ((interaction.with, interaction.with_from, interaction.with_to), interaction.factor),
        ];
        let rows: Vec<[String; 4]> =
            either_way.into_iter().flat_map(|(step, given)| given_rows(found, step, given)).collect();
        columns(&rows).lines().for_each(|line| {
            let _ = writeln!(out, "  {line}");
        });
    }
    if found.effects.comparisons > prony_stats::effects::COMPARISONS_MAX {
        let _ = writeln!(
            out,
            "\n{} comparisons: significance holds for all together (Holm), intervals individually",
            found.effects.comparisons
        );
    }
}

/// An effect at each level of another factor.
fn given_rows(found: &Found, step: (usize, usize, usize), given: usize) -> Vec<[String; 4]> {
    let there = found.effects.conditional.iter().filter(|effect| {
        (effect.factor, effect.from, effect.to) == step && effect.given.is_some_and(|(factor, _)| factor == given)
    });
    there
        .filter_map(|effect| {
            let (factor, level) = effect.given?;
            let [median, range] = spread(&changing(found), &effect.size);
            Some([
                format!("{} {}", factor_name(found, effect.factor), steps(found, effect)),
                format!("with {}={}", factor_name(found, factor), level_name(found, factor, level)),
                median,
                range,
            ])
        })
        .collect()
}

/// Effects that few comparisons carry.
fn rests(out: &mut String, found: &Found) {
    let several = found.results.factors.iter().filter(|factor| factor.levels.len() > 1).count() > 1;
    for effect in found.effects.effects.iter().filter(|_| several) {
        let name = format!("{} ({})", factor_name(found, effect.factor), steps(found, effect));
        if let [edge] = effect.edges.as_slice() {
            let others = edge.levels.iter().enumerate().filter(|&(factor, _)| factor != effect.factor);
            let others: Vec<String> = others
                .map(|(factor, &level)| format!("{}={}", factor_name(found, factor), level_name(found, factor, level)))
                .collect();
            let _ = write!(out, "\nthe effect of {name} is based on one matched comparison, {}", others.join(" "));
            out.push_str(": it may differ elsewhere\n");
        }
        if let Work::Different { other_workloads } = &effect.work {
            let reach = match other_workloads.is_bounded() {
                true => change(&changing(found).ratio(other_workloads)),
                false => "anything".to_owned(),
            };
            let _ = writeln!(
                out,
                "the effect of {name} compares different workloads at its two levels; for other workloads of the \
                 same kind it may be {reach}"
            );
        }
    }
}

/// Terms that the configurations cannot separate.
fn apart(out: &mut String, found: &Found) {
    let aliases: Vec<_> = found.effects.aliases.iter().filter(|alias| !alias.same_as.is_empty()).collect();
    let never = found.effects.aliases.len() - aliases.len();
    if !aliases.is_empty() {
        out.push_str("\nconfounded\n");
    }
    for alias in aliases.iter().take(ALIASES_MOST) {
        let sum: Vec<String> = alias
            .same_as
            .iter()
            .map(|(term, weight)| weighted(&printable_line(&term_name(found, term)), *weight))
            .collect();
        let _ = writeln!(out, "  {} with {}", printable_line(&term_name(found, &alias.term)), sum.join(" "));
    }
    if aliases.len() > ALIASES_MOST {
        let _ = writeln!(out, "  and {} more", aliases.len() - ALIASES_MOST);
    }
    if never > 0 {
        let _ = writeln!(
            out,
            "\n{} that no configuration can estimate: the levels never, or always, occur together",
            count(never as u64, "term")
        );
    }
}

/// `Engine=Opt`, `− Engine=Opt`, `+ 0.5 Engine=Opt`.
fn weighted(term: &str, weight: f64) -> String {
    match weight {
        weight if (weight - 1.0).abs() < 1e-6 => term.to_owned(),
        weight if (weight + 1.0).abs() < 1e-6 => format!("− {term}"),
        weight => format!("{} {term}", signed(weight, 2)),
    }
}

/// What to know before the effects are relied on, each a sentence.
pub fn warnings(found: &Found) -> Vec<String> {
    let mut warnings = Vec::new();
    let (cells, done) = found.cells();
    if done < cells {
        warnings.push(format!("{} of {cells} cells have no value; effects are based on the others", cells - done));
    }
    if found.effects.effects.iter().any(|effect| matches!(effect.work, Work::Different { .. })) {
        let by = found.results.metric.normalise.as_ref().map_or("work", |normalise| &normalise.by);
        warnings.push(format!(
            "some configurations ran on different workloads: differences between these, for the same number \
             of {by}, are part of the effect"
        ));
    }
    if let Some(controls) = found.controls.as_ref().filter(|controls| controls.is_found(found.alpha)) {
        warnings.push(format!(
            "identical configurations differ by {}: run order or the machine affects the effects",
            change(&changing(found).ratio(&controls.interval))
        ));
    }
    warnings
}

/// Term of the design in words: `Engine=Opt` or `Engine=Opt × Plugins=Opt`.
pub fn term_name(found: &Found, term: &Term) -> String {
    let name = |(factor, level): (usize, usize)| {
        format!("{}={}", found.results.factors[factor].name, found.level(factor, level))
    };
    match *term {
        Term::Main { factor, level } => name((factor, level)),
        Term::Interaction { first, second } => format!("{} × {}", name(first), name(second)),
    }
}

/// What the changes are of.
fn changing(found: &Found) -> Changing {
    Changing::of(&found.results.metric)
}

/// The name of a factor, for people.
fn factor_name(found: &Found, factor: usize) -> Untrusted<'_> {
    Untrusted::new(&found.results.factors[factor].name)
}

/// The name of a level, for people.
fn level_name(found: &Found, factor: usize, level: usize) -> Untrusted<'_> {
    Untrusted::new(found.level(factor, level))
}
