//! Every flag of every verb.

mod bench;
pub mod limits;
mod load;
pub mod machine;
pub mod profile;
mod samples;
pub mod study;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use prony_text::Untrusted;

pub use bench::{BenchArgs, Parameter, SelftestArgs, WorkArgs};
pub use limits::{LimitsArgs, LimitsVerb};
pub use load::{EnetArgs, LoadArgs, LoadVerb};
pub use machine::{MachineArgs, MachineVerb};
pub use profile::{ProfileArgs, ProfileVerb};
pub use samples::{CheckSamplesArgs, CompareArgs, HistArgs, StatsArgs};
pub use study::{StudyArgs, StudyVerb};

use crate::numbers::{duration, size};

const EXAMPLES: &str = "\
Examples:
  prony record -o match.demo --for 30s -- ./server +map dm1
  prony replay match.demo
  prony replay match.demo --repeat 5 -- ./server-new +map dm1
  prony demo pcap match.demo | tshark -r -

Exit codes:
  0  good
  1  a finding: diverged, tolerant, damaged, slower, disturbed
  2  could not run: usage, file, permission
  3  ran, but the result cannot be trusted: weak demo, starved thread, other environment, unclear

The answer goes to standard output, all talk to standard error; --json answers in JSON.";

/// Record a server's whole conversation with the outside world once; replay it, bit for bit, against every build.
#[derive(Debug, Parser)]
#[command(name = "prony", version, after_help = EXAMPLES, disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// Reads the command line. What is wrong with it is printed, as are help and version; the error is the exit code then.
///
/// # Errors
/// When there is nothing more to do.
pub fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        // A shell puts names of files on the command line that somebody else has given: where one is no plain text, the
        // same is said of what is shown of it.
        let arguments: Vec<String> = env::args_os().map(|argument| Untrusted::new(&argument).to_string()).collect();
        let is_plain = env::args_os().zip(&arguments).all(|(argument, shown)| argument.to_str() == Some(shown));
        let error = if is_plain { error } else { Cli::try_parse_from(arguments).err().unwrap_or(error) };
        // Nobody is left to be told that the output is gone.
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a server and record its conversation into a demo
    Record(RecordArgs),
    /// Run a build on a demo and check every byte it sends
    Replay(ReplayArgs),
    /// Look into a demo, or make another file of it
    Demo(DemoArgs),
    /// Measure commands, and say which is faster
    Bench(Box<BenchArgs>),
    /// Compare a command with itself, and say what a comparison here is worth
    Selftest(SelftestArgs),
    /// The command that `prony selftest` compares with itself
    #[command(hide = true)]
    Work(WorkArgs),
    /// Put load on a server and measure its answers
    Load(LoadArgs),
    /// Judge stored samples
    Compare(CompareArgs),
    /// Show what samples are like: centre with interval, spread, quantiles
    Stats(StatsArgs),
    /// Draw samples as histograms
    Hist(HistArgs),
    /// Say what speaks against trusting samples, with evidence
    Check(CheckSamplesArgs),
    /// Measure what this hardware can do at best, and say how near a workload came
    Limits(Box<LimitsArgs>),
    /// Show, check, quiet and restore the machine that measures
    Machine(MachineArgs),
    /// Say where the time of a program goes: functions, components, a flame graph
    Profile(Box<ProfileArgs>),
    /// Plan, run and report a matrix of builds, workloads and machines
    Study(StudyArgs),
}

const RECORD_EXAMPLES: &str = "\
Examples:
  prony record -o match.demo --for 30s -- ./server +map dm1
  prony record -o shop.demo --state /var/lib/shop -- shopd --port 8080
  prony record --check -o try.demo --for 10s -- ./server

The server ends by itself, by --for, or by Ctrl-C, which it gets as usual; the demo is closed cleanly each time.
The exit code is the server's own; 0 when --for ended it, 3 when it sent nothing, so that nothing could be compared.
With --check it is that of `prony replay`, unless the demo holds.
A demo holds whatever the server read and sent, secrets included: its file is for its owner only. That you recorded it here
is noted in ~/.local/state/prony/recorded, so that a replay runs its command unasked.";

/// Run a server and record its conversation into a demo.
#[derive(Debug, Args)]
#[command(after_help = RECORD_EXAMPLES)]
pub struct RecordArgs {
    /// Write the demo here
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// End the recording after this time: 30s, 500ms, 2m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub limit: Option<Duration>,
    /// The server and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    /// Keep what is in this directory now and restore it for each replay; for all a server writes and reads back
    #[arg(long, value_name = "DIR", help_heading = "What belongs to the demo")]
    pub state: Vec<PathBuf>,
    /// Do not record calls that this library makes itself, as an allocator that reads the clock
    #[arg(long, value_name = "NAME", help_heading = "What belongs to the demo")]
    pub exclude_object: Vec<String>,
    /// End a frame at each of these calls of the main thread instead of at the first wait that may block
    #[arg(long, value_name = "CALL", value_parser = call, help_heading = "What belongs to the demo")]
    pub frame_on: Option<prony_demo::Op>,

