//! Several cores: how bandwidth and arithmetic grow with them, and what it costs when they share a line.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prony_stats::Seed;

use crate::area::{Area, PageKind};
use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::contents::Contents;
use crate::experiment::Experiment;
use crate::parallel::{Work, run_parallel};
use crate::unsupported::Unsupported;

/// Pairs of CPUs that a matrix of latencies has at most: 24 CPUs, each with each other.
const PAIRS_MAX: usize = 276;
/// Most memory of a thread: beyond what it has of any cache, and little of the machine's memory when there are many.
const EACH_BYTES: usize = 128 << 20;
/// Work of a pass of arithmetic.
const ADDS: u64 = 4096;

/// A line of its own, and its neighbour: adjacent lines are fetched together on some cores.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Alone(AtomicU64);

/// Two counters on one line.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Neighbours([AtomicU64; 2]);

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let mut cases = Vec::new();
    let cpus = &setting.cpus;
    let counts = counts(cpus.len());
    let bytes = (setting.area_bytes / counts.last().copied().unwrap_or(1).next_power_of_two()).min(EACH_BYTES);
    let kind = setting.huge;
    for &threads in &counts {
        let on = cpus[..threads].to_vec();
        let run = move |context: &mut CaseContext| arithmetic(context, &on);
        cases.push(
            Case::new(Experiment::Threads, format!("adds, {threads} at once"), adds_measure(threads), run)
                .with("way", "adds")
                .with("threads", threads),
        );
        for way in ["load", "store", "copy"] {
            let each = if way == "copy" { bytes / 2 } else { bytes };
            let on = cpus[..threads].to_vec();
            let run = move |context: &mut CaseContext| moved(context, way, each, kind, &on);
            let name = format!("{way} in DRAM, {threads} at once");
            cases.push(
                Case::new(Experiment::Threads, name, Measure::BytesEachSecond((each * threads) as f64), run)
                    .with("way", way)
                    .with("threads", threads)
                    .with("bytes", bytes)
                    .with("pages", kind),
            );
        }
    }
    if cpus.len() < 2 {
        return Ok(cases);
    }
    let mut sorted = cpus.clone();
    sorted.sort_unstable();
    let pairs = sorted.iter().enumerate().flat_map(|(place, &a)| sorted[place + 1..].iter().map(move |&b| (a, b)));
    let left_out = pairs.clone().skip(PAIRS_MAX).count();
    for (a, b) in pairs.take(PAIRS_MAX) {
        let run = move |context: &mut CaseContext| ping_pong(context, [a, b]);
        cases.push(
            Case::new(Experiment::Threads, format!("line from CPU {a} to CPU {b}"), Measure::SecondsEach(2.0), run)
                .with("from", a)
                .with("to", b),
        );
    }
    if left_out > 0 {
        let run = move |_: &mut CaseContext| {
            let pairs = PAIRS_MAX + left_out;
            Err(Unsupported::because(format!("of {pairs} pairs of CPUs only {PAIRS_MAX} are measured")))
        };
        let name = format!("lines between {left_out} pairs of CPUs");
        cases.push(Case::new(Experiment::Threads, name, Measure::SecondsEach(2.0), run));
    }
    let on = [cpus[0], cpus[1]];
    for shared in [false, true] {
        let name = if shared { "two counters on one line" } else { "two counters on lines of their own" };
        let run = move |context: &mut CaseContext| counters(context, on, shared);
        cases.push(
            Case::new(Experiment::Threads, name, Measure::SecondsEach(1.0), run)
                .with("way", "count")
                .with("line", if shared { "shared" } else { "own" }),
        );
    }
    Ok(cases)
}

/// 1, 2, 4 and so on, and all.
fn counts(cpus: usize) -> Vec<usize> {
    let powers = (0..usize::BITS).map(|bits| 1usize << bits).take_while(|&count| count < cpus);
    powers.chain([cpus.max(1)]).collect()
}

fn adds_measure(threads: usize) -> Measure {
    Measure::EachSecond(ADDS as f64 * threads as f64, "adds")
}

/// Adds that do not wait for each other, as many a cycle as a core can.
fn arithmetic(context: &mut CaseContext, cpus: &[usize]) -> Result<Outcome, Unsupported> {
    let make = |_: usize| -> Result<Work<'_>, Unsupported> { adder() };
    let series = run_parallel(&mut context.tester, cpus, &make)?;
    Ok(Outcome { series, ..Outcome::default() })
}

