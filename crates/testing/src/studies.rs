//! Studies as they come out of a run, from a seed: what each level does is known.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use prony_limits::{self as limits, Experiment, Limits};
use prony_stats::Seed;
use prony_stats::samples::{Benchmark, Better, Measured, Run, Samples};
use prony_study::{Cell, Direction, Factor, FailureKind, Machine, Metric, Normalise, Results, Role, State, Workload};
use serde_json::json;

/// Sum of uniform numbers: roughly normal, with deviation 1.
fn noise(seed: &mut Seed) -> f64 {
    (0..12).map(|_| seed.bits() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
}

fn metric() -> Metric {
    Metric {
        name: "CPU time".to_owned(),
        unit: "second".to_owned(),
        direction: Direction::Lower,
        normalise: Some(Normalise { by: "frames".to_owned(), to: 120_000.0 }),
    }
}

fn factor(name: &str, levels: &[&str]) -> Factor {
    Factor {
        name: name.to_owned(),
        levels: levels.iter().map(|&level| level.to_owned()).collect(),
        numbers: None,
        random: false,
    }
}

fn machines(names: &[&str]) -> Vec<Machine> {
    let facts = |name: &str| {
        json!({
            "cpu": {"model": format!("{name} CPU"), "cores": 8}, "kernel": {"release": "6.1.0"},
            "frequency": {"governors": {"performance": 8}, "turbo": false}, "tuned": true,
        })
    };
    names.iter().map(|&name| Machine { name: name.to_owned(), facts: facts(name), disturbances: Vec::new() }).collect()
}

fn workloads(names: &[&str]) -> Vec<Workload> {
    names.iter().map(|&name| Workload { name: name.to_owned(), axes: BTreeMap::new() }).collect()
}

fn cell(levels: &[usize], (machine, workload, repeat): (usize, usize, u32), role: Role, value: f64) -> Cell {
    let key = (machine, workload, repeat, role as usize, levels)
        .4
        .iter()
        .chain(&[machine, workload, repeat as usize, role as usize])
        .fold(7u64, |hash, &part| Seed::new(hash ^ part as u64).bits());
    Cell {
        key: format!("{key:016x}{:016x}", Seed::new(key).bits()),
        machine,
        workload,
        repeat,
        levels: levels.to_vec(),
        role,
        state: State::Done,
        attempt: 1,
        value: Some(value),
        spread: None,
        samples: None,
        seconds: Some(value * 1.04),
        provenance: BTreeMap::from([
            ("command".to_owned(), "hlds_replay {engine} --demo {demo}".to_owned()),
            ("engine sha256".to_owned(), format!("{:016x}", Seed::new(levels[0] as u64).bits())),
        ]),
    }
}

/// Engine × game DLL × plugin layer, 6 of 12 configurations; the plugin layer does more on the faster engine.
pub fn factorial(machine_names: &[&str], demos: &[&str], repeats: u32, seed: u64) -> Results {
    const CONFIGURATIONS: [[usize; 3]; 6] = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [2, 0, 1], [2, 1, 1]];
    let mut random = Seed::new(seed);
    let mut cells = Vec::new();
    for machine in 0..machine_names.len() {
        let speed = 14.0 * (1.0 + 0.45 * machine as f64);
        let tastes: Vec<f64> = (0..4).map(|_| noise(&mut random)).collect();
        for workload in 0..demos.len() {
            let weight = 1.0 + 0.07 * ((workload * 5) % 7) as f64;
            for repeat in 0..repeats {
                let mut value = |levels: &[usize]| {
                    let engine = [0.0, 0.62 + 0.05 * tastes[0], 0.73 + 0.05 * tastes[0] + 0.01 * tastes[1]][levels[0]];
                    let dll = levels[1] as f64 * (0.055 + 0.01 * tastes[2]);
                    let plugins =
                        levels[2] as f64 * (0.2 + 0.015 * tastes[3] + 0.045 * f64::from(levels[0].min(1) as u32));
                    speed * weight * (0.006 * noise(&mut random) - engine - dll - plugins).exp()
                };
                let at = (machine, workload, repeat);
                let again = CONFIGURATIONS[(workload + repeat as usize) % 6];
                cells.push(cell(&again, at, Role::WarmUp, value(&again) * 1.03));
                cells.extend(CONFIGURATIONS.iter().map(|levels| cell(levels, at, Role::Measured, value(levels))));
                cells.push(cell(&again, at, Role::Control, value(&again)));
            }
        }
    }
    Results {
        title: "game server builds".to_owned(),
        metric: metric(),
        factors: vec![
            factor("engine", &["stock", "pedantic", "optimised"]),
            factor("game DLL", &["stock", "optimised"]),
            factor("plugin layer", &["stock", "optimised"]),
        ],
        workloads: workloads(demos),
        machines: machines(machine_names),
        cells,
        seed,
        random: Vec::new(),
    }
}