    /// Put files of up to this size into the demo that the server only reads; 0 puts in none
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = size, help_heading = "What belongs to the demo")]
    pub pack: u64,
    /// Put in as many bytes of them at most, the small ones first
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size, help_heading = "What belongs to the demo")]
    pub pack_all: u64,
    /// Put in those too that not everybody may read; keys and passwords lie in such files
    #[arg(long, help_heading = "What belongs to the demo")]
    pub pack_private: bool,

    /// Record children that run another program too: a server that a script or a supervisor starts
    #[arg(long, help_heading = "What belongs to the demo")]
    pub follow_exec: bool,
    /// Let the server's threads run at the same time: less in their way, but what they do to each other between
    /// their calls, without a lock, may come out otherwise in a replay
    #[arg(long, help_heading = "What belongs to the demo")]
    pub threads_side_by_side: bool,

    /// Compress as zstd does at this level
    #[arg(long, value_name = "1..19", default_value_t = 3, value_parser = clap::value_parser!(i32).range(1..=19), help_heading = "The file")]
    pub level: i32,
    /// Replace FILE if it exists
    #[arg(long, help_heading = "The file")]
    pub force: bool,
    /// Replay the demo at once, and say whether it holds
    #[arg(long, help_heading = "The file")]
    pub check: bool,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  prony replay match.demo                           the recorded command
  prony replay match.demo -- ./server-new +map dm1  another build
  prony replay match.demo --repeat 10 --json        ten measured replays
  prony replay match.demo --tolerance floats.toml   numbers that may differ a little
  prony replay --explain match.demo                 why it diverged

A demo is a program: it names a command, variables that load code, and files. Unless you recorded it on this machine, its
command and its files are used only with --trust-demo, or when you say so on a terminal. `prony demo info` shows them.

Exit codes:
  0  identical: at least one byte was verified, and all were equal
  1  diverged; or tolerant: not equal, but within the limits of --tolerance
  2  could not run
  3  the result means little: hardly any output, a starved thread, another environment";

/// Run a build on a demo and check every byte it sends.
#[derive(Debug, Clone, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub struct ReplayArgs {
    /// The demo
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// The build to run and its arguments; the recorded command if left out
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    /// Replay so many times, for a median and a spread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What is measured")]
    pub repeat: u32,

    /// Rules for numbers that may differ; what they excuse is called tolerant, never identical
    #[arg(long, value_name = "FILE", help_heading = "What counts as equal")]
    pub tolerance: Option<PathBuf>,
    /// Replay a cut demo up to its last whole block
    #[arg(long, help_heading = "What counts as equal")]
    pub allow_truncated: bool,
    /// Take the result for good although this machine differs from the recording's
    #[arg(long, help_heading = "What counts as equal")]
    pub ignore_environment: bool,

    /// Call a thread starved that waits this long for its turn
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration, help_heading = "How it runs")]
    pub watchdog: Duration,
    /// Empty this state directory of the demo and restore it where it was recorded, not in a place of its own
    #[arg(long, value_name = "DIR", help_heading = "How it runs")]
    pub restore_in_place: Vec<PathBuf>,
    /// Restore the set-user-id and set-group-id bits of files in them too
    #[arg(long, help_heading = "How it runs")]
    pub restore_set_ids: bool,
    /// Let the server print
    #[arg(long, help_heading = "How it runs")]
    pub show_output: bool,
    /// Say why a build diverged: calls that fail here alone, what its threads wait for, what it printed last
    #[arg(long, help_heading = "How it runs")]
    pub explain: bool,

    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub limits: DemoLimits,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

impl ReplayArgs {
    /// One replay of this demo, which may take of this machine what it needs.
    pub fn of(demo: PathBuf) -> ReplayArgs {
        ReplayArgs {
            demo,
            command: Vec::new(),
            repeat: 1,
            tolerance: None,
            allow_truncated: false,
            ignore_environment: false,
            watchdog: Duration::from_secs(10),
            restore_in_place: Vec::new(),
            restore_set_ids: false,
            show_output: false,
            explain: false,
            files: FileArgs::default(),
            trust: TrustArgs::default(),
            limits: DemoLimits { max_memory: prony_replay::Limits::default().memory_bytes, max_state: u64::MAX },
            json: false,
        }
    }
}

