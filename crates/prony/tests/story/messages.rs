//! A broker: long connections, messages from some to others.

use std::net::TcpStream;
use std::process::Command;

use crate::proof::{Flip, prove};
use prony_testing::clients::tools::{self, Tool};
use prony_testing::recording::{Server, record};
use prony_testing::scratch::{Scratch, Turn, free_address, program};

#[test]
fn mosquitto_with_publishers_and_subscribers_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("mosquitto");
    let address = free_address();
    let configuration = scratch.write(
        "mosquitto.conf",
        format!("listener {} 127.0.0.1\nallow_anonymous true\npersistence false\nuser root\n", address.port()),
    );
    let server = Server::new([&program("/usr/sbin/mosquitto", "mosquitto"), "-c", &configuration]);
    let publish = program("/usr/bin/mosquitto_pub", "mosquitto-clients");
    let subscribe = program("/usr/bin/mosquitto_sub", "mosquitto-clients");
    let port = address.port().to_string();
    let mut published = 0;
    let demo = record(&scratch, &server, |stop| {
        if !stop.until(|| TcpStream::connect(address).is_ok()) {
            return;
        }
        let _listeners: Vec<Tool> = (0..3)
            .map(|level| {
                let level = level.to_string();
                Tool::start(Command::new(&subscribe).args([
                    "-h",
                    "127.0.0.1",
                    "-p",
                    &port,
                    "-t",
                    "prony/#",
                    "-q",
                    &level,
                ]))
            })
            .collect();
        let mut round = 0;
        published = tools::repeat(stop, || {
            round += 1;
            let mut command = Command::new(&publish);
            let (topic, level) = (format!("prony/{}", round % 7), (round % 3).to_string());
            let message = format!("message {round} {}", "x".repeat(round % 900));
            command.args(["-h", "127.0.0.1", "-p", &port, "-t", &topic, "-q", &level, "-m", &message]);
            command
        });
    });
    assert!(published > 50, "{published} messages were published");
    prove(&scratch, &demo, Flip::passed_on(|packet| packet.windows(8).position(|word| word == b"message ")));
}
