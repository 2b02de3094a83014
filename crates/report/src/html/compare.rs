//! The answer of `prony compare` on a page.

use prony_stats::compare::Compared;
use prony_stats::import::Loaded;
use prony_stats::judge::Outcome;
use prony_stats::rejudge::Rejudgement;
use prony_stats::samples::{Benchmark, Samples};
use prony_stats::{Interval, Verdict};
use prony_text::count;
use serde_json::Value;

use crate::change::change;
use crate::compare::{CompareOptions, warnings};
use crate::html::bench::page_of_pairs;
use crate::html::grid::{Grid, GridCell, GridRow};
use crate::html::stored::Stored;
use crate::study::sentences::{Tone, Verdict as Said};
use crate::svg::chart::bench::Change;
use crate::text::compare::plain_name;
use crate::text::compare::{
    centre, counts, error, mean, others, row, sections, sentence, shown, shown_change, typical, word,
};
use crate::words::{sentence as capital, tone};

/// The page of all comparisons; of two commands that ran in pairs, that of their bench.
pub fn page_of_comparison(options: &CompareOptions<'_>, compared: &[Compared<'_>], version: &str) -> String {
    let margin = options.margin.ln_1p();
    if let [one] = compared
        && let Some(Rejudgement::Paired(outcome)) = &one.answer
    {
        return paired(one, outcome, margin, version);
    }
    // One file may stand for several metrics.
    let mut files: Vec<&str> = Vec::new();
    for one in compared {
        if !files.contains(&one.files[1].name.as_str()) {
            files.push(&one.files[1].name);
        }
    }
    let of_file =
        |file: &str| -> Vec<&Compared<'_>> { compared.iter().filter(|one| one.files[1].name == file).collect() };
    let means = files.iter().filter_map(|file| {
        let mean = mean(&of_file(file))?;
        let of = if files.len() > 1 { format!(" of {file}") } else { String::new() };
        Some(format!("geometric mean{of}: {}", change(&mean)))
    });
    let claim = match compared {
        [one] => sentence(options, one),
        _ => counts(compared),
    };
    let basis: Vec<String> = means.chain([error(options)]).collect();
    let first = compared.first().map_or("", |one| one.files[0].name.as_str());
    let names: Vec<&str> = files.iter().copied().filter(|name| *name != first).collect();
    let title = if names.is_empty() { first.to_owned() } else { format!("{first} → {}", names.join(", ")) };
    let rows = by_benchmark(compared);
    Stored {
        title,
        below: format!("{} of {}", count(rows.len() as u64, "benchmark"), count(1 + names.len() as u64, "file")),
        verdict: Said { tone: worst(compared), claim: capital(&claim), basis: basis.join("; ") },
        notes: warnings(options, compared),
        tables: tables(options, compared),
        changes: files.iter().map(|file| ((*file).to_owned(), changes(&of_file(file)))).collect(),
        values: rows,
        machines: machines(compared),
        margin,
        each: "benchmark",
        version,
    }
    .page()
}

/// The page of a bench, of the two that are compared.
fn paired(one: &Compared<'_>, outcome: &Outcome, margin: f64, version: &str) -> String {
    let mut benchmarks = vec![one.a.clone(), one.b.clone()];
    if one.a.name == one.b.name {
        for (benchmark, file) in benchmarks.iter_mut().zip(one.files) {
            benchmark.name = format!("{}: {}", file.name, benchmark.name);
        }
    }
    let circumstances = one.measured_together();
    page_of_pairs(&Samples { benchmarks, circumstances }, &[(0, 1, outcome)], margin, version)
}

/// The tone of the verdict that matters most.
fn worst(compared: &[Compared<'_>]) -> Tone {
    let any = |verdict| compared.iter().any(|one| one.verdict() == verdict);
    let order = [Verdict::Slower, Verdict::Unclear, Verdict::Faster];
    order.into_iter().find(|&verdict| any(verdict)).map_or(Tone::Plain, tone)
}

/// The sections of the text, each as a table.
fn tables(options: &CompareOptions<'_>, compared: &[Compared<'_>]) -> Vec<Grid> {
    let table = |(heading, members): (String, Vec<&Compared<'_>>)| {
        let title = if heading.is_empty() { "Benchmarks".to_owned() } else { capital(&heading) };
        let mut grid = if others(&members).len() > 1 { by_file(&members) } else { by_row(&members) };
        if !options.group_by_speed {
            grid.rows.extend(mean_row(&members, grid.head.len()));
        }
        Grid { title, names: 1, ..grid }
    };
    sections(options, compared).into_iter().map(table).collect()
}

fn by_row(members: &[&Compared<'_>]) -> Grid {
    let cells = |one: &&Compared<'_>| {
        let [name, a, b, change, verdict] = row(one, plain_name);
        let plain = [name, a, b, change].into_iter().map(GridCell::plain);
        GridRow { cells: plain.chain([GridCell::answer(verdict, tone(one.verdict()))]).collect() }
    };
    let head = ["benchmark", "A", "B", "change of B [interval]", "verdict"].map(str::to_owned).to_vec();
    let basis = members.first().map_or_else(String::new, |one| {
        let [a, b] = one.files.map(|file| file.name.as_str());
        if a == b { format!("A: {} of {a}", one.a.name) } else { format!("A: {a}; B: {b}") }
    });
    Grid { head, rows: members.iter().map(cells).collect(), basis, ..Grid::default() }
}

