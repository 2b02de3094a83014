//! Stores: many connections, small requests, as fast as they come.

use std::process::Command;

use crate::proof::{Flip, prove};
use prony_testing::clients::{memcached, tools};
use prony_testing::recording::{Server, record};
use prony_testing::scratch::{Scratch, Turn, free_address, program};

#[test]
fn redis_under_its_benchmark_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("redis");
    let address = free_address();
    let state = scratch.directory("state");
    let port = address.port().to_string();
    let server = Server::new([
        &program("/usr/bin/redis-server", "redis-server"),
        "--bind",
        "127.0.0.1",
        "--port",
        &port,
        "--dir",
        &state,
        "--appendonly",
        "yes",
        "--save",
        "",
    ])
    .with_state(state.clone());
    let benchmark = program("/usr/bin/redis-benchmark", "redis-tools");
    let mut rounds = 0;
    let demo = record(&scratch, &server, |stop| {
        // The benchmark hangs when its first connection is not answered.
        if !stop.until(|| std::net::TcpStream::connect(address).is_ok()) {
            return;
        }
        rounds = tools::repeat(stop, || {
            let mut command = Command::new(&benchmark);
            let tests = "ping_mbulk,set,get,incr,lpush,lrange_100,sadd,hset,zadd,mset";
            command.args(["-h", "127.0.0.1", "-p", &port, "-q", "-c", "20", "-n", "2000", "-r", "500", "-t", tests]);
            command
        });
    });
    assert!(rounds > 0, "the benchmark ran to its end at least once");
    // `SET` becomes a command that redis does not know.
    prove(
        &scratch,
        &demo,
        Flip::input(|request| request.windows(5).position(|word| word == b"\nSET\r").map(|at| at + 1)),
    );
}

#[test]
fn memcached_with_four_threads_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("memcached");
    let address = free_address();
    let port = address.port().to_string();
    // It refuses to run as root without a user to become; as any other user the flag does nothing.
    let server = Server::new([
        &program("/usr/bin/memcached", "memcached"),
        "-t",
        "4",
        "-l",
        "127.0.0.1",
        "-p",
        &port,
        "-U",
        "0",
        "-u",
        "root",
    ]);
    let mut answered = 0;
    let demo = record(&scratch, &server, |stop| {
        if stop.until(|| std::net::TcpStream::connect(address).is_ok()) {
            answered = memcached::load(address, 16, stop);
        }
    });
    assert!(answered > 1000, "{answered} requests were answered");
    prove(&scratch, &demo, Flip::input(|request| request.starts_with(b"get ").then_some(0)));
}
