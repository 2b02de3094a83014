//! The first screen in words: the verdict, whether to trust it, and what the effects depend on.

use prony_stats::Interval;
use prony_stats::effects::{Alias, Effect, Interaction, Method, OTHERS_MIN, Over, Size, Term, Work};
use prony_study::{Direction, Results};
use prony_text::{count, thousands};

use crate::change::{self, change};
use crate::study::findings::{ALPHA, Contrast, Findings, MARGIN};
use crate::study::matrix::Matrix;
use crate::study::quantity::{Changing, is_time};

/// Combinations of levels that are named.
const COMBINATIONS_MAX: usize = 4;

/// Tone of a statement, which chooses its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Better, or as it should be.
    Good,
    /// The result is worse, or a cell failed.
    Bad,
    /// Look at this before you trust the result.
    Warn,
    /// The statement is neither good nor bad.
    Plain,
}

/// The answer of a study in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Tone of the claim, which chooses its colour.
    pub tone: Tone,
    /// Claim of the verdict, as a clause.
    pub claim: String,
    /// Range and certainty, in brackets behind it.
    pub basis: String,
}

/// Statement of one reason to trust the result, or not to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chip {
    /// Tone of the statement, which chooses its colour.
    pub tone: Tone,
    /// Statement in a few words.
    pub text: String,
    /// Explanation of the text, as a sentence.
    pub tip: String,
}

/// `6 of 12 configurations × 9 workloads × 6 machines × 3 repeats = 972 cells`.
pub fn shape(matrix: &Matrix<'_>, findings: &Findings) -> String {
    let configurations = matrix.configurations.len();
    let full = matrix.full_cross();
    let of = if full > configurations {
        format!("{} of {}", configurations, count(full, "configuration"))
    } else {
        count(configurations, "configuration")
    };
    format!(
        "{of} × {} × {} × {} = {}",
        count(matrix.results.workloads.len(), "workload"),
        count(matrix.results.machines.len(), "machine"),
        repeats(matrix),
        count(findings.progress.measured, "cell")
    )
}

/// `3 repeats`; with random factors, whose levels are counted as repeats: `12 levels of layout × 3 repeats`.
fn repeats(matrix: &Matrix<'_>) -> String {
    let random = &matrix.results.random;
    let each = random.iter().map(|factor| format!("{} of {} × ", count(factor.levels.len(), "level"), factor.name));
    let repeats = if random.is_empty() { matrix.repeats() } else { matrix.cells_of_a_repeat() };
    each.collect::<String>() + &count(repeats, "repeat")
}

/// Verdict of a study, as a sentence, which begins with what is missing of an unfinished one.
pub fn verdict(matrix: &Matrix<'_>, findings: &Findings) -> Verdict {
    let progress = &findings.progress;
    let verdict = of_what_is_done(matrix, findings);
    match progress.done > 0 && progress.missing(matrix.results) > 0 {
        true => {
            let done = thousands(progress.done);
            let claim = format!("Unfinished, {done} of {}: {}", count(progress.measured, "cell"), verdict.claim);
            Verdict { claim, tone: Tone::Warn, ..verdict }
        }
        false => verdict,
    }
}

fn of_what_is_done(matrix: &Matrix<'_>, findings: &Findings) -> Verdict {
    let progress = &findings.progress;
    let plain = |claim: String, basis: &str| Verdict { tone: Tone::Plain, claim, basis: basis.to_owned() };
    if progress.done == 0 {
        let claim = format!("No results yet: 0 of {} are done", count(progress.measured, "cell"));
        return plain(claim, &if progress.failed > 0 { format!("{} failed", progress.failed) } else { String::new() });
    }
    let first = &matrix.configurations[0].name;
    let Some(best) = findings.best() else {
        return match matrix.configurations.len() {
            1 => plain(format!("{first} is the only configuration"), "nothing to compare it with"),
            _ => {
                plain(format!("No configuration can be compared with {first} yet"), "no machine and workload in common")
            }
        };
    };
    let name = &matrix.configurations[best.configuration].name;
    let (interval, metric) = (&best.size.interval, &matrix.results.metric);
    let mut changing = Changing::of(metric);
    let (tone, claim) = if interval.low > 0.0 && best.size.median > 0.0 {
        (Tone::Good, format!("{}: {}", better(metric, name, first), found(&changing, interval)))
    } else if best.on_each.is_some_and(|(low, _)| low > 0.0) {
        let each = count(best.size.units.len(), "machine");
        let (min, max) = changing.ends(best.size.min, best.size.max);
        let range = change::range(min, max);
        (Tone::Good, format!("{} on each of {each}: {range} {}", better(metric, name, first), changing.name))
    } else if interval.lies_within(MARGIN.ln_1p()) {
        let within = change::margin(MARGIN.ln_1p());
        (Tone::Plain, format!("{name} is the same as {first} within {within}: {}", found(&changing, interval)))
    } else if interval.high < 0.0 && best.size.median < 0.0 && !interval.low.is_infinite() {
        changing = changing.reversed();
        let among = if findings.against_first.len() > 1 { ", the best of the others" } else { "" };
        (Tone::Bad, format!("{}{among}: {}", better(metric, first, name), found(&changing, interval)))
    } else {
        let claim = format!("Unclear whether {name} is better than {first}");
        if let Some(effect) = largest_significant(&findings.effects.effects) {
            return of_effect(matrix, effect, &claim);
        }
        (Tone::Warn, format!("{claim}: {}", found(&changing, interval)))
    };
    Verdict { tone, claim, basis: basis(matrix, findings, best, &changing) }
}

