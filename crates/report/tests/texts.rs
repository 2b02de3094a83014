//! What pages, Markdown and charts say of stored studies, and what they weigh.

use std::collections::BTreeMap;
use std::path::Path;

use prony_report::{Report, Verdict};
use prony_stats::Seed;
use prony_study::{Cell, Factor, Results, Role};
use prony_testing::studies;

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
fn the_headline_of_an_unfinished_study_says_so() {
    let mut results = small();
    assert!(!report(&results).verdict().claim.starts_with("Unfinished"));
    let cell = results.cells.iter_mut().find(|cell| cell.role == Role::Measured).expect("there are some");
    cell.state = prony_study::State::Pending;
    cell.value = None;
    let verdict = report(&results).verdict();
    assert!(verdict.claim.starts_with("Unfinished, 71 of 72 cells: "), "{verdict:?}");
    assert_eq!(verdict.tone, prony_report::Tone::Warn);
}

#[test]
fn a_control_that_scatters_more_than_the_effects_has_failed() {
    let mut results = small();
    let is_flagged =
        |results: &Results| report(results).chips().iter().any(|chip| chip.text.starts_with("A/A failed: wider"));
    assert!(!is_flagged(&results));
    for cell in results.cells.iter_mut().filter(|cell| cell.role == Role::Control) {
        let factor = [8.0, 0.125, 1.0][cell.machine];
        cell.value = cell.value.map(|value| value * factor);
    }
    assert!(is_flagged(&results), "{:?}", report(&results).chips());
}

#[test]
fn a_study_without_values_says_so() {
    let mut results = small();
    for cell in &mut results.cells {
        cell.state = prony_study::State::Pending;
        cell.value = None;
    }
    assert_eq!(report(&results).verdict().claim, "No results yet: 0 of 72 cells are done");
    results.cells.clear();
    assert!(report(&results).page().contains("No results yet"));
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
    assert_eq!(claim, "stock/stock/stock is faster than stock/stock/optimised: +20.01 % [+19.98, +20.04] speed");
    let same = with(1.0);
    let claim = report(&same).verdict().claim;
    let expected = "stock/stock/optimised is the same as stock/stock/stock within ±1 %: ";
    assert!(claim.starts_with(expected) && claim.ends_with("] speed"), "{claim}");
}

/// Two builds on one machine; each workload gains what stands for it, and cells scatter by 2 %.
fn on_one_machine(gains: &[f64], repeats: u32) -> Results {
    let mut results = small();
    results.machines.truncate(1);
    results.factors.truncate(1);
    results.factors[0].levels = vec!["old".to_owned(), "new".to_owned()];
    let workload = results.workloads[0].clone();
    results.workloads =
        (0..gains.len()).map(|at| prony_study::Workload { name: format!("map {at}"), ..workload.clone() }).collect();
    let (cell, mut seed) = (results.cells[1].clone(), Seed::new(3));
    results.cells.clear();
    for (repeat, (workload, &gain)) in
        (0..repeats).flat_map(|repeat| gains.iter().enumerate().map(move |one| (repeat, one)))
    {
        for level in 0..2 {
            let scatter = (seed.bits() as f64 / u64::MAX as f64 - 0.5) * 0.07;
            let value = (10.0 + 30.0 * workload as f64) * scatter.exp() / if level == 1 { gain } else { 1.0 };
            let key = format!("{repeat:08x}{workload:04x}{level:04x}");
            results.cells.push(Cell { key, repeat, workload, levels: vec![level], value: Some(value), ..cell.clone() });
        }
    }
    results
}

#[test]
fn the_headline_is_about_the_workloads_that_were_measured() {
    // Of two that gain 71 and 92 % each, Student's interval over workloads was 0.9 to 3.6 times.
    let two = on_one_machine(&[1.71, 1.92], 18);
    let verdict = report(&two).verdict();
    assert_eq!(verdict.claim, "new is faster than old: +80.7 % [+79.2, +82.2] speed");
    let parts: Vec<&str> = verdict.basis.split("; ").collect();
    assert_eq!((parts[0], parts[3]), ("+69 … +93 % over 2 workloads", "both workloads faster"));
    assert_eq!(parts[1], "95 % interval on these workloads, over 36 repeats");
    assert_eq!(parts[2], "no interval for other workloads: 2 workloads, 3 needed");
    let six = on_one_machine(&[1.2, 1.5, 1.71, 1.92, 2.0, 2.4], 3);
    let basis = report(&six).verdict().basis;
    assert!(
        basis.contains("95 % interval on these workloads, over 18 repeats; for other workloads like these +"),
        "{basis}"
    );
    let markdown = report(&six).markdown();
    assert!(
        markdown.contains("- Intervals are for these 6 workloads. For others like them: engine old → new +"),
        "{markdown}"
    );
    let one = on_one_machine(&[1.71], 5);
    let Verdict { claim, basis, .. } = report(&one).verdict();
    assert!(claim.starts_with("new is faster than old: +") && claim.ends_with("] speed"), "{claim}");
    assert!(basis.contains("over 5 repeats; 95 % interval;"), "{basis}");
    assert!(basis.contains("; no interval for other workloads; the only workload faster"), "{basis}");
}

