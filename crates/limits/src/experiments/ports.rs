//! Throughput and latency of instructions, and slow instructions.

use iced_x86::IcedError;
use iced_x86::code_asm::*;

use crate::area::{Area, PageKind};
use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::code::{Code, CodeError};
use crate::experiment::Experiment;
use crate::tester::Passes;
use crate::unsupported::Unsupported;

/// Independent registers: enough for six a cycle of one cycle each.
const FREE: [AsmRegister64; 6] = [rax, rdx, r8, r9, r10, r11];
/// Independent vector registers: two a cycle that take six cycles each. The last ones of sixteen are operands.
const ACCUMULATORS: [AsmRegisterYmm; 12] = [ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7, ymm8, ymm9, ymm10, ymm11];
/// Instructions in a turn of the loop, about.
const UNROLLED: usize = 48;
/// Stored value, if neither registers nor addresses depend on it: some memory stores zeros faster.
const STORED: u64 = 0x9e37_79b9_7f4a_7c15;
/// Two pages: some accesses lie across their border.
const BYTES: usize = 8192;

/// Feature that the instructions of a case need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Avx2,
    Fma,
    Popcnt,
}

/// Quantity to measure for an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    /// Instructions per cycle, of many independent ones.
    Throughput,
    /// Cycles per instruction in a chain of dependent ones.
    Latency,
}

/// Emits the `n`th instruction of a turn.
type Emitter = fn(&mut CodeAssembler, usize) -> Result<(), IcedError>;

#[derive(Clone, Copy)]
struct Port {
    name: &'static str,
    question: Question,
    /// Number of instructions per iteration.
    count: usize,
    needs: Needs,
    emit: Emitter,
}

const fn throughput(name: &'static str, needs: Needs, emit: Emitter) -> Port {
    Port { name, question: Question::Throughput, count: UNROLLED, needs, emit }
}

const fn latency(name: &'static str, needs: Needs, emit: Emitter) -> Port {
    Port { name, question: Question::Latency, count: UNROLLED / 2, needs, emit }
}

