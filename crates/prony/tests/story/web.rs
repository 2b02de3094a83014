//! Web servers and a proxy: files out, keep-alive and not.

use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::proof::{Flip, prove};
use prony_testing::clients::http::{self, Page};
use prony_testing::clients::tools;
use prony_testing::recording::{Server, record};
use prony_testing::scratch::{Scratch, Turn, free_address, program, run};

/// A small, an empty and a big file, and one that is not there.
fn site(scratch: &Scratch) -> Vec<Page> {
    let sizes = [("small", 613), ("empty", 0), ("big", 700_000)];
    let mut pages: Vec<Page> = sizes
        .into_iter()
        .zip(["/small.bin", "/empty.bin", "/big.bin"])
        .map(|((name, bytes), path)| {
            let body = http::content(bytes as u64, bytes);
            scratch.write(&format!("site/{name}.bin"), &body);
            Page { path, status: 200, body: Some(body) }
        })
        .collect();
    // Small pages are most of the traffic.
    for path in ["/small.bin", "/small.bin", "/small.bin"] {
        let body = Some(http::content(613, 613));
        pages.push(Page { path, status: 200, body });
    }
    pages.push(Page { path: "/missing.bin", status: 404, body: None });
    pages
}

/// Records `server` under load, then proves that its demo replays.
fn story(scratch: &Scratch, server: &Server, address: std::net::SocketAddr, pages: &[Page]) {
    let mut answered = 0;
    let demo = record(scratch, server, |stop| {
        if stop.until(|| TcpStream::connect(address).is_ok()) {
            answered = http::load(address, pages, 4, stop);
        }
    });
    assert!(answered > 100, "{answered} pages were served");
    prove(scratch, &demo, flip_path());
}

/// A letter of the path: another page is requested, one that does not exist.
fn flip_path() -> Flip {
    Flip::input(|request| request.starts_with(b"GET /small").then_some(6))
}

#[test]
fn nginx_in_one_process_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("nginx");
    let pages = site(&scratch);
    let address = free_address();
    let state = scratch.directory("state");
    let (root, prefix) = (scratch.arg("site"), &state);
    let configuration = scratch.write(
        "nginx.conf",
        format!(
            "daemon off; master_process off; pid {prefix}/nginx.pid; error_log stderr info;\n\
             events {{ worker_connections 256; }}\n\
             http {{\n\
               sendfile on; tcp_nopush on; access_log {prefix}/access.log; default_type application/octet-stream;\n\
               client_body_temp_path {prefix}/body; proxy_temp_path {prefix}/proxy; fastcgi_temp_path {prefix}/fastcgi;\n\
               uwsgi_temp_path {prefix}/uwsgi; scgi_temp_path {prefix}/scgi;\n\
               server {{ listen {address}; root {root}; }}\n\
             }}\n"
        ),
    );
    let nginx = program("/usr/sbin/nginx", "nginx-light");
    let server = Server::new([&nginx, "-p", &state, "-e", "stderr", "-c", &configuration]).with_state(state.clone());
    story(&scratch, &server, address, &pages);
}

#[test]
fn lighttpd_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("lighttpd");
    let pages = site(&scratch);
    let address = free_address();
    let configuration = scratch.write(
        "lighttpd.conf",
        format!(
            "server.document-root = \"{}\"\nserver.bind = \"127.0.0.1\"\nserver.port = {}\n",
            scratch.arg("site"),
            address.port()
        ),
    );
    // It reads the size of the empty file and never opens it.
    let server = Server::new([&program("/usr/sbin/lighttpd", "lighttpd"), "-D", "-f", &configuration])
        .with_state(scratch.arg("site"));
    story(&scratch, &server, address, &pages);
}