/// Threads from 1 to 64 by doubling × two allocators; one of them stops early.
pub fn sweep(seed: u64) -> Results {
    let mut random = Seed::new(seed);
    let threads: Vec<f64> = (0..8).map(|power| f64::from(1 << power)).collect();
    let mut cells = Vec::new();
    for machine in 0..2 {
        for repeat in 0..8 {
            for allocator in 0..2 {
                for (place, &n) in threads.iter().enumerate() {
                    let serial = [0.06, 0.015][allocator] * (1.0 + 0.3 * machine as f64);
                    let rate = 52_000.0 * n / (1.0 + serial * (n - 1.0) + 0.0002 * n * n);
                    let value = rate * (0.03 * noise(&mut random)).exp();
                    let mut cell = cell(&[place, allocator], (machine, 0, repeat), Role::Measured, value);
                    cell.seconds = Some(3.0);
                    if allocator == 0 && place >= 6 {
                        cell.state = State::Skipped { why: "late_ticks = 3.4 % at threads = 64, above 1 %".to_owned() };
                        (cell.value, cell.seconds, cell.attempt) = (None, None, 0);
                    }
                    cells.push(cell);
                }
            }
        }
    }
    let mut threads_factor = factor("threads", &["1", "2", "4", "8", "16", "32", "64", "128"]);
    threads_factor.numbers = Some(threads);
    Results {
        title: "packets by threads and allocator".to_owned(),
        metric: Metric {
            name: "packet rate".to_owned(),
            unit: "packets/s".to_owned(),
            direction: Direction::Higher,
            normalise: None,
        },
        factors: vec![threads_factor, factor("allocator", &["glibc", "mimalloc"])],
        workloads: workloads(&["64 clients"]),
        machines: machines(&["EPYC 7302P", "Xeon E5-2680"]),
        cells,
        seed,
        random: Vec::new(),
    }
}

/// Replays of two maps by three builds, with the time of each frame in a samples file below `dir`.
pub fn replays(dir: &Path, frames: usize, repeats: u32, seed: u64) -> Results {
    let mut random = Seed::new(seed);
    fs::create_dir_all(dir.join("cells")).expect("a scratch directory takes it");
    let mut cells = Vec::new();
    for workload in 0..2 {
        for repeat in 0..repeats {
            for build in 0..3 {
                let speed = [1.0, 0.86, 0.71][build] * (1.0 + 0.5 * workload as f64);
                let frame_ns: Vec<u64> = (0..frames)
                    .map(|frame| {
                        let wave = 1.0 + 0.4 * (frame as f64 / frames as f64 * 9.0).sin();
                        let slow = if frame % (frames / 7).max(1) == 3 { 14.0 } else { 1.0 };
                        let rare = if random.below(2500) == 0 { 5.0 } else { 1.0 };
                        (180_000.0 * speed * wave * slow * rare * (0.12 * noise(&mut random)).exp()) as u64
                    })
                    .collect();
                let value = frame_ns.iter().sum::<u64>() as f64 * 1e-9 / frames as f64 * 120_000.0;
                let mut cell = cell(&[build], (0, workload, repeat), Role::Measured, value);
                cell.samples = Some(format!("cells/{}.json", cell.key));
                let mut run = Run::of(value);
                run.measured = Some(Box::new(Measured { frame_ns, ..Measured::default() }));
                let mut benchmark = Benchmark::new("replay");
                benchmark.runs.push(run);
                let samples = Samples { benchmarks: vec![benchmark], circumstances: None };
                let bytes = samples.encode().expect("it holds the rules");
                fs::write(dir.join(format!("cells/{}.json", cell.key)), bytes).expect("a scratch directory takes it");
                cells.push(cell);
            }
        }
    }
    Results {
        title: "teeworlds builds".to_owned(),
        metric: metric(),
        factors: vec![factor("build", &["-O2", "-O3 -march=native", "-O3 LTO"])],
        workloads: workloads(&["dm1", "ctf5"]),
        machines: machines(&["here"]),
        cells,
        seed,
        random: Vec::new(),
    }
}