/// Where the files of a demo come from: the same for all verbs that replay one.
#[derive(Debug, Clone, Default, Args)]
pub struct FileArgs {
    /// Let the server read the files that are here, also where the demo has others: to measure another configuration
    #[arg(long, requires = "demo", help_heading = "What the server reads")]
    pub files_here: bool,
    /// Look below this directory for recorded files that are not here, under any name; may be given several times
    #[arg(
        long,
        value_name = "DIR",
        requires = "demo",
        conflicts_with = "files_here",
        help_heading = "What the server reads"
    )]
    pub assets: Vec<PathBuf>,
}

impl From<&FileArgs> for prony_replay::FileOptions {
    fn from(args: &FileArgs) -> prony_replay::FileOptions {
        prony_replay::FileOptions { here: args.files_here, assets: args.assets.clone() }
    }
}

/// What a demo may choose: the same for all verbs that replay one.
#[derive(Debug, Clone, Default, Args)]
pub struct TrustArgs {
    /// Take the demo for one that you recorded here: run its own command, and use its state directories
    #[arg(long, requires = "demo", help_heading = "What the demo may choose")]
    pub trust_demo: bool,
    /// Let a build have the variables of the recording that load code, as LD_PRELOAD; without it, yours count
    #[arg(long, requires = "demo", help_heading = "What the demo may choose")]
    pub keep_code_variables: bool,
}

/// What a demo may take of this machine.
#[derive(Debug, Clone, Copy, Args)]
pub struct DemoLimits {
    /// Memory for the records of the demo: those of a longer one are unpacked as the replay goes
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = size, help_heading = "What a demo may take")]
    pub max_memory: u64,
    /// Refuse a demo whose state archives have more bytes, or more entries than one for each KiB of it
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size, help_heading = "What a demo may take")]
    pub max_state: u64,
}

impl From<DemoLimits> for prony_replay::Limits {
    fn from(limits: DemoLimits) -> prony_replay::Limits {
        prony_replay::Limits { memory_bytes: limits.max_memory, state_bytes: limits.max_state }
    }
}

/// Look into a demo, or make another file of it.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct DemoArgs {
    #[command(subcommand)]
    pub verb: DemoVerb,
}

#[derive(Debug, Subcommand)]
pub enum DemoVerb {
    /// Say what was recorded, where and when
    Info(InfoArgs),
    /// Print the recorded calls, a line each
    Dump(DumpArgs),
    /// List the frames: when they ended and how long they took
    Frames(FramesArgs),
    /// Export UDP and TCP traffic for Wireshark and tshark
    Pcap(PcapArgs),
    /// Copy a demo without addresses, host names and given strings
    Anonymize(AnonymizeArgs),
    Pack(PackArgs),
    /// Check every byte of a demo
    Verify(VerifyArgs),
}

/// Say what was recorded, where and when.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The demo
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Count the calls; reads the whole demo
    #[arg(long)]
    pub calls: bool,
    /// Answer in JSON, with files, objects and environment
    #[arg(long)]
    pub json: bool,
}

const DUMP_EXAMPLES: &str = "\
Examples:
  prony demo dump match.demo --frames 312
  prony demo dump match.demo --frames 300..320 --call sendto --full
  prony demo dump match.demo --json | jq 'select(.call == \"sendto\")'";

/// Print the recorded calls, a line each.
#[derive(Debug, Args)]
#[command(after_help = DUMP_EXAMPLES)]
pub struct DumpArgs {
    /// The demo
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Only these frames: 312, 300..320 (without 320), 300.. or ..20
    #[arg(long, value_name = "A..B", value_parser = frames)]
    pub frames: Option<FrameRange>,
    /// Only this call; may be given several times
    #[arg(long, value_name = "CALL", value_parser = call)]
    pub call: Vec<prony_demo::Op>,
    /// Only this process; 0 is the server that was started
    #[arg(long, value_name = "N")]
    pub process: Option<u16>,
    /// Show every byte, not only the first sixteen
    #[arg(long)]
    pub full: bool,
    /// One JSON object a line, every byte in hex
    #[arg(long)]
    pub json: bool,
}

