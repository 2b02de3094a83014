use std::path::Path;

use serde_json::Value;

use super::*;
use crate::files::import::import;
use crate::interval::Interval;
use crate::metric::Metric;

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn samples(name: &str) -> Samples {
    import(&golden(name)).expect("a sound file").samples
}

/// Equal but for the last digits of sums taken in another order.
fn assert_alike(ours: &Value, theirs: &Value, path: &str) {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().expect("a number"), b.as_f64().expect("a number"));
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{path}: {a} {b}");
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{path}");
            a.iter().zip(b).enumerate().for_each(|(at, (a, b))| assert_alike(a, b, &format!("{path}[{at}]")));
        }
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{path}");
            a.iter().for_each(|(key, a)| assert_alike(a, &b[key], &format!("{path}.{key}")));
        }
        (a, b) => assert_eq!(a, b, "{path}"),
    }
}

#[test]
fn a_file_of_hyperfine_comes_out_as_it_went_in() {
    for name in ["hyperfine-1.15.json", "hyperfine-1.20-parameter.json", "hyperfine-1.20-one-run.json"] {
        let ours: Value = serde_json::from_slice(&hyperfine(&samples(name))).expect("JSON");
        let theirs: Value = serde_json::from_slice(&golden(name)).expect("JSON");
        assert_alike(&ours, &theirs, name);
    }
}

#[test]
fn the_columns_are_those_of_hyperfine() {
    let ours = csv(&samples("hyperfine-1.15.json"));
    let theirs = String::from_utf8(golden("hyperfine-1.15.csv")).expect("text");
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        for (ours, theirs) in ours.split(',').zip(theirs.split(',')) {
            match (ours.parse::<f64>(), theirs.parse::<f64>()) {
                (Ok(ours), Ok(theirs)) => assert!((ours - theirs).abs() <= 1e-12 * theirs, "{ours} {theirs}"),
                _ => assert_eq!(ours, theirs),
            }
        }
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
    assert!(
        csv(&samples("hyperfine-2.0-parameter.json"))
            .starts_with("command,mean,stddev,median,user,system,min,max,parameter_ms\nsleep 0.001,")
    );
}

#[test]
fn fields_and_cells_hold_whatever_a_command_holds() {
    let mut samples = samples("hyperfine-1.20-one-run.json");
    samples.benchmarks[0].name = "echo \"a,b\" | tr `id -u` x".to_owned();
    let subject = samples.benchmarks[0].subject.as_mut().expect("what hyperfine knows");
    subject.command = vec!["echo \"a,b\" | tr `id -u` x".to_owned()];
    subject.parameters.insert("a,b".to_owned(), "1".to_owned());
    assert_eq!(
        csv(&samples),
        "command,mean,stddev,median,user,system,min,max,\"parameter_a,b\"\n\
         \"echo \"\"a,b\"\" | tr `id -u` x\",0.011485692,,0.011485692,0.001292,0,0.011485692,0.011485692,1\n"
    );
    let table = super::table(Markup::Markdown, &samples, &[], None);
    assert!(table.contains("| `` echo \"a,b\" \\| tr `id -u` x `` | 11.5 | 11.5 | 11.5 | 1 | 1 |"), "{table}");
}

#[test]
fn a_relative_time_has_its_interval() {
    let relative = Interval { estimate: 0.5, low: 0.4, high: 0.6, confidence: 0.95, n: 8 };
    insta::assert_snapshot!(table(Markup::Markdown, &samples("hyperfine-2.0.json"), &[None, Some(relative)], None));
}

#[test]
fn what_does_not_take_time_is_left_out() {
    let mut samples = samples("hyperfine-2.0.json");
    samples.benchmarks[0].unit = Unit::Byte;
    assert_eq!(csv(&samples).lines().count(), 2);
    assert!(!table(Markup::Markdown, &samples, &[], None).contains("sleep 0.01"));
}

#[test]
fn a_spreadsheet_computes_nothing_that_a_command_says() {
    let mut samples = samples("hyperfine-1.20-one-run.json");
    samples.benchmarks[0].name = "=1+1".to_owned();
    let subject = samples.benchmarks[0].subject.as_mut().expect("what hyperfine knows");
    subject.command = vec!["=1+1".to_owned()];
    subject.parameters.insert("level".to_owned(), "-O3".to_owned());
    subject.parameters.insert("offset".to_owned(), "-1.5".to_owned());
    assert!(csv(&samples).contains("\n'=1+1,0.011"), "{}", csv(&samples));
    assert!(csv(&samples).ends_with(",'-O3,-1.5\n"), "{}", csv(&samples));
}

#[test]
fn a_name_that_was_given_reaches_every_export_and_a_number_is_no_name() {
    let mut samples = samples("hyperfine-2.0.json");
    let command = samples.benchmarks[0].subject.as_ref().expect("what hyperfine knows").command.join(" ");
    samples.benchmarks[0].name = format!("{command} (2)");
    samples.benchmarks[1].name = "release #3 build".to_owned();
    let json: Value = serde_json::from_slice(&hyperfine(&samples)).expect("JSON");
    assert_eq!(json["results"][0]["command"], command.as_str());
    assert_eq!(json["results"][1]["command"], "release #3 build");
    assert!(csv(&samples).contains("\nrelease #3 build,"), "{}", csv(&samples));
    assert!(table(Markup::Markdown, &samples, &[], None).contains("| `release #3 build` |"));
}

#[test]
fn a_ratio_of_something_else_than_the_times_beside_it_says_so() {
    let of = |metric| table(Markup::Markdown, &samples("hyperfine-2.0.json"), &[], Some(metric));
    assert!(
        of(Metric::Rss).starts_with("| Command | Mean ± σ [") && of(Metric::Rss).contains("| Relative peak memory |\n")
    );
    assert!(of(Metric::Wall).contains("| Relative |\n"));
}

#[test]
fn other_markup_keeps_commands_in_their_cells() {
    let samples = samples("hyperfine-2.0.json");
    insta::assert_snapshot!("asciidoc", table(Markup::AsciiDoc, &samples, &[], None));
    insta::assert_snapshot!("org", table(Markup::Org, &samples, &[], None));
    for markup in [Markup::AsciiDoc, Markup::Org] {
        let code = markup.code("a | b `c` = {d}\n<e> :: +f+");
        assert!(!code.contains(['|', '\n']), "{code}");
    }
}
