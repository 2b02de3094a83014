//! A host that is served by a task of tokio instead of a loop.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use prony_enet::{Event, Host};
use tokio::io::unix::AsyncFd;

use crate::driver::Driver;

/// A [`Driver`] whose waits are those of a task.
///
/// ```
/// # use prony_enet::{Event, Packet, Settings};
/// # use prony_enet_host::{Driver, AsyncDriver, SocketOptions};
/// # async fn serve() -> std::io::Result<()> {
/// let bound = Driver::bind("[::]:7777".parse().unwrap(), 4096, Settings::default(), &SocketOptions::default());
/// let mut host = AsyncDriver::new(bound.expect("the port is free"))?;
/// loop {
///     if let Event::Receive { peer, packet } = host.event().await? {
///         let _ = host.host_mut().send(peer, packet.channel, Packet::reliable(packet.payload));
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct AsyncDriver {
    io: AsyncFd<Readable>,
}

/// A driver as something to wait for.
#[derive(Debug)]
struct Readable(Driver);

impl AsRawFd for Readable {
    fn as_raw_fd(&self) -> RawFd {
        self.0.socket().as_fd().as_raw_fd()
    }
}

impl AsyncDriver {
    /// Wraps a driver for use in a runtime with I/O and time.
    ///
    /// # Errors
    /// When the runtime cannot watch the socket.
    pub fn new(driver: Driver) -> io::Result<AsyncDriver> {
        // SAFETY: the descriptor is that of the driver's socket, which stays open and the same for as long as the driver
        // lives, and code outside has no access to the driver to replace it.
        let io = unsafe { AsyncFd::register_with_interest(Readable(driver), tokio::io::Interest::READABLE)? };
        Ok(AsyncDriver { io })
    }

    /// The next event; sends and receives until there is one. It may be dropped and called again at any time.
    ///
    /// What was given to the host before is sent at once.
    ///
    /// # Errors
    /// As [`Driver::service`].
    pub async fn event(&mut self) -> io::Result<Event> {
        loop {
            if let Some(event) = self.io.get_mut().0.service(Duration::ZERO)? {
                return Ok(event);
            }
            let idle = self.io.get_ref().0.idle_time();
            let readable = self.io.readable_mut();
            let ready = match idle {
                Some(idle) => tokio::time::timeout(idle, readable).await.ok(),
                None => Some(readable.await),
            };
            // A pass reads until nothing is left, or a limit: readiness is cleared only where nothing is left.
            if let Some(mut ready) = ready.transpose()? {
                let driver = &mut ready.get_inner_mut().0;
                let event = driver.service(Duration::ZERO)?;
                if !driver.socket().wait(Duration::ZERO)? {
                    ready.clear_ready();
                }
                if let Some(event) = event {
                    return Ok(event);
                }
            }
        }
    }

    /// The driver: its host and its socket.
    pub fn driver(&self) -> &Driver {
        &self.io.get_ref().0
    }

    /// The host, to connect, send and disconnect. What that makes leaves with the next [`AsyncDriver::event`] or
    /// [`AsyncDriver::flush`].
    pub fn host_mut(&mut self) -> &mut Host {
        self.io.get_mut().0.host_mut()
    }

    /// Sends what there is to send.
    pub fn flush(&mut self) {
        self.io.get_mut().0.flush();
    }
}

#[cfg(test)]
mod tests {
    use prony_enet::{Packet, Settings};

    use super::*;
    use crate::SocketOptions;

    fn async_driver(slots: usize) -> AsyncDriver {
        let any = "127.0.0.1:0".parse().expect("an address");
        let driver = Driver::bind(any, slots, Settings::default(), &SocketOptions::default()).expect("a port is free");
        AsyncDriver::new(driver).expect("the runtime watches sockets")
    }

    #[test]
    fn two_tasks_talk_and_a_thousand_packets_come_in_order() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (mut server, mut client) = (async_driver(4), async_driver(1));
            let to = server.driver().socket().local_address().expect("it is bound");
            let peer = client.host_mut().connect(to, 1, 7).expect("a slot is free");
            let talking = async {
                assert!(matches!(client.event().await.expect("sockets work"), Event::Connect { .. }));
                for number in 0..1000_u32 {
                    let packet = Packet::reliable(&number.to_be_bytes());
                    client.host_mut().send(peer, 0, packet).expect("connected");
                }
                loop {
                    if let Event::Disconnect { data, .. } = client.event().await.expect("sockets work") {
                        return data;
                    }
                }
            };
            let listening = async {
                let mut expected = 0_u32;
                loop {
                    match server.event().await.expect("sockets work") {
                        Event::Connect { data, .. } => assert_eq!(data, 7),
                        Event::Receive { peer, packet } => {
                            assert_eq!(packet.payload, expected.to_be_bytes());
                            expected += 1;
                            if expected == 1000 {
                                server.host_mut().disconnect(peer, 42);
                            }
                        }
                        Event::Disconnect { .. } => return expected,
                    }
                }
            };
            // The one whose turn it is waits as a task does, and not in the kernel: otherwise neither would go on.
            let both = std::pin::pin!(both(talking, listening));
            assert_eq!(both.await, (42, 1000));
        });
    }

    /// Both to their end, alternately.
    async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
        let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
        let (mut of_a, mut of_b) = (None, None);
        std::future::poll_fn(|context| {
            use std::task::Poll;
            if of_a.is_none()
                && let Poll::Ready(value) = a.as_mut().poll(context)
            {
                of_a = Some(value);
            }
            if of_b.is_none()
                && let Poll::Ready(value) = b.as_mut().poll(context)
            {
                of_b = Some(value);
            }
            if of_a.is_none() || of_b.is_none() {
                return Poll::Pending;
            }
            of_a.take().zip(of_b.take()).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
