//! Steps judged by reports that were made by hand.

use std::time::Duration;

use super::*;
use crate::failures::Failures;
use crate::meter::{Meter, Span};
use crate::report::{Batch, GeneratorUse, Report, Wire};
use crate::stamp::Stamp;

const SPAN: Span = Span { start_ns: 0, end_ns: 1_000_000_000 };

fn options() -> Options {
    let mut options = crate::options::tests::options(10, 10, 0);
    options.traffic.rate_hz = 10.0;
    options
}

/// 100 packets that were sent `late_ns` late and answered `took_ns` after their intended times.
fn report(took_ns: u64, late_ns: u64) -> Report {
    report_with_lost(took_ns, late_ns, 0)
}

/// The same, of which the last `lost` have no answer.
fn report_with_lost(took_ns: u64, late_ns: u64, lost: u64) -> Report {
    let mut meter = Meter::new(1, 1_000_000_000);
    meter.begin(SPAN);
    for at in 0..100u64 {
        let intended_ns = at * 1_000_000;
        let number = meter.next_number(0);
        meter.sent(0, number, intended_ns, intended_ns + late_ns);
        let stamp = Stamp { intended_ns, number, reply_bytes: 16 };
        if at < 100 - lost {
            meter.received(0, &stamp.packet(16), intended_ns + took_ns);
        }
    }
    Report {
        options: options(),
        batches: vec![Batch { clients: 10, times_ns: vec![1_000; 10], failures: Failures::default() }],
        lost: Failures::default(),
        span: Some(SPAN),
        meter,
        wire: Wire::default(),
        server: None,
        server_drops: None,
        remaining: 0,
        generator: GeneratorUse::default(),
        is_interrupted: false,
    }
}

fn judged(conditions: &[&str], report: &Report) -> Outcome {
    let conditions: Vec<Condition> = conditions.iter().map(|text| text.parse().expect("a condition")).collect();
    Step::of(&conditions, 10, report).outcome
}

#[test]
fn all_conditions_must_hold() {
    let report = report(20_000_000, 0);
    assert_eq!(judged(&["p99<50ms"], &report), Outcome::Holds);
    assert_eq!(judged(&["p99<50ms", "median<10ms"], &report), Outcome::Fails);
    assert_eq!(judged(&["max<30ms", "loss<1%", "connect<1ms"], &report), Outcome::Holds);
    assert_eq!(judged(&["connect<1us"], &report), Outcome::Fails);
}

#[test]
fn a_packet_without_an_answer_is_slower_than_any_bound() {
    for (lost, condition, outcome) in [
        (0, "max<50ms", Outcome::Holds),
        (1, "p99<50ms", Outcome::Holds),
        (1, "max<50ms", Outcome::Fails),
        (2, "p99<50ms", Outcome::Fails),
        (50, "median<50ms", Outcome::Holds),
        (51, "median<50ms", Outcome::Fails),
        (100, "p1<50ms", Outcome::Fails),
    ] {
        assert_eq!(judged(&[condition], &report_with_lost(20_000_000, 0, lost)), outcome, "{lost} lost, {condition}");
    }
    let step = Step::of(&[], 10, &report_with_lost(20_000_000, 0, 2)).measured.expect("it was measured");
    let [median, p99, max] = step.latency_ns.expect("there are answers");
    assert!(median.is_finite() && p99.is_infinite() && max.is_infinite());
}

#[test]
fn a_client_without_a_connection_fails_a_step() {
    for lose in [
        |report: &mut Report| report.lost.add(Reason::TimedOut),
        |report: &mut Report| {
            report.batches[0].failures.add(Reason::TimedOut);
        },
    ] {
        let mut report = report(1_000_000, 0);
        lose(&mut report);
        assert_eq!(judged(&["p99<50ms"], &report), Outcome::Fails);
    }
}

#[test]
fn a_late_generator_is_to_blame_only_if_it_could_be() {
    // Late by 20 ms: a bound of 50 ms was exceeded perhaps for that; one of 1 s was not.
    assert_eq!(judged(&["p99<50ms"], &report(60_000_000, 20_000_000)), Outcome::GeneratorLimited);
    assert_eq!(judged(&["p99<500ms"], &report(600_000_000, 20_000_000)), Outcome::Fails);
    // What holds although packets were sent late holds.
    assert_eq!(judged(&["p99<50ms"], &report(30_000_000, 20_000_000)), Outcome::Holds);
    // Without a bound of a latency any lateness counts.
    assert_eq!(judged(&["connect<1us"], &report(30_000_000, 20_000_000)), Outcome::GeneratorLimited);
}

#[test]
fn packets_that_were_never_sent_are_load_that_the_server_did_not_have() {
    let mut report = report(1_000_000, 0);
    report.meter.unsent(5_000_000);
    assert_eq!(judged(&["p99<50ms"], &report), Outcome::GeneratorLimited);
}

#[test]
fn a_step_that_leaves_clients_behind_is_followed_by_a_pause() {
    let mut report = report(1_000_000, 0);
    let leaves = |report: &Report| Step::of(&[], 10, report).leaves_clients();
    assert!(!leaves(&report));
    report.remaining = 1;
    assert!(leaves(&report) && Step::without(&[], 10, Outcome::Fails).leaves_clients());
}

#[test]
fn samples_have_a_benchmark_for_each_number_of_clients_and_a_run_for_each_step() {
    let step = |clients| Step { clients, ..Step::of(&[], clients, &report(1_000_000, 0)) };
    let options = CapacityOptions {
        load: options(),
        range: ClientRange { low: 10, high: 20 },
        conditions: Vec::new(),
        precision: 0.1,
        steps_max: 3,
        settle: Duration::ZERO,
    };
    let steps = vec![step(10), step(20), step(10)];
    let capacity = Capacity { options, steps, knee: Knee::Unknown, end: End::StepsMax };
    let samples = capacity.samples("1", Vec::new()).expect("there are answers");
    let runs = |name: &str| samples.benchmarks.iter().find(|one| one.name == name).map(|one| one.runs.len());
    assert_eq!(runs("load latency p99, 10 clients"), Some(2));
    assert_eq!(runs("load latency p99, 20 clients"), Some(1));
}
