//! Attacks a replay with demos whose records claim what no kernel returns, in a build under AddressSanitizer that makes every call
//! (`subjects/calls/claims.c`).
//!
//! ```text
//! cargo build -p prony && cargo run -p prony --example replay-claims -- --runs 20000 --seed 1
//! ```
//!
//! Records a run of the build, then changes one to three records of each demo, near the right values, and replays it with the `prony`
//! beside this program. Findings are reports of AddressSanitizer, signals that end the build, replays that do not end, and
//! exit codes other than 0 to 3; the demo of each is kept. The last line is `N runs, M findings`; the exit code 1 on a finding.
#![allow(clippy::print_stdout, reason = "a program for a person and for scripts/fuzz")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prony_demo::{Class, Demo, HEAD_BYTES, Head, Op, PartKind, Parts, Record, check_result, rewrite};
use prony_testing::random::SplitMix64;

/// Replays at the same time.
const JOBS: usize = 2;
/// A replay takes some 30 ms; one whose build computes is given up after twelve times its watchdog.
const PATIENCE: Duration = Duration::from_secs(60);

struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next_number()
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A number near `old`, near one of `others`, or at an edge.
    fn near(&mut self, old: i64, others: &[i64]) -> i64 {
        let steps = [-64, -8, -4, -2, -1, 0, 1, 2, 4, 8, 64, 4096];
        match self.below(4) {
            0 => old.wrapping_add(self.of(&steps)),
            1 if !others.is_empty() => self.of(others).wrapping_add(self.of(&steps)),
            2 => self.of(&[
                0, 1, -1, 2, 3, 4, 64, 65, 127, 128, 129, 255, 256, 1000, 1002, 1003, 1006, 1024, 1025, 4095, 4096,
            ]),
            _ => {
                let any = i64::from(self.next() as i32);
                self.of(&[
                    i64::MIN,
                    i64::MAX,
                    i32::MAX.into(),
                    i32::MIN.into(),
                    u32::MAX.into(),
                    -4095,
                    -4096,
                    65_535,
                    65_536,
                    1 << 20,
                    1 << 22,
                    any,
                ])
            }
        }
    }
}

/// A record in pieces.
#[derive(Clone)]
struct Pieces {
    head: Head,
    parts: Vec<(u8, Vec<u8>)>,
}

impl Pieces {
    fn of(record: &[u8]) -> Option<Pieces> {
        let parts = Parts::new(record).map(|part| (part.kind, part.bytes.to_vec())).collect();
        Some(Pieces { head: Head::from_bytes(record)?, parts })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let start = Record::new(Head { size: HEAD_BYTES as u32, ..self.head });
        let known = self.parts.iter().filter_map(|(kind, bytes)| Some((PartKind::from_number(*kind)?, bytes)));
        known.fold(start, |record, (kind, bytes)| record.with_part(kind, bytes)).as_bytes().to_vec()
    }

    /// Changes one thing.
    fn change(&mut self, random: &mut Random, numbers: &[i64]) {
        let lengths: Vec<i64> = self.parts.iter().map(|(_, bytes)| bytes.len() as i64).collect();
        let mut others = [numbers, &lengths, &[i64::from(self.head.aux), self.head.ret]].concat();
        others.push(i64::from(self.head.fd));
        match random.below(if self.parts.is_empty() { 2 } else { 10 }) {
            0 => self.head.ret = random.near(self.head.ret, &others),
            1 => self.head.aux = random.near(self.head.aux.into(), &others) as u32,
            2 | 3 => {
                // Content and return value of another length, so that both agree.
                let at = random.below(self.parts.len());
                let length = random.near(lengths[at], &others).clamp(0, 9000) as usize;
                self.parts[at].1.resize(length, b'c');
                if random.below(3) > 0 && self.head.ret > 0 {
                    self.head.ret = length as i64;
                    if random.below(2) == 0 {
                        self.head.aux = self.head.aux.max(length as u32);
                    }
                }
            }
            4 => {
                let at = random.below(self.parts.len());
                let copy = self.parts[at].clone();
                self.parts.insert(at, copy);
            }
            5 => {
                self.parts.remove(random.below(self.parts.len()));
            }
            6 => {
                let at = random.below(self.parts.len());
                self.parts[at].0 = 1 + random.below(8) as u8;
            }
            _ => {
                // A word of the content: a length, a descriptor, a number of a signal.
                let at = random.below(self.parts.len());
                let bytes = &mut self.parts[at].1;
                let place = random.below(bytes.len() / 4) * 4;
                let Some(word) = bytes.get_mut(place..place + 4) else { return };
                let old = i32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                word.copy_from_slice(&(random.near(old.into(), &others) as i32).to_le_bytes());
            }
        }
    }
}

