//! The page: one HTML document with its style, its script and its data in it.

use std::fmt::{Display, Write};

use prony_stats::effects::Effect;
use prony_stats::quantile::median;
use prony_study::State;
use prony_text::{Markup, Quantity, count, duration, thousands};
use sha2::{Digest, Sha256};

use crate::Report;
use crate::cells;
use crate::chart::impact;
use crate::drawing::{CHART_CSS, Drawing, key, series_css, shapes};
use crate::figures::{Figures, Series, quantity};
use crate::limits::section;
use crate::palette::{DARK, LIGHT};
use crate::provenance;
use crate::sentences::{self, Tone, share, span};

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Failures that are listed above the charts; all of them are in the table of cells.
const FAILURES_MAX: usize = 8;
/// Configurations that a legend shows without being asked.
const LEGEND_MAX: usize = 12;
/// What made single levels or configurations, shown without being asked: lines.
const ENTRIES_MAX: usize = 4;

/// Writes the page.
pub fn page(report: &Report<'_>) -> String {
    let figures = Figures::of(report);
    let results = report.matrix.results;
    let mut out = String::with_capacity(1 << 17);
    put(&mut out, format_args!("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"));
    put(&mut out, "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    // Nothing is loaded and only this script runs, whatever a name tries.
    put(
        &mut out,
        format_args!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
            script_hash()
        ),
    );
    put(&mut out, format_args!("<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n", Markup(&results.title)));
    put(
        &mut out,
        format_args!(
            "<style>\n{}{CSS}{}{CHART_CSS}</style>\n</head>\n<body>\n",
            schemes(),
            series_css(report.matrix.series.len().max(report.extras.limits.as_ref().map_or(0, section::series)))
        ),
    );
    put(
        &mut out,
        format_args!(
            "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>{}</defs></svg>\n",
            shapes()
        ),
    );
    head(&mut out, report);
    put(&mut out, "<main>\n");
    first_screen(&mut out, report);
    failures(&mut out, report);
    legend(&mut out, report);
    charts(&mut out, report, &figures);
    if let Some(limits) = &report.extras.limits {
        section::write(&mut out, limits);
    }
    table_of_cells(&mut out, report);
    machines(&mut out, report);
    reproduce(&mut out, report);
    put(&mut out, "</main>\n");
    put(
        &mut out,
        format_args!(
            "<footer>Made by prony {}. Colours after Okabe and Ito, distinguishable with any colour vision. This \
             page loads nothing from the network.</footer>\n",
            Markup(&report.extras.version)
        ),
    );
    put(&mut out, "<div id=\"tip\" role=\"status\" hidden></div>\n");
    put(&mut out, format_args!("<script>{SCRIPT}</script>\n</body>\n</html>\n"));
    out
}

pub fn put(out: &mut String, text: impl Display) {
    let _ = write!(out, "{text}");
}

/// Light, dark where the reader likes it or asks for it, and light on paper.
fn schemes() -> String {
    let (light, dark) = (LIGHT.variables(), DARK.variables());
    format!(
        ":root{{{light}}}@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\
         :root[data-theme=dark]{{{dark}}}@media print{{:root:root:root{{{light}}}}}\n"
    )
}

/// The hash by which the policy knows our script (Content Security Policy Level 3, 2.3.1).
fn script_hash() -> String {
    let digest = Sha256::digest(SCRIPT.as_bytes());
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("sha256-");
    // Base 64 (RFC 4648, 4); 32 bytes leave two over, so one `=` ends it.
    for bytes in digest.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(bytes.get(at).copied().unwrap_or(0)));
        for letter in 0..=bytes.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * letter) & 63) as usize]));
        }
    }
    text.push('=');
    text
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Plain => "plain",
    }
}

