//! Loads on real servers over loopback: on the stock library, and on ours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use prony_load::{Connections, LoadError, Options, Reason, Reply, Report, Sharing, Traffic, Warning, load};
use prony_testing::enet::server::{Server, closed_port};

/// The server on our hosts, which is built with these tests.
fn ours(flags: &[&str]) -> Server {
    let test = std::env::current_exe().expect("a test has a path");
    let target: PathBuf = test.ancestors().nth(2).expect("it lies in target/debug/deps").into();
    let program = target.join("examples/enet-echo");
    assert!(program.exists(), "it is built by `cargo test -p prony-load`, without --test");
    Server::start(&program, flags)
}

const TRAFFIC: Traffic = Traffic {
    rate_hz: 20.0,
    payload_bytes: 16,
    reply: Reply::Echo,
    channels: 4,
    reliable: 1.0,
    throttle: false,
    checksum: false,
    range_coder: false,
};
const CONNECTIONS: Connections =
    Connections { batch: 20, burst: 0, timeout: Duration::from_secs(60), sharing: Sharing::Own };

/// Fifty clients for a second. Waits are long: a machine that is busy may be slow, and loses nothing.
fn options(port: u16) -> Options {
    Options {
        target: (Ipv4Addr::LOCALHOST, port).into(),
        clients: 50,
        traffic: TRAFFIC,
        connections: CONNECTIONS,
        duration: Duration::from_secs(1),
        threads: 1,
        deadline: Duration::from_secs(60),
        server_pid: None,
        seed: 1,
    }
}

fn run(options: &Options) -> Report {
    load(options, || false, &mut |_| ()).expect("the server listens")
}

/// Every client has 20 packets in the second, and none is lost: they are sent reliably.
fn is_whole(report: &Report, answer_bytes: u64) {
    let counts = report.meter.counts();
    assert_eq!((report.connected(), report.failures().total(), report.lost.total()), (50, 0, 0));
    assert_eq!((counts.sent, counts.answered, counts.lost(), counts.late), (1000, 1000, 0, 0), "{counts:?}");
    assert_eq!((counts.duplicates, counts.strange, counts.unsent, counts.disconnected), (0, 0, 0, 0));
    assert_eq!(report.reply_ratio(), Some(1.0));
    assert_eq!(counts.answer_bytes, 1000 * answer_bytes);
    assert_eq!((report.latency().len(), report.meter.lateness().len()), (1000, 1000));
    assert_eq!(report.batches.iter().map(|batch| batch.times_ns.len()).collect::<Vec<_>>(), [20, 20, 10]);
    assert!(report.batches.iter().all(|batch| batch.times_ns.is_sorted()));
    assert!(report.wire.datagrams_sent >= 1000 / 2 && report.wire.datagrams_received > 0);
    assert_eq!(report.wire.dropped, 0);
}

#[test]
fn every_packet_to_the_stock_library_is_answered() {
    let server = Server::stock(&[]);
    let report = run(&Options { server_pid: Some(server.pid()), ..options(server.port) });
    is_whole(&report, 16);
    let watched = report.server.expect("its process is known");
    assert!(watched.total().1.cpu_ns > 0 && !watched.is_gone && watched.windows.len() == 1);
    assert!(report.server_drops.is_some());
    assert_eq!(report.generator.threads.len(), 1);
}

#[test]
fn every_packet_to_our_hosts_is_answered_over_ipv6_too() {
    let server = ours(&["--address", "::1"]);
    let target = (IpAddr::from(Ipv6Addr::LOCALHOST), server.port).into();
    let report = run(&Options { target, server_pid: Some(server.pid()), ..options(0) });
    is_whole(&report, 16);
    assert!(report.server_drops.is_some());
}

#[test]
fn clients_that_share_a_socket_are_distinguished() {
    for server in [Server::stock(&[]), ours(&[])] {
        is_whole(
            &run(&Options {
                connections: Connections { sharing: Sharing::Shared, ..CONNECTIONS },
                ..options(server.port)
            }),
            16,
        );
    }
}

#[test]
fn threads_share_the_clients() {
    let server = Server::stock(&[]);
    let report = run(&Options { threads: 3, ..options(server.port) });
    is_whole(&report, 16);
    assert_eq!(report.generator.threads.len(), 3);
}

#[test]
fn answers_are_as_long_as_requested_with_checksum_and_compression_on_both_sides() {
    // The longer ones come in pieces.
    for (flags, reply) in [(&["--checksum"][..], 400), (&["--compress"], 1600), (&["--checksum", "--compress"], 5000)] {
        let is = |flag| flags.contains(&flag);
        for server in [Server::stock(flags), ours(flags)] {
            let (checksum, range_coder) = (is("--checksum"), is("--compress"));
            let options = Options {
                traffic: Traffic { checksum, range_coder, reply: Reply::Bytes(reply), ..TRAFFIC },
                ..options(server.port)
            };
            is_whole(&run(&options), reply.into());
        }
    }
}

