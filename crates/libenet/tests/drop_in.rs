//! The library in place of the stock one, under programs that were built for that.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use prony_enet::{Event, Received, Settings};
use prony_enet_host::{Driver, SocketOptions};
use prony_testing::enet::conversation::{FORMS, Program};
use tempfile::TempDir;

/// The library that was built along with this test, in a folder where programs find it.
fn library() -> TempDir {
    let test = std::env::current_exe().expect("a test has a path");
    let built = test.with_file_name("libenet.so");
    assert!(built.exists(), "{} is built with its tests", built.display());
    let folder = TempDir::new().expect("a folder");
    symlink(built, folder.path().join("libenet.so.7")).expect("the folder is ours");
    folder
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn symbols(library: &Path) -> BTreeSet<String> {
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output();
    let listed = text(listed.expect("nm is installed: apt-get install binutils"));
    listed.lines().filter_map(|line| line.split_once(" T ")).map(|(_, name)| name.to_owned()).collect()
}

fn stock() -> PathBuf {
    let listed = text(Command::new("cc").arg("-print-file-name=libenet.so.7").output().expect("gcc is installed"));
    let stock = PathBuf::from(listed.trim());
    assert!(stock.is_absolute(), "the stock library is installed: apt-get install libenet-dev");
    stock
}

#[test]
fn it_has_the_name_and_the_symbols_of_the_stock_library() {
    let folder = library();
    let ours = folder.path().join("libenet.so.7");
    let named = symbols(&ours);
    assert_eq!(named.len(), 73);
    assert_eq!(named, symbols(&stock()));
    let read = Command::new("readelf").arg("-d").arg(&ours).output().expect("readelf is installed");
    assert!(text(read).contains("Library soname: [libenet.so.7]"));
}

/// What `behaviour.c` says of the library in `folder`, or of the stock one, when built with our header or that one's.
fn behaviour(folder: Option<&Path>, header: Option<&str>) -> String {
    let built = TempDir::new().expect("a folder");
    let program = built.path().join("behaviour");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
    cc.args(header.map(|folder| format!("-I{folder}")));
    cc.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/behaviour.c")).arg("-lenet");
    text(cc.output().expect("a C compiler is installed: apt-get install gcc libc6-dev"));
    let mut run = Command::new(program);
    if let Some(folder) = folder {
        run.env("LD_LIBRARY_PATH", folder);
    }
    text(run.output().expect("it was just compiled"))
}

#[test]
fn what_a_program_can_ask_is_answered_as_the_stock_library_does() {
    let folder = library();
    let header = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/include"));
    let stock = behaviour(None, None);
    assert!(stock.lines().count() > 150, "{stock}");
    for ours in [behaviour(Some(folder.path()), None), behaviour(Some(folder.path()), header), behaviour(None, header)]
    {
        for (stock, ours) in stock.lines().zip(ours.lines()) {
            assert_eq!(ours, stock);
        }
        assert_eq!(ours.lines().count(), stock.lines().count());
    }
}

#[test]
fn c_programs_converse_on_it_with_each_other_and_with_those_on_the_stock_library() {
    let folder = library();
    let ours = Some(folder.path());
    for (of_server, of_client) in [(ours, ours), (ours, None), (None, ours)] {
        for form in FORMS {
            let (server, at) = Program::server(form, of_server);
            Program::client(form, at.port(), of_client).ends_well();
            server.ends_well();
        }
    }
}

/// A program in Python on the binding that Debian ships.
fn python(script: &str, port: &str, library: Option<&Path>) -> Child {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-u", "-c", script, port]).stdout(Stdio::piped());
    if let Some(folder) = library {
        command.env("LD_LIBRARY_PATH", folder);
    }
    command.spawn().expect("python3 is installed: apt-get install python3-enet")
}

const PYTHON_SERVER: &str = r#"
import enet, sys, time
host = enet.Host(enet.Address(b"127.0.0.1", 0), 8, 2, 0, 0)
host.checksum = enet.ENET_CRC32
print(host.address.port)
end = time.monotonic() + 30
while time.monotonic() < end:
    event = host.service(100)
    if event.type == enet.EVENT_TYPE_RECEIVE:
        assert event.peer.state == enet.PEER_STATE_CONNECTED
        event.peer.send(event.channelID, enet.Packet(event.packet.data[::-1], enet.PACKET_FLAG_RELIABLE))
    elif event.type == enet.EVENT_TYPE_DISCONNECT:
        sys.exit(0 if event.data == 7 else 1)
sys.exit(2)
"#;

const PYTHON_CLIENT: &str = r#"
import enet, sys, time
host = enet.Host(None, 1, 2, 0, 0)
host.checksum = enet.ENET_CRC32
peer = host.connect(enet.Address(b"127.0.0.1", int(sys.argv[1])), 2, 5)
end = time.monotonic() + 30
came = []
while time.monotonic() < end:
    event = host.service(100)
    if event.type == enet.EVENT_TYPE_CONNECT:
        for number in range(50):
            assert peer.send(number % 2, enet.Packet(b"%d:" % number + bytes(range(200)) * (number % 20), 1)) == 0
    elif event.type == enet.EVENT_TYPE_RECEIVE:
        came.append(event.packet.data)
        if len(came) == 50:
            for channel in (0, 1):
                assert [p for p in came if int(p[::-1].split(b":")[0]) % 2 == channel] == [
                    (b"%d:" % number + bytes(range(200)) * (number % 20))[::-1] for number in range(channel, 50, 2)]
            peer.disconnect(7)
    elif event.type == enet.EVENT_TYPE_DISCONNECT:
        sys.exit(0 if len(came) == 50 else 1)
sys.exit(2)
"#;

/// A process that ends with this.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is reaped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_python_binding_runs_on_it_in_both_roles() {
    let folder = library();
    let ours = Some(folder.path());
    for (of_server, of_client) in [(ours, ours), (ours, None), (None, ours)] {
        let mut server = Reaped(python(PYTHON_SERVER, "", of_server));
        let mut port = String::new();
        BufReader::new(server.0.stdout.take().expect("piped")).read_line(&mut port).expect("a line");
        assert!(!port.is_empty(), "the binding is installed: apt-get install python3-enet");
        let mut client = Reaped(python(PYTHON_CLIENT, port.trim(), of_client));
        assert!(client.0.wait().expect("our child").success());
        assert!(server.0.wait().expect("our child").success());
    }
}

