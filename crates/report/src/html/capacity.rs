//! The answer of `prony load enet --until` on a page, and its curves.

use maud::{Markup, html};
use prony_load::{Capacity, Condition, Knee, Level, Quantity, Spread};
use prony_text::{count, thousands};

use crate::html::document::{document, framed, head, heading, verdict};
use crate::study::sentences::{Tone, Verdict};
use crate::svg::chart::curves::{Along, Curve, Curves, Point};
use crate::text::capacity::{sentence, table, warning};

/// Latency by number of clients: median, 99th percentile and maximum, the tightest bounds and the knee.
pub fn curves_of_latency(capacity: &Capacity) -> Curves {
    let levels = capacity.levels();
    let line = |name: &str, value: fn(&Level) -> Option<Spread>| Curve {
        name: name.to_owned(),
        points: points(&levels, value, 1e-9),
    };
    let mut lines = vec![
        line("median", |level| level.median_ns),
        line("p99", |level| level.p99_ns),
        line("max", |level| level.max_ns),
        line("connect", |level| level.connect_ns),
    ];
    lines.extend(capacity.options.conditions.iter().filter_map(|condition| bound(condition, &levels)));
    lines.retain(|line| !line.points.is_empty());
    curves(capacity, "latency", ("second", true), lines)
}

/// CPU time of the server for each client by number of clients; `None` if it is not known.
fn curves_of_cpu(capacity: &Capacity) -> Option<Curves> {
    let points = points(&capacity.levels(), |level| level.client_share, 1.0);
    let line = Curve { name: "CPU time per client and second".to_owned(), points };
    (!line.points.is_empty()).then(|| curves(capacity, "server CPU per client", ("second", false), vec![line]))
}

fn curves(capacity: &Capacity, what: &str, (unit, log): (&str, bool), lines: Vec<Curve>) -> Curves {
    let mark = match capacity.knee {
        Knee::Found(interval) => {
            Some((interval.estimate, format!("{} clients", thousands(interval.estimate.round() as u64))))
        }
        _ => None,
    };
    Curves {
        title: format!("{}: {what} by number of clients", capacity.options.load.target),
        along: (Along::Ratios, "clients".to_owned()),
        unit: unit.to_owned(),
        log,
        lines,
        marks: mark.into_iter().collect(),
    }
}

/// A bound as a level line.
fn bound(condition: &Condition, levels: &[Level]) -> Option<Curve> {
    let value = match condition.quantity {
        Quantity::Latency(_) | Quantity::Connect => condition.below / 1e9,
        Quantity::Loss => return None,
    };
    let (first, last) = (levels.first()?.clients, levels.last()?.clients);
    let points = [first, last].map(|at| Point { at: at as f64, value, range: (value, value) });
    Some(Curve { name: format!("bound of {}", condition.quantity), points: points.to_vec() })
}

fn points(levels: &[Level], value: fn(&Level) -> Option<Spread>, factor: f64) -> Vec<Point> {
    let point = |level: &Level| {
        let Spread { median, min, max, .. } = value(level)?;
        let range = (min * factor, max * factor);
        // A packet without an answer has no place on the axis.
        max.is_finite().then_some(Point { at: level.clients as f64, value: median * factor, range })
    };
    levels.iter().filter_map(point).collect()
}

/// The page: the answer, its curves, and the table they are drawn from.
pub fn page_of_capacity(capacity: &Capacity, version: &str) -> String {
    let latency = curves_of_latency(capacity);
    let cpu = curves_of_cpu(capacity);
    let said = Verdict {
        tone: match capacity.knee {
            Knee::Found(_) | Knee::NotReached { .. } => Tone::Good,
            Knee::NoneHolds { .. } => Tone::Bad,
            Knee::GeneratorLimit { .. } | Knee::Unknown => Tone::Warn,
        },
        claim: sentence(capacity),
        basis: String::new(),
    };
    let load = &capacity.options.load;
    let traffic = load.traffic;
    let below = html! {
        (count(capacity.steps.len() as u64, "step")) " of " (load.duration.as_secs_f64()) " s; each client sends "
        (traffic.rate_hz) " packets of " (traffic.payload_bytes) " bytes a second over " (count(traffic.channels, "channel"))
    };
    let body: Markup = html! {
        (head(&format!("Capacity of {}", load.target), &below))
        (verdict(&said))
        @for one in capacity.warnings() { p class="warn" { (warning(one)) } }
        section {
            (heading("Latency", "median of the steps; pointing at a mark shows least and greatest"))
            div class="card wide" { (framed(&latency.drawing())) }
        }
        @if let Some(cpu) = &cpu {
            section {
                (heading("Server CPU per client", "CPU time per second of all threads, divided by the clients"))
                div class="card wide" { (framed(&cpu.drawing())) }
            }
        }
        section {
            (heading("Steps by number of clients", "medians of the steps"))
            pre { (table(capacity).text()) }
        }
    };
    document("Capacity", latency.lines.len(), ("", &[]), version, &body)
}