fn head(out: &mut String, report: &Report<'_>) {
    let matrix = &report.matrix;
    put(out, format_args!("<header><div><h1>{}</h1>", Markup(&matrix.results.title)));
    put(out, format_args!("<p>{}", Markup(&sentences::shape(matrix, &report.findings))));
    if matrix.results.factors.len() > 1 {
        put(out, format_args!("<br>a configuration is {}", Markup(&matrix.factors())));
    }
    put(out, "</p></div><button id=\"theme\" hidden aria-label=\"light or dark\">Dark</button></header>\n");
}

fn first_screen(out: &mut String, report: &Report<'_>) {
    let verdict = report.verdict();
    put(out, format_args!("<p class=\"verdict {}\"><strong>{}</strong>", class(verdict.tone), Markup(&verdict.claim)));
    if !verdict.basis.is_empty() {
        put(out, format_args!(" <span>{}</span>", Markup(&verdict.basis)));
    }
    put(out, "</p>\n<ul class=\"chips\" aria-label=\"whether to trust it\">");
    for chip in report.chips() {
        put(
            out,
            format_args!(
                "<li class=\"{}\" title=\"{}\">{}</li>",
                class(chip.tone),
                Markup(&chip.tip),
                Markup(&chip.text)
            ),
        );
    }
    put(out, "</ul>\n");
    let listed = impact::listed(&report.matrix, &report.findings.effects.effects);
    let remarks = report.remarks();
    if !listed.is_empty() {
        impact_table(out, report, &listed);
    }
    if !remarks.is_empty() {
        put(out, "<ul class=\"notes\">");
        remarks.iter().for_each(|remark| put(out, format_args!("<li>{}</li>", Markup(remark))));
        put(out, "</ul>\n");
    }
}

fn impact_table(out: &mut String, report: &Report<'_>, listed: &[&Effect]) {
    let matrix = &report.matrix;
    let axis = impact::axis(listed);
    let over = sentences::over(listed[0].size.over);
    let what = if matrix.results.metric.unit == "second" { "speed-up" } else { "change for the better" };
    put(
        out,
        format_args!(
            "<section id=\"impact\"><h2>Effect of each component <small>{what}; dot: one {over}, bar: 95 % \
             interval, line: median; thin line: range, with an arrow where it continues</small></h2>\n<div \
             class=\"card\"><table><thead><tr><th scope=\"col\">component</th><th scope=\"col\">change</th><th \
             scope=\"col\" class=\"n\">median</th><th scope=\"col\" class=\"n\">95 % interval</th><th \
             scope=\"col\" class=\"n\">range over {over}s</th><th scope=\"col\" class=\"n\">pairs</th><th \
             scope=\"col\" class=\"strip\">{}</th></tr></thead><tbody>\n",
            impact::scale(&axis).inline()
        ),
    );
    for (row, effect) in listed.iter().enumerate() {
        let (factor, change) = sentences::change(matrix.results, effect);
        let is_again = row > 0 && listed[row - 1].factor == effect.factor;
        let factor = if is_again { String::new() } else { factor };
        let size = &effect.size;
        put(
            out,
            format_args!(
                "<tr{}><td>{}</td><td>{}</td><td class=\"n usual\" data-name=\"median\"><b>{}</b></td>",
                if sentences::is_told(effect) { "" } else { " class=\"untold\"" },
                Markup(&factor),
                Markup(&change),
                share(size.median)
            ),
        );
        put(
            out,
            format_args!(
                "<td class=\"n interval\" data-name=\"95 % interval\">{}{}</td>",
                span(size.interval.low, size.interval.high),
                if sentences::is_told(effect) { String::new() } else { format!(" <em>{}</em>", sentences::NOT_TOLD) }
            ),
        );
        put(
            out,
            format_args!("<td class=\"n range\" data-name=\"range over {over}s\">{}</td>", span(size.min, size.max)),
        );
        put(out, format_args!("<td class=\"n pairs\" data-name=\"pairs\">{}</td>", thousands(effect.pairs)));
        put(out, format_args!("<td class=\"strip\">{}</td></tr>\n", impact::strip(matrix, effect, &axis).inline()));
    }
    put(out, "</tbody></table></div></section>\n");
}