#[test]
fn a_host_may_have_more_peers_than_the_stock_library_allows() {
    let folder = library();
    let script =
        "import enet; host = enet.Host(None, 65535, 2, 0, 0); assert host.service(0).type == 0; print(host.peerCount)";
    let mut ours = Reaped(python(script, "", Some(folder.path())));
    let mut count = String::new();
    BufReader::new(ours.0.stdout.take().expect("piped")).read_line(&mut count).expect("a line");
    assert_eq!(count.trim(), "65535");
    assert!(ours.0.wait().expect("our child").success());
}

/// Three hundred datagrams of no peer, then a packet; `service` is called once.
const PYTHON_NOISE: &str = r#"
import enet, socket, time
server, client = enet.Host(enet.Address(b"127.0.0.1", 0), 8, 1, 0, 0), enet.Host(None, 1, 1, 0, 0)
peer = client.connect(server.address, 1, 0)
connected = set()
while len(connected) < 2:
    for host in server, client:
        if host.service(0).type == enet.EVENT_TYPE_CONNECT:
            connected.add(host)
noise = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(300):
    noise.sendto(bytes(3), ("127.0.0.1", server.address.port))
peer.send(0, enet.Packet(b"behind all that"))
client.flush()
print(server.service(0).packet.data.decode())
"#;

