//! Differences between two measurements besides the compared one: machine, kernel, build, tuning.

use std::collections::BTreeSet;

use prony_stats::samples::{Benchmark, Circumstances};
use serde_json::Value;

use prony_stats::compare::Compared;

/// Metadata of pyperf and of imports that tell of a machine or a build.
const METADATA: [&str; 16] = [
    "hostname",
    "cpu_model_name",
    "cpu_count",
    "cpu_config",
    "cpu_affinity",
    "platform",
    "aslr",
    "python_version",
    "python_implementation",
    "python_compiler",
    "python_cflags",
    "python_executable",
    "goos",
    "goarch",
    "gomaxprocs",
    "sampling_mode",
];

/// Differences that are spelled out; of more it is said how many there are.
const MOST_LISTED: usize = 5;

/// A sentence for each kind of difference, once for all comparisons of the same files.
pub fn of(compared: &[Compared<'_>]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut sentences = Vec::new();
    for one in compared {
        let [a, b] = one.files;
        let found = between(one).into_iter().map(|(what, differences)| {
            format!("{what} differs between {} and {}: {}", a.name, b.name, listed(&differences))
        });
        let build = build(one.a, one.b)
            .map(|differences| format!("the build of `{}` differs: {}", one.b.name, listed(&differences)));
        // In one file the builds differ because they are compared.
        let build = build.filter(|_| !std::ptr::eq(a, b));
        for sentence in found.chain(build) {
            if seen.insert(sentence.clone()) {
                sentences.push(sentence);
            }
        }
    }
    sentences
}

fn between(one: &Compared<'_>) -> Vec<(&'static str, Vec<String>)> {
    let [a, b] = one.files.map(|file| file.samples.circumstances.as_ref());
    let facts = |of: fn(&Circumstances) -> &Value, what: &'static str| {
        let (a, b) = (a.map_or(&Value::Null, of), b.map_or(&Value::Null, of));
        let mut differences = Vec::new();
        // What one side does not know is no difference.
        if !a.is_null() && !b.is_null() {
            differ("", a, b, &mut differences);
        }
        (what, differences)
    };
    let metadata = METADATA.iter().filter_map(|key| {
        let (a, b) = (one.a.metadata.get(*key)?, one.b.metadata.get(*key)?);
        (a != b).then(|| format!("{key} {a} → {b}"))
    });
    let version =
        |of: Option<&Circumstances>| of.map(|of| of.prony_version.clone()).filter(|version| !version.is_empty());
    let versions = version(a).zip(version(b)).filter(|(a, b)| a != b);
    let all = [
        ("the machine", metadata.collect()),
        facts(|circumstances| &circumstances.machine, "the machine"),
        facts(|circumstances| &circumstances.tuning, "the tuning"),
        ("the prony version", versions.map(|(a, b)| format!("{a} → {b}")).into_iter().collect()),
    ];
    all.into_iter().filter(|(_, differences): &(_, Vec<String>)| !differences.is_empty()).collect()
}

fn build(a: &Benchmark, b: &Benchmark) -> Option<Vec<String>> {
    let of = |benchmark: &Benchmark| benchmark.subject.as_ref().map(|subject| subject.build.clone());
    let (a, b) = (of(a).filter(|build| !build.is_null())?, of(b).filter(|build| !build.is_null())?);
    let mut differences = Vec::new();
    differ("", &a, &b, &mut differences);
    (!differences.is_empty()).then_some(differences)
}

/// Walks both trees; a leaf that differs is named by its path.
fn differ(path: &str, a: &Value, b: &Value, differences: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differ(&path, a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), differences);
            }
        }
        (a, b) if a != b => differences.push(format!("{path} {} → {}", leaf(a), leaf(b)).trim_start().to_owned()),
        _ => {}
    }
}

fn leaf(value: &Value) -> String {
    const MOST_CHARACTERS: usize = 60;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => "unknown".to_owned(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn listed(differences: &[String]) -> String {
    let first = differences.iter().take(MOST_LISTED).cloned().collect::<Vec<_>>().join(", ");
    match differences.len().saturating_sub(MOST_LISTED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leaves_that_differ_are_named_by_their_path() {
        let a = json!({ "kernel": { "release": "6.1.0", "smt": true }, "cpu": "EPYC", "nodes": [1] });
        let b = json!({ "kernel": { "release": "6.5.0", "smt": true }, "nodes": [1, 2], "governor": "performance" });
        let mut differences = Vec::new();
        differ("", &a, &b, &mut differences);
        assert_eq!(
            differences,
            [
                "cpu EPYC → unknown",
                "kernel.release 6.1.0 → 6.5.0",
                "nodes [1] → [1,2]",
                "governor unknown → performance"
            ]
        );
        let many: Vec<String> = (0..8).map(|number| format!("n{number}")).collect();
        assert_eq!(listed(&many), "n0, n1, n2, n3, n4 and 3 more");
    }
}
