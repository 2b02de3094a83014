//! Answers of `prony load enet --until`, rendered from steps of a simulated server.

use std::time::Duration;

use prony_load::{
    Capacity, CapacityOptions, CapacityWarning, ClientRange, Connections, End, Failures, Knee, Measured, Options,
    Outcome, Reply, Search, Sharing, Step, Traffic,
};
use prony_report::text::capacity::{sentence, text, warning};
use prony_report::{curves_of_latency, json, page_of_capacity};

fn options(conditions: &[&str]) -> CapacityOptions {
    CapacityOptions {
        load: Options {
            target: ([127, 0, 0, 1], 7777).into(),
            clients: 5000,
            traffic: Traffic {
                rate_hz: 10.0,
                payload_bytes: 16,
                reply: Reply::Echo,
                channels: 4,
                reliable: 0.0,
                throttle: false,
                checksum: false,
                range_coder: false,
            },
            connections: Connections { batch: 500, burst: 0, timeout: Duration::from_secs(10), sharing: Sharing::Own },
            duration: Duration::from_secs(3),
            threads: 1,
            deadline: Duration::from_secs(2),
            server_pid: None,
            seed: 1,
        },
        range: ClientRange { low: 100, high: 5000 },
        conditions: conditions.iter().map(|text| text.parse().expect("a condition")).collect(),
        precision: 0.1,
        steps_max: 30,
        settle: Duration::from_secs(30),
    }
}

/// A step of a server whose latency grows with the square of the clients; p99 is 50 ms at `knee`.
fn step(clients: usize, knee: f64, number: usize) -> Step {
    let p99_ns = 50e6 * (clients as f64 / knee).powi(2) * (1.0 + 0.01 * (number % 3) as f64);
    let measured = Measured {
        latency_ns: Some([p99_ns / 10.0, p99_ns, p99_ns * 2.0]),
        answers: clients as u64 * 30,
        loss: Some(0.0),
        failures: Failures::default(),
        lost: Failures::default(),
        connect_ns: Some(5_000_000),
        server_share: Some(clients as f64 * 2e-4),
        server_drops: Some(0),
        lateness_ns: 30_000,
        remaining: 0,
        warnings: Vec::new(),
        benchmarks: Vec::new(),
    };
    let outcome = if p99_ns < 50e6 { Outcome::Holds } else { Outcome::Fails };
    Step { clients, outcome, values: vec![Some(p99_ns)], measured: Some(measured) }
}

/// Search on a server whose p99 is 50 ms at `knee` clients.
fn searched(knee: f64, steps_max: usize) -> Capacity {
    let options = CapacityOptions { steps_max, ..options(&["p99<50ms"]) };
    let mut search = Search::new(options.range, options.precision, steps_max);
    let mut steps = Vec::new();
    while let Some(clients) = search.next() {
        let step = step(clients, knee, steps.len());
        search.record(clients, step.outcome);
        steps.push(step);
    }
    let end = if search.is_decided() { End::Decided } else { End::StepsMax };
    Capacity { options, steps, knee: search.knee(), end }
}

#[test]
fn a_knee_is_shown_with_its_interval_and_its_curve() {
    insta::assert_snapshot!(text(&searched(1240.0, 30)));
}

#[test]
fn every_answer_is_a_sentence() {
    let of = |knee| Capacity { knee, ..searched(1240.0, 30) };
    let answers = [
        searched(1e9, 30),
        searched(1.0, 30),
        searched(1240.0, 3),
        of(Knee::GeneratorLimit { holds: Some(700), clients: 740 }),
        of(Knee::GeneratorLimit { holds: None, clients: 100 }),
        of(Knee::Unknown),
        Capacity { options: options(&["p99.9<1.5s", "loss<0.1%", "connect<20ms"]), ..searched(1240.0, 30) },
    ];
    let sentences: Vec<String> = answers.iter().map(sentence).collect();
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn every_warning_is_a_clause() {
    let warnings = [
        CapacityWarning::Imprecise { steps: 30 },
        CapacityWarning::Interrupted,
        CapacityWarning::ServerGone,
        CapacityWarning::GeneratorLimited { steps: 1 },
        CapacityWarning::GeneratorLimited { steps: 2 },
        CapacityWarning::ServerWaited { steps: 1 },
        CapacityWarning::ClientsUnserved { steps: 2 },
    ];
    insta::assert_snapshot!(warnings.map(warning).join("\n"));
}

#[test]
fn the_document_has_the_answer_with_its_bounds() {
    let document = serde_json::to_value(json::capacity::answer(&searched(1240.0, 3), &[])).expect("JSON");
    assert_eq!(document["answer"]["kind"], "not_reached", "{document}");
    let document = serde_json::to_value(json::capacity::answer(&searched(1240.0, 30), &[])).expect("JSON");
    let clients = &document["answer"]["clients"];
    let at = |name: &str| clients[name].as_f64().expect("a number");
    assert!(at("low") <= 1240.0 && 1240.0 <= at("high") && at("low") < at("estimate"), "{clients}");
    assert_eq!(document["conditions"][0], serde_json::json!({"quantity": "p99", "below": 0.05}));
    assert_eq!(document["curve"][0]["clients"], 100);
    assert!((document["curve"][0]["server_share_per_client"]["median"].as_f64().expect("known") - 2e-4).abs() < 1e-12);
}

#[test]
fn curves_have_the_bound_and_the_knee() {
    let capacity = searched(1240.0, 30);
    let latency = curves_of_latency(&capacity);
    let names: Vec<&str> = latency.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["median", "p99", "max", "connect", "bound of p99"]);
    assert!(matches!(&latency.marks[..], [(at, _)] if (1100.0..1400.0).contains(at)), "{:?}", latency.marks);
    let page = page_of_capacity(&capacity, "1");
    for part in [
        "Capacity of 127.0.0.1:7777",
        "up to 1,2",
        "Server CPU per client",
        "CPU time per client and second at 100: 200 µs",
        "bound of p99",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