/// A study that is not over, on a machine that was not quiet, of which one build fails.
pub fn with_failures(seed: u64) -> Results {
    let mut results =
        factorial(&["i7-3770K", "Opteron 6272", "Atom C2750"], &["de_dust2", "de_aztec", "cs_office"], 3, seed);
    results.machines[1].disturbances =
        vec!["clock not locked: turbo is on".to_owned(), "another process took 7 % of the CPUs".to_owned()];
    for (place, cell) in results.cells.iter_mut().enumerate() {
        let state = if cell.levels == [2, 1, 1] && cell.machine == 2 {
            State::Failed {
                kind: FailureKind::Permanent,
                message: "diverged at frame 1203: sendto, byte 17: expected 5a, found 00".to_owned(),
            }
        } else if place % 41 == 7 {
            State::Failed { kind: FailureKind::Transient, message: "no space left on the disk".to_owned() }
        } else if cell.machine == 2 && cell.repeat == 2 {
            State::Pending
        } else {
            continue;
        };
        cell.state = state;
        cell.value = None;
    }
    results
}

/// Limits of the machine that the test runs on, of invented figures: two levels, loads and a chase.
pub fn limits() -> Limits {
    let facts = prony_machine::facts(&prony_machine::Tree::machine());
    let case = |experiment, unit: &str, (level, bytes): (&str, u32), values: [f64; 4]| {
        let is_rate = unit == "B/s";
        let sample = |place| limits::Sample {
            seconds: 1e-3,
            core_hz: 3e9,
            faults: 0,
            taint: (place == 3).then_some(limits::Taint::SharedCore),
        };
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let mut facts = BTreeMap::from([
            fact("level", level.to_owned()),
            fact("bytes", bytes.to_string()),
            fact("pages", "2M THP".to_owned()),
        ]);
        if is_rate {
            facts.insert("way".to_owned(), "load".to_owned());
        }
        limits::Measured {
            experiment,
            name: format!("{level}, {bytes} bytes"),
            unit: unit.to_owned(),
            better: if is_rate { Better::Higher } else { Better::Lower },
            count: 1.0,
            facts,
            values: values.to_vec(),
            series: limits::Series { passes: 1, samples: (0..4).map(sample).collect(), steal: None },
            listing: None,
        }
    };
    Limits {
        fingerprint: limits::fingerprint(&facts),
        facts,
        cpu: 1,
        measured: vec![
            case(Experiment::Cache, "second", ("L1", 16 << 10), [1.25e-9, 1.3e-9, 1.4e-9, 9e-9]),
            case(Experiment::Cache, "second", ("DRAM", 256 << 20), [1.2e-7, 1.3e-7, 1.4e-7, 9e-7]),
            case(Experiment::Bandwidth, "B/s", ("L1", 16 << 10), [2e11, 1.9e11, 1.8e11, 9e10]),
            case(Experiment::Bandwidth, "B/s", ("DRAM", 256 << 20), [2e10, 1.9e10, 1.8e10, 9e9]),
        ],
        skipped: Vec::new(),
        elapsed: std::time::Duration::from_secs(20),
        stopped: false,
        steal: None,
    }
}