/// The recorded demo, and those of its records that answer calls.
struct Base {
    path: PathBuf,
    records: Vec<(usize, Pieces)>,
    numbers: Vec<i64>,
}

impl Base {
    fn read(path: &Path) -> Base {
        let mut demo = Demo::open(File::open(path).expect("just recorded")).expect("just recorded");
        let (mut records, mut numbers, mut at) = (Vec::new(), Vec::new(), 0);
        let mut all = demo.records();
        while let Some((_, record)) = all.next().expect("just recorded") {
            let head = Head::from_bytes(record).expect("just recorded");
            let class = Op::from_number(head.op).map(Op::class);
            let is_reading = record.len() == HEAD_BYTES && class == Some(Class::Clock);
            if !matches!(class, None | Some(Class::Note)) && !is_reading {
                records.extend(Pieces::of(record).map(|pieces| (at, pieces)));
                numbers.push(head.ret);
            }
            at += 1;
        }
        Base { path: path.to_owned(), records, numbers }
    }

    /// A demo with up to three changed records. Two of three have only results that pass the first check, so that the
    /// player's own is tried.
    fn changed(&self, random: &mut Random) -> Vec<u8> {
        let mut changes = BTreeMap::new();
        for _ in 0..1 + random.below(3) {
            let (at, pieces) = &self.records[random.below(self.records.len())];
            let mut found = pieces.to_bytes();
            let passes = random.below(3) > 0;
            for _ in 0..50 {
                let mut pieces = pieces.clone();
                for _ in 0..1 + random.below(2) {
                    pieces.change(random, &self.numbers);
                }
                found = pieces.to_bytes();
                if !passes || check_result(&found).is_ok() {
                    break;
                }
            }
            changes.insert(*at, found);
        }
        let mut demo = Demo::open(File::open(&self.path).expect("it is there")).expect("it is whole");
        let mut at = 0;
        let edit = |_, record: &mut Vec<u8>| {
            if let Some(changed) = changes.remove(&at) {
                *record = changed;
            }
            at += 1;
        };
        rewrite(&mut demo, Vec::new(), edit).expect("memory takes it").0
    }
}

/// How a replay ended.
struct Ended {
    code: Option<i32>,
    said: String,
}

fn run(command: &mut Command, output: &Path) -> Ended {
    let file = File::create(output).expect("the directory is writable");
    command.stdin(Stdio::null()).stdout(file.try_clone().expect("a file")).stderr(file);
    let mut child = command.spawn().expect("prony was built");
    let begun = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status.code();
        }
        if begun.elapsed() > PATIENCE {
            child.kill().and_then(|()| child.wait()).expect("it is our child");
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Ended { code, said: String::from_utf8_lossy(&fs::read(output).unwrap_or_default()).into_owned() }
}

