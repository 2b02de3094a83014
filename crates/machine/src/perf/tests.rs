use super::*;

use std::process::Command;

const PERF_RECORD_MMAP2: u32 = 10;
const PERF_RECORD_COMM: u32 = 3;
const PERF_RECORD_EXIT: u32 = 4;
const PERF_RECORD_SAMPLE: u32 = 9;

fn sampling() -> Sampling {
    Sampling { trigger: Trigger::CpuClock, frequency_hz: 2000, kernel: false, stack_bytes: None, tracking: true }
}

fn rings(sampling: &Sampling, bytes: usize) -> Vec<Ring> {
    let cpus = std::thread::available_parallelism().expect("a number of CPUs").get();
    let open = |cpu| {
        let ring = Ring::open(sampling, Target::ThisThread, cpu, bytes).expect("a ring");
        ring.enable().expect("it starts");
        ring
    };
    (0..cpus).map(open).collect()
}

#[test]
fn a_child_is_followed_to_its_end() {
    let mut rings = rings(&sampling(), 1 << 19);
    let done = Command::new("sh").args(["-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"]).status();
    assert!(done.expect("a shell").success());
    let mut kinds = std::collections::BTreeMap::<u32, usize>::new();
    for ring in &mut rings {
        ring.drain(|record| {
            let kind = u32::from_ne_bytes(record[..4].try_into().expect("four bytes"));
            let length = u16::from_ne_bytes(record[6..8].try_into().expect("two bytes"));
            assert_eq!(usize::from(length), record.len());
            *kinds.entry(kind).or_default() += 1;
        });
    }
    // The loop takes tens of milliseconds of CPU time, each of which has two ticks of the timer.
    assert!(kinds.get(&PERF_RECORD_SAMPLE).is_some_and(|&n| n > 5), "{kinds:?}");
    assert!(kinds.get(&PERF_RECORD_MMAP2).is_some_and(|&n| n >= 3), "{kinds:?}");
    assert_eq!(kinds.get(&PERF_RECORD_COMM), Some(&1), "{kinds:?}");
    assert_eq!(kinds.get(&PERF_RECORD_EXIT), Some(&1), "{kinds:?}");
}

#[test]
fn records_that_go_round_the_end_of_a_ring_come_whole() {
    let mut rings = rings(&sampling(), 1);
    for _ in 0..40 {
        assert!(Command::new("true").status().expect("it runs").success());
        for ring in &mut rings {
            ring.drain(|record| {
                let kind = u32::from_ne_bytes(record[..4].try_into().expect("four bytes"));
                assert!((1..=21).contains(&kind), "{kind}");
            });
        }
    }
}

#[test]
fn what_a_machine_does_not_count_differs_from_what_it_does_not_permit() {
    let sampling = Sampling { trigger: Trigger::Cycles, ..sampling() };
    match Ring::open(&sampling, Target::ThisThread, 0, 1 << 16) {
        Ok(_) | Err(PerfError::NotCounted) => {}
        Err(other) => panic!("{other}"),
    }
    match Ring::open(&self::sampling(), Target::Thread(i32::MAX), 0, 1 << 16) {
        Err(PerfError::NoThread) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_refusal_names_the_setting_that_would_permit_it() {
    let sampling = sampling();
    assert_eq!(sampling.paranoid_at_most(Target::ThisThread), 2);
    assert_eq!(Sampling { kernel: true, ..sampling }.paranoid_at_most(Target::Thread(1)), 1);
    assert_eq!(sampling.paranoid_at_most(Target::Everyone), 0);
    let refused = PerfError::NotPermitted { needed: 1, found: Some(3) };
    let text = "the kernel refused: expected kernel.perf_event_paranoid at most 1, or CAP_PERFMON; found 3";
    assert_eq!(refused.to_string(), text);
}

#[test]
fn a_refusal_that_no_setting_explains_blames_none() {
    assert!(matches!(refused(2, Some(3)), PerfError::NotPermitted { needed: 2, found: Some(3) }));
    assert!(matches!(refused(2, None), PerfError::NotPermitted { needed: 2, found: None }));
    assert!(matches!(refused(2, Some(2)), PerfError::Refused { found: 2 }));
}
