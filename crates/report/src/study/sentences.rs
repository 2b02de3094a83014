//! The first screen in words: the verdict, whether to trust it, and what the effects depend on.

use prony_stats::Interval;
use prony_stats::effects::{Alias, Effect, Interaction, Method, Over, Size, Term, Work};
use prony_study::{Direction, Results};
use prony_text::{count, percent, signed, significant, thousands};

use crate::study::findings::{ALPHA, Contrast, Findings, MARGIN};
use crate::study::matrix::Matrix;

/// Log ratios from here on are shown as times, because per cent would be thousands: ln 10.
const TIMES: f64 = std::f64::consts::LN_10;
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
        count(matrix.repeats(), "repeat"),
        count(findings.progress.measured, "cell")
    )
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
    let interval = &best.size.interval;
    let mut terms = Terms { metric: &matrix.results.metric, is_reversed: false };
    let (tone, claim) = if interval.low > 0.0 && best.size.median > 0.0 {
        (Tone::Good, better(&matrix.results.metric, name, first, best.size.median))
    } else if best.on_each.is_some_and(|(low, _)| low > 0.0) {
        let claim = better(&matrix.results.metric, name, first, best.size.median);
        (Tone::Good, format!("{claim} on each of {}", count(best.size.units.len(), "machine")))
    } else if interval.lies_within(MARGIN.ln_1p()) {
        (
            Tone::Plain,
            format!("{name} is the same as {first} within {}", percent(MARGIN * 100.0).trim_start_matches('+')),
        )
    } else if interval.high < 0.0 && best.size.median < 0.0 && !interval.low.is_infinite() {
        terms.is_reversed = true;
        let claim = better(&matrix.results.metric, first, name, -best.size.median);
        let among = if findings.against_first.len() > 1 { ", the best of the others" } else { "" };
        (Tone::Bad, format!("{claim}{among}"))
    } else {
        let claim = format!("Unclear whether {name} is better than {first}");
        if let Some(effect) = largest_significant(&findings.effects.effects) {
            return of_effect(matrix, effect, &claim);
        }
        (Tone::Warn, claim)
    };
    Verdict { tone, claim, basis: basis(matrix, findings, best, terms) }
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

/// The better level first: `neighbour quiet is 8.3 % faster than spinning`.
fn of_effect(matrix: &Matrix<'_>, effect: &Effect, unclear: &str) -> Verdict {
    let (factor, size) = (&matrix.results.factors[effect.factor], &effect.size);
    let levels = (format!("{} {}", factor.name, factor.levels[effect.to]), &factor.levels[effect.from]);
    let terms = Terms { metric: &matrix.results.metric, is_reversed: size.median <= 0.0 };
    let (tone, claim) = if terms.is_reversed {
        let name = format!("{} {}", factor.name, factor.levels[effect.from]);
        (Tone::Bad, better(&matrix.results.metric, &name, &factor.levels[effect.to], -size.median))
    } else {
        (Tone::Good, better(&matrix.results.metric, &levels.0, levels.1, size.median))
    };
    let interval = match size.interval.width().is_finite() {
        true => format!("95 % interval {}", terms.ratios(size.interval.low, size.interval.high)),
        false => "too few for an interval".to_owned(),
    };
    let unclear = unclear.replacen('U', "u", 1);
    let basis = format!("{interval} {}, range {}; {unclear}", scope(size), terms.ratios(size.min, size.max));
    Verdict { tone, claim, basis }
}

/// The terms of a claim: what is a ratio of what. Every figure beside a claim is in its terms.
#[derive(Debug, Clone, Copy)]
struct Terms<'a> {
    metric: &'a prony_study::Metric,
    /// The claim says what the first one is beside the other.
    is_reversed: bool,
}

impl Terms<'_> {
    /// Two ends of a range of log ratios, where more is better, as the claim has its own ratio.
    fn ratios(self, low: f64, high: f64) -> String {
        // Of a time, how many times as fast; of anything else the ratio of its values, which is less where less is better.
        let is_inverse = !is_time(self.metric) && self.metric.direction == Direction::Lower;
        let (low, high) = if self.is_reversed != is_inverse { (-high, -low) } else { (low, high) };
        ratios(low, high)
    }
}

