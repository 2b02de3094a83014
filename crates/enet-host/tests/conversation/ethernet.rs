//! Drivers on Ethernet ports: a veth whose other end has a stock client on a socket, or another driver. They need root.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use prony_enet::Host;
use prony_enet_host::ethernet::{EthernetOptions, EthernetSocket, Refused, Unsent};
use prony_enet_host::{Driver, Transport, random_seed};
use prony_testing::enet::conversation::{FORMS, Form, Program};
use prony_testing::namespace::{Beyond, ip, is_inside};

use super::{Client, PATIENCE, UdpSocket, echo, settings};

const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 1), 7777);
const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 2), 7778);

/// Two ends of a wire, without addresses of the kernel.
fn veth() {
    let queues = "numrxqueues 1 numtxqueues 1";
    ip(&format!("link add near {queues} type veth peer name far {queues}"));
    for name in ["near", "far"] {
        ip(&format!("link set dev {name} addrgenmode none"));
        ip(&format!("link set dev {name} up"));
    }
}

/// Has the kernel make the checksums of what leaves through `interface`: `ethtool -K INTERFACE tx off`.
fn make_checksums(interface: &str) {
    /// <linux/ethtool.h>
    const ETHTOOL_STXCSUM: u32 = 0x17;
    let mut value = [ETHTOOL_STXCSUM, 0];
    // SAFETY: all fields are integers, or a pointer that may be null: zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port is free");
    // SAFETY: `request` has a name and leads to a command with its value; both outlive the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

type EthernetDriver = Driver<EthernetSocket<prony_ixgbe::AnyPort>>;

fn driver(port: &str, address: SocketAddrV4, form: Form, sleeps: bool) -> EthernetDriver {
    let port = port.parse().expect("any text is an address");
    let options = EthernetOptions { sleeps, ring_entries: 1024, ..EthernetOptions::default() };
    let socket = EthernetSocket::open(&port, address, &options).expect("a veth takes any program");
    Driver::new(Host::new(8, settings(form), &random_seed()), socket)
}

/// Serves a stock client until it leaves.
fn serve(server: &mut EthernetDriver, form: Form) {
    let client = Beyond::start("far", "10.77.0.2/24", &Program::client_command(form, SERVER));
    let started = Instant::now();
    while !echo(server, Duration::from_millis(100)) {
        assert!(started.elapsed() < PATIENCE, "{form:?}: {:?}", server.transport().traffic());
    }
    assert!(client.wait().success(), "{form:?}");
}

/// Runs one conversation in the namespace of a test.
fn converse_with_stock(form: Form, sleeps: bool) {
    veth();
    make_checksums("far");
    let mut server = driver("xdp:near", SERVER, form, sleeps);
    serve(&mut server, form);
    let traffic = server.transport().traffic();
    assert!(traffic.arp_answered > 0 && traffic.received > 0, "{traffic:?}");
    let lost = traffic.missed.expect("interfaces count") + traffic.unsent(Unsent::NoBuffer);
    assert_eq!((lost, traffic.refused(Refused::Checksum)), (0, 0), "{traffic:?}");
    assert_eq!(traffic.received, server.host().statistics().datagrams_received);
    assert_eq!(traffic.sent, server.host().statistics().datagrams_sent);
}

#[test]
fn a_stock_client_on_a_socket_converses_with_a_host_on_an_interface() {
    if is_inside("ethernet::a_stock_client_on_a_socket_converses_with_a_host_on_an_interface") {
        converse_with_stock(FORMS[0], true);
    }
}

#[test]
fn a_stock_client_converses_with_checksums_and_compression_of_its_own() {
    if is_inside("ethernet::a_stock_client_converses_with_checksums_and_compression_of_its_own") {
        converse_with_stock(FORMS[3], true);
    }
}

#[test]
fn a_stock_client_converses_with_a_host_that_polls() {
    if is_inside("ethernet::a_stock_client_converses_with_a_host_that_polls") {
        converse_with_stock(FORMS[0], false);
    }
}

#[test]
fn frames_whose_checksums_are_left_to_a_card_are_refused_and_counted() {
    if !is_inside("ethernet::frames_whose_checksums_are_left_to_a_card_are_refused_and_counted") {
        return;
    }
    veth();
    let mut server = driver("xdp:near", SERVER, FORMS[0], true);
    let client = Beyond::start("far", "10.77.0.2/24", &Program::client_command(FORMS[0], SERVER));
    let started = Instant::now();
    while server.transport().traffic().refused(Refused::Checksum) == 0 {
        assert!(started.elapsed() < PATIENCE, "{:?}", server.transport().traffic());
        assert!(server.service(Duration::from_millis(100)).expect("the port works").is_none());
    }
    drop(client);
}

#[test]
fn two_hosts_on_both_ends_of_a_wire_find_each_other() {
    if !is_inside("ethernet::two_hosts_on_both_ends_of_a_wire_find_each_other") {
        return;
    }
    veth();
    let mut server = driver("xdp:near", SERVER, FORMS[1], true);
    let mut client = Client::connect(driver("xdp:far", CLIENT, FORMS[1], true), SERVER.into());
    client.converse(&mut server);
    // The first CONNECT found no hardware address; the next had it.
    let traffic = client.driver.transport().traffic();
    assert_eq!((traffic.arp_requests, traffic.unsent(Unsent::Unresolved)), (1, 1), "{traffic:?}");
    assert_eq!(server.transport().traffic().arp_answered, 1);
}

#[test]
fn a_wait_ends_when_a_frame_arrives_and_when_its_time_is_over() {
    if !is_inside("ethernet::a_wait_ends_when_a_frame_arrives_and_when_its_time_is_over") {
        return;
    }
    veth();
    let open = |port: &str, address| {
        EthernetSocket::open(&port.parse().expect("any text"), address, &EthernetOptions::default()).expect("a veth")
    };
    let (mut near, mut far) = (open("xdp:near", SERVER), open("xdp:far", CLIENT));
    near.wait(Duration::from_millis(1)).expect("the port works");
    assert_eq!(near.receive().expect("the port works"), 0);
    let datagram = prony_enet_host::Datagram { to: SERVER.into(), bytes: vec![7; 30] };
    // The request, its answer, and the datagram: each wait has no other end.
    far.send(std::slice::from_ref(&datagram));
    near.wait(PATIENCE * 1000).expect("the port works");
    assert_eq!(near.receive().expect("the port works"), 0);
    far.wait(PATIENCE * 1000).expect("the port works");
    assert_eq!(far.receive().expect("the port works"), 0);
    far.send(std::slice::from_ref(&datagram));
    near.wait(PATIENCE * 1000).expect("the port works");
    assert_eq!(near.receive().expect("the port works"), 1);
    assert_eq!(near.datagram(0), Some((CLIENT.into(), &[7; 30][..])));
}