/// What is wrong with how a replay ended.
fn finding(ended: &Ended, reports: &[PathBuf]) -> Option<String> {
    const SIGNALS: [&str; 5] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGABRT", "SIGFPE"];
    if let Some(report) = reports.first() {
        let text = fs::read_to_string(report).unwrap_or_default();
        let error = text.lines().find(|line| line.contains("ERROR")).unwrap_or_default();
        let frames = text.lines().filter(|line| line.trim_start().starts_with('#')).take(6).collect::<Vec<_>>();
        return Some(format!("{error}\n{}", frames.join("\n")));
    }
    match ended.code {
        None => return Some("the replay did not end, or a signal ended it".to_owned()),
        Some(0..=3) => {}
        Some(code) => return Some(format!("exit code {code}")),
    }
    let signal = SIGNALS.iter().find(|signal| ended.said.contains(&format!("{signal} ended")))?;
    Some(format!("{signal} ended the build"))
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str, default| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let (runs, seed): (u64, u64) = (number("--runs", 20_000), number("--seed", 1));
    let own = std::env::current_exe().expect("Linux knows it");
    let prony = own.ancestors().nth(2).expect("examples lie below the profile").join("prony");
    let place = tempfile::tempdir().expect("a temporary directory");
    let build = place.path().join("claims");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/calls/claims.c");
    let compiled = Command::new("gcc").args(["-O1", "-g", "-fsanitize=address", "-o"]).args([&build, &source]).status();
    assert!(compiled.is_ok_and(|status| status.success()), "gcc with libasan: sudo apt-get install gcc libc6-dev");
    let base = place.path().join("base.demo");
    let recorded =
        run(Command::new(&prony).arg("record").arg("-o").arg(&base).arg("--").arg(&build), &place.path().join("said"));
    assert_eq!(recorded.code, Some(0), "{}", recorded.said);
    let base = Base::read(&base);
    let unchanged = run(Command::new(&prony).arg("replay").arg(&base.path), &place.path().join("said"));
    assert_eq!(unchanged.code, Some(0), "{}", unchanged.said);

    let next = AtomicU64::new(0);
    let results = Mutex::new((BTreeMap::new(), Vec::new()));
    std::thread::scope(|scope| {
        for job in 0..JOBS {
            let (next, results, base, build, prony) = (&next, &results, &base, &build, &prony);
            let place = place.path().join(format!("job-{job}"));
            scope.spawn(move || {
                fs::create_dir(&place).expect("a temporary directory");
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= runs {
                        return;
                    }
                    let demo = place.join("x.demo");
                    let bytes = base.changed(&mut Random(SplitMix64(seed.wrapping_mul(1 << 32).wrapping_add(number))));
                    fs::write(&demo, &bytes).expect("the directory is writable");
                    let options = format!("ASAN_OPTIONS=log_path={}", place.join("report").display());
                    let mut command = Command::new(prony);
                    command.arg("replay").arg(&demo).args(["--watchdog", "2s", "--env", &options, "--"]).arg(build);
                    let ended = run(command.env("TMPDIR", &place), &place.join("said"));
                    let entries = fs::read_dir(&place).expect("it is there").flatten().map(|entry| entry.path());
                    let is_report = |path: &PathBuf| path.to_string_lossy().contains("/report.");
                    let reports: Vec<PathBuf> = entries.filter(is_report).collect();
                    let found = finding(&ended, &reports);
                    for report in reports {
                        let _ = fs::remove_file(report);
                    }
                    let mut results = results.lock().expect("no other thread panics");
                    *results.0.entry(ended.code).or_insert(0_u64) += 1;
                    if let Some(what) = found {
                        let kept = std::env::temp_dir().join(format!("replay-claims-{seed}-{number}.demo"));
                        let _ = fs::write(&kept, &bytes);
                        println!("run {number}: {what}\n{}\nkept: {}", ended.said, kept.display());
                        results.1.push(number);
                    }
                }
            });
        }
    });
    let (codes, findings) = results.into_inner().expect("no thread panicked");
    for (code, count) in codes {
        println!("exit code {}: {count} replays", code.map_or("none".to_owned(), |code| code.to_string()));
    }
    println!("{runs} runs, {} findings", findings.len());
    exit(i32::from(!findings.is_empty()));
}
