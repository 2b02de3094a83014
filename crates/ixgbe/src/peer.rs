//! What can be wrong with the process at the other end of a port.

use std::io;
use std::time::Duration;

use crate::dma::DmaError;
use crate::virtqueue::RingMistake;

/// The longest that a peer takes for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A peer that cannot be used, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum VhostError {
    /// The socket cannot be used.
    #[error("cannot {what} {path}: {error}")]
    Socket {
        /// Attempted action as a verb phrase.
        what: &'static str,
        /// Path of the socket.
        path: String,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// The connection has ended. The peer forgets its state with it: open the port again.
    #[error("the peer of {path} closed the connection")]
    Closed {
        /// Path of the socket.
        path: String,
    },
    /// There is no answer.
    #[error("the peer of {path} did not answer {message} within {} s", PATIENCE.as_secs())]
    TimedOut {
        /// Path of the socket.
        path: String,
        /// Name of the message.
        message: &'static str,
    },
    /// The answer is none of vhost-user.
    #[error("the peer of {path} answered {message} with message {request}, flags {flags:#x}, {bytes} bytes")]
    Answer {
        /// Path of the socket.
        path: String,
        /// Name of the message.
        message: &'static str,
        /// Number of the message that came.
        request: u32,
        /// Its flags.
        flags: u32,
        /// Number of bytes in it.
        bytes: u32,
    },
    /// The peer rejects a step of the set-up.
    #[error("the peer of {path} rejected {message} with code {code}")]
    Rejected {
        /// Path of the socket.
        path: String,
        /// Name of the message.
        message: &'static str,
        /// Code in its answer.
        code: u64,
    },
    /// The peer knows only devices before virtio 1.0.
    #[error("the peer of {path} does not offer VIRTIO_F_VERSION_1, but {features:#x}")]
    Features {
        /// Path of the socket.
        path: String,
        /// Feature bits that it offers.
        features: u64,
    },
    /// There is no memory for the rings.
    #[error(transparent)]
    Dma(#[from] DmaError),
    /// The pool is one for cards.
    #[error("the pool of {path} is one for cards: use `Pool::for_sockets`")]
    Pool {
        /// Path of the socket.
        path: String,
    },
    /// The pool keeps its free buffers in memory that the peer can change.
    #[error("the pool of {path} is an intrusive list, which the peer could change: use another kind")]
    List {
        /// Path of the socket.
        path: String,
    },
    /// The pool has too few buffers for the receive ring.
    #[error("expected {expected} free buffers in the pool, found {found}")]
    Buffers {
        /// Number of descriptors in the ring.
        expected: usize,
        /// Number of free buffers in the pool.
        found: usize,
    },
    /// The peer did with a ring what no device does. The port does nothing any more.
    #[error("the peer of {path} broke its {queue} queue: {mistake}")]
    Ring {
        /// Path of the socket.
        path: String,
        /// Which of them: receive or transmit.
        queue: &'static str,
        /// What it did.
        mistake: RingMistake,
    },
    /// A message came that was not requested.
    #[error("the peer of {path} sent a message that nobody asked for")]
    Message {
        /// Path of the socket.
        path: String,
    },
}
