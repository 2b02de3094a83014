//! Writes a demo on a thread of its own: a disk that is slow, full or broken ends the recording, and never holds the server.

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Bytes that may wait to be written while the server runs. Beyond them the disk is slower than the server.
const WAITING_BYTES: usize = 64 << 20;
/// Bytes that the file has on the disk behind its end: room for the last blocks of a demo on a full one.
const RESERVED_BYTES: u64 = 2 << 20;

/// Chunks whose memory is kept.
const SPARE: usize = 2;

/// File of a demo.
pub(super) trait Store: Write + Send + 'static {
    /// Gets room on the disk for the bytes from `from` to `to`; the file stays as long as it is.
    fn reserve(&mut self, from: u64, to: u64) -> io::Result<()>;
}

impl Store for File {
    fn reserve(&mut self, from: u64, to: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&*self, FallocateFlags::KEEP_SIZE, from, to - from) {
            // Not every file system can: a write finds that there is no room.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => Ok(()),
            made => Ok(made?),
        }
    }
}

/// What keeps a disk from taking more of a demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// No room is left but the reserve.
    Full,
    /// So many bytes wait to be written.
    Slow(u64),
}

/// Stream of a demo.
pub(super) struct Disk<S> {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<S>>,
}

/// The disk as the recorder sees it.
#[derive(Clone)]
pub(super) struct DiskState(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the chunks, and of the one that is being written.
    bytes: usize,
    /// Chunks that are written, whose memory the next ones get: fresh pages cost a fault each.
    spare: Vec<Vec<u8>>,
    /// A write waits until there is room for it, and a flush until all is written.
    waits: bool,
    full: bool,
    failed: Option<io::Error>,
    closed: bool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same error once more.
fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

impl<S: Store> Disk<S> {
    /// Writes to the start of `store`; waits for it until [`DiskState::run_free`].
    pub(super) fn new(store: S) -> io::Result<Disk<S>> {
        let shared = Arc::new(Shared::default());
        shared.queue().waits = true;
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("disk".to_owned()).spawn(move || serve(store, &own))?;
        Ok(Disk { shared, thread: Some(thread) })
    }

    pub(super) fn state(&self) -> DiskState {
        DiskState(Arc::clone(&self.shared))
    }

    /// Waits until all is written.
    pub(super) fn into_store(mut self) -> io::Result<S> {
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
        let ended = self.thread.take().map(JoinHandle::join);
        let Some(Ok(store)) = ended else { return Err(io::Error::other("the thread that writes to the disk failed")) };
        match self.shared.queue().failed.take() {
            Some(error) => Err(error),
            None => Ok(store),
        }
    }
}

impl<S> Drop for Disk<S> {
    fn drop(&mut self) {
        // A disk that hangs is not waited for.
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
    }
}

impl<S: Store> Write for Disk<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut queue = self.shared.queue();
        while queue.waits && queue.bytes > WAITING_BYTES && queue.failed.is_none() {
            queue = self.shared.wait(queue);
        }
        if let Some(error) = &queue.failed {
            return Err(copy_of(error));
        }
        let mut chunk = queue.spare.pop().unwrap_or_default();
        chunk.extend_from_slice(bytes);
        queue.bytes += bytes.len();
        queue.chunks.push_back(chunk);
        drop(queue);
        self.shared.changed.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut queue = self.shared.queue();
        while queue.waits && queue.bytes > 0 && queue.failed.is_none() {
            queue = self.shared.wait(queue);
        }
        queue.failed.as_ref().map_or(Ok(()), |error| Err(copy_of(error)))
    }
}

impl DiskState {
    /// The server runs from here on: nothing waits for the disk.
    pub(super) fn run_free(&self) {
        self.0.queue().waits = false;
    }

    /// The server is done, or goes on by itself.
    pub(super) fn wait_again(&self) {
        self.0.queue().waits = true;
    }

    pub(super) fn trouble(&self) -> Option<Trouble> {
        let queue = self.0.queue();
        match queue.bytes {
            _ if queue.full => Some(Trouble::Full),
            waiting if waiting > WAITING_BYTES => Some(Trouble::Slow(waiting as u64)),
            _ => None,
        }
    }
}

