//! The pages of results, made of the figures that are committed beside them.

use prony_testing::sources::{check_page, root};
use serde_json::Value;
use std::fmt::Write;
use std::fs;

const COMMAND: &str = "PRONY_WRITE_PAGES=1 cargo test -p prony-testing --test results";

fn figures() -> Value {
    let path = root().join("docs/results/figures.json");
    serde_json::from_str(&fs::read_to_string(path).expect("it is committed")).expect("it is JSON")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// `met` and `missed` count rows with a target.
fn answer(row: &Value) -> &'static str {
    match (row["target"].is_null(), row["met"].as_bool()) {
        (true, _) => "",
        (false, Some(true)) => "met",
        (false, Some(false)) => "**missed**",
        (false, None) => "unclear",
    }
}

fn page(area: &Value) -> String {
    let (name, title, about) = (text(area, "name"), text(area, "title"), text(area, "about"));
    let rows = list(area, "rows");
    let mut out = format!(
        "# {title}\n\n{about} How figures are taken: [results](README.md); what was tried, and earlier figures: [lab notes](../lab/{name}.md).\n\n\
         | what | result | n | target | | machine | command |\n|:--|--:|--:|--:|:--|:--:|:--:|\n"
    );
    let mut notes: Vec<&str> = Vec::new();
    let mut note = |text| {
        let known = notes.iter().position(|known| *known == text).unwrap_or_else(|| {
            notes.push(text);
            notes.len() - 1
        });
        format!("[^{}]", known + 1)
    };
    for row in rows {
        let value = [text(row, "value"), text(row, "interval")].join(" ").replace(' ', "\u{a0}");
        let (machine, command) = (note(text(row, "machine")), note(text(row, "command")));
        let (what, n, target) = (text(row, "what"), text(row, "n"), text(row, "target"));
        let _ = writeln!(
            out,
            "| {what} | {} | {n} | {target} | {} | {machine} | {command} |",
            value.trim_end_matches('\u{a0}'),
            answer(row)
        );
    }
    out.push('\n');
    for (place, text) in notes.iter().enumerate() {
        let code = rows.iter().any(|row| row["command"].as_str() == Some(text));
        let shown = if code { format!("`{text}`") } else { (*text).to_owned() };
        let _ = writeln!(out, "[^{}]: {shown}", place + 1);
    }
    out
}

#[test]
fn each_page_of_results_is_made_of_the_figures() {
    let figures = figures();
    for area in list(&figures, "areas") {
        check_page(&root().join(format!("docs/results/{}.md", text(area, "name"))), &page(area), COMMAND);
    }
}

#[test]
fn each_figure_says_what_was_measured_where_and_how() {
    for row in list(&figures(), "areas").iter().flat_map(|area| list(area, "rows")) {
        for key in ["what", "value", "n", "machine", "command"] {
            assert!(!text(row, key).is_empty(), "`{key}` of {row}");
        }
        assert!(row["interval"].is_null() || text(row, "interval").starts_with('['), "{row}");
        assert!(row["met"].is_null() || row["met"].is_boolean(), "{row}");
    }
}

/// All areas, with the number of targets that are met and missed.
#[test]
fn the_first_page_counts_what_is_met_and_missed() {
    let path = root().join("docs/results/README.md");
    let found = fs::read_to_string(&path).expect("it is committed");
    let (before, rest) = found.split_once("| area |").expect("it has a table of areas");
    let (_, after) = rest.split_once("\n\n").expect("something follows the table");
    let mut table = "| area | figures | targets met | missed |\n|---|---|--:|--:|\n".to_owned();
    for area in list(&figures(), "areas") {
        let count = |wanted| list(area, "rows").iter().filter(|row| answer(row) == wanted).count();
        let (name, title, about) = (text(area, "name"), text(area, "title"), text(area, "about"));
        let _ = writeln!(table, "| [{title}]({name}.md) | {about} | {} | {} |", count("met"), count("**missed**"));
    }
    check_page(&path, &format!("{before}{table}\n{after}"), COMMAND);
}