/// A change with its interval and the quantity that it is of.
fn found(changing: &Changing, interval: &Interval) -> String {
    change::found(&changing.ratio(interval), &changing.name)
}

/// The largest main effect that differs significantly from 0. It rests on all cells, so it is shown where no whole
/// configuration differs from the first.
fn largest_significant(effects: &[Effect]) -> Option<&Effect> {
    let significant = effects.iter().filter(|effect| {
        is_significant(effect)
            && effect.size.median != 0.0
            && (effect.size.median > 0.0) == (effect.size.interval.estimate > 0.0)
    });
    significant.max_by(|a, b| a.size.median.abs().total_cmp(&b.size.median.abs()))
}

/// The better level first: `neighbour quiet is faster than spinning: +8.3 % [+6.1, +10.4] speed`.
fn of_effect(matrix: &Matrix<'_>, effect: &Effect, unclear: &str) -> Verdict {
    let (factor, size, metric) = (&matrix.results.factors[effect.factor], &effect.size, &matrix.results.metric);
    let is_better = size.median > 0.0;
    let [to, from] = [effect.to, effect.from].map(|level| factor.levels[level].as_str());
    let (tone, changing, [first, other]) = match is_better {
        true => (Tone::Good, Changing::of(metric), [to, from]),
        false => (Tone::Bad, Changing::of(metric).reversed(), [from, to]),
    };
    let claim = better(metric, &format!("{} {first}", factor.name), other);
    let unclear = unclear.replacen('U', "u", 1);
    let (low, high) = changing.ends(size.min, size.max);
    let basis = format!("95 % interval {}, range {}; {unclear}", scope(size), change::range(low, high));
    Verdict { tone, claim: format!("{claim}: {}", found(&changing, &size.interval)), basis }
}

/// `new is faster than old`, `new has lower peak memory than old`.
fn better(metric: &prony_study::Metric, name: &str, first: &str) -> String {
    match (is_time(metric), metric.direction) {
        (true, _) => format!("{name} is faster than {first}"),
        (false, Direction::Higher) => format!("{name} has higher {} than {first}", metric.name),
        (false, Direction::Lower) => format!("{name} has lower {} than {first}", metric.name),
    }
}

/// `×2.48 … 3.19 over 6 machines; 95 % interval; all 18 machine × workload pairs better`: what the claim rests on, in its terms.
fn basis(matrix: &Matrix<'_>, findings: &Findings, best: &Contrast, changing: &Changing) -> String {
    let size = &best.size;
    let units = size.units.len();
    let what = over(size.over);
    let range = match units {
        1 => format!("on one {what}"),
        _ => {
            let (min, max) = changing.ends(size.min, size.max);
            format!("{} over {}", change::range(min, max), count(units, what))
        }
    };
    let mut parts = vec![range];
    if let Some((low, high)) = best.on_each.filter(|_| !size.interval.excludes(0.0)) {
        let (low, high) = changing.ends(low, high);
        let within = change::range(low, high);
        parts.push(format!("95 % interval on each within {within}; no interval over machines"));
    } else if size.interval.width().is_finite() {
        let together = match findings.against_first.len() {
            1 => String::new(),
            2 => " for both comparisons together".to_owned(),
            n => format!(" for all {n} comparisons together"),
        };
        parts.push(match is_of_these(size) {
            true => {
                format!("95 % interval on these workloads, over {}{together}", count(size.interval.n, "repeat"))
            }
            false => format!("95 % interval{together}"),
        });
        parts.extend(of_others(size, changing));
    } else {
        parts.push("no interval".to_owned());
    }
    let (better, all) = best.better;
    let pairs = if best.same_work { pair_name(matrix, all) } else { count(all, what) };
    let word = comparative(matrix.results, size.interval.high >= 0.0);
    let better = if size.interval.high < 0.0 { all - better } else { better };
    parts.push(match better {
        n if n == all && all == 2 => format!("both {} {word}", pairs.trim_start_matches("2 ")),
        n if n == all && all == 1 => format!("the only {} {word}", pairs.trim_start_matches("1 ")),
        n if n == all => format!("all {pairs} {word}"),
        n => format!("{n} of {pairs} {word}"),
    });
    if !best.same_work {
        parts.push("each ran different workloads".to_owned());
    }
    parts.join("; ")
}

