//! `prony profile zones` as JSON.

use prony_profile::Zones;
use serde_json::{Value, json};

/// JSON value of the times of all zones.
pub fn answer(zones: &Zones) -> Value {
    json!({
        "wall_s": zones.wall_s,
        "ticks_per_s": zones.ticks_per_s,
        "cost_s": zones.cost_s,
        "threads": zones.threads,
        "zones": zones.zones.iter().map(|zone| json!({
            "name": zone.name, "depth": zone.depth, "hits": zone.hits, "inclusive_s": zone.inclusive_s,
            "exclusive_s": zone.exclusive_s, "bytes": zone.bytes, "gb_per_s": zone.gb_per_s(),
        })).collect::<Vec<_>>(),
    })
}
