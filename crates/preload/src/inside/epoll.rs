//! `epoll_data` belongs to the server and often holds a pointer. The kernel gets the number of a
//! registration instead, so that a record can say which descriptor was ready, and the server gets
//! its own value back, in record and replay.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Clone, Copy)]
struct Registration {
    epoll: i32,
    fd: i32,
    data: u64,
    /// Next registration of the same descriptor, plus one; 0 ends the list.
    next: u32,
}

const REGISTRATIONS: usize = 1 << 20;

struct Table {
    /// First registration of each descriptor, plus one.
    first: UnsafeCell<[u32; REGISTRATIONS]>,
    all: UnsafeCell<[Registration; REGISTRATIONS]>,
    used: AtomicU32,
    lock: AtomicU32,
}

// SAFETY: written under `lock`; a reader looks only at registrations the kernel has handed back,
// which were complete before the kernel knew them.
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    first: UnsafeCell::new([0; REGISTRATIONS]),
    all: UnsafeCell::new([Registration { epoll: 0, fd: 0, data: 0, next: 0 }; REGISTRATIONS]),
    used: AtomicU32::new(0),
    lock: AtomicU32::new(0),
};

/// Remembers what the server attached to `fd` in `epoll`; returns the registration's number.
pub unsafe fn register(epoll: i32, fd: i32, data: u64) -> Option<u64> {
    let descriptor = usize::try_from(fd).ok().filter(|&fd| fd < REGISTRATIONS)?;
    while TABLE.lock.swap(1, Ordering::Acquire) != 0 {
        std::hint::spin_loop();
    }
    let number = match find(epoll, fd) {
        Some(number) => Some(number),
        None => {
            let used = TABLE.used.load(Ordering::Relaxed);
            ((used as usize) < REGISTRATIONS).then(|| {
                let first = &mut (*TABLE.first.get())[descriptor];
                (*TABLE.all.get())[used as usize] = Registration { epoll, fd, data, next: *first };
                *first = used + 1;
                TABLE.used.store(used + 1, Ordering::Relaxed);
                used
            })
        }
    };
    if let Some(number) = number {
        (*TABLE.all.get())[number as usize].data = data;
    }
    TABLE.lock.store(0, Ordering::Release);
    number.map(u64::from)
}

unsafe fn find(epoll: i32, fd: i32) -> Option<u32> {
    let descriptor = usize::try_from(fd).ok().filter(|&fd| fd < REGISTRATIONS)?;
    let mut next = (*TABLE.first.get())[descriptor];
    while next != 0 {
        let registration = (*TABLE.all.get())[next as usize - 1];
        if registration.epoll == epoll {
            return Some(next - 1);
        }
        next = registration.next;
    }
    None
}

/// Descriptor and data of a registration the kernel handed back.
pub unsafe fn registered(number: u64) -> (i32, u64) {
    let registration = &(*TABLE.all.get())[number as usize & (REGISTRATIONS - 1)];
    (registration.fd, registration.data)
}

/// What the server attached to `fd` in `epoll`.
pub unsafe fn data(epoll: i32, fd: i32) -> Option<u64> {
    find(epoll, fd).map(|number| (*TABLE.all.get())[number as usize].data)
}