/// True if the interval refers to these very workloads, of which there are several.
pub fn is_of_these(size: &Size) -> bool {
    size.over == Over::Workloads && size.of == Over::Repeats
}

/// `on these 2 workloads`, `over 6 machines`.
fn scope(size: &Size) -> String {
    let units = count(size.units.len(), over(size.over));
    if is_of_these(size) { format!("on these {units}") } else { format!("over {units}") }
}

/// Sentence about workloads that were not measured, on one machine.
fn of_others(size: &Size, changing: &Changing) -> Option<String> {
    match (size.of, size.others, size.units.len()) {
        (Over::Repeats, Some(others), _) => {
            Some(format!("for other workloads like these {}", change(&changing.ratio(&others))))
        }
        (Over::Repeats, None, 2) if is_of_these(size) => {
            Some(format!("no interval for other workloads: 2 workloads, {OTHERS_MIN} needed"))
        }
        (Over::Repeats, None, _) => Some("no interval for other workloads".to_owned()),
        (Over::Machines | Over::Workloads | Over::RandomLevels, ..) => None,
    }
}

fn pair_name(matrix: &Matrix<'_>, all: usize) -> String {
    match (matrix.results.machines.len(), matrix.results.workloads.len()) {
        (1, _) => count(all, "workload"),
        (_, 1) => count(all, "machine"),
        _ => count(all, "machine × workload pair"),
    }
}

fn comparative(results: &Results, is_better: bool) -> &'static str {
    match (results.metric.direction, is_better) {
        (Direction::Lower, true) => "faster",
        (Direction::Lower, false) => "slower",
        (Direction::Higher, true) => "better",
        (Direction::Higher, false) => "worse",
    }
}

/// Name of the unit of replication: `machine`, `workload` or `repeat`.
pub fn over(over: Over) -> &'static str {
    match over {
        Over::Machines => "machine",
        Over::Workloads => "workload",
        Over::Repeats => "repeat",
        Over::RandomLevels => "random level",
    }
}

/// Reasons to trust, or not.
pub fn chips(matrix: &Matrix<'_>, findings: &Findings, version: &str) -> Vec<Chip> {
    let results = matrix.results;
    let progress = &findings.progress;
    let chip = |tone, text: String, tip: &str| Chip { tone, text, tip: tip.to_owned() };
    let missing = progress.missing(results);
    let complete = progress.done + progress.skipped == progress.measured;
    let mut chips = vec![chip(
        if complete { Tone::Good } else { Tone::Warn },
        format!("{}/{} cells", thousands(progress.done), thousands(progress.measured)),
        &format!("{} still to run, including warm-ups and controls", count(missing, "cell")),
    )];
    if progress.skipped > 0 {
        let text = format!("{} skipped", count(progress.skipped, "cell"));
        chips.push(chip(
            Tone::Plain,
            text,
            "by a stop rule, or because their configuration failed repeatedly: see the cells",
        ));
    }
    chips.push(match progress.failed {
        0 => chip(Tone::Good, "0 failed".to_owned(), "no cell failed permanently"),
        failed => chip(Tone::Bad, format!("{} failed", thousands(failed)), "see the list of failures"),
    });
    chips.push(match &findings.control {
        None => {
            let tip = "no configuration ran twice in a block, so there is no estimate of apparent differences \
                       between identical configurations";
            chip(Tone::Warn, "no A/A check".to_owned(), tip)
        }
        Some(control) => {
            let Size { interval, .. } = control;
            let (tone, verdict, tip) = match (interval.excludes(0.0), is_wider_than_effects(findings, interval)) {
                (true, _) => (
                    Tone::Bad,
                    " failed",
                    "the same configuration differs from itself: do not trust differences of this size",
                ),
                (false, true) => (
                    Tone::Bad,
                    " failed: wider than the effects",
                    "the same configuration twice in a block: the interval of their difference is wider than every \
                     effect, so the cells are too few or too noisy for them",
                ),
                (false, false) => (
                    Tone::Good,
                    "",
                    "the same configuration twice in a block: the apparent difference between \
                     identical configurations",
                ),
            };
            chip(tone, format!("A/A{verdict} {}", found(&Changing::of(&results.metric), interval)), tip)
        }
    });
    if let Some(resolvable) = findings.resolvable() {
        let text = format!("minimum detectable difference {}", change::size(resolvable));
        chips.push(chip(Tone::Plain, text, "the smallest difference that these cells could detect"));
    }
    for machine in results.machines.iter().filter(|machine| !machine.disturbances.is_empty()) {
        let more = match machine.disturbances.len() {
            1 => String::new(),
            n => format!(" (+{})", n - 1),
        };
        let text = format!("{}: {}{more}", machine.name, machine.disturbances[0]);
        chips.push(chip(Tone::Warn, text, &machine.disturbances.join("; ")));
    }
    chips.push(chip(
        Tone::Plain,
        format!("prony {version} · seed {}", results.seed),
        "made by this version; the order of the cells was drawn from the seed",
    ));
    chips
}

