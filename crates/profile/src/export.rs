//! Export of profiles for other viewers.

use std::fmt::Write;

use serde_json::json;

use crate::profile::Profile;
use crate::recording::WeightUnit;

/// The file format of speedscope (<https://www.speedscope.app/file-format-schema.json>), one timeline a thread, in
/// milliseconds: a stack sample stands for the time between two of them. `frequency_hz`: how often each CPU was sampled.
pub fn speedscope(profile: &Profile, name: &str, version: &str, frequency_hz: u32) -> String {
    let stacks: Vec<&[u32]> = profile.stacks.iter().map(|(stack, _)| stack).collect();
    let mut threads: Vec<(i32, i32)> = profile.samples.iter().map(|sample| (sample.pid, sample.tid)).collect();
    threads.sort_unstable();
    threads.dedup();
    let weight_ms = match profile.stacks.weight_unit() {
        WeightUnit::Samples => 1e3 / f64::from(frequency_hz.max(1)),
        WeightUnit::WaitingUs => 1e-3,
    };
    let timelines: Vec<serde_json::Value> = threads
        .into_iter()
        .map(|thread| {
            let of_thread = profile.samples.iter().filter(|sample| (sample.pid, sample.tid) == thread);
            let (mut samples, mut weights, mut end) = (Vec::new(), Vec::new(), 0);
            let mut name = String::new();
            for sample in of_thread {
                let stack = stacks[sample.stack];
                name = stack.first().map_or(String::new(), |&thread| profile.stacks.text(thread).to_owned());
                samples.push(stack.get(1..).unwrap_or_default());
                weights.push(sample.weight as f64 * weight_ms);
                end += sample.weight;
            }
            json!({
                "type": "sampled", "name": format!("{name} {}/{}", thread.0, thread.1), "unit": "milliseconds",
                "startValue": 0, "endValue": end as f64 * weight_ms, "samples": samples, "weights": weights,
            })
        })
        .collect();
    let frames: Vec<serde_json::Value> = profile.stacks.names().iter().map(|name| json!({ "name": name })).collect();
    let document = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": format!("prony {version}"),
        "name": name,
        "shared": { "frames": frames },
        "profiles": timelines,
    });
    document.to_string() + "\n"
}

/// The text of `perf script`, which the Firefox Profiler, speedscope and FlameGraph's tools import.
///
/// Names stand without offsets and modules; a wait is a period of this many microseconds.
pub fn perf_script(profile: &Profile) -> String {
    let stacks: Vec<&[u32]> = profile.stacks.iter().map(|(stack, _)| stack).collect();
    let event = match profile.stacks.weight_unit() {
        WeightUnit::Samples => "cpu-clock",
        WeightUnit::WaitingUs => "off-cpu",
    };
    let mut text = String::new();
    for sample in &profile.samples {
        let Some((&thread, functions)) = stacks[sample.stack].split_first() else { continue };
        let (seconds, ns) = (sample.time_ns / 1_000_000_000, sample.time_ns % 1_000_000_000);
        let thread = profile.stacks.text(thread);
        let _ = writeln!(
            text,
            "{thread} {}/{} [000] {seconds}.{:06}: {:>10} {event}: ",
            sample.pid,
            sample.tid,
            ns / 1000,
            sample.weight
        );
        for &function in functions.iter().rev() {
            // Without an address some readers take a name for none; the number of the name serves.
            let name = profile.stacks.text(function);
            // Readers put the object's name in place of an unknown function's.
            let object = if name == "[unknown]" { name } else { "prony" };
            let _ = writeln!(text, "\t{:>16x} {name} ({object})", function + 1);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf_script::read_perf_script;
    use crate::profile::TimedSample;
    use crate::stacks::Stacks;

    fn profile() -> Profile {
        let mut stacks = Stacks::default();
        let [thread, main, tick] = ["srv", "[unknown]", "CServer::DoTick"].map(|name| stacks.name(name));
        let sample = |time_ns, tid, stack| TimedSample { time_ns, pid: 7, tid, stack, weight: 1 };
        let (a, b) = (stacks.add(&[thread, main], 1), stacks.add(&[thread, main, tick], 1));
        stacks.add(&[thread, main, tick], 1);
        let samples = vec![sample(1_000_500_000, 7, a), sample(2_000_000_000, 7, b), sample(2_500_000_000, 8, b)];
        Profile { stacks, samples, missing_symbols: Vec::new(), shallow: 0, from_generated_code: 0 }
    }

    #[test]
    fn what_is_exported_as_perf_script_reads_back() {
        let text = perf_script(&profile());
        assert!(text.starts_with("srv 7/7 [000] 1.000500:          1 cpu-clock: \n\t"), "{text}");
        let read = read_perf_script(text.as_bytes());
        assert_eq!((read.odd, read.stacks.folded()), (0, profile().stacks.folded()));
    }

    #[test]
    fn speedscope_has_a_timeline_for_each_thread() {
        let document: serde_json::Value =
            serde_json::from_str(&speedscope(&profile(), "a", "0", 250)).expect("it is JSON");
        let timelines = document["profiles"].as_array().expect("a list");
        assert_eq!(timelines.len(), 2);
        assert_eq!(timelines[0]["samples"], json!([[1], [1, 2]]));
        // Two samples, 4 ms apart.
        assert_eq!((&timelines[0]["endValue"], &timelines[0]["unit"]), (&json!(8.0), &json!("milliseconds")));
        assert_eq!(timelines[0]["weights"], json!([4.0, 4.0]));
        assert_eq!(document["shared"]["frames"][2]["name"], "CServer::DoTick");
    }
}
