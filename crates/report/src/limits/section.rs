//! Limits as a part of a study's page: which machine, bandwidth and latency of each level, curves, and all figures on request.

use std::collections::BTreeSet;

use prony_limits::{Experiment, Limits, Measured};
use prony_text::{Markup, Quantity, count, thousands};

use super::limits_curves;
use crate::page::{framed, heading, put};

/// Curves that help to read a study; the others are for whoever asks about the processor itself.
const SHOWN: [&str; 4] = ["bandwidth", "latency", "roofline", "threads"];

/// How many lines the charts have at most: so many colours a page needs.
pub fn series(limits: &Limits) -> usize {
    limits_curves(limits).iter().map(|(_, curves)| curves.lines.len()).max().unwrap_or(0)
}

/// The whole section.
pub fn write(out: &mut String, limits: &Limits) {
    heading(out, "limits", "Limits of the hardware", "times and rates: best of the samples, cycles: median");
    let processor = limits.facts.cpu.model.as_deref().unwrap_or("an unknown processor");
    let (all, disturbed) = (limits.measured.len(), limits.disturbed());
    put(
        out,
        format_args!(
            "<p>{}, machine <code>{}</code>, CPU {}: {}, of which {} had fewer than 3 undisturbed samples.</p>\n",
            Markup(processor),
            limits.fingerprint,
            limits.cpu,
            count(all, "figure"),
            thousands(disturbed)
        ),
    );
    levels(out, limits);
    put(out, "<div class=\"stack\">");
    for (_, curves) in limits_curves(limits).into_iter().filter(|(name, _)| SHOWN.contains(name)) {
        put(out, format_args!("<div class=\"card wide\">{}</div>\n", framed(&curves.drawing())));
    }
    put(out, "</div>\n");
    everything(out, limits);
    put(out, "</section>\n");
}

/// Bandwidth and latency of each level: a row a way, on the kind of pages that was measured first, which is the best there is.
fn levels(out: &mut String, limits: &Limits) {
    let cases = || limits.of(Experiment::Bandwidth).filter(|case| case.fact("level").is_some());
    let chases = || limits.of(Experiment::Cache).filter(|case| case.fact("level").is_some());
    let Some(pages) = cases().chain(chases()).find_map(|case| case.fact("pages")) else { return };
    let mut sizes: Vec<(&str, f64)> =
        cases().chain(chases()).filter_map(|case| Some((case.fact("level")?, case.number("bytes")?))).collect();
    sizes.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut seen = BTreeSet::new();
    sizes.retain(|(level, _)| seen.insert(*level));
    let mut rows: Vec<(&str, Vec<&Measured>)> = Vec::new();
    for case in cases().chain(chases()).filter(|case| case.fact("pages") == Some(pages)) {
        let name = case.fact("way").unwrap_or("latency, by chase");
        match rows.iter_mut().find(|row| row.0 == name) {
            Some(row) => row.1.push(case),
            None => rows.push((name, vec![case])),
        }
    }
    put(
        out,
        format_args!(
            "<div class=\"card wide\"><h3>one thread, {} pages; copies: bytes copied</h3><table><thead><tr><th scope=\"col\"></th>",
            Markup(pages)
        ),
    );
    sizes.iter().for_each(|(level, _)| put(out, format_args!("<th scope=\"col\" class=\"n\">{}</th>", Markup(level))));
    put(out, "</tr></thead><tbody>");
    for (name, of_row) in rows {
        put(out, format_args!("<tr><th scope=\"row\">{}</th>", Markup(name)));
        for (level, _) in &sizes {
            let case = of_row.iter().find(|case| case.fact("level") == Some(level));
            let text = case.and_then(|case| told(case)).unwrap_or_else(|| "–".to_owned());
            put(out, format_args!("<td class=\"n\">{}</td>", Markup(&text)));
        }
        put(out, "</tr>");
    }
    put(out, "</tbody></table></div>\n");
}

/// A table an experiment, closed until it is asked for: a full run has some eight hundred figures.
fn everything(out: &mut String, limits: &Limits) {
    for experiment in Experiment::ALL {
        let cases: Vec<&Measured> = limits.of(experiment).collect();
        if cases.is_empty() {
            continue;
        }
        put(
            out,
            format_args!(
                "<details><summary>{experiment}: {}</summary><div class=\"wide\"><table><thead><tr><th scope=\"col\">limit</th>\
                 <th scope=\"col\" class=\"n\">value</th><th scope=\"col\" class=\"n\">median</th><th scope=\"col\" class=\"n\">n</th>\
                 <th scope=\"col\" class=\"n\">disturbed</th></tr></thead><tbody>",
                count(cases.len(), "figure")
            ),
        );
        for case in cases {
            let (Some(value), Some(figure)) = (told(case), case.figure()) else { continue };
            put(
                out,
                format_args!(
                    "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.0} %</td></tr>",
                    Markup(&case.name),
                    Markup(&value),
                    Markup(&Quantity::of(figure.median, &case.unit).value(figure.median)),
                    thousands(figure.n),
                    figure.contaminated * 100.0
                ),
            );
        }
        put(out, "</tbody></table></div></details>\n");
    }
}

/// What counts of a case, marked where fewer samples than a figure rests on were undisturbed.
fn told(case: &Measured) -> Option<String> {
    let figure = case.figure()?;
    let mark = if case.series.is_clean() { "" } else { " !" };
    Some(Quantity::of(figure.value, &case.unit).value(figure.value) + mark)
}