#[test]
fn a_headline_has_the_direction_of_its_quantity() {
    use prony_study::{Direction, Metric};
    let cases = [
        ("second", Direction::Lower, ["old is faster than new: ×3.3", "new is faster than old: ×3.2"]),
        ("byte", Direction::Lower, ["old has lower CPU time than new: ×0.3", "new has lower CPU time than old: ×0.3"]),
        (
            "request/s",
            Direction::Higher,
            ["new has higher CPU time than old: ×3.3", "old has higher CPU time than new: ×3.2"],
        ),
    ];
    for (unit, direction, claims) in cases {
        for (gain, expected) in [0.3, 3.2].into_iter().zip(claims) {
            let mut results = on_one_machine(&[gain, gain * 1.02], 18);
            results.metric = Metric { unit: unit.to_owned(), direction, ..results.metric };
            let verdict = report(&results).verdict();
            assert!(verdict.claim.starts_with(expected), "{verdict:?}");
            // The range of the two workloads is in the same terms.
            assert!(verdict.basis.starts_with(if expected.contains("×0") { "×0.3" } else { "×3." }), "{verdict:?}");
        }
    }
}

#[test]
fn workloads_that_go_opposite_ways_are_not_called_faster_by_their_mean() {
    // The mean gains, and most of them lose.
    let opposite = on_one_machine(&[0.95, 0.95, 2.0], 18);
    let claim = report(&opposite).verdict().claim;
    assert_eq!(claim, "Unclear whether new is better than old: +21.7 % [+20.7, +22.6] speed");
}

/// Six factors of two levels, of which the last alone does something, in a benchmark that scatters: 64 configurations.
fn many_configurations() -> Results {
    let mut results = small();
    let names = ["ASLR", "hash seed", "environment", "CPU", "links", "neighbour"];
    let like = results.factors[1].clone();
    results.factors = names
        .map(|name| Factor {
            name: name.to_owned(),
            levels: vec!["quiet".to_owned(), "loud".to_owned()],
            ..like.clone()
        })
        .to_vec();
    results.machines.truncate(1);
    results.workloads.truncate(1);
    let (cell, mut seed) = (results.cells[1].clone(), Seed::new(11));
    results.cells.clear();
    for repeat in 0..12 {
        for one in 0..64usize {
            let levels: Vec<usize> = (0..6).map(|factor| one >> factor & 1).collect();
            let scatter = (seed.bits() as f64 / u64::MAX as f64 - 0.5) * 0.6;
            let value = 10.0 * (scatter + 0.08 * levels[5] as f64).exp();
            let provenance =
                BTreeMap::from([("command".to_owned(), format!("beside {} burn {}", levels[5], levels[0]))]);
            let key = format!("{repeat:08x}{one:08x}");
            results.cells.push(Cell { key, repeat, levels, value: Some(value), provenance, ..cell.clone() });
        }
    }
    results
}

#[test]
fn without_a_significant_configuration_the_largest_significant_effect_is_the_verdict() {
    let results = many_configurations();
    let verdict = report(&results).verdict();
    assert!(
        verdict.claim.starts_with("neighbour quiet is faster than loud: +") && verdict.claim.ends_with("] speed"),
        "{verdict:?}"
    );
    assert!(verdict.basis.contains("; unclear whether ") && verdict.basis.contains("over 12 repeats"), "{verdict:?}");
    let markdown = report(&results).markdown();
    assert_eq!(markdown.matches("| not significant |").count(), 5, "{markdown}");
    let page = report(&results).page();
    assert_eq!(page.matches("<tr class=\"not-significant\">").count(), 5);
    // Single pairs scatter far beyond the means of repeats: both ends of each range go on.
    let arrows = page.matches("<path class=\"range\"").count() - page.matches("<td class=\"strip\">").count();
    assert_eq!(arrows, 12);
}

#[test]
fn many_configurations_are_folded_and_their_commands_are_a_line_a_level() {
    let page = report(&many_configurations()).page();
    assert!(page.contains("<details class=\"fold\"><summary>64 configurations"));
    assert!(page.contains("<dt>command</dt><dd><code>beside {neighbour} burn {ASLR}</code></dd>"));
    assert!(page.contains("<dt>command, neighbour = loud</dt><dd><code>1</code></dd>"));
    assert_eq!(page.matches("<dt>command").count(), 5);
    let few = small();
    assert!(!report(&few).page().contains("class=\"fold\""));
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

#[test]
fn limits_beside_the_results_are_a_table_curves_and_all_figures_on_request() {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let results = small();
    let limits = studies::limits();
    let bytes = prony_limits::encode(&limits, "1.2.3").expect("limits can be written");
    std::fs::write(dir.path().join("limits.json"), bytes).expect("a scratch directory takes it");
    let page = Report::read(&results, dir.path(), "1.2.3").page();
    let section = page.split("<section id=\"limits\">").nth(1).and_then(|rest| rest.split("</section>").next());
    let section = section.expect("the page has them");
    assert!(section.contains(&format!("machine <code>{}</code>", limits.fingerprint)));
    // The best of what nothing disturbed, not the median of everything.
    assert!(
        section.contains("<th scope=\"row\">load</th><td class=\"n\">200 GB/s</td><td class=\"n\">20.0 GB/s</td>"),
        "{section}"
    );
    assert!(section.contains("<th scope=\"row\">latency, by chase</th><td class=\"n\">1.25 ns</td>"), "{section}");
    assert_eq!(section.matches("<svg").count(), 2, "bandwidth and latency have two points each, all else has none");
    assert_eq!(section.matches("<details>").count(), 2);
    // A file that is something else is reported, and nothing of it is shown.
    std::fs::write(dir.path().join("limits.json"), "{}").expect("a scratch directory takes it");
    let report = Report::read(&results, dir.path(), "1.2.3");
    assert!(report.problems().iter().any(|problem| problem.contains("limits.json")), "{:?}", report.problems());
    assert!(!report.page().contains("id=\"limits\""));
}