fn failures(out: &mut String, report: &Report<'_>) {
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
        return;
    }
    put(out, "<section id=\"failures\"><h2>Failures</h2><ul class=\"notes\">");
    for (text, places) in alike.iter().take(FAILURES_MAX) {
        let cell = &results.cells[places[0]];
        let name = report.matrix.configuration(&cell.levels).map_or("", |one| &report.matrix.configurations[one].name);
        let (machine, workload) = (&results.machines[cell.machine].name, &results.workloads[cell.workload].name);
        let first = format!("{name}, {workload} on {machine}, repeat {}", cell.repeat + 1);
        let first =
            if places.len() > 1 { format!("{}, the first: {first}", count(places.len(), "cell")) } else { first };
        put(out, format_args!("<li>{} <br>{}</li>", Markup(&first), Markup(text)));
    }
    if alike.len() > FAILURES_MAX {
        put(out, format_args!("<li>and {} of other kinds, in the table of cells</li>", alike.len() - FAILURES_MAX));
    }
    for problem in &report.extras.problems {
        put(out, format_args!("<li>unreadable: {}</li>", Markup(problem)));
    }
    put(out, "</ul></section>\n");
}

fn legend(out: &mut String, report: &Report<'_>) {
    if report.matrix.series.len() < 2 {
        return;
    }
    let folded = report.matrix.series.len() > LEGEND_MAX;
    if folded {
        let all = count(report.matrix.series.len(), "configuration");
        put(out, format_args!("<details class=\"fold\"><summary>{all}: marks, and which are shown</summary>"));
    }
    put(out, "<div class=\"legend\" role=\"group\" aria-label=\"configurations shown in the charts\">");
    for (k, name) in report.matrix.series.iter().enumerate() {
        put(out, format_args!("<button aria-pressed=\"true\" data-k=\"{k}\">{}{}</button>", key(k), Markup(name)));
    }
    put(out, if folded { "</div></details>\n" } else { "</div>\n" });
}

fn charts(out: &mut String, report: &Report<'_>, figures: &Figures) {
    let matrix = &report.matrix;
    let quantity = quantity(matrix);
    let unit = if quantity.unit().is_empty() { String::new() } else { format!(" in {}", quantity.unit()) };
    let better = match matrix.results.metric.direction {
        prony_study::Direction::Lower => "lower is better",
        prony_study::Direction::Higher => "higher is better",
    };
    let metric = format!("{}{unit}", sentence(&matrix.metric()));
    if let Some(bars) = &figures.bars {
        let of = match matrix.results.workloads.len() {
            0 | 1 => "one bar per configuration".to_owned(),
            n => format!("bar: median of the completed workloads, of {n}; tick: each workload"),
        };
        heading(out, "bars", &metric, &format!("{better}; {of}"));
        put(out, format_args!("<div class=\"card wide\">{}</div>", framed(bars)));
        medians(out, report, &quantity);
        put(out, "</section>\n");
    }
    for (place, (name, series)) in figures.sweeps.iter().enumerate() {
        let bounds = bounds_words(report);
        heading(out, &format!("sweep{place}"), &format!("{metric} by {name}"), &format!("{better}; band: {bounds}"));
        panels(out, series);
        put(out, "</section>\n");
    }
    if figures.machines.all > 0 {
        let text = format!("{better}; mark: median of the runs of a workload, line: {}", bounds_words(report));
        heading(out, "machines", "Each machine", &text);
        panels(out, &figures.machines);
        put(out, "</section>\n");
    }
    if figures.quantiles.all > 0 {
        let read = format!("of {}; median over the replays", count(report.extras.frames.read, "frame"));
        heading(out, "quantiles", "Frame time quantiles", &read);
        panels(out, &figures.quantiles);
        put(out, "</section>\n");
        heading(
            out,
            "frames",
            "Each frame",
            "band: fastest to slowest frame of each section over all replays, line: typical frame",
        );
        stack(out, &figures.traces);
        put(out, "</section>\n");
    }
    if figures.flames.all > 0 {
        heading(
            out,
            "flames",
            "Where the time goes",
            "width: share of the stack samples; below a function: what it calls",
        );
        stack(out, &figures.flames);
        put(out, "</section>\n");
    }
}

