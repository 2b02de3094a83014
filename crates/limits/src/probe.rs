//! Two short loops that bracket every sample: what the core's clock is, and whether another thread shares the core.
//!
//! The clock comes from adds of two registers that each wait for the one before, one cycle each on every core of the last twenty
//! years. Adds of an immediate would not do: Golden Cove and later fold chains of them while they are renamed, six a cycle
//! (P. Cordes and others, "Alder Lake P-core: add with small immediates", uops.info). A sibling thread leaves such a chain at
//! full speed, as it needs one unit of four. Nops need every slot of the front end: a sibling that runs takes half of them.

use serde::{Deserialize, Serialize};

use crate::ticks::{now_ns, overhead_ns};

/// Adds that wait for each other, in a turn of the loop.
#[cfg(target_arch = "x86_64")]
const ADDS: u64 = 96;
/// Nops in a turn of the loop: enough that a mispredicted end of a turn, as other loops at some addresses bring about, hardly counts.
#[cfg(target_arch = "x86_64")]
const NOPS: u64 = 960;
/// Turns: 24,000 cycles, some 8 µs, of which the turn that leaves the loop, mispredicted, is one in a thousand.
const ADD_TURNS: u64 = 250;
/// Turns of the nop loop: some 5,000 cycles.
const NOP_TURNS: u64 = 25;
/// The least of this many is what counts: an interrupt takes some microseconds, and seldom comes twice.
const TRIES: usize = 3;

/// Results of the probes: clock rate in hertz, and nops in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Clock of the core, in cycles per second.
    pub core_hz: f64,
    /// Nops that the core retires in a cycle.
    pub nops_per_cycle: f64,
}

/// Two probe loops, which measure the clock rate and the nops in a cycle.
#[derive(Debug)]
pub struct Probe {
    #[cfg(target_arch = "x86_64")]
    adds: crate::code::Code,
    #[cfg(target_arch = "x86_64")]
    nops: crate::code::Code,
    overhead_ns: u64,
}

#[cfg(target_arch = "x86_64")]
impl Probe {
    /// Emits the machine code of both loops.
    ///
    /// # Errors
    /// When there is no memory for code.
    pub fn new() -> Result<Probe, crate::code::CodeError> {
        Ok(Probe { adds: adds()?, nops: nops()?, overhead_ns: overhead_ns() })
    }

    /// The loop behind the clock.
    pub fn listing(&self) -> Option<crate::Listing> {
        Some(self.adds.listing())
    }

    fn run_adds(&self) -> u64 {
        self.adds.run_alone(ADD_TURNS);
        ADDS * ADD_TURNS
    }

    fn run_nops(&self) -> u64 {
        self.nops.run_alone(NOP_TURNS);
        NOPS * NOP_TURNS
    }
}

#[cfg(target_arch = "x86_64")]
fn adds() -> Result<crate::code::Code, crate::code::CodeError> {
    use iced_x86::code_asm::*;
    // SAFETY: it uses rax and rcx, counts rdi down to its end, and no memory.
    unsafe {
        crate::code::Code::emit(0, |emit| {
            let top = emit.begin()?;
            for _ in 0..ADDS {
                emit.asm.add(rax, rcx)?;
            }
            emit.asm.dec(rdi)?;
            emit.asm.jnz(top)?;
            emit.end()?;
            emit.asm.ret()
        })
    }
}

#[cfg(target_arch = "x86_64")]
fn nops() -> Result<crate::code::Code, crate::code::CodeError> {
    use iced_x86::code_asm::*;
    // SAFETY: it counts rdi down to its end, and uses no memory.
    unsafe {
        crate::code::Code::emit(0, |emit| {
            let top = emit.begin()?;
            for _ in 0..NOPS {
                emit.asm.nop()?;
            }
            emit.asm.dec(rdi)?;
            emit.asm.jnz(top)?;
            emit.end()?;
            emit.asm.ret()
        })
    }
}

#[cfg(target_arch = "aarch64")]
impl Probe {
    /// Nothing is emitted here: the loops are part of this program.
    ///
    /// # Errors
    /// None; the type is that of machines that emit.
    pub fn new() -> Result<Probe, std::convert::Infallible> {
        Ok(Probe { overhead_ns: overhead_ns() })
    }

    /// No listing: nothing was emitted.
    pub fn listing(&self) -> Option<crate::Listing> {
        None
    }

    fn run_adds(&self) -> u64 {
        for _ in 0..ADD_TURNS {
            // SAFETY: adds of two registers of our own.
            unsafe {
                std::arch::asm!(
                    ".rept 96", "add {a}, {a}, {b}", ".endr",
                    a = inout(reg) 1u64 => _, b = in(reg) 3u64, options(nomem, nostack)
                );
            }
        }
        96 * ADD_TURNS
    }

    fn run_nops(&self) -> u64 {
        for _ in 0..NOP_TURNS {
            // SAFETY: nops.
            unsafe { std::arch::asm!(".rept 960", "nop", ".endr", options(nomem, nostack)) };
        }
        960 * NOP_TURNS
    }
}

impl Probe {
    /// Runs both, some 40 µs.
    pub fn read(&self) -> Reading {
        let core_hz = self.per_second(|| self.run_adds());
        let nops = self.per_second(|| self.run_nops());
        Reading { core_hz, nops_per_cycle: nops / core_hz }
    }

    /// Best rate of the items counted by `run`, per second.
    fn per_second(&self, run: impl Fn() -> u64) -> f64 {
        let once = |_| {
            let before = now_ns();
            let count = run();
            let ns = (now_ns() - before).saturating_sub(self.overhead_ns).max(1);
            count as f64 * 1e9 / ns as f64
        };
        (0..TRIES).map(once).fold(0.0, f64::max)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_measured_with_registers_only() {
        let listing = adds().expect("a page").listing();
        // `add reg, reg` is 48 01 c8: opcode 01 takes registers, 83 and 81 take immediates.
        assert_eq!(listing.loop_bytes, ADDS * 3 + 3 + 6);
        let adds: Vec<_> = listing.loop_lines().filter(|line| line.text == "add rax, rcx").collect();
        assert!(adds.len() > 20 && adds.iter().all(|line| line.bytes == "4801c8"));
        assert_eq!(nops().expect("a page").loop_bytes(), NOPS + 3 + 6);
    }

    #[test]
    fn a_reading_has_a_clock_and_nops() {
        let reading = Probe::new().expect("a page").read();
        assert!(reading.core_hz > 0.0 && reading.nops_per_cycle > 0.0, "{reading:?}");
    }
}
