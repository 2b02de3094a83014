//! Fixed addresses at which the library maps memory that it shares with the process outside, far from the loader, the
//! heap and the stacks, so that a recorded and a replayed server see the same ones.

/// The control area, and behind it the rings.
pub const CONTROL: usize = 0x2000_0000_0000;
/// The tape of a replay, or the windows that move over it.
pub const TAPE: usize = 0x2100_0000_0000;
/// Address of the list of frame times.
pub const FRAMES: usize = 0x2200_0000_0000;
/// The table of epoll registrations.
pub const EPOLL: usize = 0x2300_0000_0000;
/// The turns of the process, where the tape is not held whole.
pub const TURNS: usize = 0x2400_0000_0000;
