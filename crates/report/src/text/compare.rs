//! The answer of `prony compare` for people.

use std::fmt::Write;

use prony_stats::compare::Compared;
use prony_stats::geometric_mean::geometric_mean;
use prony_stats::import::Loaded;
use prony_stats::quantile::median;
use prony_stats::rejudge::Rejudgement;
use prony_stats::samples::{Benchmark, Better, Unit};
use prony_stats::{Interval, Metric, Verdict};
use prony_text::{Quantity, Table, Untrusted, count, markdown, markdown_code, plain, thousands};

use crate::change::{change, found};
use crate::compare::CompareOptions;
use crate::text::bench::{both_words, metrics};
use crate::words::{self, Judged, undirected};

/// The answer: a sentence for one comparison, a table for several.
pub fn text(options: &CompareOptions<'_>, compared: &[Compared<'_>]) -> String {
    let mut out = String::new();
    let sectioned = options.group_by.is_some() || options.group_by_speed;
    if let ([one], false, false) = (compared, sectioned, options.markdown) {
        for (letter, file, benchmark) in [("A", one.files[0], one.a), ("B", one.files[1], one.b)] {
            let _ = writeln!(
                out,
                "{letter}  {}: {}  {}",
                Untrusted::new(&file.name),
                Untrusted::new(&benchmark.name),
                typical_by(benchmark, one)
            );
        }
        let _ = writeln!(out, "{}", sentence(options, one));
        details(&mut out, one);
        return out;
    }
    let names = if options.markdown { markdown_code } else { plain_name };
    for (heading, members) in sections(options, compared) {
        if !heading.is_empty() {
            let heading = if options.markdown { markdown(&heading) } else { heading };
            let _ = writeln!(out, "{}{heading}\n", if out.is_empty() { "" } else { "\n" });
        }
        // One column a file, unless there is only one to compare.
        let mut table =
            if others(&members).len() > 1 { by_file(&members, names) } else { by_benchmark(&members, names) };
        // Of those that were found to be slower, the mean says nothing of all.
        if !options.group_by_speed {
            add_means(&mut table, &members);
        }
        out.push_str(&if options.markdown { table.markdown() } else { table.text() });
    }
    if options.group_by_speed {
        let all: Vec<&Compared<'_>> = compared.iter().collect();
        for file in others(&all) {
            let of_file: Vec<&Compared<'_>> =
                all.iter().filter(|one| std::ptr::eq(one.files[1], file)).copied().collect();
            if let Some(mean) = mean(&of_file) {
                let _ = writeln!(out, "\ngeometric mean of {}: {}", names(&file.name), change(&mean));
            }
        }
    }
    let _ = writeln!(out, "\n{}; {}", counts(compared), error(options));
    out
}

