//! The signal of a breakpoint, where no instruction of the server is replaced.

use libc::c_int;

/// Instruction that raises a signal.
#[derive(Debug)]
pub struct Trap {
    /// The signal.
    pub signal: c_int,
}

impl Trap {
    /// The trap of this process.
    pub fn of_process() -> &'static Trap {
        &Trap { signal: libc::SIGTRAP }
    }
}