/// rsi is memory of zeros that begins a page, rcx is 3, ymm13 is [`STORED`] four times, ymm14 and ymm15 are zeros, and the flags say zero.
#[rustfmt::skip]
const PORTS: &[Port] = &[
    throughput("nop", Needs::Nothing, |a, _| a.nop()),
    throughput("mov r, r", Needs::Nothing, |a, n| a.mov(FREE[n % 6], rcx)),
    throughput("add r, r", Needs::Nothing, |a, n| a.add(FREE[n % 6], rcx)),
    throughput("lea r, [r+r]", Needs::Nothing, |a, n| a.lea(FREE[n % 6], ptr(rcx + rsi))),
    throughput("shl r, 3", Needs::Nothing, |a, n| a.shl(FREE[n % 6], 3)),
    throughput("imul r, r", Needs::Nothing, |a, n| a.imul_2(FREE[n % 6], rcx)),
    throughput("popcnt r, r", Needs::Popcnt, |a, n| a.popcnt(FREE[n % 6], rcx)),
    throughput("load 64 bits", Needs::Nothing, |a, n| a.mov(FREE[n % 6], qword_ptr(rsi + 8 * (n % 8) as i32))),
    throughput("load 256 bits", Needs::Avx2, |a, n| a.vmovaps(ACCUMULATORS[n % 12], ymmword_ptr(rsi + 32 * (n % 16) as i32))),
    throughput("store 64 bits", Needs::Nothing, |a, n| a.mov(qword_ptr(rsi + 8 * (n % 8) as i32), rcx)),
    throughput("store 256 bits", Needs::Avx2, |a, n| a.vmovaps(ymmword_ptr(rsi + 32 * (n % 16) as i32), ymm13)),
    throughput("vpaddd 256 bits", Needs::Avx2, |a, n| a.vpaddd(ACCUMULATORS[n % 12], ACCUMULATORS[n % 12], ymm15)),
    throughput("vaddps 256 bits", Needs::Avx2, |a, n| a.vaddps(ACCUMULATORS[n % 12], ACCUMULATORS[n % 12], ymm15)),
    throughput("vmulps 256 bits", Needs::Avx2, |a, n| a.vmulps(ACCUMULATORS[n % 12], ACCUMULATORS[n % 12], ymm15)),
    throughput("vfmadd231ps 256 bits", Needs::Fma, |a, n| a.vfmadd231ps(ACCUMULATORS[n % 12], ymm14, ymm15)),
    throughput("vpshufb 256 bits", Needs::Avx2, |a, n| a.vpshufb(ACCUMULATORS[n % 12], ymm14, ymm15)),
    throughput("branch not taken", Needs::Nothing, |a, _| short_jump(a, false)),
    throughput("branch taken", Needs::Nothing, |a, _| short_jump(a, true)),
    latency("add r, r", Needs::Nothing, |a, _| a.add(rax, rcx)),
    latency("imul r, r", Needs::Nothing, |a, _| a.imul_2(rax, rcx)),
    latency("popcnt r, r", Needs::Popcnt, |a, _| a.popcnt(rax, rax)),
    latency("div r64", Needs::Nothing, |a, _| { a.xor(edx, edx)?; a.div(rcx) }),
    latency("vpaddd", Needs::Avx2, |a, _| a.vpaddd(ymm0, ymm0, ymm15)),
    latency("vaddps", Needs::Avx2, |a, _| a.vaddps(ymm0, ymm0, ymm15)),
    latency("vmulps", Needs::Avx2, |a, _| a.vmulps(ymm0, ymm0, ymm15)),
    latency("vfmadd231ps", Needs::Fma, |a, _| a.vfmadd231ps(ymm0, ymm14, ymm15)),
    // Memory holds zeros, so that the next address is the same but known only when the load is done.
    latency("load", Needs::Nothing, |a, _| a.mov(rax, qword_ptr(rsi + rax))),
    latency("load across two lines", Needs::Nothing, |a, _| a.mov(rax, qword_ptr(rsi + rax + 60))),
    latency("load across two pages", Needs::Nothing, |a, _| a.mov(rax, qword_ptr(rsi + rax + 4092))),
    latency("store across two lines", Needs::Nothing, |a, _| a.mov(qword_ptr(rsi + 60), r8)),
    latency("store across two pages", Needs::Nothing, |a, _| a.mov(qword_ptr(rsi + 4092), r8)),
    latency("store, load the same", Needs::Nothing, |a, _| { a.mov(qword_ptr(rsi), rax)?; a.mov(rax, qword_ptr(rsi)) }),
    // A byte was stored and eight are loaded: the store has to reach the cache first.
    latency("store a byte, load eight", Needs::Nothing, |a, _| { a.mov(byte_ptr(rsi), al)?; a.mov(rax, qword_ptr(rsi)) }),
    latency("lock xadd", Needs::Nothing, |a, _| a.lock().xadd(qword_ptr(rsi), rax)),
    latency("lock cmpxchg", Needs::Nothing, |a, _| a.lock().cmpxchg(qword_ptr(rsi), rdx)),
    latency("xchg", Needs::Nothing, |a, _| a.xchg(qword_ptr(rsi), rax)),
    latency("mfence", Needs::Nothing, |a, _| a.mfence()),
    latency("pause", Needs::Nothing, |a, _| a.pause()),
];

/// To the next instruction. Sixteen bytes each, so that no line has more of them than a predictor takes.
fn short_jump(asm: &mut CodeAssembler, taken: bool) -> Result<(), IcedError> {
    let mut next = asm.create_label();
    match taken {
        true => asm.jmp(next)?,
        false => asm.jnz(next)?,
    }
    if taken {
        asm.nops_with_size(14)?;
    }
    asm.set_label(&mut next)?;
    // A label needs an instruction of its own when another follows: what comes next in the turn is it.
    asm.zero_bytes()
}

