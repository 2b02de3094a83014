use std::path::PathBuf;

use prony_stats::import::Loaded;
use prony_stats::samples::Benchmark;

use super::*;
use crate::samples::tests::{as_rate, described, loaded};

fn args(files: usize) -> CompareArgs {
    CompareArgs {
        files: vec![PathBuf::from("x.json"); files],
        margin: None,
        alpha: 0.05,
        metric: None,
        group_by: None,
        group_by_speed: false,
        markdown: false,
        export_html: None,
        json: false,
        read: crate::cli::ReadArgs { max_memory: None },
    }
}

/// What is printed, the warnings and the exit code.
fn printed(files: &[Loaded], args: &CompareArgs) -> String {
    let sets = with_allocations(files.to_vec());
    let (compared, left_out) = match compare(&sets, terms(args)) {
        Ok(compared) => compared,
        Err(error) => return failure(error).to_string(),
    };
    let request = CompareOptions { left_out, ..request(args) };
    let warnings: String =
        warnings(&request, &compared).iter().map(|warning| format!("warning: {warning}\n")).collect();
    let exit = Exit::of(compared.iter().map(Compared::verdict));
    format!("{}{warnings}exit: {exit:?}\n", text::compare::text(&request, &compared))
}

#[test]
fn two_files_are_judged_in_one_sentence() {
    let pairs = |factor| [loaded("a.json", 1.0, Some("7f")), loaded("bb.json", factor, Some("7f"))];
    let apart = |factor| [loaded("a.json", 1.0, None), loaded("bb.json", factor, None)];
    let all = [
        printed(&pairs(1.02), &args(2)),
        printed(&pairs(0.97), &args(2)),
        printed(&[loaded("a.json", 1.0, Some("7f")), loaded("b.json", 1.0, Some("7f"))], &args(2)),
        printed(&apart(1.02), &args(2)),
        printed(&apart(1.4), &args(2)),
        printed(&apart(1.0).map(as_rate), &args(2)),
        printed(&apart(1.4).map(as_rate), &args(2)),
        printed(&pairs(1.4).map(as_rate), &args(2)),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn several_comparisons_make_a_table() {
    let [mut a, mut b] = [loaded("a.json", 1.0, None), loaded("b.json", 1.5, None)];
    let more = |name: &str, factor: f64| {
        let benchmark = loaded(name, factor, None).samples.benchmarks.remove(0);
        Benchmark { name: name.to_owned(), ..benchmark }
    };
    a.samples.benchmarks.extend([more("parse", 1.0), more("gone", 1.0)]);
    b.samples.benchmarks.extend([more("parse", 0.6), more("new", 1.0)]);
    let files = [a, b];
    let text = printed(&files, &args(2));
    let markdown = printed(&files, &CompareArgs { markdown: true, ..args(2) });
    insta::assert_snapshot!(format!("{text}\n{markdown}"));
}

#[test]
fn groups_have_a_section_each() {
    let mut both = described(loaded("both.json", 1.0, Some("7f")), "governor", "performance");
    for (name, factor, governor) in [("fast", 0.7, "performance"), ("slow", 1.5, "powersave")] {
        let mut more = described(loaded(name, factor, Some("7f")), "governor", governor).samples.benchmarks.remove(0);
        more.name = name.to_owned();
        both.samples.benchmarks.push(more);
    }
    let args = CompareArgs { group_by: Some("governor".to_owned()), ..args(1) };
    insta::assert_snapshot!(printed(&[both], &args));
}

#[test]
fn nonsense_is_refused_and_differences_are_told() {
    let file = |name: &str| loaded(name, 1.0, None);
    let mut other = file("b.json");
    other.samples.benchmarks[0].name = "another".to_owned();
    let mut two = file("two.json");
    two.samples.benchmarks.push(other.samples.benchmarks[0].clone());
    let mut unknown = file("c.json");
    unknown.samples.benchmarks[0].name = "unknown".to_owned();
    let mut bytes = file("bytes.json");
    bytes.samples.benchmarks[0].unit = prony_stats::samples::Unit::Byte;
    let machine = |name: &str, kernel: &str| {
        let mut file = described(file(name), "cpu_model_name", kernel);
        let circumstances = file.samples.circumstances.as_mut().expect("there are some");
        circumstances.machine = serde_json::json!({ "kernel": { "release": kernel }, "tuned": false });
        file
    };
    let all = [
        printed(&[file("a.json"), as_rate(file("rate.json"))], &args(2)),
        printed(&[file("a.json"), bytes], &args(2)),
        printed(&[file("a.json")], &args(1)),
        printed(&[two, unknown], &args(2)),
        printed(&[machine("a.json", "6.1.0"), machine("b.json", "6.5.0")], &args(2)),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

/// A file of two benchmarks, the second of which has another factor.
fn two(name: &str, serve: f64, parse: f64) -> Loaded {
    let mut file = loaded(name, serve, None);
    let benchmark = loaded(name, parse, None).samples.benchmarks.remove(0);
    file.samples.benchmarks.push(Benchmark { name: "parse".to_owned(), ..benchmark });
    file
}

#[test]
fn many_files_have_a_column_each_and_a_geometric_mean() {
    let mut partial = two("c.json", 0.6, 1.0);
    partial.samples.benchmarks.pop();
    partial.samples.benchmarks.push(Benchmark { name: "other".to_owned(), ..partial.samples.benchmarks[0].clone() });
    let files = [two("a.json", 1.0, 1.0), two("b.json", 1.5, 1.4), partial];
    let text = printed(&files, &args(3));
    let markdown = printed(&files, &CompareArgs { markdown: true, ..args(3) });
    insta::assert_snapshot!(format!("{text}\n{markdown}"));
}

#[test]
fn groups_by_speed_begin_with_what_is_slower_and_have_one_mean_of_all() {
    let files = [two("a.json", 1.0, 1.0), two("b.json", 0.6, 1.5)];
    let args = CompareArgs { group_by_speed: true, ..args(2) };
    let text = printed(&files, &args);
    assert!(text.find("slower (1)") < text.find("faster (1)"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn allocations_of_go_are_compared_beside_times_and_zero_is_a_number_of_them() {
    let file = |name: &str, ns: u32, bytes: [u32; 2], allocations: [u32; 2]| {
        let line = |run: u32| {
            format!(
                "BenchmarkParse-2 10000 {} ns/op {} B/op {} allocs/op\nBenchmarkSum-2 10000 {} ns/op {} B/op {} allocs/op\n",
                ns + run * 7 % 10,
                bytes[0],
                allocations[0],
                5000 + run * 3 % 10,
                bytes[1],
                allocations[1]
            )
        };
        let text: String = (0..10).map(line).collect();
        let import = prony_stats::import::import(text.as_bytes()).expect("as Go prints it");
        Loaded { name: name.to_owned(), format: import.format, samples: import.samples }
    };
    let old = || file("old.txt", 1000, [512, 0], [4, 0]);
    let text = printed(&[old(), file("new.txt", 1000, [544, 16], [4, 1])], &args(2));
    insta::assert_snapshot!(text);
    let same = printed(&[old(), old()], &args(2));
    assert!(same.contains("6 same; probability of any false alarm"), "{same}");
}
