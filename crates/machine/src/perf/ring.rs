//! The ring of one CPU: memory that the kernel writes and we read.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{PerfError, Sampling, Target, enable, open, redirect, setting};

/// `struct perf_event_mmap_page`: where the kernel writes next, and where we read next.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;
/// `struct perf_event_header`: type, misc, size.
const HEADER_BYTES: usize = 8;

/// The events of one CPU and the ring they write to.
#[derive(Debug)]
pub struct Ring {
    /// The first event owns the ring; the others write to it.
    events: Vec<File>,
    page: NonNull<u8>,
    page_bytes: usize,
    data_bytes: usize,
    cpu: usize,
    /// A record that goes round the end, put together.
    whole: Vec<u8>,
}

// SAFETY: the memory belongs to this ring alone, and reading it takes `&mut`.
unsafe impl Send for Ring {}

impl Ring {
    /// Opens an event and its ring. `data_bytes`: a power of two and of pages; halved until the kernel agrees, as
    /// users without rights get no more than `kernel.perf_event_mlock_kb` a CPU.
    ///
    /// # Errors
    /// [`PerfError`]: above all that it is not permitted.
    pub fn open(sampling: &Sampling, target: Target, cpu: usize, data_bytes: usize) -> Result<Ring, PerfError> {
        // SAFETY: queries a number.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let mut data_bytes = data_bytes.next_power_of_two().max(page_bytes * 2);
        loop {
            let event = open(sampling, target, cpu, data_bytes / 4)?;
            match map(&event, page_bytes + data_bytes) {
                Ok(page) => {
                    return Ok(Ring { events: vec![event], page, page_bytes, data_bytes, cpu, whole: Vec::new() });
                }
                Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM)) => {
                    if data_bytes <= page_bytes * 8 {
                        let found = setting("perf_event_mlock_kb");
                        return Err(PerfError::NoMemory { kilobytes: (data_bytes + page_bytes) / 1024, found });
                    }
                    data_bytes /= 2;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Another event of the same kind writes here too.
    ///
    /// # Errors
    /// As [`Ring::open`].
    pub fn add(&mut self, sampling: &Sampling, target: Target) -> Result<(), PerfError> {
        let event = open(sampling, target, self.cpu, self.data_bytes / 4)?;
        redirect(&event, self.first_event())?;
        self.events.push(event);
        Ok(())
    }

    #[expect(clippy::indexing_slicing, reason = "a ring is made with one event, and none is removed")]
    fn first_event(&self) -> &File {
        &self.events[0]
    }

    /// Starts the events, which are off until then.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn enable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(enable)
    }

    /// The CPU it belongs to.
    pub fn cpu(&self) -> usize {
        self.cpu
    }

    fn control(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped as long as `self` lives, both offsets are multiples of 8 in it, and
        // the kernel reads and writes them as whole words.
        unsafe { AtomicU64::from_ptr(self.page.as_ptr().add(offset).cast()) }
    }

    /// Hands out what the kernel wrote since the last time, record by record, oldest first: a
    /// `struct perf_event_header` and what follows it.
    pub fn drain(&mut self, mut each: impl FnMut(&[u8])) {
        let mut whole = std::mem::take(&mut self.whole);
        // perf_event_open(2): reads of the data come after that of the head.
        let head = self.control(DATA_HEAD).load(Ordering::Acquire);
        let mut tail = self.control(DATA_TAIL).load(Ordering::Relaxed);
        // SAFETY: the data begins at the second page, is `data_bytes` long and mapped as long as `self` lives; the
        // kernel writes only between `head` and the next `tail`, outside of what is read here.
        let data = unsafe { std::slice::from_raw_parts(self.page.as_ptr().add(self.page_bytes), self.data_bytes) };
        while head.wrapping_sub(tail) >= HEADER_BYTES as u64 {
            let at = (tail % self.data_bytes as u64) as usize;
            let (before, behind) = data.split_at(at);
            // The last two bytes of a header.
            let mut size = behind.iter().chain(before).skip(HEADER_BYTES - 2);
            let (Some(&low), Some(&high)) = (size.next(), size.next()) else { break };
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let is_whole = length >= HEADER_BYTES && length as u64 <= head.wrapping_sub(tail);
            let record = match behind.get(..length) {
                Some(record) => Some(record),
                None => before.get(..length - behind.len()).map(|rest| {
                    whole.clear();
                    whole.extend_from_slice(behind);
                    whole.extend_from_slice(rest);
                    whole.as_slice()
                }),
            };
            let Some(record) = record.filter(|_| is_whole) else {
                // Only a kernel that breaks its word writes this; what follows has no beginning.
                tail = head;
                break;
            };
            each(record);
            tail += length as u64;
        }
        // Reads of the data come before the kernel may write there again.
        self.control(DATA_TAIL).store(tail, Ordering::Release);
        self.whole = whole;
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and no reference is left.
        unsafe { libc::munmap(self.page.as_ptr().cast(), self.page_bytes + self.data_bytes) };
    }
}

fn map(event: &File, bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: a new mapping at a place the kernel chooses.
    let page = unsafe {
        libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, event.as_raw_fd(), 0)
    };
    if page == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(page.cast()).expect("the kernel maps nothing at address 0 unasked"))
}

/// Waits until a ring is a quarter full, `stop` is readable, or the time is over.
///
/// # Errors
/// What the kernel said; a signal is no error.
pub fn wait(rings: &[Ring], stop: Option<BorrowedFd>, time: Duration) -> io::Result<()> {
    let descriptors = rings.iter().map(|ring| ring.first_event().as_raw_fd()).chain(stop.map(|stop| stop.as_raw_fd()));
    let mut polled: Vec<libc::pollfd> =
        descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let mut limit = time;
    loop {
        // SAFETY: the entries live across the call.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, limit.as_millis() as i32) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        // An event whose thread has ended is "hung up" for ever; it is left out, or there would be no waiting.
        let before = polled.len();
        let readable = polled.iter().any(|entry| entry.revents & libc::POLLIN != 0);
        polled.retain(|entry| entry.revents & (libc::POLLHUP | libc::POLLERR) == 0);
        if ready == 0 || readable || polled.len() == before {
            return Ok(());
        }
        limit = limit.min(Duration::from_millis(20));
    }
}