/// What lines and bands around values are here.
fn bounds_words(report: &Report<'_>) -> &'static str {
    let mut groups = report.matrix.groups();
    match groups.all(|(_, _, _, group)| group.has_interval()) {
        true => "95 % interval",
        false => "95 % interval, or lowest to highest run if there are too few",
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

pub fn heading(out: &mut String, id: &str, title: &str, small: &str) {
    put(out, format_args!("<section id=\"{id}\"><h2>{} <small>{}</small></h2>\n", Markup(title), Markup(small)));
}

fn panels(out: &mut String, series: &Series) {
    put(out, "<div class=\"panels\">");
    for figure in &series.figures {
        put(
            out,
            format_args!("<div class=\"card\"><h3>{}</h3>{}</div>\n", Markup(&figure.name), figure.chart.inline()),
        );
    }
    put(out, "</div>\n");
    rest(out, series);
}

fn stack(out: &mut String, series: &Series) {
    put(out, "<div class=\"stack\">");
    for figure in &series.figures {
        put(
            out,
            format_args!("<div class=\"card wide\"><h3>{}</h3>{}</div>\n", Markup(&figure.name), framed(&figure.chart)),
        );
    }
    put(out, "</div>\n");
    rest(out, series);
}

/// A wide chart: it shrinks with the page, but not until its text cannot be read.
pub fn framed(chart: &Drawing) -> String {
    format!("<div class=\"one\" style=\"min-width:{}px\">{}</div>", chart.width().min(860.0), chart.inline())
}

fn rest(out: &mut String, series: &Series) {
    if series.all > series.figures.len() {
        put(out, format_args!("<p>{} of {} are drawn.</p>\n", series.figures.len(), thousands(series.all)));
    }
}

/// The bars as a table, for those who do not see them.
fn medians(out: &mut String, report: &Report<'_>, quantity: &Quantity) {
    let matrix = &report.matrix;
    put(
        out,
        "<details><summary>as a table</summary><div class=\"wide\"><table><thead><tr><th scope=\"col\">machine</th>",
    );
    matrix
        .configurations
        .iter()
        .for_each(|one| put(out, format_args!("<th scope=\"col\" class=\"n\">{}</th>", Markup(&one.name))));
    put(out, "</tr></thead><tbody>");
    for (machine, facts) in matrix.results.machines.iter().enumerate() {
        put(out, format_args!("<tr><th scope=\"row\">{}</th>", Markup(&facts.name)));
        for configuration in 0..matrix.configurations.len() {
            let workloads = 0..matrix.results.workloads.len();
            let values: Vec<f64> =
                workloads.filter_map(|workload| Some(matrix.group(configuration, machine, workload)?.median)).collect();
            let text = median(&values).map_or_else(|| "–".to_owned(), |value| quantity.value(value));
            put(out, format_args!("<td class=\"n\">{}</td>", Markup(&text)));
        }
        put(out, "</tr>");
    }
    put(out, "</tbody></table></div></details>\n");
}

fn table_of_cells(out: &mut String, report: &Report<'_>) {
    let results = report.matrix.results;
    let (json, held) = cells::json(&report.matrix);
    let of = match held < results.cells.len() {
        true => format!("{} of {}, failed ones first", thousands(held), count(results.cells.len(), "cell")),
        false => count(held, "cell"),
    };
    let csv = format!("prony study export {} --csv cells.csv", provenance::quoted(&report.extras.directory));
    put(
        out,
        format_args!(
            "<section><h2>Raw cells <small>including warm-ups and controls</small></h2>\n<noscript><p>The table \
             needs the script of this page, which does not run here.</p></noscript>\n<details \
             id=\"cells\"><summary>{of}</summary><div class=\"find\"><input id=\"filter\" type=\"search\" \
             placeholder=\"filter: words that a row must have\" aria-label=\"filter rows by words\"><select \
             id=\"state\" aria-label=\"filter rows by state\"><option value=\"\">all states</option><option \
             value=\"done\">done</option><option value=\"failed\">failed</option><option value=\"to run\">to \
             run</option></select><span id=\"found\" role=\"status\"></span></div><div \
             class=\"wide\"><table><thead><tr></tr></thead><tbody></tbody></table></div><p class=\"find\"><button \
             id=\"more\" hidden>more rows</button></p></details>\n<p>As a file: \
             <code>{}</code></p></section>\n<script type=\"application/json\" id=\"data\">{json}</script>\n",
            Markup(&csv)
        ),
    );
}

fn machines(out: &mut String, report: &Report<'_>) {
    let known: Vec<_> =
        report.matrix.results.machines.iter().map(|machine| (machine, provenance::machine(machine))).collect();
    if known.iter().all(|(machine, facts)| facts.is_empty() && machine.disturbances.is_empty()) {
        return;
    }
    put(out, "<section><h2>Machines</h2><dl>");
    for (machine, facts) in known {
        let mut parts: Vec<String> = facts
            .iter()
            .map(|(name, value)| match *name {
                "processor" => value.clone(),
                name => format!("{name} {value}"),
            })
            .collect();
        parts.extend(machine.disturbances.iter().map(|text| format!("disturbed: {text}")));
        put(out, format_args!("<dt>{}</dt><dd>{}</dd>", Markup(&machine.name), Markup(&parts.join(" · "))));
    }
    put(out, "</dl></section>\n");
}

fn reproduce(out: &mut String, report: &Report<'_>) {
    let results = report.matrix.results;
    put(out, "<section id=\"reproduce\"><h2>How to reproduce</h2>\n<pre>");
    let commands = provenance::again(&report.extras.directory, report.extras.can_run_again);
    put(out, format_args!("{}</pre>\n<dl>", Markup(&commands)));
    put(out, format_args!("<dt>random seed</dt><dd>{}</dd>", results.seed));
    put(out, format_args!("<dt>version</dt><dd>prony {}</dd>", Markup(&report.extras.version)));
    let seconds: f64 = results.cells.iter().filter_map(|cell| cell.seconds).filter(|seconds| seconds.is_finite()).sum();
    if seconds > 0.0 {
        put(out, format_args!("<dt>time in cells</dt><dd>{}</dd>", duration(seconds)));
    }
    let (of_all, of_some): (Vec<_>, Vec<_>) =
        provenance::entries(&report.matrix).into_iter().partition(|entry| entry.of.is_empty());
    let line = |out: &mut String, entry: &provenance::Entry| {
        let of = if entry.of.is_empty() { String::new() } else { format!(", {}", entry.of) };
        let [key, of, value] = [&entry.key, &of, &entry.value].map(|text| Markup(text));
        put(out, format_args!("<dt>{key}{of}</dt><dd><code>{value}</code></dd>"));
    };
    of_all.iter().for_each(|entry| line(out, entry));
    put(out, "</dl>");
    if !of_some.is_empty() {
        let open = if of_some.len() <= ENTRIES_MAX { " open" } else { "" };
        put(out, format_args!("<details{open}><summary>definition of each level or configuration</summary><dl>"));
        of_some.iter().for_each(|entry| line(out, entry));
        put(out, "</dl></details>");
    }
    put(out, "</section>\n");
}
