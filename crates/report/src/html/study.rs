//! The page: one HTML document with its style, its script and its data in it.

use maud::{Markup, PreEscaped, html};
use prony_stats::effects::Effect;
use prony_stats::quantile::median;
use prony_study::State;
use prony_text::{Quantity, count, duration, thousands};

use crate::Report;
use crate::html::cells;
use crate::html::document::{chips, document, flame_style, framed, head as page_head, heading, verdict};
use crate::html::limits::section;
use crate::study::provenance;
use crate::study::quantity::Changing;
use crate::study::sentences;
use crate::svg::chart::impact;
use crate::svg::drawing::key;
use crate::svg::figures::{Figures, Series, quantity, swept_quantity};
use crate::words::sentence;

const SCRIPT: &str = include_str!("study.js");
const FLAMES: &str = include_str!("flame.js");
/// Failures that are listed above the charts; all of them are in the table of cells.
const FAILURES_MAX: usize = 8;
/// Most configurations of an unfolded legend.
const LEGEND_MAX: usize = 12;
/// Number of single levels or configurations up to which their list is shown open.
const ENTRIES_MAX: usize = 4;

/// Renders the page as one HTML document.
pub fn page(report: &Report<'_>) -> String {
    let figures = Figures::of(report);
    let limits = report.extras.limits.as_ref();
    let series = report.matrix.series.len().max(limits.map_or(0, section::series));
    let body = html! {
        (head(report))
        main {
            (first_screen(report))
            (failures(report))
            (legend(report))
            (charts(report, &figures))
            @if let Some(limits) = limits { (section::section(limits)) }
            (table_of_cells(report))
            (machines(report))
            (reproduce(report))
        }
    };
    let (style, scripts): (String, &[&str]) = match figures.flames.all > 0 {
        true => (flame_style(), &[FLAMES, SCRIPT]),
        false => (String::new(), &[SCRIPT]),
    };
    document(&report.matrix.results.title, series, (&style, scripts), &report.extras.version, &body)
}

fn head(report: &Report<'_>) -> Markup {
    let matrix = &report.matrix;
    let below = html! {
        (sentences::shape(matrix, &report.findings))
        @if matrix.results.factors.len() > 1 { br; "a configuration is " (matrix.factors()) }
    };
    page_head(&matrix.results.title, &below)
}

fn first_screen(report: &Report<'_>) -> Markup {
    let listed = impact::listed(&report.matrix, &report.findings.effects.effects);
    let remarks = report.remarks();
    html! {
        (verdict(&report.verdict()))
        (chips(&report.chips()))
        @if !listed.is_empty() { (impact_table(report, &listed)) }
        @if !remarks.is_empty() {
            ul class="notes" {
                @for remark in remarks { li { (remark) } }
            }
        }
    }
}