#[cfg(target_arch = "x86_64")]
fn adder() -> Result<Work<'static>, Unsupported> {
    use iced_x86::code_asm::*;
    // SAFETY: it changes registers that a callee may change, and counts rdi down to its end.
    let code = unsafe {
        crate::code::Code::emit(0, |emit| {
            let mut pass = emit.asm.create_label();
            emit.asm.set_label(&mut pass)?;
            emit.asm.mov(ecx, (ADDS / 64) as i32)?;
            let top = emit.begin()?;
            for place in 0..64 {
                emit.asm.add([rax, rdx, r8, r9, r10, r11][place % 6], rsi)?;
            }
            emit.asm.dec(rcx)?;
            emit.asm.jnz(top)?;
            emit.end()?;
            emit.asm.dec(rdi)?;
            emit.asm.jnz(pass)?;
            emit.asm.ret()
        })
    }?;
    Ok(Box::new(move |passes| {
        code.run_alone(passes);
    }))
}

#[cfg(not(target_arch = "x86_64"))]
fn adder() -> Result<Work<'static>, Unsupported> {
    Ok(Box::new(|passes| {
        for _ in 0..passes {
            let mut sums = [1u64, 2, 3, 4];
            for _ in 0..ADDS / 4 {
                for sum in &mut sums {
                    *sum = black_box(*sum).wrapping_add(3);
                }
            }
            black_box(sums);
        }
    }))
}

fn moved(
    context: &mut CaseContext,
    way: &'static str,
    bytes: usize,
    kind: PageKind,
    cpus: &[usize],
) -> Result<Outcome, Unsupported> {
    let make = |place: usize| -> Result<Work<'_>, Unsupported> {
        let mover = super::bandwidth::Mover::new(way)?;
        let (mut a, mut b) = (Area::untouched(bytes, kind)?, Area::touched(bytes, kind)?);
        Contents::Noise.fill(&mut a, &mut Seed::new(place as u64));
        Ok(Box::new(move |passes| mover.run(passes, &mut a, &mut b)))
    };
    let series = run_parallel(&mut context.tester, cpus, &make)?;
    Ok(Outcome { series, ..Outcome::default() })
}

/// A line that goes to the other core and back: two ways a pass.
fn ping_pong(context: &mut CaseContext, cpus: [usize; 2]) -> Result<Outcome, Unsupported> {
    let ball = Arc::new(Alone::default());
    let make = |place: usize| -> Result<Work<'_>, Unsupported> {
        let ball = Arc::clone(&ball);
        // Even: it is the first one's turn.
        let mut turn = place as u64;
        Ok(Box::new(move |passes| {
            for _ in 0..passes {
                // Nothing between two looks: a pause takes up to 140 cycles, longer than the line.
                while ball.0.load(Ordering::Acquire) != turn {}
                ball.0.store(turn + 1, Ordering::Release);
                turn += 2;
            }
        }))
    };
    // The first of a pair need not be the CPU that this thread is bound to.
    let _pinned = prony_machine::affinity::pin(cpus[0])?;
    let series = run_parallel(&mut context.tester, &cpus, &make)?;
    Ok(Outcome { series, ..Outcome::default() })
}

/// Each of two threads counts on its own, as `counter += 1` on an atomic does.
fn counters(context: &mut CaseContext, cpus: [usize; 2], shared: bool) -> Result<Outcome, Unsupported> {
    let near = Arc::new(Neighbours::default());
    let far: Arc<[Alone; 2]> = Arc::default();
    let make = |place: usize| -> Result<Work<'_>, Unsupported> {
        let (near, far) = (Arc::clone(&near), Arc::clone(&far));
        Ok(Box::new(move |passes| {
            let counter = if shared { &near.0[place] } else { &far[place].0 };
            for _ in 0..passes {
                black_box(counter.fetch_add(1, Ordering::Relaxed));
            }
        }))
    };
    let series = run_parallel(&mut context.tester, &cpus, &make)?;
    Ok(Outcome { series, ..Outcome::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_until_all_cores_work() {
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(12), [1, 2, 4, 8, 12]);
    }

    #[test]
    fn counters_that_share_a_line_do_and_others_do_not() {
        let line = |counter: &AtomicU64| std::ptr::from_ref(counter) as usize / 64;
        let (near, far) = (Neighbours::default(), <[Alone; 2]>::default());
        assert_eq!(line(&near.0[0]), line(&near.0[1]));
        assert!(line(&far[0].0).abs_diff(line(&far[1].0)) >= 2);
    }
}
