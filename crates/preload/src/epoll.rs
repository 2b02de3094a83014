//! `epoll_data` belongs to the server and often holds a pointer. The kernel gets the number of a
//! registration instead, so that a record can say which descriptor was ready, and the server gets
//! its own value back, in record and replay.
//!
//! A thread that waits may leave the kernel with an event for a descriptor that another thread closes, opens again and adds
//! again before the first one has its turn. The server gets the data of the registration that the kernel spoke of, not of the
//! one that has its descriptor now: so the kernel gets the number of the addition as well, and data of the last ones is kept.
//!
//! A registration belongs to an open file description, not to a descriptor: through copies made by
//! `dup`, sent over a socket or inherited by a forked child, all see the same ones. So each epoll
//! instance has a name of its own that its copies share, and the table is memory that a forked child
//! shares with its parent.

use super::addresses;
use super::report;
use super::state;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Name of an epoll instance: the process that made it in the upper half, its number within that process from 1 in the
/// lower, so that it has the same name in a replay.
pub type Instance = u64;

struct Registration {
    epoll: AtomicU64,
    /// Data of the last additions, each at its number modulo [`KEPT`].
    data: [AtomicU64; KEPT],
    fd: AtomicI32,
    /// Number of the last addition of this descriptor to this instance, from 1.
    addition: AtomicU32,
    /// Next registration in the same bucket, plus one; 0 ends the list.
    next: AtomicU32,
}

/// Additions of one descriptor whose data is kept. An event that is older than all of them is given the oldest data.
const KEPT: usize = 4;

const REGISTRATIONS: usize = if cfg!(target_pointer_width = "64") { 1 << 20 } else { 1 << 18 };
const BUCKETS: usize = REGISTRATIONS / 4;

