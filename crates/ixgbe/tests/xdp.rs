//! The forwarder on interfaces of the kernel: two pairs of veth in a network namespace of their own, the ends of which are
//! the generator and the validator of the software card.
//!
//! They need root and network namespaces, and fail without.

mod wire;

use std::time::Duration;

use prony_ixgbe::{Options, Pool, PoolKind, Port, XdpSocket, wait_for_frames};
use prony_testing::namespace::{ip, is_inside};
use wire::{Example, exchange};

/// Has frames forwarded both ways. Returns frames a second, and frames a second of the forwarder's CPU time.
fn forward(frames: u64, sizes: &str) -> [f64; 2] {
    for [name, peer] in [["left", "a"], ["right", "b"]] {
        let queues = "numrxqueues 1 numtxqueues 1";
        ip(&format!("link add {name} {queues} type veth peer name {peer} {queues}"));
    }
    for name in ["left", "right", "a", "b"] {
        ip(&format!("link set dev {name} addrgenmode none"));
        ip(&format!("link set dev {name} up"));
    }
    let forwarder = Example::start("forward", &["xdp:left", "xdp:right"]);
    exchange(["xdp:a", "xdp:b"], &forwarder, frames, sizes)
}

#[test]
fn frames_of_every_size_are_forwarded_whole_between_interfaces_of_the_kernel() {
    if is_inside("frames_of_every_size_are_forwarded_whole_between_interfaces_of_the_kernel") {
        forward(5000, "64..1514");
    }
}

/// `cargo test --release -p prony-ixgbe rate -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn rate() {
    if is_inside("rate") {
        let [wall, cpu] = forward(500_000, "60").map(|rate| rate / 1e6);
        println!("{wall:.3} Mpps, both ways together; {cpu:.3} Mpps of the forwarder's CPU time");
    }
}

#[test]
fn an_interface_that_does_not_exist_and_a_pool_that_is_too_small_are_reported() {
    let mut pool = Pool::for_sockets(PoolKind::default(), 64).expect("there is memory");
    let error = XdpSocket::open("lo", &mut pool, Options::default()).expect_err("64 buffers are too few");
    assert!(error.to_string().ends_with("free buffers in the pool, found 64"), "{error}");
    let mut pool = Pool::for_sockets(PoolKind::default(), 8192).expect("there is memory");
    let error = XdpSocket::open("prony-none", &mut pool, Options::default()).expect_err("there is no such interface");
    assert!(error.to_string().starts_with("cannot find the interface for prony-none: "), "{error}");
}

#[test]
fn a_frame_that_arrives_ends_a_wait_and_the_address_is_that_of_the_interface() {
    if !is_inside("a_frame_that_arrives_ends_a_wait_and_the_address_is_that_of_the_interface") {
        return;
    }
    ip("link add left address 02:00:00:00:00:0a type veth peer name right");
    for name in ["left", "right"] {
        ip(&format!("link set dev {name} addrgenmode none"));
        ip(&format!("link set dev {name} up"));
    }
    let mut pool = Pool::for_sockets(PoolKind::default(), 8192).expect("there is memory");
    let mut open = |name, interrupt| {
        XdpSocket::open(name, &mut pool, Options { interrupt, ..Options::default() }).expect("a veth takes any program")
    };
    let (mut left, mut right) = (open("left", true), open("right", false));
    assert_eq!(left.hardware_address(), [2, 0, 0, 0, 0, 10]);
    assert!(right.interrupt().is_none() && right.enable_interrupt(), "opened without");
    // Nothing has come: the limit ends the wait.
    wait_for_frames(&mut [&mut left], Some(Duration::from_millis(1))).expect("it can be waited for");
    let mut packets = Vec::new();
    assert_eq!(left.rx_batch(&mut pool, &mut packets, 32), 0);
    let mut packet = pool.take(60).expect("a buffer is free");
    pool.bytes_mut(&mut packet).fill(0xff);
    packets.push(packet);
    assert_eq!(right.tx_batch(&mut pool, &mut packets), 1);
    wait_for_frames(&mut [&mut left], None).expect("it can be waited for");
    assert_eq!(left.rx_batch(&mut pool, &mut packets, 32), 1);
    assert_eq!(left.missed(), Some(0));
}