/// `2 slower, 1 same`.
pub fn counts(compared: &[Compared<'_>]) -> String {
    let of = |verdict| compared.iter().filter(|one| one.verdict() == verdict).count();
    // Of bytes and allocations, what is worse is higher.
    let is_of_time = compared.iter().all(|one| one.b.unit == Unit::Second);
    let counts = [
        (Verdict::Slower, if is_of_time { "slower" } else { "worse" }),
        (Verdict::Faster, if is_of_time { "faster" } else { "better" }),
        (Verdict::Same, "same"),
        (Verdict::Unclear, "unclear"),
    ]
    .into_iter()
    .filter(|&(verdict, _)| of(verdict) > 0)
    .map(|(verdict, word)| format!("{} {word}", of(verdict)));
    counts.collect::<Vec<_>>().join(", ")
}

/// What is known of errors.
pub fn error(options: &CompareOptions<'_>) -> String {
    format!("probability of any false alarm: at most {} %", plain(options.alpha * 100.0))
}

/// `B is slower: +1.0 % [+0.6, +1.4] time, 186 pairs`.
pub fn sentence(options: &CompareOptions<'_>, one: &Compared<'_>) -> String {
    let Some(answer) = &one.answer else { return "unclear: one side has no values except warm-ups".to_owned() };
    let judged = Judged::of_benchmark(one.b);
    let quantity = match answer {
        Rejudgement::Paired(outcome) => judged.quantity(outcome.metric),
        Rejudgement::Unpaired(_) => metric_name(one.b.metric()),
    };
    let found = found(&shown(one, answer), quantity);
    let verdict = match answer.verdict() {
        verdict @ (Verdict::Faster | Verdict::Slower) => format!("B is {}: {found}", word(one, verdict)),
        verdict => undirected(None, verdict, options.margin.ln_1p(), &found),
    };
    let needed = match answer {
        Rejudgement::Unpaired(comparison) => comparison.values_needed,
        Rejudgement::Paired(_) => None,
    };
    let needed = needed.map_or_else(String::new, |values| format!(", {values} needed on each side"));
    format!("{verdict}, {}{needed}", rests_on(answer))
}

/// Word for a side that differs: times are faster or slower, all else is higher or lower.
pub fn word(one: &Compared<'_>, verdict: Verdict) -> &'static str {
    let worse = verdict == Verdict::Slower;
    match (one.b.unit, one.b.better()) {
        (_, _) if verdict == Verdict::Same => "same",
        (_, _) if verdict == Verdict::Unclear => "unclear",
        (Unit::Second, Better::Lower) => {
            if worse {
                "slower"
            } else {
                "faster"
            }
        }
        (_, Better::Lower) => {
            if worse {
                "higher"
            } else {
                "lower"
            }
        }
        (_, Better::Higher) => {
            if worse {
                "lower"
            } else {
                "higher"
            }
        }
    }
}

/// Log ratio of the values as they are: the judge's, unless more is better.
pub fn shown(one: &Compared<'_>, answer: &Rejudgement) -> Interval {
    match one.b.better() {
        Better::Lower => answer.ratio(),
        Better::Higher => answer.ratio().negated(),
    }
}

/// Observations that the answer rests on.
fn rests_on(answer: &Rejudgement) -> String {
    match answer {
        Rejudgement::Paired(outcome) => count(outcome.pairs as u64, "pair"),
        Rejudgement::Unpaired(comparison) => {
            let (a, b) = (&comparison.a, &comparison.b);
            match (a.processes, b.processes) {
                (1, 1) => format!(
                    "{} and {} values of one process each",
                    thousands(a.values as u64),
                    thousands(b.values as u64)
                ),
                (a, b) => format!("{} and {} processes", thousands(a as u64), thousands(b as u64)),
            }
        }
    }
}

/// Further lines: each metric of pairs, and the reasons for the verdict.
fn details(out: &mut String, one: &Compared<'_>) {
    match &one.answer {
        Some(Rejudgement::Paired(outcome)) => {
            if Metric::from_name(one.b.metric()).is_some() {
                let both = |metric: Metric| {
                    let of = |side: &Benchmark| median(&side.by(metric).values().collect::<Vec<_>>());
                    let unit = if metric == Metric::Rss { "byte" } else { "second" };
                    both_words(of(one.a)?, of(one.b)?, unit).filter(|_| metric != outcome.metric)
                };
                metrics(out, outcome, Judged::TIMES, &both);
            } else {
                for reason in &outcome.reasons {
                    let _ = writeln!(out, "  {}", words::reason(reason));
                }
            }
        }
        Some(Rejudgement::Unpaired(comparison)) => {
            for (letter, basis) in [("A", &comparison.a), ("B", &comparison.b)] {
                if let Some(correlation) = basis.follows_the_last {
                    let _ = writeln!(
                        out,
                        "  {letter}: consecutive runs are correlated ({correlation:.2}); effective sample size \
                         {:.0}",
                        basis.worth
                    );
                }
                if basis.processes == 1 {
                    let _ =
                        writeln!(out, "  {letter}: only one process; the variation between processes may be larger");
                }
            }
            let _ = writeln!(out, "  not measured in pairs: the difference includes any drift of the machine");
        }
        None => {}
    }
}

/// The median by the metric that decided; `CPU 20.13 ms, n = 93` where that is not the value.
fn typical_by(benchmark: &Benchmark, one: &Compared<'_>) -> String {
    let decided = match &one.answer {
        Some(Rejudgement::Paired(outcome)) if Metric::from_name(benchmark.metric()).is_some() => Some(outcome.metric),
        _ => None,
    };
    let by = decided.filter(|metric| metric.name() != benchmark.metric()).map(|metric| (metric, benchmark.by(metric)));
    match by.filter(|(_, by)| by.values().next().is_some()) {
        Some((metric, by)) => {
            format!(
                "{} {}, n = {}",
                centre(&by),
                words::metric_name(metric.name()),
                thousands(by.values().count() as u64)
            )
        }
        None => typical(benchmark),
    }
}

/// `20.13 ms, n = 93`: what is typical, and the number of values.
pub fn typical(benchmark: &Benchmark) -> String {
    match benchmark.values().count() {
        0 => centre(benchmark),
        n => format!("{}, n = {}", centre(benchmark), thousands(n as u64)),
    }
}

/// `20.13 ms`: what is typical.
pub fn centre(benchmark: &Benchmark) -> String {
    let unit = match benchmark.unit_name() {
        // The head of the table says it.
        "allocation" => "integer",
        unit => unit,
    };
    benchmark.centre().map_or_else(|| "no values".to_owned(), |centre| Quantity::of(centre, unit).value(centre))
}

/// Comparisons by the metric, by the value of --group-by, and by the verdict, each with its heading.
pub fn sections<'a, 'b>(
    options: &CompareOptions<'_>,
    compared: &'b [Compared<'a>],
) -> Vec<(String, Vec<&'b Compared<'a>>)> {
    let metrics: Vec<&str> = compared.iter().map(|one| one.b.metric()).collect();
    let several = metrics.iter().any(|metric| *metric != metrics[0]);
    /// Metric, verdict and group, and the comparisons of them.
    type Section<'a, 'b> = ((usize, usize, String), Vec<&'b Compared<'a>>);
    let mut sections: Vec<Section<'a, 'b>> = Vec::new();
    for one in compared {
        // In the order of the requested metrics.
        let metric = metrics.iter().position(|metric| *metric == one.b.metric()).unwrap_or(0);
        let speed = if options.group_by_speed { rank(one.verdict()) } else { 0 };
        let group = options.group_by.map_or_else(String::new, |key| one.group(key));
        let key = (metric, speed, group);
        match sections.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(one),
            None => sections.push((key, vec![one])),
        }
    }
    sections.sort_by(|a, b| a.0.cmp(&b.0));
    let heading = |((metric, _, group), members): Section<'a, 'b>| {
        let metric = several.then(|| metric_name(metrics[metric]).to_owned());
        let group = options.group_by.map(|key| format!("{key} = {}", Untrusted::new(&group)));
        let speed = options.group_by_speed.then(|| {
            let verdict = word(members[0], members[0].verdict());
            format!("{verdict} ({})", members.len())
        });
        (metric.into_iter().chain(group).chain(speed).collect::<Vec<_>>().join(", "), members)
    };
    sections.into_iter().map(heading).collect()
}

