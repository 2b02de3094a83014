//! Profiles as JSON.

pub mod diff;
pub mod zones;

use prony_profile::{Share, Stacks, Walk, WeightUnit, component_shares, function_shares};
use serde_json::{Value, json};

use crate::profile::{Found, LEVEL, Shown};
use crate::text::profile::trigger;

/// JSON value of a profile that was taken.
pub fn taken(found: &Found<'_>, shown: Shown<'_>, doubts: &[String]) -> Value {
    let Found { name, recording, profile, chosen } = found;
    let mut answer = stored(name, &profile.stacks, shown);
    answer["sampled"] = json!({
        "trigger": trigger(recording),
        "frequency_hz": recording.frequency_hz,
        "seconds": (recording.ended_ns.saturating_sub(recording.began_ns)) as f64 / 1e9,
        "kernel": recording.kernel,
        "dwarf": recording.walk != Walk::FramePointers,
        "lost": recording.lost,
        "cut_stacks": recording.cut,
        "stacks_from_generated_code": profile.from_generated_code,
        "unfinished_waits": recording.unfinished,
    });
    answer["frames"] = chosen.map_or(Value::Null, |chosen| {
        json!({
            "frames": chosen.frames, "of_frames": chosen.of_frames, "shortest_ns": chosen.shortest_ns,
            "samples": chosen.samples, "of_samples": chosen.of_samples,
        })
    });
    let missing_symbols = profile.missing_symbols.iter().map(
        |(missing_symbols, samples)| json!({ "object": missing_symbols.object, "why": missing_symbols.why.to_string(), "samples": samples }),
    );
    answer["without_names"] = missing_symbols.collect();
    answer["doubts"] = json!(doubts);
    answer
}

/// JSON value of a file of stacks.
pub fn stored(name: &str, stacks: &Stacks, shown: Shown<'_>) -> Value {
    json!({
        "name": name,
        "samples": stacks.observations(),
        "effective_samples": stacks.effective_observations(),
        "total": stacks.total(),
        "unit": match stacks.weight_unit() { WeightUnit::Samples => "samples", WeightUnit::WaitingUs => "µs" },
        "components": component_shares(stacks, shown.components, LEVEL).iter().map(share).collect::<Vec<_>>(),
        "functions": function_shares(stacks, LEVEL).iter().map(share).collect::<Vec<_>>(),
    })
}

fn share(share: &Share) -> Value {
    json!({
        "name": share.name,
        "inclusive": share.inclusive,
        "self": share.own,
        "inclusive_total": share.inclusive_weight,
        "self_total": share.own_weight,
    })
}
