//! `prony profile zones` in the terminal.

use std::fmt::Write;

use prony_profile::{Zone, Zones};
use prony_text::{Untrusted, count, significant, thousands};

/// The times of all zones, for people.
pub fn text(zones: &Zones) -> String {
    let mut out = format!(
        "{} s of {}, {} ticks a second; a zone costs {} ns\n\n",
        significant(zones.wall_s),
        count(zones.threads, "thread"),
        thousands(zones.ticks_per_s as u64),
        significant(zones.cost_s * 1e9)
    );
    let width = zones.zones.iter().map(|zone| shown(zone).chars().count() + 2 * zone.depth).max().unwrap_or(4).max(4);
    let _ = writeln!(
        out,
        "  {:<width$}  {:>12}  {:>10}  {:>7}  {:>10}  {:>7}  {:>10}  {:>8}",
        "zone", "hits", "with, s", "%", "without, s", "%", "a hit, ns", "GB/s"
    );
    for zone in &zones.zones {
        let per_hit = zone.inclusive_s / zone.hits.max(1) as f64;
        let share = |seconds: f64| format!("{:.1}", seconds / zones.wall_s * 100.0);
        let row = format!(
            "  {:<width$}  {:>12}  {:>10}  {:>7}  {:>10}  {:>7}  {:>10}  {:>8}",
            format!("{}{}", "  ".repeat(zone.depth), shown(zone)),
            thousands(zone.hits),
            significant(zone.inclusive_s),
            share(zone.inclusive_s),
            significant(zone.exclusive_s),
            share(zone.exclusive_s),
            significant(per_hit * 1e9),
            zone.gb_per_s().map_or(String::new(), significant),
        );
        let _ = writeln!(out, "{}", row.trim_end());
    }
    let costly: Vec<String> = zones.costly().map(shown).collect();
    if !costly.is_empty() {
        let _ = writeln!(out, "\nmostly the overhead of the zones themselves: {}", costly.join(", "));
    }
    let _ = writeln!(out, "\n% of wall time, over all threads; each time is one sum, n = 1 run");
    out
}

fn shown(zone: &Zone) -> String {
    Untrusted::new(&zone.name).to_string()
}