fn is_time(metric: &prony_study::Metric) -> bool {
    metric.direction == Direction::Lower && matches!(metric.unit.as_str(), "second" | "s" | "ms" | "µs" | "us" | "ns")
}

/// `2.83× as fast as`, or in per cent where it is less than half.
fn better(metric: &prony_study::Metric, name: &str, first: &str, log_ratio: f64) -> String {
    let ratio = log_ratio.exp();
    match (is_time(metric), ratio >= 1.5) {
        (true, true) => format!("{name} is {}× as fast as {first}", significant(ratio)),
        (true, false) => format!("{name} is {} faster than {first}", unsigned(percent(log_ratio.exp_m1() * 100.0))),
        (false, _) => {
            let (ratio, size) = match metric.direction {
                Direction::Higher => (ratio, "more"),
                Direction::Lower => (1.0 / ratio, "less"),
            };
            match (0.67..1.5).contains(&ratio) {
                true => format!(
                    "{name} has {} {size} {} than {first}",
                    unsigned(percent((ratio - 1.0) * 100.0)),
                    metric.name
                ),
                false => format!("{name} has {}× the {} of {first}", significant(ratio), metric.name),
            }
        }
    }
}

fn unsigned(text: String) -> String {
    text.trim_start_matches(['+', '−']).to_owned()
}