impl Port {
    fn word(&self) -> &'static str {
        match self.question {
            Question::Throughput => "a cycle",
            Question::Latency => "cycles each",
        }
    }

    fn missing(&self) -> Option<&'static str> {
        let (there, name) = match self.needs {
            Needs::Nothing => (true, ""),
            Needs::Avx2 => (std::is_x86_feature_detected!("avx2"), "AVX2"),
            Needs::Fma => (std::is_x86_feature_detected!("fma"), "FMA"),
            Needs::Popcnt => (std::is_x86_feature_detected!("popcnt"), "POPCNT"),
        };
        (!there).then_some(name)
    }

    fn code(&self) -> Result<Code, CodeError> {
        let wide = matches!(self.needs, Needs::Avx2 | Needs::Fma);
        // SAFETY: it uses a[..8192], counts rdi down to its end, and changes registers only that a callee may change.
        unsafe {
            Code::emit(0, |emit| {
                emit.asm.mov(ecx, 3)?;
                if wide {
                    emit.asm.vzeroall()?;
                    emit.asm.mov(rax, STORED)?;
                    emit.asm.vmovq(xmm13, rax)?;
                    emit.asm.vmovddup(xmm13, xmm13)?;
                    emit.asm.vinsertf128(ymm13, ymm13, xmm13, 1)?;
                }
                for register in FREE {
                    emit.asm.xor(register, register)?;
                }
                let top = emit.begin()?;
                if self.name == "branch not taken" {
                    emit.asm.test(eax, eax)?;
                    emit.asm.xor(eax, eax)?;
                }
                for place in 0..self.count {
                    (self.emit)(&mut emit.asm, place)?;
                }
                emit.asm.dec(rdi)?;
                emit.asm.jnz(top)?;
                emit.end()?;
                if wide {
                    emit.asm.vzeroupper()?;
                }
                emit.asm.ret()
            })
        }
    }
}

pub fn cases(_: &Setting) -> Result<Vec<Case>, Unsupported> {
    let case = |port: &'static Port| {
        let measure = match port.question {
            Question::Throughput => Measure::EachCycle(port.count as f64, "instructions"),
            Question::Latency => Measure::CyclesEach(port.count as f64),
        };
        let run = move |context: &mut CaseContext| measured(context, port);
        Case::new(Experiment::Ports, format!("{}, {}", port.name, port.word()), measure, run)
            .with("instruction", port.name)
            .with("question", port.word())
    };
    Ok(PORTS.iter().map(case).collect())
}

fn measured(context: &mut CaseContext, port: &Port) -> Result<Outcome, Unsupported> {
    if let Some(missing) = port.missing() {
        return Err(Unsupported::because(format!("this processor has no {missing}")));
    }
    let code = port.code()?;
    let mut memory = Area::touched(BYTES, PageKind::Small)?;
    memory.fill(0);
    let at = memory.as_mut_ptr();
    let series = context.tester.repeat(Passes::Calibrated, |passes| {
        // SAFETY: the code uses the first of the two only, which is two pages of ours.
        unsafe { code.run_at(passes, at, at, BYTES) };
    })?;
    Ok(Outcome { series, listing: Some(code.listing()), facts: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::PORTS;
    use crate::area::{Area, PageKind};

    #[test]
    fn every_port_has_a_name_of_its_own_and_code_that_ends() {
        let mut names: Vec<(&str, &str)> = PORTS.iter().map(|port| (port.name, port.word())).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PORTS.len());
        let mut memory = Area::touched(8192, PageKind::Small).expect("two pages");
        for port in PORTS {
            memory.fill(0);
            let code = port.code().expect("a page");
            if port.name.contains("256") || port.name.starts_with('v') {
                continue;
            }
            let at = memory.as_mut_ptr();
            // SAFETY: it uses two pages of ours.
            unsafe { code.run_at(2, at, at, 8192) };
        }
    }

    #[test]
    fn a_split_load_touches_two_lines_or_pages_and_no_more_of_the_memory() {
        let texts = |name: &str| {
            let port = PORTS.iter().find(|port| port.name == name).expect("it is in the table");
            port.code().expect("a page").listing().loop_lines().next().expect("a loop").text.clone()
        };
        assert_eq!(texts("load across two lines"), "mov rax, [rsi+rax+0x3c]");
        assert_eq!(texts("load across two pages"), "mov rax, [rsi+rax+0xffc]");
    }
}
