//! The first screen as Markdown: for a README, or for a pull request.

use std::fmt::Write;

use prony_stats::quantile::median;
use prony_text::{markdown as escaped, thousands};

use crate::Report;
use crate::study::sentences::{self, Tone};
use crate::svg::chart::impact;
use crate::svg::figures::quantity;

/// Configurations up to which the medians of each machine make a readable table.
const COLUMNS_MAX: usize = 8;

/// Renders a report as Markdown.
pub fn markdown(report: &Report<'_>) -> String {
    let mut out = String::new();
    let matrix = &report.matrix;
    let verdict = report.verdict();
    let _ = writeln!(
        out,
        "## {}\n\n{}\n",
        escaped(&matrix.results.title),
        escaped(&sentences::shape(matrix, &report.findings))
    );
    let basis = if verdict.basis.is_empty() { String::new() } else { format!(" ({})", escaped(&verdict.basis)) };
    let _ = writeln!(out, "**{}**{basis}.\n", escaped(&verdict.claim));
    let chips = report.chips();
    let chips = chips.iter().map(|chip| match chip.tone {
        Tone::Good | Tone::Plain => escaped(&chip.text),
        Tone::Bad | Tone::Warn => format!("**{}**", escaped(&chip.text)),
    });
    let _ = writeln!(out, "{}\n", chips.collect::<Vec<_>>().join(" · "));
    impact_table(&mut out, report);
    let remarks = report.remarks();
    remarks.iter().for_each(|remark| {
        let _ = writeln!(out, "- {}", escaped(remark));
    });
    if !remarks.is_empty() {
        out.push('\n');
    }
    medians(&mut out, report);
    out
}

fn impact_table(out: &mut String, report: &Report<'_>) {
    let listed = impact::listed(&report.matrix, &report.findings.effects.effects);
    let Some(first) = listed.first() else { return };
    let over = sentences::over(first.size.over);
    let (form, of_range) = impact::forms(&listed);
    // A column of its own only where it says something.
    let says = |text: &str| {
        if listed.iter().all(sentences::is_significant) { String::new() } else { format!(" {text} |") }
    };
    let _ = writeln!(out, "| component | change | mean [95 %] | median | range over {over}s | pairs |{}", says(""));
    let _ = writeln!(out, "|:--|:--|--:|--:|--:|--:|{}", says(":--").trim_start());
    for effect in &listed {
        let (factor, step) = sentences::step(report.matrix.results, effect);
        let size = &effect.size;
        let is_significant = sentences::is_significant(effect);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |{}",
            escaped(&factor),
            escaped(&step),
            if is_significant { format!("**{}**", form.change(&size.interval)) } else { form.change(&size.interval) },
            form.value(size.median),
            of_range.range(size.min, size.max),
            thousands(effect.pairs),
            says(if is_significant { "" } else { sentences::NOT_SIGNIFICANT })
        );
    }
    out.push('\n');
}

fn medians(out: &mut String, report: &Report<'_>) {
    let matrix = &report.matrix;
    if matrix.configurations.len() > COLUMNS_MAX || matrix.groups().next().is_none() {
        return;
    }
    let quantity = quantity(matrix);
    let unit = if quantity.unit().is_empty() { String::new() } else { format!(", {}", quantity.unit()) };
    let _ = write!(out, "| {}{unit} |", escaped(&matrix.metric()));
    matrix.configurations.iter().for_each(|one| {
        let _ = write!(out, " {} |", escaped(&one.name));
    });
    let _ = writeln!(out, "\n|:--|{}", "--:|".repeat(matrix.configurations.len()));
    for (machine, facts) in matrix.results.machines.iter().enumerate() {
        let _ = write!(out, "| {} |", escaped(&facts.name));
        for configuration in 0..matrix.configurations.len() {
            let workloads = 0..matrix.results.workloads.len();
            let values: Vec<f64> =
                workloads.filter_map(|workload| Some(matrix.group(configuration, machine, workload)?.median)).collect();
            let text = median(&values).map_or_else(|| "–".to_owned(), |value| quantity.number(value));
            let _ = write!(out, " {text} |");
        }
        out.push('\n');
    }
}