/// True if the interval of the A/A pairs reaches farther than the largest effect, so that none of them can be distinguished from it.
fn is_wider_than_effects(findings: &Findings, control: &Interval) -> bool {
    let effects = findings.effects.effects.iter().map(|effect| effect.size.median.abs());
    let largest = effects.filter(|median| median.is_finite()).fold(0.0, f64::max);
    !findings.effects.effects.is_empty() && control.width() / 2.0 > largest
}

/// Label of effects that are not significant, as in `prony study effects`.
pub const NOT_SIGNIFICANT: &str = "not significant";

/// True if an effect is significant, with correction for all questions together (Holm 1979).
pub fn is_significant(effect: &Effect) -> bool {
    effect.size.is_found(ALPHA)
}

/// `engine stock → pedantic`, its two parts.
pub fn step(results: &Results, effect: &Effect) -> (String, String) {
    let factor = &results.factors[effect.factor];
    (factor.name.clone(), format!("{} → {}", factor.levels[effect.from], factor.levels[effect.to]))
}

/// Remarks beside the table of effects: interactions, and effects that rest on few edges.
pub fn remarks(matrix: &Matrix<'_>, findings: &Findings) -> Vec<String> {
    let results = matrix.results;
    let effects = &findings.effects;
    let changing = Changing::of(&results.metric);
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(like_these(results, &effects.effects));
    let (found, rest): (Vec<&Interaction>, Vec<&Interaction>) =
        effects.interactions.iter().partition(|interaction| interaction.size.is_found(ALPHA));
    remarks.extend(found.iter().map(|interaction| depends(results, effects.conditional.as_slice(), interaction)));
    let widest = rest
        .iter()
        .filter(|one| one.size.interval.width().is_finite())
        .max_by(|a, b| a.size.interval.reach().total_cmp(&b.size.interval.reach()));
    if let Some(widest) = widest {
        let among = if found.is_empty() {
            "No interaction between factors was found"
        } else {
            "No other interaction between factors was found"
        };
        remarks.push(format!(
            "{among}: {} examined, each within {}.",
            count(rest.len(), "interaction"),
            change::range(-widest.size.interval.reach(), widest.size.interval.reach())
        ));
    }
    remarks.extend(one_edge(results, &effects.effects));
    for effect in &effects.effects {
        let (factor, step) = step(results, effect);
        if effect.method == Method::Model {
            remarks.push(format!(
                "{factor} {step} is from a model without interactions, because no two configurations differ in \
                 it alone."
            ));
        }
        if let Work::Different { other_workloads } = &effect.work {
            remarks.push(format!(
                "{factor} {step} compares configurations that ran different workloads; for other workloads of \
                 the same kind it is {}.",
                change(&changing.ratio(other_workloads))
            ));
        }
    }
    remarks.extend(aliased(results, &effects.aliases));
    if effects.comparisons > prony_stats::effects::COMPARISONS_MAX {
        remarks.push(format!(
            "{} questions were asked of these cells; significance holds for all of them together (Holm).",
            effects.comparisons
        ));
    }
    remarks
}

/// Subject of the intervals of one machine, and what is known beyond.
fn like_these(results: &Results, effects: &[Effect]) -> Option<String> {
    let size = &effects.iter().find(|effect| is_of_these(&effect.size))?.size;
    let changing = Changing::of(&results.metric);
    let these = format!("Intervals are for these {}", count(size.units.len(), over(size.over)));
    // Steps of a sweep are many.
    let of_effect = |effect: &Effect| {
        let (others, (factor, step)) = (effect.size.others?, step(results, effect));
        (results.factors[effect.factor].numbers.is_none())
            .then(|| format!("{factor} {step} {}", change(&changing.ratio(&others))))
    };
    let others: Vec<String> = effects.iter().filter_map(of_effect).collect();
    Some(match (size.others, others.as_slice()) {
        (None, _) => format!("{these}; for others like them, {} or more are needed.", OTHERS_MIN),
        (Some(_), []) => format!("{these}."),
        (Some(_), others) => format!("{these}. For others like them: {}.", others.join("; ")),
    })
}

