//! An HTTP server of four worker threads that answers each request with one page: `tokio-http PORT`.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PAGE_BYTES: usize = 660;

fn main() -> std::io::Result<()> {
    let port: u16 = std::env::args().nth(1).and_then(|port| port.parse().ok()).expect("usage: tokio-http PORT");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        loop {
            let (client, _) = listener.accept().await?;
            tokio::spawn(answer(client));
        }
    })
}

/// Answers the requests of a client, which sends the next one when it has the answer, until it ends the connection.
async fn answer(mut client: TcpStream) -> std::io::Result<()> {
    let page = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {PAGE_BYTES}\r\nConnection: keep-alive\r\n\r\n{}",
        "small page\n".repeat(PAGE_BYTES / 11)
    );
    let (mut request, mut length) = ([0; 4096], 0);
    loop {
        let read = client.read(&mut request[length..]).await?;
        if read == 0 {
            return Ok(());
        }
        length += read;
        if request[..length].ends_with(b"\r\n\r\n") {
            length = 0;
            client.write_all(page.as_bytes()).await?;
        }
    }
}
