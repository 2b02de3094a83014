//! Name servers: UDP and TCP, one process or several, with and without threads.

use std::net::SocketAddr;

use crate::proof::{Flip, prove};
use prony_testing::clients::dns;
use prony_testing::recording::{Server, record};
use prony_testing::scratch::{Scratch, Turn, free_address, program};

/// What every configuration below answers.
const NAMES: &[(&str, &str, &str)] = &[
    ("one.prony.test", "A", "10.1.2.3"),
    ("two.prony.test", "A", "10.1.2.4"),
    ("text.prony.test", "TXT", "a text of the zone"),
];

fn story(scratch: &Scratch, server: &Server, address: SocketAddr) {
    let (mut dug, mut answered) = (0, 0);
    let demo = record(scratch, server, |stop| {
        std::thread::scope(|scope| {
            scope.spawn(|| answered = dns::ask(address, &["one.prony.test", "two.prony.test", "no.prony.test"], stop));
            dug = dns::dig(address, NAMES, stop);
        });
    });
    assert!(dug > 0, "dig was never answered");
    assert!(answered > 100, "{answered} datagrams were answered");
    // The number of the question, which comes back in the answer.
    prove(scratch, &demo, Flip::input(|query| (query.len() > 12 && query.ends_with(&[0, 1, 0, 1])).then_some(0)));
}

#[test]
fn dnsmasq_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("dnsmasq");
    let address = free_address();
    let configuration = scratch.write(
        "dnsmasq.conf",
        format!(
            "port={}\nlisten-address=127.0.0.1\nbind-interfaces\nno-resolv\nno-hosts\nno-poll\ncache-size=100\n\
             user=\ngroup=\nlocal=/prony.test/\naddress=/one.prony.test/10.1.2.3\naddress=/two.prony.test/10.1.2.4\n\
             txt-record=text.prony.test,\"a text of the zone\"\n",
            address.port()
        ),
    );
    let dnsmasq = program("/usr/sbin/dnsmasq", "dnsmasq-base");
    let pid = scratch.arg("dnsmasq.pid");
    let server = Server::new([&dnsmasq, "--keep-in-foreground", "-C", &configuration, "-x", &pid, "--log-facility=-"]);
    story(&scratch, &server, address);
}

#[test]
fn unbound_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("unbound");
    let address = free_address();
    let directory = scratch.directory("state");
    let configuration = scratch.write(
        "unbound.conf",
        format!(
            "server:\n  interface: 127.0.0.1\n  port: {}\n  do-ip6: no\n  do-daemonize: no\n  chroot: \"\"\n\
             \x20 username: \"\"\n  directory: \"{directory}\"\n  pidfile: \"\"\n  use-syslog: no\n  num-threads: 2\n\
             \x20 module-config: \"iterator\"\n  local-zone: \"prony.test.\" static\n\
             \x20 local-data: \"one.prony.test. A 10.1.2.3\"\n  local-data: \"two.prony.test. A 10.1.2.4\"\n\
             \x20 local-data: 'text.prony.test. TXT \"a text of the zone\"'\n\
             remote-control:\n  control-enable: no\n",
            address.port()
        ),
    );
    // It changes to the directory and opens nothing there.
    let server =
        Server::new([&program("/usr/sbin/unbound", "unbound"), "-d", "-c", &configuration]).with_state(directory);
    story(&scratch, &server, address);
}

/// Threads that meet at barriers and lock with what they made themselves.
#[test]
fn bind_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("bind");
    let address = free_address();
    let state = scratch.directory("state");
    scratch.write(
        "state/zone",
        "$TTL 60\n@ IN SOA ns hostmaster 1 60 60 60 60\n@ IN NS ns\nns IN A 127.0.0.1\none IN A 10.1.2.3\n\
         two IN A 10.1.2.4\ntext IN TXT \"a text of the zone\"\n",
    );
    let configuration = scratch.write(
        "named.conf",
        format!(
            "options {{ directory \"{state}\"; listen-on port {} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
             recursion no; dnssec-validation no; pid-file \"{state}/pid\"; session-keyfile \"{state}/key\"; }};\n\
             controls {{ }};\nzone \"prony.test\" {{ type master; file \"{state}/zone\"; }};\n",
            address.port()
        ),
    );
    let server =
        Server::new([&program("/usr/sbin/named", "bind9"), "-g", "-c", &configuration]).with_state(state.clone());
    story(&scratch, &server, address);
}