/// All registrations of the processes that descend from one program by `fork`; only ever added to, and
/// without a lock, which a process that is killed could leave taken. The kernel's memory is all zero,
/// which is the empty table.
struct Table {
    used: AtomicU32,
    /// First registration of each bucket, plus one.
    first: [AtomicU32; BUCKETS],
    all: [Registration; REGISTRATIONS],
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(null_mut());

/// Descriptors that can name an epoll instance; the kernel's default ceiling (`fs.nr_open`).
const DESCRIPTORS: usize = 1 << 20;
/// For each descriptor of this process the instance behind it, and [`SHARED`].
static INSTANCES: [AtomicU64; DESCRIPTORS] = [const { AtomicU64::new(0) }; DESCRIPTORS];
/// Other descriptors may lead to the same instance, so it may outlive this one.
const SHARED: Instance = 1 << 63;
/// Instances of this process so far.
static MADE: AtomicU32 = AtomicU32::new(0);
/// Number of them that a forked child has as well.
static INHERITED: AtomicU32 = AtomicU32::new(0);

/// Maps the shared table of epoll instances. Once, when the program starts: its children by `fork` share it.
pub fn map_table() {
    // SAFETY: nothing else is mapped at that address, or the call fails.
    unsafe {
        let at = addresses::EPOLL as *mut c_void;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let mapped = libc::mmap(at, size_of::<Table>(), libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if mapped != at {
            report::fatal(&[b"cannot map the table of epoll registrations: out of memory"]);
        }
        TABLE.store(mapped.cast(), Ordering::Relaxed);
    }
}

/// Gives this process a table of its own, a copy of the one that it shares; `shared`: which children by `fork` share. False if the kernel
/// has no memory for it. Called where the process has one thread.
pub fn copy_table(shared: bool) -> bool {
    let kind = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the new memory is of the size of a table, and all zero, which is a valid one. It takes the place of the old one in one call, and no
    // reference to that is held.
    unsafe {
        let bytes = size_of::<Table>();
        let new = libc::mmap(null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if new == libc::MAP_FAILED {
            return false;
        }
        table().copy_to(&*new.cast::<Table>());
        let moved = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let at = TABLE.load(Ordering::Relaxed).cast::<c_void>();
        libc::mremap(new, bytes, bytes, moved, at) == at
    }
}

impl Table {
    /// Copies what is used to an empty table. Pages without content stay so.
    fn copy_to(&self, empty: &Table) {
        let used = self.used.load(Ordering::Relaxed);
        empty.used.store(used, Ordering::Relaxed);
        for (from, to) in self.first.iter().zip(&empty.first).filter(|(from, _)| from.load(Ordering::Relaxed) != 0) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        for (from, to) in self.all.iter().zip(&empty.all).take(used as usize) {
            to.epoll.store(from.epoll.load(Ordering::Relaxed), Ordering::Relaxed);
            for (from, to) in from.data.iter().zip(&to.data) {
                to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            to.fd.store(from.fd.load(Ordering::Relaxed), Ordering::Relaxed);
            to.addition.store(from.addition.load(Ordering::Relaxed), Ordering::Relaxed);
            to.next.store(from.next.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

fn table() -> &'static Table {
    // SAFETY: mapped by `attach` before any hook runs, and for good; all zero is a valid `Table`.
    unsafe { &*TABLE.load(Ordering::Relaxed) }
}

fn entry(fd: i32) -> Option<&'static AtomicU64> {
    INSTANCES.get(usize::try_from(fd).ok()?)
}

/// Name of this process in the names of its instances, if that is not its number in the recording.
static NAME: AtomicU32 = AtomicU32::new(0);

/// Names instances that this process will make by its PID: it was forked after the end of the recording, and has no number there.
pub fn name_by_pid() {
    // SAFETY: only a query. The bit keeps these names apart from numbers in the recording.
    NAME.store(1 << 30 | unsafe { libc::getpid() } as u32, Ordering::Relaxed);
    MADE.store(0, Ordering::Relaxed);
    INHERITED.store(0, Ordering::Relaxed);
}

/// The upper half of the names of this process's instances.
fn process_name() -> u64 {
    let name = NAME.load(Ordering::Relaxed);
    u64::from(if name == 0 { state::index() } else { name })
}

fn next_instance() -> Instance {
    process_name() << 32 | u64::from(MADE.fetch_add(1, Ordering::Relaxed) + 1)
}

/// The epoll instance behind a descriptor. One that came over a socket or through `exec` has a name of
/// this process's own.
pub fn instance(fd: i32) -> Instance {
    let Some(entry) = entry(fd) else { return 0 };
    if entry.load(Ordering::Relaxed) == 0 {
        entry.store(next_instance() | SHARED, Ordering::Relaxed);
    }
    entry.load(Ordering::Relaxed) & !SHARED
}

/// A new instance got this descriptor. It takes over the name, and with it the places in the table, of
/// the one before it that had this number and no other.
pub fn made(fd: i32) {
    let Some(entry) = entry(fd) else { return };
    let before = entry.load(Ordering::Relaxed);
    let gone = before != 0
        && before & SHARED == 0
        && before >> 32 == process_name()
        && before as u32 > INHERITED.load(Ordering::Relaxed);
    if !gone {
        entry.store(next_instance(), Ordering::Relaxed);
    }
}

/// `to` leads to the same open file description as `from`, whatever that is.
pub fn copied(from: i32, to: i32) {
    if let (Some(from), Some(to)) = (entry(from), entry(to)) {
        let instance = from.load(Ordering::Relaxed);
        let shared = if instance == 0 { 0 } else { instance | SHARED };
        from.store(shared, Ordering::Relaxed);
        to.store(shared, Ordering::Relaxed);
    }
}

/// The descriptor was sent to another process.
pub fn sent(fd: i32) {
    copied(fd, fd);
}

/// A child has been forked, which has all instances too.
pub fn forked() {
    INHERITED.store(MADE.load(Ordering::Relaxed), Ordering::Relaxed);
}

fn bucket(epoll: Instance, fd: i32) -> &'static AtomicU32 {
    // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the upper bits are well mixed.
    let mixed = (epoll ^ (fd as u64).rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &table().first[(mixed >> 46) as usize & (BUCKETS - 1)]
}

/// What `epoll_ctl` is about to change in the table.
pub struct Change {
    number: u32,
    addition: u32,
    is_new: bool,
    data_before: u64,
}

impl Change {
    /// Value for the kernel to give back with each event: the number of the registration, and above it that of the addition.
    pub fn token(&self) -> u64 {
        u64::from(self.addition) << 32 | u64::from(self.number)
    }

    /// The call failed: the table is as it was.
    pub fn undo(self) {
        let registration = &table().all[self.number as usize];
        registration.data[self.addition as usize % KEPT].store(self.data_before, Ordering::Relaxed);
        if self.is_new {
            registration.addition.store(self.addition.wrapping_sub(1), Ordering::Relaxed);
        }
    }
}

/// Remembers what the server attaches to `fd` in an epoll instance; `is_new`: it is being added. `None` when the table is
/// full.
pub fn register(epoll: Instance, fd: i32, data: u64, is_new: bool) -> Option<Change> {
    let number = find(epoll, fd).or_else(|| insert(epoll, fd))?;
    let registration = &table().all[number as usize];
    let addition = registration.addition.load(Ordering::Relaxed).wrapping_add(u32::from(is_new));
    let data_before = registration.data[addition as usize % KEPT].swap(data, Ordering::Relaxed);
    registration.addition.store(addition, Ordering::Relaxed);
    Some(Change { number, addition, is_new, data_before })
}

fn insert(epoll: Instance, fd: i32) -> Option<u32> {
    let number = table().used.fetch_add(1, Ordering::Relaxed);
    let Some(registration) = table().all.get(number as usize) else {
        table().used.fetch_sub(1, Ordering::Relaxed);
        return None;
    };
    registration.epoll.store(epoll, Ordering::Relaxed);
    registration.fd.store(fd, Ordering::Relaxed);
    let first = bucket(epoll, fd);
    let mut next = first.load(Ordering::Relaxed);
    loop {
        registration.next.store(next, Ordering::Relaxed);
        match first.compare_exchange_weak(next, number + 1, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return Some(number),
            Err(found) => next = found,
        }
    }
}

fn find(epoll: Instance, fd: i32) -> Option<u32> {
    let mut next = bucket(epoll, fd).load(Ordering::Acquire);
    while next != 0 {
        let registration = &table().all[next as usize - 1];
        if registration.epoll.load(Ordering::Relaxed) == epoll && registration.fd.load(Ordering::Relaxed) == fd {
            return Some(next - 1);
        }
        next = registration.next.load(Ordering::Acquire);
    }
    None
}

/// Registration of an event that the kernel has handed out.
pub struct Registered {
    /// Instance that it belongs to.
    pub instance: Instance,
    /// Descriptor that was added.
    pub fd: i32,
    /// Additions of this descriptor since that one: more than 0 for a registration that is gone.
    pub age: u32,
    /// Data that the server attached to it.
    pub data: u64,
}

/// Registration for which the kernel gave this value back.
pub fn registered(token: u64) -> Registered {
    let registration = &table().all[token as usize & (REGISTRATIONS - 1)];
    let addition = (token >> 32) as u32;
    let age = registration.addition.load(Ordering::Relaxed).wrapping_sub(addition).min(KEPT as u32 - 1);
    Registered {
        instance: registration.epoll.load(Ordering::Relaxed),
        fd: registration.fd.load(Ordering::Relaxed),
        age,
        data: registration.data(age),
    }
}

impl Registration {
    /// Data of the addition that is `age` additions older than the last one.
    fn data(&self, age: u32) -> u64 {
        let addition = self.addition.load(Ordering::Relaxed).wrapping_sub(age);
        self.data[addition as usize % KEPT].load(Ordering::Relaxed)
    }
}

/// Data that the server attached to `fd` in an epoll instance, the `epoll_data` of `epoll_ctl`, `age` additions ago.
///
/// Processes have no common order: what another one registers may not be there yet in a replay, and
/// is waited for, a second at the most.
pub fn data(epoll: Instance, fd: i32, age: u32) -> Option<u64> {
    let attached = || find(epoll, fd).map(|number| table().all[number as usize].data(age));
    let elsewhere = epoll >> 32 != u64::from(state::index()) || epoll as u32 <= INHERITED.load(Ordering::Relaxed);
    for _ in 0..1000 {
        if attached().is_some() || !elsewhere {
            break;
        }
        let millisecond = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        // SAFETY: the time lives across the call.
        unsafe { libc::syscall(libc::SYS_nanosleep, &millisecond, null_mut::<c_void>()) };
    }
    attached()
}
