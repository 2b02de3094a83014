//! What must hold for the demo of any server: it replays identically, a changed input is found
//! where it first shows, and a cut demo replays as far as it is whole.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use prony_demo::{Class, Demo, FrameEntry, Head, Op, PartKind, Parts, Writer, WriterOptions, rewrite};

use prony_testing::recording::{Replay, replay};
use prony_testing::scratch::Scratch;

/// Which byte of the input a story changes.
pub struct Flip {
    offset: fn(&[u8]) -> Option<usize>,
    answered: bool,
}

impl Flip {
    /// Changes the byte that `offset` names in what the server read; of all inputs that have one,
    /// the middle one is changed. The next answer to whom it came from holds the byte, or another
    /// one because of it.
    pub fn input(offset: fn(&[u8]) -> Option<usize>) -> Flip {
        Flip { offset, answered: true }
    }

    /// As [`Flip::input`] where the byte shows later, or in what another client is sent.
    pub fn passed_on(offset: fn(&[u8]) -> Option<usize>) -> Flip {
        Flip { offset, answered: false }
    }

    /// Where in this record the byte lies.
    fn place(&self, record: &[u8]) -> Option<usize> {
        let head = Head::from_bytes(record)?;
        if Op::from_number(head.op)?.class() != Class::Input {
            return None;
        }
        Parts::new(record)
            .filter(|part| part.kind == PartKind::In as u8)
            .find_map(|part| (self.offset)(part.bytes).map(|at| part.offset + at))
    }
}

/// So little that the demos of most stories do not fit in half of it, and more than twice the largest call.
const LITTLE_MEMORY: &str = "4MiB";
/// The same for servers of many threads, each of which needs a window.
const LITTLE_MEMORY_OF_THREADS: &str = "12MiB";

/// Replays `demo` three times, in little memory, elsewhere, with one input byte changed, and cut in the middle.
pub fn prove(scratch: &Scratch, demo: &Path, flip: Flip) {
    for _ in 0..3 {
        replay(scratch, demo, &[], &[]).assert_identical();
    }
    let mut in_little_memory = replay(scratch, demo, &["--max-memory", LITTLE_MEMORY], &[]);
    if in_little_memory.said.contains("must be in memory at the same time") {
        in_little_memory = replay(scratch, demo, &["--max-memory", LITTLE_MEMORY_OF_THREADS], &[]);
    }
    in_little_memory.assert_identical();
    let of_packages = open(demo).header().executable.starts_with(b"/usr/");
    let files = open(demo).trailer().expect("it is whole").files.clone();
    // A private key stays out.
    if of_packages && prony_replay::needed(&files).next().is_none() {
        it_replays_where_only_packages_are(scratch, demo);
    }
    a_changed_input_is_found(scratch, demo, &flip);
    a_cut_demo_replays_to_its_last_whole_block(scratch, demo);
}

/// Replays `demo` below a root directory as a container has it: packages, an empty `/tmp`, no home directory.
fn it_replays_where_only_packages_are(scratch: &Scratch, demo: &Path) {
    const SCRIPT: &str = r#"
        set -e
        mount -t tmpfs -o mode=755 root "$1"
        cd "$1"
        mkdir tmp var home root run
        chmod 1777 tmp
        for directory in usr bin sbin lib lib64 etc dev proc sys; do
            [ -e "/$directory" ] || continue
            mkdir "$directory"
            mount --rbind "/$directory" "$directory"
        done
        for file in prony demo; do : >"$file"; done
        mount --bind "$2" prony
        mount --bind "$3" demo
        exec chroot . /prony replay --json --trust-demo --overlay "$4" /demo
    "#;
    let root = scratch.directory("elsewhere");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", &root]);
    let output =
        command.arg(prony_testing::program()).arg(demo).arg(scratch.path()).output().expect("unshare(1) is there");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(answer["verdict"], "identical", "elsewhere: {}\n{said}", answer["divergence"]);
}

fn open(demo: &Path) -> Demo<BufReader<File>> {
    let file = File::open(demo).expect("the demo is there");
    Demo::open(BufReader::new(file)).unwrap_or_else(|error| panic!("{}: {error}", demo.display()))
}

/// Where a changed input may first show: not before it was read, and not after the next output
/// that goes back to whom it came from.
struct Effect {
    first_frame: usize,
    last_frame: usize,
}

fn a_changed_input_is_found(scratch: &Scratch, demo: &Path, flip: &Flip) {
    let mut candidates = Vec::new();
    each_record(demo, |index, _, record| candidates.extend(flip.place(record).map(|_| index)));
    assert!(!candidates.is_empty(), "the server read nothing that the story could change");
    let chosen = candidates[candidates.len() / 2];
    let effect = effect_of(demo, chosen, flip.answered);

    let changed = scratch.path().join("changed.demo");
    let file = File::create(&changed).expect("the temporary directory is writable");
    let mut index = 0;
    rewrite(&mut open(demo), file, |_, record| {
        if index == chosen {
            let place = flip.place(record).expect("the same record as before");
            record[place] ^= 1;
        }
        index += 1;
    })
    .expect("the demo can be rewritten");

    // It was not recorded so.
    let answer = replay(scratch, &changed, &["--trust-demo"], &[]);
    assert_eq!(answer.code, 1, "expected a divergence at record {chosen}: {answer}");
    let frame = divergence_frame(&answer);
    assert!(
        (effect.first_frame..=effect.last_frame).contains(&frame),
        "expected a divergence in frames {} to {}, found one in {frame}: {answer}",
        effect.first_frame,
        effect.last_frame
    );
}