/// `2.48–3.19× over 6 machines; all 18 machine × workload pairs better`.
fn basis(matrix: &Matrix<'_>, findings: &Findings, best: &Contrast, terms: Terms<'_>) -> String {
    let size = &best.size;
    let units = size.units.len();
    let what = over(size.over);
    let range = match units {
        1 => format!("on one {what}"),
        _ => format!("{} over {}", terms.ratios(size.min, size.max), count(units, what)),
    };
    let mut parts = vec![range];
    if let Some((low, high)) = best.on_each.filter(|_| !size.interval.excludes(0.0)) {
        parts.push(format!("95 % interval on each {}; too few for an interval over machines", terms.ratios(low, high)));
    } else if size.interval.width().is_finite() {
        let together = match findings.against_first.len() {
            1 => String::new(),
            2 => " for both comparisons together".to_owned(),
            n => format!(" for all {n} comparisons together"),
        };
        let interval = terms.ratios(size.interval.low, size.interval.high);
        parts.push(match is_of_these(size) {
            true => format!(
                "95 % interval {interval} on these workloads, over {}{together}",
                count(size.interval.n, "repeat")
            ),
            false => format!("95 % interval {interval}{together}"),
        });
        parts.extend(of_others(size, terms));
    } else {
        parts.push("too few for an interval".to_owned());
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
fn of_others(size: &Size, terms: Terms<'_>) -> Option<String> {
    match (size.of, size.others, size.units.len()) {
        (Over::Repeats, Some(others), _) => {
            Some(format!("for other workloads like these {}", terms.ratios(others.low, others.high)))
        }
        (Over::Repeats, None, 2) if is_of_these(size) => {
            Some("two are too few for an interval for other workloads".to_owned())
        }
        (Over::Repeats, None, _) => Some("no interval for other workloads".to_owned()),
        (Over::Machines | Over::Workloads, ..) => None,
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

/// Two log ratios as `2.48–3.19×`, or as per cent where both are near 1.
pub fn ratios(low: f64, high: f64) -> String {
    match low.exp() > 0.67 && high.exp() < 1.5 {
        true => span(low, high),
        false => format!("{}–{}×", significant(low.exp()), significant(high.exp())),
    }
}

/// Two log ratios in per cent: `+19 … +26 %`.
pub fn span(low: f64, high: f64) -> String {
    if !low.is_finite() || !high.is_finite() {
        return "–".to_owned();
    }
    if high >= TIMES {
        return format!("{}–{}×", significant(low.exp()), significant(high.exp()));
    }
    let [low, high] = [low, high].map(|log| log.exp_m1() * 100.0);
    // As many decimals as the width makes sense of.
    let digits = match high - low {
        width if width < 0.5 => 2,
        width if width >= 20.0 => 0,
        _ => 1,
    };
    format!("{} … {} %", signed(low, digits), signed(high, digits))
}

/// A log ratio in per cent.
pub fn share(log_ratio: f64) -> String {
    if log_ratio >= TIMES {
        return format!("{}×", significant(log_ratio.exp()));
    }
    percent(log_ratio.exp_m1() * 100.0)
}

/// Name of the unit of replication: `machine`, `workload` or `repeat`.
pub fn over(over: Over) -> &'static str {
    match over {
        Over::Machines => "machine",
        Over::Workloads => "workload",
        Over::Repeats => "repeat",
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
            chip(tone, format!("A/A{verdict} {}", with_interval(interval)), tip)
        }
    });
    if let Some(resolvable) = findings.resolvable() {
        let text = format!("minimum detectable difference {}", unsigned(percent(resolvable.exp_m1() * 100.0)));
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

/// Estimate with its interval, for instance `−0.1 % [−0.4, +0.3]`.
pub fn with_interval(interval: &Interval) -> String {
    match interval.width().is_finite() {
        true => format!(
            "{} [{}, {}]",
            share(interval.estimate),
            share(interval.low).trim_end_matches(" %"),
            share(interval.high).trim_end_matches(" %")
        ),
        false => format!("{}, too few for an interval", share(interval.estimate)),
    }
}

/// Label of effects that are not significant, as in `prony study effects`.
pub const NOT_SIGNIFICANT: &str = "not significant";

/// True if an effect is significant, with correction for all questions together (Holm 1979).
pub fn is_significant(effect: &Effect) -> bool {
    effect.size.is_found(ALPHA)
}

/// `engine stock → pedantic`, its two parts.
pub fn change(results: &Results, effect: &Effect) -> (String, String) {
    let factor = &results.factors[effect.factor];
    (factor.name.clone(), format!("{} → {}", factor.levels[effect.from], factor.levels[effect.to]))
}

/// Remarks beside the table of effects: interactions, and effects that rest on few edges.
pub fn remarks(matrix: &Matrix<'_>, findings: &Findings) -> Vec<String> {
    let results = matrix.results;
    let effects = &findings.effects;
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
            span(-widest.size.interval.reach(), widest.size.interval.reach())
        ));
    }
    remarks.extend(one_edge(results, &effects.effects));
    for effect in &effects.effects {
        let (factor, change) = change(results, effect);
        if effect.method == Method::Model {
            remarks.push(format!(
                "{factor} {change} is from a model without interactions, because no two configurations differ in \
                 it alone."
            ));
        }
        if let Work::Different { other_workloads } = &effect.work {
            remarks.push(format!(
                "{factor} {change} compares configurations that ran different workloads; for other workloads of \
                 the same kind its interval is {}.",
                span(other_workloads.low, other_workloads.high)
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
    let these = format!("Intervals are for these {}", count(size.units.len(), over(size.over)));
    // Steps of a sweep are many.
    let of_effect = |effect: &Effect| {
        let (others, (factor, change)) = (effect.size.others?, change(results, effect));
        (results.factors[effect.factor].numbers.is_none())
            .then(|| format!("{factor} {change} {}", span(others.low, others.high)))
    };
    let others: Vec<String> = effects.iter().filter_map(of_effect).collect();
    Some(match (size.others, others.as_slice()) {
        (None, _) => format!("{these}; for others like them, {} or more are needed.", prony_stats::effects::OTHERS_MIN),
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
        let (place, (_, change)) = (others(results, &edge.levels, effect.factor), change(results, effect));
        let name = results.factors[effect.factor].name.as_str();
        match alike.iter_mut().find(|(other, there, _)| *other == name && *there == place) {
            Some((_, _, changes)) => changes.push(change),
            None => alike.push((name, place, vec![change])),
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
    let at = |level: usize| {
        let there = conditional.iter().find(|effect| {
            (effect.factor, effect.from, effect.to) == (interaction.factor, interaction.from, interaction.to)
                && effect.given == Some((interaction.with, level))
        });
        there.map_or_else(|| "?".to_owned(), |effect| share(effect.size.median))
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
        with_interval(&interaction.size.interval)
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
