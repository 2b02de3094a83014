use super::*;
use crate::schedule::Schedule;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const PERIOD: u64 = 10 * MS;
const SPAN: Span = Span { start_ns: SECOND, end_ns: 11 * SECOND };

fn meter(clients: usize) -> Meter {
    let mut meter = Meter::new(clients, 2 * SECOND);
    meter.begin(SPAN);
    meter
}

fn send(meter: &mut Meter, client: usize, intended_ns: u64) -> Vec<u8> {
    let number = meter.next_number(client);
    meter.sent(client, number, intended_ns, intended_ns + 5);
    Stamp { intended_ns, number, reply_bytes: 16 }.packet(16)
}

/// One client that sends a hundred packets a second for eleven seconds, to a server that answers after a millisecond
/// but stalls from 3 s to 4 s; `blocks` says when the client itself does nothing.
fn stalled(blocks: impl Fn(u64) -> bool) -> Meter {
    let mut schedule = Schedule::new(1, 1, PERIOD, |_| true);
    let mut meter = meter(1);
    let mut answers: Vec<(u64, Vec<u8>)> = Vec::new();
    for now_ns in (0..14 * SECOND).step_by(MS as usize) {
        if blocks(now_ns) {
            continue;
        }
        while let Some(due) = schedule.pop(now_ns.min(SPAN.end_ns - 1)) {
            let number = meter.next_number(0);
            meter.sent(0, number, due.intended_ns, now_ns);
            let stamp = Stamp { intended_ns: due.intended_ns, number, reply_bytes: 16 };
            let is_in_stall = (3 * SECOND..4 * SECOND).contains(&now_ns);
            answers.push((if is_in_stall { 4 * SECOND } else { now_ns } + MS, stamp.packet(16)));
        }
        answers.retain(|(at_ns, packet)| {
            if *at_ns <= now_ns {
                meter.received(0, packet, now_ns);
            }
            *at_ns > now_ns
        });
    }
    meter
}

/// Of the thousand packets that count, a hundred fall into the stall: as many as wait for more than half of it are
/// charged with that, though only one was on its way when it began.
fn is_charged_in_full(meter: &Meter) {
    let counts = meter.counts();
    assert_eq!((counts.sent, counts.answered, counts.lost()), (1000, 1000, 0));
    let latency = meter.latency();
    let longer = |ns| latency.len() - latency.count_between(0, ns);
    assert_eq!(longer(500 * MS), 50);
    assert_eq!(longer(900 * MS), 10);
    assert!((995 * MS..1010 * MS).contains(&latency.max()), "{}", latency.max());
    assert!(latency.value_at_quantile(0.5) <= 3 * MS);
}

#[test]
fn a_server_that_stalls_is_charged_with_every_packet_of_the_stall() {
    let meter = stalled(|_| false);
    is_charged_in_full(&meter);
    assert!(meter.lateness().max() < 2 * MS);
}

#[test]
fn a_client_that_is_kept_from_sending_by_the_stall_finds_the_same() {
    // What a client does that waits for its answer, or whose socket blocks.
    let meter = stalled(|now_ns| (3 * SECOND..4 * SECOND).contains(&now_ns));
    is_charged_in_full(&meter);
    // And it is reported that packets left late.
    assert!(meter.lateness().max() >= 989 * MS);
}

#[test]
fn what_is_sent_before_and_after_does_not_count() {
    let mut meter = meter(1);
    for intended_ns in [0, SPAN.start_ns - 1, SPAN.end_ns, SPAN.end_ns + 1] {
        let packet = send(&mut meter, 0, intended_ns);
        meter.received(0, &packet, intended_ns + MS);
        meter.unsent(intended_ns);
        meter.disconnected(intended_ns);
    }
    assert_eq!(meter.counts(), Counts::default());
    assert_eq!(meter.counts().reply_ratio(), None);
    assert!(meter.latency().is_empty() && meter.lateness().is_empty());
}

#[test]
fn answers_count_once_late_ones_apart_and_others_not_at_all() {
    let mut meter = meter(2);
    let at = SPAN.start_ns + 5 * SECOND;
    let early = send(&mut meter, 1, SPAN.start_ns - 10);
    let packets: Vec<Vec<u8>> = (0..100).map(|number| send(&mut meter, 1, at + number)).collect();
    for packet in &packets[..90] {
        meter.received(1, packet, at + SECOND);
    }
    meter.received(1, &packets[90], at + 90 + 2 * SECOND);
    meter.received(1, &packets[91], at + 91 + 2 * SECOND + 1);
    meter.received(1, &packets[0], at + 3 * SECOND);
    meter.received(1, &early, at);
    let counts = meter.counts();
    assert_eq!((counts.sent, counts.answered, counts.late, counts.lost()), (100, 91, 1, 8));
    assert_eq!((counts.duplicates, counts.strange, counts.answer_bytes), (1, 0, 92 * 16));
    assert_eq!(counts.reply_ratio(), Some(0.91));
    // Of another client, of none, not sent yet, from the future, cut.
    meter.received(0, &packets[95], at + SECOND);
    let stamp = |intended_ns, number| Stamp { intended_ns, number, reply_bytes: 0 }.packet(16);
    meter.received(1, &stamp(at, 101), at + SECOND);
    meter.received(1, &stamp(at + SECOND, 7), at);
    meter.received(1, &packets[95][..15], at + SECOND);
    meter.received(1, &stamp(SPAN.start_ns, 0), at + SECOND);
    assert_eq!(meter.counts().strange, 5);
    assert_eq!(meter.counts().answered, 91);
}

#[test]
fn windows_are_seconds_or_a_sixtieth_and_fill_the_span() {
    let span = |seconds: u64| Span { start_ns: 7, end_ns: 7 + seconds * SECOND / 10 };
    for (tenths, windows) in [(1, 1), (10, 1), (19, 1), (20, 2), (100, 10), (600, 60), (36_000, 60)] {
        let span = span(tenths);
        assert_eq!(span.windows(), windows, "{tenths}");
        assert_eq!(span.window_start_ns(0), span.start_ns);
        assert_eq!(span.window_start_ns(windows), span.end_ns);
        assert_eq!(span.window_of(span.end_ns - 1), windows - 1);
        assert!((1..=windows).all(|window| span.window_start_ns(window) > span.window_start_ns(window - 1)));
    }
}

#[test]
fn meters_of_threads_add_up() {
    let mut together = meter(2);
    let mut apart = [meter(1), meter(1)];
    for number in 0..500 {
        let at = SPAN.start_ns + number * 20 * MS;
        for (client, alone) in apart.iter_mut().enumerate() {
            let packet = send(&mut together, client, at);
            together.received(client, &packet, at + number * MS / 10);
            let packet = send(alone, 0, at);
            alone.received(0, &packet, at + number * MS / 10);
        }
    }
    let mut sum = Meter::new(0, 2 * SECOND);
    for part in &apart {
        sum.merge(part);
    }
    assert_eq!(sum.counts(), together.counts());
    assert_eq!(sum.latency(), together.latency());
    assert_eq!(sum.lateness(), together.lateness());
    assert_eq!(sum.windows().len(), 10);
    assert!(sum.windows().iter().all(|window| window.sent == 100 && window.latency.len() == 100));
}