#[test]
fn without_packets_connections_are_kept() {
    let server = Server::stock(&[]);
    let report = run(&Options { traffic: Traffic { rate_hz: 0.0, ..TRAFFIC }, ..options(server.port) });
    assert_eq!((report.connected(), report.lost.total()), (50, 0));
    assert_eq!((report.meter.counts().sent, report.reply_ratio()), (0, None));
    // Each side tries the other twice a second.
    assert!(report.wire.datagrams_sent > 0 && report.wire.datagrams_received > 0);
}

#[test]
fn without_answers_packets_are_sent_all_the_same() {
    let server = Server::stock(&[]);
    let report = run(&Options { traffic: Traffic { reply: Reply::None, ..TRAFFIC }, ..options(server.port) });
    let counts = report.meter.counts();
    assert_eq!((counts.sent, counts.answered, report.reply_ratio()), (1000, 0, None));
}

#[test]
fn with_its_throttle_enet_may_drop_what_is_counted_as_throttled() {
    let server = Server::stock(&[]);
    let traffic = Traffic { throttle: true, reliable: 0.5, ..TRAFFIC };
    let report = run(&Options { traffic, deadline: Duration::from_secs(1), ..options(server.port) });
    let counts = report.meter.counts();
    assert_eq!((counts.sent, report.lost.total()), (1000, 0));
    // The server's own throttle, and its kernel, may drop answers too; the reliable half arrives.
    assert!(counts.answered + counts.late >= 500 && report.wire.throttled <= 500, "{counts:?}");
}

#[test]
fn a_server_that_dies_leaves_its_loss_counted() {
    let mut server = Some(Server::stock(&[]));
    let running = server.as_ref().expect("it runs");
    let options = Options {
        server_pid: Some(running.pid()),
        duration: Duration::from_secs(2),
        deadline: Duration::from_secs(1),
        ..options(running.port)
    };
    let report = load(&options, || false, &mut |progress| {
        if progress.measured_s.is_some_and(|seconds| seconds > 0.5) {
            // Who has no owner any more is killed.
            server = None;
        }
    });
    let report = report.expect("clients were connected");
    let counts = report.meter.counts();
    assert_eq!(report.connected(), 50);
    assert_eq!(counts.sent + counts.disconnected + counts.unsent, 2000);
    assert!(counts.answered > 0 && counts.lost() > 0, "{counts:?}");
    assert!(report.reply_ratio().is_some_and(|ratio| ratio < 1.0));
    assert!(report.server.is_some_and(|server| server.is_gone));
    assert!(report.wire.port_closed > 0 && report.wire.resent > 0);
}

#[test]
fn a_closed_port_is_distinguished_from_a_silent_one() {
    for sharing in [Sharing::Own, Sharing::Shared] {
        let connections = Connections { sharing, ..CONNECTIONS };
        let closed = Options { connections, ..options(closed_port()) };
        match load(&closed, || false, &mut |_| ()) {
            Err(LoadError::NoConnection { failures }) => assert_eq!(failures.of(Reason::PortClosed), 50),
            other => panic!("{other:?}"),
        }
        let silent = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let port = silent.local_addr().expect("it is bound").port();
        let connections = Connections { timeout: Duration::from_millis(50), ..connections };
        let silent = Options { connections, ..options(port) };
        match load(&silent, || false, &mut |_| ()) {
            Err(LoadError::NoConnection { failures }) => assert_eq!(failures.of(Reason::TimedOut), 50),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_server_that_is_full_leaves_clients_outside() {
    for server in [Server::stock(&["--slots", "30"]), ours(&["--slots", "30"])] {
        let connections = Connections { timeout: Duration::from_secs(2), ..CONNECTIONS };
        let report = run(&Options { connections, ..options(server.port) });
        // Our hosts give the slot to who proves its address first, and turn away who was second.
        let turned_away = report.lost.of(Reason::ByServer);
        let failed = report.failures().of(Reason::TimedOut);
        assert_eq!((report.connected() as u64 - turned_away, failed + turned_away), (30, 20));
        let counts = report.meter.counts();
        assert_eq!((counts.sent, counts.answered, counts.disconnected), (600, 600, 20 * turned_away));
    }
}

#[test]
fn clients_leave_so_that_the_next_find_their_slots_free() {
    for server in [Server::stock(&["--slots", "50"]), ours(&["--slots", "50"])] {
        for _ in 0..3 {
            is_whole(&run(&options(server.port)), 16);
        }
    }
}

#[test]
fn a_run_that_is_ended_early_says_so() {
    let server = Server::stock(&[]);
    let options = Options { duration: Duration::from_secs(600), ..options(server.port) };
    let is_measuring = std::cell::Cell::new(false);
    let report = load(&options, || is_measuring.get(), &mut |progress| {
        is_measuring.set(progress.measured_s.is_some_and(|seconds| seconds > 0.2));
    });
    let report = report.expect("clients were connected");
    assert!(report.is_interrupted && report.warnings().contains(&Warning::Interrupted));
    assert!(report.meter.counts().sent > 0);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_sent() {
    let no_server = Options { server_pid: Some(u32::MAX), ..options(closed_port()) };
    assert!(matches!(load(&no_server, || false, &mut |_| ()), Err(LoadError::NoServer { pid: u32::MAX })));
    let many = Options { clients: 1 << 30, ..options(closed_port()) };
    assert!(matches!(load(&many, || false, &mut |_| ()), Err(LoadError::Descriptors { .. })));
}