/// Writes what comes until the queue is closed; returns the store.
fn serve<S: Store>(mut store: S, shared: &Shared) -> S {
    let (mut written, mut reserved) = (0, 0);
    let mut queue = shared.queue();
    loop {
        let Some(mut chunk) = queue.chunks.pop_front() else {
            if queue.closed {
                return store;
            }
            queue = shared.wait(queue);
            continue;
        };
        let is_full = queue.full;
        drop(queue);
        let end = written + chunk.len() as u64;
        let mut becomes_full = false;
        if !is_full && end + RESERVED_BYTES > reserved {
            // Twice as much, so that it is not asked for with each block; on a small disk at least the reserve itself.
            let made = [2 * RESERVED_BYTES, RESERVED_BYTES].into_iter().find_map(|more| {
                let is_made = store.reserve(reserved, end + more);
                match is_made {
                    Err(error) if is_full_disk(&error) => None,
                    _ => Some(end + more),
                }
            });
            reserved = made.unwrap_or(reserved);
            becomes_full = made.is_none();
        }
        let result = store.write_all(&chunk);
        queue = shared.queue();
        queue.full |= becomes_full;
        queue.bytes -= chunk.len();
        written = end;
        if queue.spare.len() < SPARE {
            chunk.clear();
            queue.spare.push(chunk);
        }
        if let Err(error) = result {
            queue.failed = Some(error);
            queue.chunks.clear();
            queue.bytes = 0;
            shared.changed.notify_all();
            return store;
        }
        shared.changed.notify_all();
    }
}

fn is_full_disk(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    /// A disk of so many bytes, which waits for a permit before each write.
    struct Small {
        bytes: Vec<u8>,
        room: u64,
        reserved: u64,
        permits: Receiver<()>,
    }

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // A test that is over lets everything through.
            let _ = self.permits.recv();
            if (self.bytes.len() + bytes.len()) as u64 > self.room.max(self.reserved) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Store for Small {
        fn reserve(&mut self, from: u64, to: u64) -> io::Result<()> {
            assert_eq!(from, self.reserved);
            if to > self.room {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.reserved = to;
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_stands_still_holds_nothing_and_is_named() {
        let (permit, permits) = channel();
        let mut disk = Disk::new(Small { bytes: Vec::new(), room: u64::MAX, reserved: 0, permits }).expect("a thread");
        let state = disk.state();
        state.run_free();
        let block = vec![7; 1 << 20];
        // Nothing is ever written, and none of these calls waits.
        for number in 0..=WAITING_BYTES >> 20 {
            assert_eq!(state.trouble(), None, "{number}");
            disk.write_all(&block).expect("it takes it");
            disk.flush().expect("it does not wait");
        }
        assert_eq!(state.trouble(), Some(Trouble::Slow((WAITING_BYTES + (1 << 20)) as u64)));
        state.wait_again();
        drop(permit);
        let store = disk.into_store().expect("all is written");
        assert_eq!(store.bytes.len(), WAITING_BYTES + (1 << 20));
    }

    #[test]
    fn the_end_of_a_demo_fits_on_a_disk_that_is_full() {
        let (permit, permits) = channel();
        drop(permit);
        let mut disk = Disk::new(Small { bytes: Vec::new(), room: 9 << 20, reserved: 0, permits }).expect("a thread");
        let (state, block) = (disk.state(), vec![7; 1 << 20]);
        let mut blocks = 0;
        while state.trouble().is_none() {
            disk.write_all(&block).expect("there is room");
            disk.flush().expect("there is room");
            blocks += 1;
        }
        assert_eq!((state.trouble(), blocks), (Some(Trouble::Full), 8), "9 MiB without the reserve");
        disk.write_all(&block).expect("the reserve");
        disk.flush().expect("the reserve");
        disk.write_all(&block).expect("it is only queued");
        assert_eq!(disk.flush().expect_err("there is no more").kind(), io::ErrorKind::StorageFull);
        assert_eq!(disk.write(&block).expect_err("nor later").kind(), io::ErrorKind::StorageFull);
        assert!(disk.into_store().is_err());
    }
}