/// List the frames: when they ended and how long they took.
#[derive(Debug, Args)]
pub struct FramesArgs {
    /// The demo
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Only these frames: 312, 300..320 (without 320), 300.. or ..20
    #[arg(long, value_name = "A..B", value_parser = frames)]
    pub frames: Option<FrameRange>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const PCAP_EXAMPLES: &str = "\
Examples:
  prony demo pcap match.demo | tshark -r -
  prony demo pcap match.demo -o match.pcap

Headers are made up around the recorded bytes; retransmissions and what the kernel dropped are not in a demo.";

/// Export UDP and TCP traffic for Wireshark and tshark.
#[derive(Debug, Args)]
#[command(after_help = PCAP_EXAMPLES)]
pub struct PcapArgs {
    /// The demo
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Write here instead of to standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file of -o if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Say in JSON what the file holds; needs -o
    #[arg(long, requires = "output")]
    pub json: bool,
}

const ANONYMIZE_HELP: &str = "\
Examples:
  prony demo anonymize match.demo -o public.demo
  prony demo anonymize match.demo -o public.demo --replace hunter2 --replace alice=carol

Replacements are as long as what they replace and the same everywhere, so the result still replays; `prony replay`
tells. What is compressed or encrypted cannot be found. Variables a server hardly needs are dropped.

The result is searched for all that was to be replaced, as text, bytes, base64, hexadecimal and UTF-16. If something is
left, it is named, and the result is FILE.partial.

Exit codes: 0 nothing found in the result, 1 something is left, 2 could not run.";

/// Copy a demo without addresses, host names and given strings.
#[derive(Debug, Args)]
#[command(after_help = ANONYMIZE_HELP)]
pub struct AnonymizeArgs {
    /// The demo
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Write the new demo here
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace this string wherever it stands: by NEW, of the same length, or by other letters and digits
    #[arg(long, value_name = "OLD[=NEW]")]
    pub replace: Vec<String>,
    /// Leave addresses as they are
    #[arg(long)]
    pub keep_addresses: bool,
    /// Leave this address as it is, or this version number that reads as one
    #[arg(long, value_name = "ADDRESS")]
    pub keep_address: Vec<std::net::IpAddr>,
    /// Replace loopback addresses too, by others of 127.0.0.0/8; a server that trusts 127.0.0.1 then acts otherwise
    #[arg(long, conflicts_with = "keep_addresses")]
    pub map_loopback: bool,
    /// Replace the four bytes of IPv4 addresses in payloads and files too; they may be something else, which a replay tells
    #[arg(long, conflicts_with = "keep_addresses")]
    pub raw_addresses: bool,
    /// Keep this variable of the environment
    #[arg(long, value_name = "NAME")]
    pub keep_variable: Vec<String>,
    /// Choose the replacements again as before; without it, nobody can
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Replace the file of -o if it exists
    #[arg(long)]
    pub force: bool,
    /// Say in JSON what was replaced
    #[arg(long)]
    pub json: bool,
}

const PACK_HELP: &str = "\
Examples:
  prony demo pack match.demo -o whole.demo --assets ~/games/maps

A recording puts in small files that everybody may read. This puts in the others too, if they are here as they were
recorded, or are found below --assets under any name. `prony demo info` lists what a demo still needs.

Exit codes: 0 everything is in it, 1 some files were not found or are private, 2 could not run.";

/// Copy a demo and put the files into it that its server read.
#[derive(Debug, Args)]
#[command(after_help = PACK_HELP)]
pub struct PackArgs {
    /// The demo
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Write the new demo here
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Look below this directory for files that are not where they were, under any name; may be given several times
    #[arg(long, value_name = "DIR")]
    pub assets: Vec<PathBuf>,
    /// Put in those too that not everybody may read; keys and passwords lie in such files
    #[arg(long)]
    pub private: bool,
    /// Replace the file of -o if it exists
    #[arg(long)]
    pub force: bool,
    /// Say in JSON what was put in and what was not
    #[arg(long)]
    pub json: bool,
}

/// Check every byte of a demo: checksums, records, index and commit marker.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 sound, 1 cut or damaged, 2 no demo.")]
pub struct VerifyArgs {
    /// The demo
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// Some frames that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRange {
    /// The first.
    pub first: u64,
    /// The one after the last; `None`: to the end.
    pub end: Option<u64>,
}

fn frames(text: &str) -> Result<FrameRange, String> {
    let wrong = || "expected frames as 312, 300..320, 300.. or ..20".to_owned();
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let range = match text.split_once("..") {
        None => {
            let first = number(text)?;
            FrameRange { first, end: first.checked_add(1) }
        }
        Some((first, end)) => FrameRange {
            first: if first.is_empty() { 0 } else { number(first)? },
            end: match (end, end.strip_prefix('=')) {
                ("", _) => None,
                (_, Some(last)) => number(last)?.checked_add(1),
                (end, None) => Some(number(end)?),
            },
        },
    };
    match range.end {
        Some(end) if end <= range.first => Err("expected the first frame before the last".to_owned()),
        _ => Ok(range),
    }
}

fn call(name: &str) -> Result<prony_demo::Op, String> {
    prony_demo::Op::from_name(name)
        .ok_or_else(|| "expected the C name of a call that prony records, as sendto".to_owned())
}

#[cfg(test)]
mod tests;