/// Effects that rest on one edge, those of one edge together.
fn one_edge(results: &Results, effects: &[Effect]) -> Vec<String> {
    let mut alike: Vec<(&str, String, Vec<String>)> = Vec::new();
    // Steps of a sweep are seen in its curve.
    let is_significant = |effect: &&Effect| {
        effect.method == Method::Edges && results.factors.len() > 1 && results.factors[effect.factor].numbers.is_none()
    };
    for effect in effects.iter().filter(is_significant) {
        let [edge] = effect.edges.as_slice() else { continue };
        let (place, (_, step)) = (others(results, &edge.levels, effect.factor), step(results, effect));
        let name = results.factors[effect.factor].name.as_str();
        match alike.iter_mut().find(|(other, there, _)| *other == name && *there == place) {
            Some((_, _, steps)) => steps.push(step),
            None => alike.push((name, place, vec![step])),
        }
    }
    let sentence = |(name, place, changes): (&str, String, Vec<String>)| {
        let verb = if changes.len() == 1 { "is" } else { "are each" };
        format!("{name} {} {verb} based on one matched comparison: {place}.", changes.join(" and "))
    };
    alike.into_iter().map(sentence).collect()
}

/// Levels and combinations that the configurations cannot separate.
fn aliased(results: &Results, aliases: &[Alias]) -> Vec<String> {
    let (levels, combinations): (Vec<&Alias>, Vec<&Alias>) =
        aliases.iter().partition(|alias| matches!(alias.term, Term::Main { .. }));
    let sentence = |alias: &Alias| {
        let parts: Vec<String> = alias.same_as.iter().map(|(other, _)| term(results, other)).collect();
        match parts.is_empty() {
            true => format!("{} was never varied.", term(results, &alias.term)),
            false => format!("{} is confounded with {}.", term(results, &alias.term), parts.join(" and ")),
        }
    };
    let mut sentences: Vec<String> = levels.into_iter().map(sentence).collect();
    if !combinations.is_empty() {
        let named = combinations.iter().take(COMBINATIONS_MAX);
        let names: Vec<String> = named.map(|alias| term(results, &alias.term)).collect();
        let more = if combinations.len() > names.len() { " and others" } else { "" };
        sentences.push(format!(
            "The interactions of {}{more} are confounded: these configurations cannot show them.",
            names.join(", ")
        ));
    }
    sentences
}

fn depends(results: &Results, conditional: &[Effect], interaction: &Interaction) -> String {
    let (factor, with) = (&results.factors[interaction.factor], &results.factors[interaction.with]);
    let changing = Changing::of(&results.metric);
    let at = |level: usize| {
        let there = conditional.iter().find(|effect| {
            (effect.factor, effect.from, effect.to) == (interaction.factor, interaction.from, interaction.to)
                && effect.given == Some((interaction.with, level))
        });
        there.map_or_else(|| "?".to_owned(), |effect| change::value(changing.log(effect.size.median)))
    };
    format!(
        "The effect of {} ({} → {}) depends on {}: {} with {}, {} with {}. The difference is {}.",
        factor.name,
        factor.levels[interaction.from],
        factor.levels[interaction.to],
        with.name,
        at(interaction.with_from),
        with.levels[interaction.with_from],
        at(interaction.with_to),
        with.levels[interaction.with_to],
        change(&changing.ratio(&interaction.size.interval))
    )
}

/// `with engine = optimised and plugins = optimised`.
fn others(results: &Results, levels: &[usize], without: usize) -> String {
    let named = results.factors.iter().zip(levels).enumerate().filter(|&(factor, _)| factor != without);
    let parts: Vec<String> =
        named.map(|(_, (factor, &level))| format!("{} = {}", factor.name, factor.levels[level])).collect();
    format!("with {}", parts.join(" and "))
}

fn term(results: &Results, term: &Term) -> String {
    let named = |(factor, level): (usize, usize)| {
        let factor = &results.factors[factor];
        format!("{} = {}", factor.name, factor.levels[level])
    };
    match *term {
        Term::Main { factor, level } => named((factor, level)),
        Term::Interaction { first, second } => format!("{} with {}", named(first), named(second)),
    }
}
