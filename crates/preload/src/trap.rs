//! The instruction that takes the place of one of the server's, and the signal that it raises.

use super::state::control;
use libc::{c_int, siginfo_t};
use std::sync::atomic::Ordering;

/// Instruction that raises a signal.
#[derive(Debug)]
pub struct Trap {
    /// The signal.
    pub signal: c_int,
    /// The instruction. None of those that are followed is shorter or has these bytes.
    bytes: &'static [u8],
    /// What the kernel and Valgrind give as the reason of the signal. What a process sends says otherwise.
    codes: &'static [c_int],
    /// Bytes from the instruction to where the kernel says that it was raised.
    past: usize,
}

/// `int3`.
static BREAKPOINT: Trap = Trap { signal: libc::SIGTRAP, bytes: &[0xcc], codes: &[SI_KERNEL, TRAP_BRKPT], past: 1 };

/// `ud2`. gdb cannot pass a SIGTRAP on to the server but with those of its own breakpoints.
static INVALID: Trap = Trap { signal: libc::SIGILL, bytes: &[0x0f, 0x0b], codes: &[ILL_ILLOPN], past: 0 };

/// The kernel's word for a breakpoint.
const SI_KERNEL: c_int = 0x80;
/// Valgrind's word for it, and that of kernels of other architectures (sigaction(2)).
const TRAP_BRKPT: c_int = 1;
/// The kernel's word for an invalid instruction.
const ILL_ILLOPN: c_int = 2;

impl Trap {
    /// The trap of this process.
    pub fn of_process() -> &'static Trap {
        if control().halt.wanted.load(Ordering::Relaxed) { &INVALID } else { &BREAKPOINT }
    }

    /// The instruction.
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// True if it stands at an address.
    ///
    /// # Safety
    /// Code of the server stands there, with an instruction or this one.
    pub unsafe fn stands_at(&self, address: usize) -> bool {
        // SAFETY: the caller passes code that is mapped.
        (0..self.bytes.len()).all(|at| unsafe { ((address + at) as *const u8).read() } == self.bytes[at])
    }

    /// Address of the instruction that raised a signal; `None` if something else did. `next`: where the thread was stopped.
    ///
    /// # Safety
    /// `info` are the details of the signal.
    pub unsafe fn raised_at(&self, info: *const siginfo_t, next: usize) -> Option<usize> {
        // SAFETY: the caller passes the details.
        let code = unsafe { (*info).si_code };
        self.codes.contains(&code).then(|| next - self.past)
    }
}