fn impact_table(report: &Report<'_>, listed: &[Effect]) -> Markup {
    let matrix = &report.matrix;
    let axis = impact::axis(listed);
    let (form, of_range) = impact::forms(listed);
    let over = sentences::over(listed[0].size.over);
    let what = format!("change of {}", Changing::of(&matrix.results.metric).name);
    let range = format!("range over {over}s");
    html! {
        section id="impact" {
            h2 {
                "Effect of each component "
                small {
                    (what) "; dot: one " (over) ", bar: 95 % interval, line: median; thin line: range over " (over) "s, with an \
                     arrow where it continues"
                }
            }
            div class="card" {
                table {
                    thead {
                        tr {
                            th scope="col" { "component" }
                            th scope="col" { "change" }
                            th scope="col" class="n" { "mean [95 %]" }
                            th scope="col" class="n" { "median" }
                            th scope="col" class="n" { "range" }
                            th scope="col" class="n" { "pairs" }
                            th scope="col" class="strip" { (PreEscaped(impact::scale(&axis).inline())) }
                        }
                    }
                    tbody {
                        @for (row, effect) in listed.iter().enumerate() {
                            @let (factor, step) = sentences::step(matrix.results, effect);
                            @let is_again = row > 0 && listed[row - 1].factor == effect.factor;
                            @let is_significant = sentences::is_significant(effect);
                            @let size = &effect.size;
                            tr class=[(!is_significant).then_some("not-significant")] {
                                td { @if !is_again { (factor) } }
                                td { (step) }
                                td class="n usual" data-name="mean [95 %]" {
                                    b { (form.change(&size.interval)) }
                                    @if !is_significant { " " em { (sentences::NOT_SIGNIFICANT) } }
                                }
                                td class="n interval" data-name="median" { (form.value(size.median)) }
                                td class="n range" data-name=(range) { (of_range.range(size.min, size.max)) }
                                td class="n pairs" data-name="pairs" { (thousands(effect.pairs)) }
                                td class="strip" { (PreEscaped(impact::strip(matrix, effect, &axis).inline())) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn failures(report: &Report<'_>) -> Markup {
    let results = report.matrix.results;
    let mut alike: Vec<(String, Vec<usize>)> = Vec::new();
    for (place, cell) in results.cells.iter().enumerate().filter(|(_, cell)| matches!(cell.state, State::Failed { .. }))
    {
        let text = cells::state_words(&cell.state);
        match alike.iter_mut().find(|(other, _)| *other == text) {
            Some((_, places)) => places.push(place),
            None => alike.push((text, vec![place])),
        }
    }
    if alike.is_empty() && report.extras.problems.is_empty() {
        return html! {};
    }
    let first = |places: &[usize]| {
        let cell = &results.cells[places[0]];
        let name = report.matrix.configuration(&cell.levels).map_or("", |one| &report.matrix.configurations[one].name);
        let (machine, workload) = (&results.machines[cell.machine].name, &results.workloads[cell.workload].name);
        let first = format!("{name}, {workload} on {machine}, repeat {}", cell.repeat + 1);
        if places.len() > 1 { format!("{}, the first: {first}", count(places.len(), "cell")) } else { first }
    };
    html! {
        section id="failures" {
            h2 { "Failures" }
            ul class="notes" {
                @for (text, places) in alike.iter().take(FAILURES_MAX) {
                    li { (first(places)) " " br; (text) }
                }
                @if alike.len() > FAILURES_MAX {
                    li { "and " (alike.len() - FAILURES_MAX) " of other kinds, in the table of cells" }
                }
                @for problem in &report.extras.problems {
                    li { "unreadable: " (problem) }
                }
            }
        }
    }
}

fn legend(report: &Report<'_>) -> Markup {
    let series = &report.matrix.series;
    if series.len() < 2 {
        return html! {};
    }
    let buttons = html! {
        div class="legend" role="group" aria-label="configurations shown in the charts" {
            @for (k, name) in series.iter().enumerate() {
                button aria-pressed="true" data-k=(k) { (PreEscaped(key(k, false))) (name) }
            }
        }
    };
    if series.len() <= LEGEND_MAX {
        return buttons;
    }
    html! {
        details class="fold" {
            summary { (count(series.len(), "configuration")) ": marks, and which are shown" }
            (buttons)
        }
    }
}

fn charts(report: &Report<'_>, figures: &Figures) -> Markup {
    let matrix = &report.matrix;
    let quantity = quantity(matrix);
    let in_unit = |quantity: &Quantity| {
        let unit = if quantity.unit().is_empty() { String::new() } else { format!(" in {}", quantity.unit()) };
        format!("{}{unit}", sentence(&matrix.metric()))
    };
    let better = match matrix.results.metric.direction {
        prony_study::Direction::Lower => "lower is better",
        prony_study::Direction::Higher => "higher is better",
    };
    let (metric, swept) = (in_unit(&quantity), in_unit(&swept_quantity(matrix)));
    let of = match matrix.results.workloads.len() {
        0 | 1 => "one bar per configuration".to_owned(),
        n => format!("bar: median of the completed workloads, of {n}; tick: each workload"),
    };
    let bounds = bounds_words(report);
    html! {
        @if let Some(bars) = &figures.bars {
            section id="bars" {
                (heading(&metric, &format!("{better}; {of}")))
                div class="card wide" { (framed(bars)) }
                (medians(report, &quantity))
            }
        }
        @for (place, (name, series)) in figures.sweeps.iter().enumerate() {
            section id={ "sweep" (place) } {
                (heading(&format!("{swept} by {name}"), &format!("{better}; band: {bounds}")))
                (lines(series))
                (panels(series))
            }
        }
        @if figures.machines.all > 0 {
            section id="machines" {
                (heading("Each machine", &format!("{better}; mark: median of the runs of a workload, line: {bounds}")))
                (panels(&figures.machines))
            }
        }
        @if figures.quantiles.all > 0 {
            section id="quantiles" {
                (heading(
                    "Frame time quantiles",
                    &format!("of {}; median over the replays", count(report.extras.frames.read, "frame")),
                ))
                (panels(&figures.quantiles))
            }
            section id="frames" {
                (heading(
                    "Each frame",
                    "band: fastest to slowest frame of each section over all replays, line: typical frame",
                ))
                (stack(&figures.traces))
            }
        }
        @if figures.flames.all > 0 {
            section id="flames" {
                (heading(
                    "Where the time goes",
                    "width: share of the stack samples; below a function: what it calls",
                ))
                (stack(&figures.flames))
            }
        }
    }
}

/// Meaning of the lines and bands around values.
fn bounds_words(report: &Report<'_>) -> &'static str {
    let mut groups = report.matrix.groups();
    match groups.all(|(_, _, _, group)| group.has_interval()) {
        true => "95 % interval",
        false => "95 % interval, or lowest to highest run if there are too few",
    }
}

/// Marks and names of the lines that small multiples have in common.
fn lines(series: &Series) -> Markup {
    html! {
        @if !series.lines.is_empty() {
            ul class="lines" aria-label="lines of each chart" {
                @for (place, name) in series.lines.iter().enumerate() { li { (PreEscaped(key(place, true))) (name) } }
            }
        }
    }
}

fn panels(series: &Series) -> Markup {
    html! {
        div class="panels" {
            @for figure in &series.figures {
                div class="card" { h3 { (figure.name) } (PreEscaped(figure.chart.inline())) }
            }
        }
        (rest(series))
    }
}

fn stack(series: &Series) -> Markup {
    html! {
        div class="stack" {
            @for figure in &series.figures {
                div class="card wide" { h3 { (figure.name) } (framed(&figure.chart)) }
            }
        }
        (rest(series))
    }
}

fn rest(series: &Series) -> Markup {
    html! {
        @if series.all > series.figures.len() {
            p { (series.figures.len()) " of " (thousands(series.all)) " are drawn." }
        }
    }
}

/// The bars as a table, for those who do not see them.
fn medians(report: &Report<'_>, quantity: &Quantity) -> Markup {
    let matrix = &report.matrix;
    let typical = |configuration: usize, machine: usize| {
        let workloads = 0..matrix.results.workloads.len();
        let values: Vec<f64> =
            workloads.filter_map(|workload| Some(matrix.group(configuration, machine, workload)?.median)).collect();
        median(&values).map_or_else(|| "–".to_owned(), |value| quantity.value(value))
    };
    html! {
        details {
            summary { "as a table" }
            div class="wide" {
                table {
                    thead {
                        tr {
                            th scope="col" { "machine" }
                            @for one in &matrix.configurations { th scope="col" class="n" { (one.name) } }
                        }
                    }
                    tbody {
                        @for (machine, facts) in matrix.results.machines.iter().enumerate() {
                            tr {
                                th scope="row" { (facts.name) }
                                @for configuration in 0..matrix.configurations.len() {
                                    td class="n" { (typical(configuration, machine)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn table_of_cells(report: &Report<'_>) -> Markup {
    let results = report.matrix.results;
    let (json, included) = cells::json(&report.matrix);
    let of = match included < results.cells.len() {
        true => format!("{} of {}, failed ones first", thousands(included), count(results.cells.len(), "cell")),
        false => count(included, "cell"),
    };
    let csv = format!("prony study export {} --csv cells.csv", provenance::quoted(&report.extras.directory));
    html! {
        section {
            (heading("Raw cells", "including warm-ups and controls"))
            noscript { p { "The table needs the script of this page, which does not run here." } }
            details id="cells" {
                summary { (of) }
                div class="find" {
                    input id="filter" type="search" placeholder="filter: words that a row must have"
                        aria-label="filter rows by words";
                    select id="state" aria-label="filter rows by state" {
                        option value="" { "all states" }
                        @for state in ["done", "failed", "to run"] { option value=(state) { (state) } }
                    }
                    span id="found" role="status" {}
                }
                div class="wide" { table { thead { tr {} } tbody {} } }
                p class="find" { button id="more" hidden { "more rows" } }
            }
            p { "As a file: " code { (csv) } }
        }
        script type="application/json" id="data" { (PreEscaped(json)) }
    }
}

fn machines(report: &Report<'_>) -> Markup {
    let known: Vec<_> =
        report.matrix.results.machines.iter().map(|machine| (machine, provenance::machine(machine))).collect();
    if known.iter().all(|(machine, facts)| facts.is_empty() && machine.disturbances.is_empty()) {
        return html! {};
    }
    let described = |(machine, facts): &(&prony_study::Machine, Vec<(&str, String)>)| {
        let facts = facts.iter().map(|(name, value)| match *name {
            "processor" => value.clone(),
            name => format!("{name} {value}"),
        });
        let disturbed = machine.disturbances.iter().map(|text| format!("disturbed: {text}"));
        facts.chain(disturbed).collect::<Vec<_>>().join(" · ")
    };
    html! {
        section {
            h2 { "Machines" }
            dl {
                @for machine in &known { dt { (machine.0.name) } dd { (described(machine)) } }
            }
        }
    }
}

fn reproduce(report: &Report<'_>) -> Markup {
    let results = report.matrix.results;
    let commands = provenance::again(&report.extras.directory, report.extras.can_run_again);
    let seconds: f64 = results.cells.iter().filter_map(|cell| cell.seconds).filter(|seconds| seconds.is_finite()).sum();
    let (of_all, of_some): (Vec<_>, Vec<_>) =
        provenance::entries(&report.matrix).into_iter().partition(|entry| entry.of.is_empty());
    let lines = |entries: &[provenance::Entry]| {
        html! {
            @for entry in entries {
                dt { (entry.key) @if !entry.of.is_empty() { ", " (entry.of) } }
                dd { code { (entry.value) } }
            }
        }
    };
    html! {
        section id="reproduce" {
            h2 { "How to reproduce" }
            pre { (commands) }
            dl {
                dt { "random seed" } dd { (results.seed) }
                dt { "version" } dd { "prony " (report.extras.version) }
                @if seconds > 0.0 { dt { "time in cells" } dd { (duration(seconds)) } }
                (lines(&of_all))
            }
            @if !of_some.is_empty() {
                details open[of_some.len() <= ENTRIES_MAX] {
                    summary { "definition of each level or configuration" }
                    dl { (lines(&of_some)) }
                }
            }
        }
    }
}