/// The frame in which a replay says that it diverged.
pub fn divergence_frame(answer: &Replay) -> usize {
    let facts = &answer.answer["divergence"];
    facts["frame"].as_u64().unwrap_or_else(|| panic!("no frame of the divergence in {answer}")) as usize
}

/// Writes the first records, as a recorder does that is killed then.
pub fn cut(demo: &Path, to: &Path, count: usize) {
    let file = File::create(to).expect("the temporary directory is writable");
    let mut writer = Writer::new(file, open(demo).header(), WriterOptions::default()).expect("a header was read");
    each_record(demo, |index, process, record| {
        if index < count {
            writer.push(process, record).expect("a record was read");
        }
    });
    writer.flush_block().expect("the temporary directory is writable");
}

/// How many records there are.
pub fn count(demo: &Path) -> usize {
    let mut records = 0;
    each_record(demo, |_, _, _| records += 1);
    records
}

/// How many records to keep so that a process has nothing left before such a call, while others go on and send something;
/// where they go on longest comes first.
pub fn counts_before(demo: &Path, op: Op) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before = HashMap::new();
    let mut sent: Option<(usize, u16)> = None;
    each_record(demo, |index, process, record| {
        let head = Head::from_bytes(record).expect("the reader checks heads");
        let since = before.insert(process, index);
        if Op::from_number(head.op) == Some(op) {
            let behind = |(at, by): (usize, u16)| (by != process).then(|| at.checked_sub(since?)).flatten();
            found.extend(sent.and_then(|sent| Some((behind(sent)?, sent.0 + 1))));
        }
        if sends(record) {
            sent = Some((index, process));
        }
    });
    found.sort_unstable_by_key(|&(behind, _)| Reverse(behind));
    found.into_iter().map(|(_, count)| count).collect()
}

fn each_record(demo: &Path, mut each: impl FnMut(usize, u16, &[u8])) {
    let mut demo = open(demo);
    let mut records = demo.records();
    let mut index = 0;
    while let Some((process, record)) = records.next().expect("its blocks are whole") {
        each(index, process, record);
        index += 1;
    }
}

fn effect_of(demo: &Path, chosen: usize, answers: bool) -> Effect {
    let frames: Vec<FrameEntry> = open(demo).frames().iter().collect();
    let mut input = None;
    let mut answered = None;
    let mut last = None;
    each_record(demo, |index, process, record| {
        let head = Head::from_bytes(record).expect("the reader checks heads");
        if process == 0 {
            last = Some(head);
        }
        if index == chosen {
            input = Some((process, head, peer(record)));
        } else if let (Some((from, read, whom)), None) = (&input, answered)
            && process == *from
            && head.fd == read.fd
            && sends(record)
            && peer(record) == *whom
        {
            answered = Some(head);
        }
    });
    let (process, read, _) = input.expect("the chosen record is in the demo");
    let end = last.map_or(0, |head| frame_of(&frames, head.order));
    if process != 0 {
        // The index holds the frames of the first process; another one counts its own.
        return Effect { first_frame: 0, last_frame: usize::MAX };
    }
    Effect {
        first_frame: frame_of(&frames, read.order),
        last_frame: answered.filter(|_| answers).map_or(end, |head| frame_of(&frames, head.order)),
    }
}

/// True for a call that sent bytes.
fn sends(record: &[u8]) -> bool {
    let head = Head::from_bytes(record).expect("the reader checks heads");
    head.ret > 0 && Op::from_number(head.op).is_some_and(|op| op.class() == Class::Output)
}

/// The address a datagram came from or goes to; none on a stream.
fn peer(record: &[u8]) -> Option<Vec<u8>> {
    Parts::new(record).find(|part| part.kind == PartKind::Addr as u8).map(|part| part.bytes.to_vec())
}

fn frame_of(frames: &[FrameEntry], order: u64) -> usize {
    frames.partition_point(|frame| frame.last_record < order)
}

fn a_cut_demo_replays_to_its_last_whole_block(scratch: &Scratch, demo: &Path) {
    let whole = fs::read(demo).expect("the demo is there");
    let mut records = 0;
    each_record(demo, |_, _, _| records += 1);
    let cut = scratch.path().join("cut.demo");
    // In the middle; later where the server started so slowly that it sent nothing before.
    // Earlier where the files of the server, which stand behind all records, are most of the demo.
    let sent = [16, 24, 28, 8, 4, 2, 1].into_iter().any(|part| {
        fs::write(&cut, &whole[..whole.len() * part / 32]).expect("the temporary directory is writable");
        let (mut outputs, mut left) = (0, 0);
        each_record(&cut, |_, _, record| {
            outputs += usize::from(sends(record));
            left += 1;
        });
        outputs > 0 && left < records
    });
    let left = open(&cut).truncation().expect("a part of a demo is cut").clone();
    assert!(sent, "a part of the demo holds some of {records} records and output: {left}");

    let refused = replay(scratch, &cut, &["--trust-demo"], &[]);
    assert_eq!(refused.code, 2, "a cut demo is not replayed unasked: {refused}");
    let answer = replay(scratch, &cut, &["--trust-demo", "--allow-truncated"], &[]);
    answer.assert_identical();
    // The first frame, the start of the server, is not among those that a replay measures; those of
    // forked processes are.
    let measured = answer.number("frames");
    assert!(measured + 1 >= left.frames, "all whole frames are replayed: {left}\n{answer}");
}
