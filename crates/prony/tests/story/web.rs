//! Web servers and a proxy: files out, keep-alive and not.

use std::net::{TcpListener, TcpStream};

use crate::clients::http::{self, Page};
use crate::proof::{Flip, prove};
use crate::recording::{Server, record};
use crate::scratch::{Scratch, Turn, free_address, program};

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

/// A letter of the path: another page is asked for, one that does not exist.
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
    let server = Server::new([&program("/usr/sbin/lighttpd", "lighttpd"), "-D", "-f", &configuration]);
    story(&scratch, &server, address, &pages);
}

/// A proxy in front of an origin that the test itself serves. With one thread: more of them wake
/// each other through memory without locks, and what passes there no recorder of calls sees.
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