/// Threads that hand connections to each other, some that end while others begin.
#[test]
fn apache_with_its_event_threads_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("apache");
    let pages = site(&scratch);
    let address = free_address();
    let state = scratch.directory("state");
    let modules = "/usr/lib/apache2/modules";
    let configuration = scratch.write(
        "apache.conf",
        format!(
            "ServerRoot {state}\nListen {address}\nPidFile {state}/pid\nErrorLog {state}/errors\n\
             ServerName prony.test\nDocumentRoot {}\n\
             LoadModule mpm_event_module {modules}/mod_mpm_event.so\n\
             LoadModule authz_core_module {modules}/mod_authz_core.so\n\
             ServerLimit 1\nStartServers 1\nThreadsPerChild 8\nMinSpareThreads 1\nMaxSpareThreads 16\n\
             MaxRequestWorkers 8\n",
            scratch.arg("site")
        ),
    );
    let apache = program("/usr/sbin/apache2", "apache2-bin");
    let server = Server::new([&apache, "-X", "-f", &configuration]).with_state(state.clone());
    story(&scratch, &server, address, &pages);
}

/// A thread for each connection, and TLS, whose keys come from chance.
#[test]
fn stunnel_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("stunnel");
    let address = free_address();
    let origin = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let behind = origin.local_addr().expect("a bound socket has an address");
    let (key, certificate) = (scratch.arg("key.pem"), scratch.arg("certificate.pem"));
    run(Command::new(program("/usr/bin/openssl", "openssl"))
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=prony.test"])
        .args(["-keyout", &key, "-out", &certificate]));
    let configuration = scratch.write(
        "stunnel.conf",
        format!(
            "foreground = yes\npid =\nkey = {key}\ncert = {certificate}\n\
             [web]\naccept = {address}\nconnect = {behind}\n"
        ),
    );
    let server = Server::new([&program("/usr/bin/stunnel4", "stunnel4"), &configuration]);
    let curl = program("/usr/bin/curl", "curl");
    let page = format!("https://{address}/");
    let body = http::content(3, 2048);
    let fetched = AtomicU32::new(0);
    let demo = record(&scratch, &server, |stop| {
        std::thread::scope(|scope| {
            scope.spawn(|| http::serve(&origin, &body, stop));
            for _ in 0..3 {
                scope.spawn(|| {
                    let times = tools::repeat(stop, || {
                        let mut command = Command::new(&curl);
                        command.args(["--insecure", "--silent", "--fail", &page]);
                        command
                    });
                    fetched.fetch_add(times, Ordering::Relaxed);
                });
            }
        });
    });
    let fetched = fetched.into_inner();
    assert!(fetched > 50, "{fetched} pages were fetched");
    prove(&scratch, &demo, Flip::passed_on(|answer| answer.starts_with(b"HTTP/1.1 200").then_some(9)));
}

/// A proxy in front of an origin that the test itself serves. With one thread: two of them wait for
/// each other in loops that make no call, where neither a recording nor a replay can switch.
#[test]
fn haproxy_with_one_thread_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("haproxy");
    let address = free_address();
    let origin = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let behind = origin.local_addr().expect("a bound socket has an address");
    let configuration = scratch.write(
        "haproxy.cfg",
        format!(
            "global\n  nbthread 1\n  maxconn 200\n\
             defaults\n  mode http\n  timeout connect 2s\n  timeout client 5s\n  timeout server 5s\n\
             frontend web\n  bind {address}\n  default_backend origin\n\
             backend origin\n  server one {behind}\n"
        ),
    );
    let server = Server::new([&program("/usr/sbin/haproxy", "haproxy"), "-db", "-f", &configuration]);
    let body = http::content(7, 2048);
    let pages = [Page { path: "/small", status: 200, body: Some(body.clone()) }];
    let mut answered = 0;
    let demo = record(&scratch, &server, |stop| {
        std::thread::scope(|scope| {
            scope.spawn(|| http::serve(&origin, &body, stop));
            if stop.until(|| TcpStream::connect(address).is_ok()) {
                answered = http::load(address, &pages, 4, stop);
            }
        });
    });
    assert!(answered > 100, "{answered} pages were served");
    prove(&scratch, &demo, flip_path());
}