#[test]
fn datagrams_without_an_event_keep_back_none_that_makes_one() {
    let folder = library();
    let mut process = Reaped(python(PYTHON_NOISE, "", Some(folder.path())));
    let mut said = String::new();
    BufReader::new(process.0.stdout.take().expect("piped")).read_line(&mut said).expect("a line");
    assert_eq!(said.trim(), "behind all that");
    assert!(process.0.wait().expect("our child").success());
}

/// A port that is free, as is the one before it: servers of the Cube family answer at two.
fn two_ports() -> u16 {
    (0..100)
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port())
        .find(|&port| UdpSocket::bind(("127.0.0.1", port - 1)).is_ok())
        .expect("two free ports")
}

/// Starts a server on our library, has a client connect to it, and returns the first packet that the client gets.
fn greeting(mut server: Command, library: &Path, port: u16) -> Received {
    server.env("LD_LIBRARY_PATH", library).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Reaped(server.spawn().expect("the server is installed: scripts/setup test"));
    let settings = Settings { mtu: 1400, ..Settings::default() };
    let mut client = Driver::bind("127.0.0.1:0".parse().unwrap(), 1, settings, &SocketOptions::default()).unwrap();
    let at = format!("127.0.0.1:{port}").parse().unwrap();
    let mut peer = client.host_mut().connect(at, 3, 0).unwrap();
    let started = Instant::now();
    let greeting = loop {
        assert!(started.elapsed() < Duration::from_secs(30) && server.0.try_wait().unwrap().is_none());
        match client.service(Duration::from_millis(100)).unwrap() {
            Some(Event::Receive { packet, .. }) => break packet,
            Some(Event::Disconnect { .. }) => peer = client.host_mut().connect(at, 3, 0).unwrap(),
            _ => {}
        }
    };
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", server.0.id())).unwrap();
    let ours = std::fs::canonicalize(library.join("libenet.so.7")).unwrap();
    assert!(maps.contains(ours.to_str().unwrap()), "it runs on our library");
    client.host_mut().disconnect_now(peer, 0);
    client.flush();
    greeting
}

#[test]
fn cube_2_serves_a_client_on_it() {
    let folder = library();
    let port = two_ports();
    let mut server = Command::new("/usr/lib/cube2/cube2_server");
    // It is not announced: no master server, and its address is this machine's own.
    server.args(["-i127.0.0.1", &format!("-j{}", port - 1), "-m", "-c4"]);
    server.current_dir(folder.path()).env("HOME", folder.path());
    let greeting = greeting(server, folder.path(), port - 1);
    // N_SERVINFO with the client's number and the version of the protocol, 260 as 0x80 and two bytes.
    assert_eq!((greeting.channel, greeting.payload[0]), (1, 1));
    assert_eq!(greeting.payload[2..5], [0x80, 4, 1]);
}

#[test]
fn red_eclipse_serves_a_client_on_it() {
    let folder = library();
    let port = two_ports();
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/redeclipse/usr");
    // It looks for this file to know that the game's data is there, and reads nothing of it.
    let home = folder.path().join("game");
    std::fs::create_dir_all(home.join("data/maps")).unwrap();
    std::fs::write(home.join("data/maps/readme.txt"), "none").unwrap();
    symlink(installed.join("share/games/redeclipse/config"), home.join("config")).unwrap();
    symlink(installed.join("share/games/redeclipse/sql"), home.join("sql")).unwrap();
    let mut server = Command::new(installed.join("lib/games/redeclipse/redeclipse-server"));
    server.args([format!("-h{}", folder.path().display()), format!("-sp{port}")]).args(["-si127.0.0.1", "-sm0"]);
    server.current_dir(&home).env("HOME", folder.path());
    let greeting = greeting(server, folder.path(), port);
    // N_SERVERINIT with the client's number and the version of the protocol, 230 as 0x80 and two bytes.
    assert_eq!((greeting.channel, greeting.payload[0]), (1, 1));
    assert_eq!(greeting.payload[2..5], [0x80, 0xe6, 0]);
}
