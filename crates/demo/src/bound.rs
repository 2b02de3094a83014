//! What the result of each call may be, for the arguments that its record has.
//!
//! The table of calls names a bound for each call, so none can be added without one. [`check_result`](crate::check_result)
//! applies it before a replay gives anything of the record to a build.

/// Rule for the result of a call. An error is allowed by each, unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Reading of a clock or of the processor: any number.
    Reading,
    /// A clock that answers in a structure of one of these sizes.
    Usage(&'static [usize]),
    /// `select`: bits of descriptors below the size of a set.
    Sets,
    /// `poll`: at most as many ready descriptors as are gathered, with 16 bits of events each.
    Polled,
    /// `epoll_wait`: as many ready descriptors as it returned, with the instance of each or of none.
    Events,
    /// A sleep: an error number or the remaining time.
    Slept,
    /// A signal that was waited for: its number, and details of a fixed size.
    SignalTaken,
    /// Bytes of an input: as many as it returned and as were requested. It may return more than were requested, as
    /// `MSG_TRUNC` has it, if it has all that were.
    Received,
    /// Messages: at most as many as were requested, each as [`Bound::Received`] in its own room.
    ReceivedMessages,
    /// Bytes of an output: at most as many as were offered.
    Sent,
    /// Messages: at most as many as were offered.
    SentMessages,
    /// A new descriptor, none of the recorder's own.
    Descriptor,
    /// Two different new descriptors, in a value part.
    DescriptorPair,
    /// 0, and addresses that are no longer than any address is.
    Address,
    /// As [`Bound::Descriptor`], with addresses.
    Accepted,
    /// 0.
    Success,
    /// 0, and a value that is no longer than an option may be.
    Option,
    /// 0, and a structure of one of these sizes.
    Structure(&'static [usize]),
    /// 0, and a structure of one of these sizes if the caller requested one.
    StructureOrNone(&'static [usize]),
    /// A number that no size and no place depends on, from 0 to that of an `unsigned int`.
    Number,
    /// `ioctl`: as many bytes as the request writes; see [`bytes_of_request`].
    Request,
    /// Random bytes: as many as it returned, at most as many as were requested.
    Random,
    /// 0, and exactly as many random bytes as were requested.
    RandomWhole,
    /// Number of a process or thread.
    ProcessNumber,
    /// 0, and this many fields of text in a value part, each of at most this many bytes with a zero byte.
    Text(usize, usize),
    /// 0, and entries with name and three addresses each.
    Interfaces,
    /// A number of processors or pages.
    Processors,
    /// A processor.
    Processor,
    /// A set of processors: 0, or the bytes of the set.
    Affinity,
    /// At most three numbers of 8 bytes.
    Loads,
    /// The carry flag, and a value of 8 bytes.
    Carry,
    /// 0, and at least one entry with an address each; or an error of the resolver.
    Addresses,
    /// 0 or an error of the resolver.
    Names,
    /// 0, and at least one address, all of them of the same length.
    Host,
    /// A new thread: its number in `aux`.
    ThreadCreated,
    /// 0 or an error number, of either sign.
    ErrorNumber,
    /// Nothing of it reaches the build but the order.
    Order,
    /// Number of a new process, with its index in `aux` and a descriptor or none.
    Forked,
    /// Descriptors of the next program.
    Executed,
    /// Number of a process, with its status.
    Waited,
    /// Status of a process as `wait` has it.
    Status,
    /// 0 or an error number, with the number of a process.
    Spawned,
    /// A signal with details of a fixed size.
    SignalDelivered,
    /// A descriptor, and what a file contains.
    Content,
    /// Where a link leads: as many bytes as it returned, at most those of a path.
    Link,
}

// Sizes of structures of C, in bytes: of 64-bit architectures, of i386, and there with times of 64 bits.

/// `struct tms`.
pub(crate) const TMS: &[usize] = &[32, 16];
/// `struct rusage`.
pub(crate) const RUSAGE: &[usize] = &[144, 72, 88];
/// `struct itimerspec`.
pub(crate) const ITIMERSPEC: &[usize] = &[32, 16];
/// `struct itimerval`.
pub(crate) const ITIMERVAL: &[usize] = &[32, 16];
/// The kernel's `sigset_t`.
pub(crate) const SIGNAL_SET: &[usize] = &[8];
/// `struct stat`: of x86-64, of aarch64, of i386 in three widths.
pub(crate) const STAT: &[usize] = &[144, 128, 88, 96, 104, 108, 256];
pub(crate) const FILE_MARKS: &[usize] = &[56];
pub(crate) const FILE_SYSTEM_MARKS: &[usize] = &[48];
pub(crate) const LISTING: &[usize] = &[24];
/// `struct sysinfo`.
pub(crate) const SYSINFO: &[usize] = &[112, 64];
/// A handle as large as a pointer. What takes it is answered, so none is followed.
pub(crate) const POINTER: &[usize] = &[8, 4];
/// `int`.
pub(crate) const INT: &[usize] = &[4];

/// Bytes that a request of `ioctl` writes through its argument; `None` for the list of interfaces, whose room is in the argument.
///
/// `word`: bytes of a pointer, on which the sizes of some structures depend.
pub const fn bytes_of_request(request: u32, word: usize) -> Option<usize> {
    const READ: u32 = 2;
    Some(match request {
        // `FIONREAD`, `TIOCOUTQ`, `TIOCGPGRP`, `FIOGETOWN`, `SIOCGPGRP` and `SIOCATMARK`: an `int`.
        0x541b | 0x5411 | 0x540f | 0x8903..=0x8905 => 4,
        // `FIOSETOWN` and `SIOCSPGRP` only read.
        0x8901 | 0x8902 => 0,
        // `SIOCGSTAMP` and `SIOCGSTAMPNS`: a time of two words.
        0x8906 | 0x8907 => 2 * word,
        // `TCGETS`: the kernel's `struct termios`, which is shorter than that of libc.
        TCGETS => 36,
        // `TIOCGWINSZ`: four numbers of 16 bits.
        0x5413 => 8,
        SIOCGIFCONF => return None,
        // The requests on interfaces are older than the encoding of sizes; they write a `struct ifreq`.
        0x8908..=0x89ff => ifreq(word),
        _ if request >> 30 & READ != 0 => (request >> 16 & 0x3fff) as usize,
        _ => 0,
    })
}

/// Bytes that earlier recorders stored for a request, where that was more than it writes.
#[cfg(feature = "file")]
pub(crate) const fn bytes_of_request_before(request: u32, word: usize) -> Option<usize> {
    match request {
        TCGETS => Some(60),
        0x8901..=0x8907 => Some(ifreq(word)),
        _ => None,
    }
}

/// Bytes of a `struct ifreq`.
pub(crate) const fn ifreq(word: usize) -> usize {
    24 + 2 * word
}

const TCGETS: u32 = 0x5401;
/// Request for the list of interfaces.
pub const SIOCGIFCONF: u32 = 0x8912;

/// Descriptors that the recorder and the player have for themselves, and that no call returns to the server.
pub const OWN_DESCRIPTORS: std::ops::RangeInclusive<i32> = 1000..=1006;
/// Descriptors that can be followed; the kernel's default ceiling (`fs.nr_open`).
pub const DESCRIPTORS: i32 = 1 << 20;
