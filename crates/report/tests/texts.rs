//! What pages, Markdown and charts say of stored studies, and what they weigh.

#[allow(dead_code, reason = "each test uses a part of the studies")]
mod studies;

use std::path::Path;

use prony_report::Report;
use prony_study::{Results, Role};

fn report(results: &Results) -> Report<'_> {
    Report::read(results, Path::new("results"), "1.2.3")
}

fn small() -> Results {
    studies::factorial(&["i7-3770K", "FX-8350", "Atom C2750"], &["de_dust2", "cs_office"], 2, 9)
}

#[test]
fn markdown_of_a_factorial_study() {
    insta::assert_snapshot!(report(&small()).markdown());
}

#[test]
fn markdown_of_a_study_with_failures() {
    insta::assert_snapshot!(report(&studies::with_failures(3)).markdown());
}

#[test]
fn markdown_of_a_sweep() {
    insta::assert_snapshot!(report(&studies::sweep(7)).markdown());
}

#[test]
fn the_chart_of_effects() {
    let results = small();
    let svgs = report(&results).svgs();
    let (name, svg) = &svgs[0];
    assert_eq!(name, "impact.svg");
    insta::assert_snapshot!(svg.replace("><", ">\n<"));
}

#[test]
fn the_chart_of_a_sweep_marks_where_a_rule_stopped_it() {
    let mut results = studies::sweep(7);
    results.machines.truncate(1);
    results.cells.retain(|cell| cell.machine == 0);
    let svgs = report(&results).svgs();
    let (_, svg) = svgs.iter().find(|(name, _)| name.starts_with("by-threads")).expect("it is a sweep");
    assert!(svg.contains("glibc ends here: late_ticks = 3.4 % at threads = 64, above 1 %"));
    insta::assert_snapshot!(svg.replace("><", ">\n<"));
}

#[test]
fn a_study_without_values_says_so() {
    let mut results = small();
    for cell in &mut results.cells {
        cell.state = prony_study::State::Pending;
        cell.value = None;
    }
    assert_eq!(report(&results).verdict().claim, "Nothing is measured yet: 0 of 72 cells are done");
    results.cells.clear();
    assert!(report(&results).page().contains("Nothing is measured yet"));
}

#[test]
fn a_slower_build_is_called_slower_and_an_equal_one_the_same() {
    let with = |factor: f64| {
        let mut results = small();
        results.cells.retain(|cell| cell.levels == [0, 0, 0] || cell.levels == [0, 0, 1]);
        let firsts: Vec<_> = results
            .cells
            .iter()
            .filter(|cell| cell.levels == [0, 0, 0] && cell.role == Role::Measured)
            .cloned()
            .collect();
        for cell in results.cells.iter_mut().filter(|cell| cell.levels == [0, 0, 1]) {
            let first = firsts.iter().find(|first| {
                (first.machine, first.workload, first.repeat) == (cell.machine, cell.workload, cell.repeat)
            });
            cell.value =
                first.and_then(|first| first.value).map(|value| value * factor * (1.0 + 1e-4 * cell.machine as f64));
        }
        results
    };
    let slower = with(1.2);
    let claim = report(&slower).verdict().claim;
    assert_eq!(claim, "stock/stock/stock is 20 % faster than stock/stock/optimised");
    let same = with(1.0);
    assert_eq!(report(&same).verdict().claim, "stock/stock/optimised is the same as stock/stock/stock within 1.0 %");
}

#[test]
fn a_page_of_972_cells_fits_into_120_kilobytes() {
    let machines = ["Xeon E3-1230v2", "i7-3770K", "i5-4690K", "FX-8350", "Opteron 6272", "Atom C2750"];
    let demos: Vec<String> = (1..=9).map(|demo| format!("demo {demo}")).collect();
    let demos: Vec<&str> = demos.iter().map(String::as_str).collect();
    let results = studies::factorial(&machines, &demos, 3, 2015);
    let page = report(&results).page();
    assert!(page.len() < 120_000, "{}", page.len());
}

#[test]
fn a_page_of_a_million_frames_and_of_a_hundred_thousand_cells_fits_into_a_megabyte() {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let replays = studies::replays(dir.path(), 25_000, 7, 5);
    let page = Report::read(&replays, dir.path(), "1.2.3").page();
    assert!(page.contains("of 1,050,000 frames"));
    assert!(page.len() < 1_000_000, "{}", page.len());
    let names: Vec<String> = (0..40).map(|name| format!("name {name}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let many = studies::factorial(&names[..20], &names, 16, 3);
    assert!(many.cells.len() > 100_000);
    let page = report(&many).page();
    assert!(page.len() < 1_000_000, "{}", page.len());
}