/// Name of a metric of a file for people.
fn metric_name(metric: &str) -> &str {
    match metric {
        "allocated_bytes" => "B/op",
        "allocations" => "allocs/op",
        "wall" => "time",
        other => other,
    }
}

/// What was found to be worse comes first.
fn rank(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Slower => 0,
        Verdict::Faster => 1,
        Verdict::Same => 2,
        Verdict::Unclear => 3,
    }
}

/// Files that are compared with the first one, each once, in their order.
pub fn others<'a>(members: &[&Compared<'a>]) -> Vec<&'a Loaded> {
    let mut files: Vec<&Loaded> = Vec::new();
    for one in members {
        if !files.iter().any(|file| std::ptr::eq(*file, one.files[1])) {
            files.push(one.files[1]);
        }
    }
    files
}

/// A row for each comparison, and the mean of all.
fn by_benchmark(members: &[&Compared<'_>], names: fn(&str) -> String) -> Table {
    let mut table = Table::with_head(["benchmark", "A", "B", "change of B [interval]", "verdict"]).numbers(1..4);
    members.iter().for_each(|one| table.row(row(one, names)));
    table
}

/// The geometric mean of each file, as a last row.
fn add_means(table: &mut Table, members: &[&Compared<'_>]) {
    let files = others(members);
    let of_file = |file: &&Loaded| -> Option<Interval> {
        let of_file = members.iter().filter(|one| std::ptr::eq(one.files[1], *file)).copied();
        mean(&of_file.collect::<Vec<_>>())
    };
    match files.as_slice() {
        [only] => {
            if let Some(mean) = of_file(only) {
                table.row(["geometric mean", "", "", &change(&mean), ""]);
            }
        }
        several => {
            let means: Vec<Option<Interval>> = several.iter().map(of_file).collect();
            if means.iter().any(Option::is_some) {
                let cells = means.iter().map(|mean| mean.as_ref().map_or_else(|| "–".to_owned(), change));
                table.row(["geometric mean".to_owned(), String::new()].into_iter().chain(cells));
            }
        }
    }
}

/// A name of a file or a benchmark in the terminal.
pub fn plain_name(name: &str) -> String {
    Untrusted::new(name).to_string()
}

/// A row for each benchmark, and a column for each file: its typical value, the change, and the verdict.
fn by_file(members: &[&Compared<'_>], names: fn(&str) -> String) -> Table {
    let files = others(members);
    let mut rows: Vec<(&Benchmark, Vec<&Compared<'_>>)> = Vec::new();
    for one in members {
        match rows.iter_mut().find(|(a, _)| std::ptr::eq(*a, one.a)) {
            Some((_, row)) => row.push(one),
            None => rows.push((one.a, vec![one])),
        }
    }
    let shown = |file: &Loaded| names(&file.name);
    let baseline = members.first().map_or_else(String::new, |one| shown(one.files[0]));
    let mut table =
        Table::with_head(["benchmark".to_owned(), baseline].into_iter().chain(files.iter().map(|file| shown(file))));
    for (a, row) in rows {
        let cell = |file: &&Loaded| {
            let one = row.iter().find(|one| std::ptr::eq(one.files[1], *file));
            one.map_or_else(
                || "–".to_owned(),
                |one| format!("{}, {}, {}", centre(one.b), shown_change(one), word(one, one.verdict())),
            )
        };
        let cells = [names(&a.name), typical(a)];
        table.row(cells.into_iter().chain(files.iter().map(cell)));
    }
    table
}

/// Level of the interval of the mean.
const MEAN_ALPHA: f64 = 0.05;

/// The geometric mean of the changes of several benchmarks; `None` of one, and of those that differ in kind or have no
/// ratio, as numbers that are 0.
pub fn mean(members: &[&Compared<'_>]) -> Option<Interval> {
    let [first, _, ..] = members else { return None };
    let alike = |one: &&&Compared<'_>| one.b.unit_name() == first.b.unit_name() && one.b.better() == first.b.better();
    let ratio = |one: &&Compared<'_>| {
        let zero = [one.a, one.b].iter().any(|side| side.values().any(|value| value == 0.0));
        let answer = one.answer.as_ref().filter(|_| !zero)?;
        Some(shown(one, answer))
    };
    if members.iter().filter(alike).count() < members.len() {
        return None;
    }
    let ratios: Option<Vec<Interval>> = members.iter().map(ratio).collect();
    geometric_mean(&ratios?, MEAN_ALPHA)
}

/// Benchmark, A, B, change, verdict.
pub fn row(one: &Compared<'_>, names: fn(&str) -> String) -> [String; 5] {
    let same_file = std::ptr::eq(one.files[0], one.files[1]);
    let [benchmark, file] = [&one.b.name, &one.files[1].name].map(|name| names(name));
    let name = match (same_file, one.a.name == one.b.name) {
        (true, _) => benchmark,
        (false, true) => format!("{benchmark} ({file})"),
        (false, false) => format!("{file}: {benchmark}"),
    };
    [name, typical(one.a), typical(one.b), shown_change(one), word(one, one.verdict()).to_owned()]
}

/// The change of B with its interval; what began at 0, or came to it, has none.
pub fn shown_change(one: &Compared<'_>) -> String {
    let Some(answer) = &one.answer else { return "?".to_owned() };
    if [one.a, one.b].iter().any(|side| side.values().any(|value| value == 0.0)) {
        return "–".to_owned();
    }
    change(&shown(one, answer))
}
