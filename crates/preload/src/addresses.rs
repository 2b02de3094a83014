//! Fixed addresses at which the library maps memory that it shares with the process outside, far from the loader, the
//! heap and the stacks, so that a recorded and a replayed server see the same ones.
//!
//! Of 64 bits they lie where ThreadSanitizer and MemorySanitizer of GCC 12 and clang 14 leave a program its mappings, on x86-64 from
//! 0x7e80_0000_0000 on: below it they keep what they know of memory. Mappings of the server grow downwards from 0x7fff_f7ff_f000, and
//! have a terabyte before they come here; the kernel then passes over what lies here.

pub use chosen::*;
use prony_channel as channel;

#[cfg(target_pointer_width = "64")]
mod chosen {
    /// The control area, and behind it the rings.
    pub const CONTROL: usize = 0x7e80_0000_0000;
    /// The tape of a replay, or the windows that move over it.
    pub const TAPE: usize = 0x7e90_0000_0000;
    /// End of the addresses that windows may have.
    pub const TAPE_END: usize = FRAMES;
    /// Address of the list of frame times.
    pub const FRAMES: usize = 0x7ed0_0000_0000;
    /// The turns of the process, where the tape is not mapped whole.
    pub const TURNS: usize = 0x7ee0_0000_0000;
    /// What hooks keep of stacks, where a debugger will look at those.
    pub const STACKS: Option<usize> = Some(0x7ef0_0000_0000);
    /// The table of epoll registrations: it is there in recordings, too, and so what replays have besides lies below it.
    pub const EPOLL: usize = 0x7f00_0000_0000;
    /// Bytes of a ring of this process.
    pub const RING_BYTES: usize = super::channel::RING_BYTES;
}

// Below 4 GiB a program, whose heap grows upwards, lies at 0x08048000 or 0x56555000, and libraries and mappings grow downwards
// from 0xf7fff000. What is here leaves the heap at least 630 MiB, and the mappings 1.3 GiB less 1 MiB for each thread.
#[cfg(target_pointer_width = "32")]
mod chosen {
    /// The tape of a replay, or the windows that move over it.
    pub const TAPE: usize = 0x7e00_0000;
    /// End of the addresses that windows may have.
    pub const TAPE_END: usize = EPOLL;
    /// The table of epoll registrations.
    pub const EPOLL: usize = 0x9e00_0000;
    /// Address of the list of frame times.
    pub const FRAMES: usize = 0x9f00_0000;
    /// The turns of the process, where the tape is not mapped whole.
    pub const TURNS: usize = 0x9f80_0000;
    /// The control area, and behind it the rings.
    pub const CONTROL: usize = 0xa000_0000;
    /// There is no room for what hooks keep of stacks.
    pub const STACKS: Option<usize> = None;
    /// Bytes of a ring of this process.
    pub const RING_BYTES: usize = 512 << 10;
}

const _: () = assert!(RING_BYTES.is_power_of_two() && RING_BYTES <= channel::RING_BYTES);