fn by_file(members: &[&Compared<'_>]) -> Grid {
    let files = others(members);
    let mut rows: Vec<(&Benchmark, Vec<&Compared<'_>>)> = Vec::new();
    for &one in members {
        match rows.iter_mut().find(|(a, _)| std::ptr::eq(*a, one.a)) {
            Some((_, row)) => row.push(one),
            None => rows.push((one.a, vec![one])),
        }
    }
    let baseline = members.first().map_or("", |one| one.files[0].name.as_str());
    let head = ["benchmark", baseline].into_iter().chain(files.iter().map(|file| file.name.as_str()));
    let row = |(a, row): (&Benchmark, Vec<&Compared<'_>>)| {
        let cell = |file: &&Loaded| match row.iter().find(|one| std::ptr::eq(one.files[1], *file)) {
            Some(one) => GridCell::answer(
                format!("{}, {}, {}", centre(one.b), shown_change(one), word(one, one.verdict())),
                tone(one.verdict()),
            ),
            None => GridCell::plain("–"),
        };
        let first = [GridCell::plain(&a.name), GridCell::plain(typical(a))];
        GridRow { cells: first.into_iter().chain(files.iter().map(cell)).collect() }
    };
    Grid { head: head.map(str::to_owned).collect(), rows: rows.into_iter().map(row).collect(), ..Grid::default() }
}

/// The geometric mean of each file, where there is one.
fn mean_row(members: &[&Compared<'_>], columns: usize) -> Option<GridRow> {
    let files = others(members);
    let means: Vec<Option<Interval>> = files
        .iter()
        .map(|file| {
            let of_file = members.iter().filter(|one| std::ptr::eq(one.files[1], *file)).copied();
            mean(&of_file.collect::<Vec<_>>())
        })
        .collect();
    means.iter().any(Option::is_some).then(|| {
        let before = if files.len() > 1 { 2 } else { 3 };
        let shown = means.iter().map(|mean| GridCell::plain(mean.as_ref().map_or_else(|| "–".to_owned(), change)));
        let first = (0..before).map(|at| GridCell::plain(if at == 0 { "geometric mean" } else { "" }));
        let mut cells: Vec<GridCell> = first.chain(shown).collect();
        cells.resize_with(columns, || GridCell::plain(""));
        GridRow { cells }
    })
}

/// The changes of one file, as the values have them: of a rate, more is better.
fn changes(members: &[&Compared<'_>]) -> Vec<Change> {
    let one = |one: &&Compared<'_>| {
        let answer = one.answer.as_ref()?;
        let has_zero = [one.a, one.b].iter().any(|side| side.values().any(|value| value == 0.0));
        let name =
            if one.b.metric() == "wall" { one.b.name.clone() } else { format!("{} ({})", one.b.name, one.b.metric()) };
        (!has_zero).then(|| Change { name, interval: shown(one, answer), is_judged: true })
    };
    members.iter().filter_map(one).collect()
}

/// Ownership values are compared with each other: the baseline and all that stand against it.
fn by_benchmark<'a>(compared: &[Compared<'a>]) -> Vec<(String, Vec<(String, &'a Benchmark)>)> {
    let mut rows: Vec<(&Benchmark, Vec<(String, &'a Benchmark)>)> = Vec::new();
    for one in compared {
        let name = |file: &Loaded, benchmark: &Benchmark| match (
            std::ptr::eq(one.files[0], one.files[1]),
            one.a.name == one.b.name,
        ) {
            (true, _) => benchmark.name.clone(),
            (false, true) => file.name.clone(),
            (false, false) => format!("{}: {}", file.name, benchmark.name),
        };
        let of_b = (name(one.files[1], one.b), one.b);
        match rows.iter_mut().find(|(a, _)| std::ptr::eq(*a, one.a)) {
            Some((_, row)) => row.push(of_b),
            None => rows.push((one.a, vec![(name(one.files[0], one.a), one.a), of_b])),
        }
    }
    let title = |benchmark: &Benchmark| match benchmark.metric() {
        "wall" => benchmark.name.clone(),
        metric => format!("{} ({metric})", benchmark.name),
    };
    rows.into_iter().map(|(a, row)| (title(a), row)).collect()
}

/// What each file says of its machine, once.
fn machines<'a>(compared: &[Compared<'a>]) -> Vec<(String, &'a Value)> {
    let mut machines: Vec<(String, &Value)> = Vec::new();
    for file in compared.iter().flat_map(|one| one.files) {
        let facts = file.samples.circumstances.as_ref().map(|circumstances| &circumstances.machine);
        if let Some(facts) = facts.filter(|_| !machines.iter().any(|(name, _)| *name == file.name)) {
            machines.push((file.name.clone(), facts));
        }
    }
    machines
}
