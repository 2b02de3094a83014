//! Every flag of every verb.

mod bench;
mod bisect;
mod count;
mod debug;
mod doctor;
pub mod limits;
mod load;
pub mod machine;
pub mod nic;
pub mod profile;
mod samples;
pub mod study;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Command, CommandFactory, FromArgMatches, Id, Parser, Subcommand};
use prony_text::Untrusted;

pub use bench::{BenchArgs, BenchMetric, LinkArgs, ParameterArgs, SelftestArgs, ShellArgs, WorkArgs};
pub use bisect::{BisectArgs, FindName, SearchedMetric};
pub use count::{CountArgs, REPLAYS_COUNTED};
pub use debug::DebugArgs;
pub use doctor::{CompletionsArgs, DoctorArgs, ManArgs, ShellName, SubjectArgs};
pub use limits::{LimitsArgs, LimitsVerb};
pub use load::{EnetArgs, LoadArgs, LoadVerb};
pub use machine::{MachineArgs, MachineVerb};
pub use nic::{NicArgs, NicVerb};
pub use profile::{ProfileArgs, ProfileVerb};
pub use samples::{CheckSamplesArgs, CompareArgs, HistArgs, ReadArgs, StatsArgs};
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
  1  a finding: diverged, tolerant, damaged, slower, interference
  2  could not run: usage, file, permission
  3  ran, but the result cannot be trusted: weak demo, starved thread, different environment, unclear

Results go to standard output, everything else to standard error; --json prints results as JSON.
docs/glossary.md explains the terms.";

/// Record everything a networked server exchanges with the outside world, and replay it bit for bit against any build.
#[derive(Debug, Parser)]
#[command(name = "prony", version = crate::version::short(), long_version = crate::version::long(), after_help = EXAMPLES, disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// Verbs by what they are for, in the order of the help page.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Record and replay", &["record", "replay", "debug", "demo", "count", "bisect"]),
    ("Measure", &["bench", "selftest", "profile"]),
    ("Samples", &["compare", "stats", "hist", "check"]),
    ("Machine", &["machine", "limits", "doctor"]),
    ("Studies", &["study"]),
    ("Networks", &["load", "nic"]),
    ("Shell", &["completions", "man"]),
];

/// Arguments that `-h` shows of a verb at most, if the others have a heading.
const SHORT_MOST: usize = 15;

/// Headings whose flags a short help page shows last: limits, files and trust of demos from others.
const LAST: [&str; 3] = ["Resource limits", "Files", "Trust"];

/// The command with its verbs in groups. `-h` of a verb with many flags shows some of them; `--help` has all.
pub fn command() -> Command {
    let command = shortened(Cli::command());
    let about = |name: &str| {
        let verb = command.find_subcommand(name).and_then(Command::get_about);
        format!("  {name:<11}  {}\n", verb.map(ToString::to_string).unwrap_or_default())
    };
    let heading = |text: &str| format!("\x1b[1m\x1b[4m{text}:\x1b[0m\n");
    let group = |(title, names): &(&str, &[&str])| {
        heading(title) + &names.iter().map(|name| about(name)).collect::<String>() + "\n"
    };
    let groups: String = GROUPS.iter().map(group).collect();
    let options = heading("Options");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{options}{{options}}{{after-help}}"
    ))
}

/// The same for each verb: as many flags as `-h` shows are those without a heading, and of each heading the first ones.
fn shortened(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| command.mut_subcommand(name, shortened));
    let mut order: Vec<(usize, Id)> = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let place = argument.get_help_heading().map_or(0, |heading| {
            let place = seen.entry(heading).or_insert(if LAST.contains(&heading) { SHORT_MOST } else { 0 });
            *place += 1;
            *place
        });
        order.push((place, argument.get_id().clone()));
    }
    order.sort_by_key(|(place, _)| *place);
    // Arguments without a heading are shown in any case.
    let shown = order.iter().filter(|(place, _)| *place == 0).count().max(SHORT_MOST);
    let left_out: Vec<Id> = order.into_iter().skip(shown).map(|(_, id)| id).collect();
    if left_out.is_empty() {
        return command;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let more = format!("{} more flags: --help\n\n{after}", left_out.len());
    let command = command.after_help(more).after_long_help(after);
    left_out.into_iter().fold(command, |command, id| command.mut_arg(id, |argument| argument.hide_short_help(true)))
}

fn parsed(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Parses the command line. What is wrong with it is printed, as are help and version; the error is the exit code then.
///
/// # Errors
/// When there is nothing more to do.
pub fn parse() -> Result<Cli, ExitCode> {
    parsed(env::args_os()).map_err(|error| {
        // A shell puts names of files on the command line that others have chosen: where one is no plain text, the
        // same is said of what is shown of it.
        let arguments: Vec<String> = env::args_os().map(|argument| Untrusted::new(&argument).to_string()).collect();
        let is_plain = env::args_os().zip(&arguments).all(|(argument, shown)| argument.to_str() == Some(shown));
        let error =
            if is_plain { error } else { parsed(arguments.into_iter().map(OsString::from)).err().unwrap_or(error) };
        // There is no channel left to report that the output is gone.
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a server and record it into a demo
    Record(RecordArgs),
    /// Replay a demo against a build and compare every byte it sends
    Replay(ReplayArgs),
    /// Stop a build in gdb at a frame, a record or the divergence of a replay
    Debug(Box<DebugArgs>),
    /// Inspect, convert or check a demo
    Demo(DemoArgs),
    /// Measure commands and report which is faster
    Bench(Box<BenchArgs>),
    /// Count the instructions of builds on a demo, and compare them exactly
    Count(Box<CountArgs>),
    /// Find the commit that made a demo diverge, or its frames slower
    Bisect(Box<BisectArgs>),
    /// Compare a command with itself: false alarms and smallest detectable difference
    Selftest(SelftestArgs),
    /// The command that `prony selftest` compares with itself
    #[command(hide = true)]
    Work(WorkArgs),
    /// The linker of `prony bench --layouts`
    #[command(hide = true)]
    Link(LinkArgs),
    /// Generate load on a server and measure its answers
    Load(LoadArgs),
    /// Provide an Intel 82599 in software for a user-space network driver
    Nic(Box<NicArgs>),
    /// Compare stored samples
    Compare(CompareArgs),
    /// Summarise samples: median with confidence interval, spread, quantiles
    Stats(StatsArgs),
    /// Draw histograms of samples
    Hist(HistArgs),
    /// Report reasons not to trust samples, with evidence
    Check(CheckSamplesArgs),
    /// Measure the limits of this hardware, and how close a workload comes to them
    Limits(Box<LimitsArgs>),
    /// Show, check, tune and restore the measuring machine
    Machine(MachineArgs),
    /// Profile a program: functions, components, flame graph
    Profile(Box<ProfileArgs>),
    /// Plan, run and report a study of builds, workloads and machines
    Study(StudyArgs),
    /// Report what works here, and what to install or set for the rest
    Doctor(DoctorArgs),
    /// The program that `prony doctor` records
    #[command(name = "doctor-subject", hide = true)]
    Subject(SubjectArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print a man page, or write those of all verbs
    Man(ManArgs),
}

const RECORD_EXAMPLES: &str = "\
Examples:
  prony record -o match.demo --for 30s -- ./server +map dm1
  prony record -o shop.demo --state /var/lib/shop -- shopd --port 8080
  prony record --check -o try.demo --for 10s -- ./server
  prony record --stdio -o edit.demo -- clangd       started by an editor in place of clangd
  prony record --stop match.demo                    the demo is complete, and its server goes on

The recording ends when the server exits, after --for, or on Ctrl-C, which reaches the server as usual; the demo is closed
cleanly in each case. --stop ends it at the end of a frame, or after 1 s without one; the server goes on unrecorded. The exit code is that of the server; 0 if --for ended it, 3 if it sent nothing to compare, or a full or slow disk ended the recording before it.
With --check it is that of `prony replay`, unless the demo is replayable.
A demo contains everything the server read and sent, including secrets: only its owner can read the file. The recording is
noted in ~/.local/state/prony/recorded, so that a replay on this machine runs its command without confirmation.";

/// Run a server and record it into a demo.
#[derive(Debug, Args)]
#[command(after_help = RECORD_EXAMPLES)]
pub struct RecordArgs {
    /// Write the demo to FILE
    #[arg(short, long, value_name = "FILE", required_unless_present = "stop")]
    pub output: Option<PathBuf>,
    /// End the recording that writes FILE and let its server go on; the recorder does the same on SIGUSR1
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub stop: Option<PathBuf>,
    /// After --stop, wait for the server, pass signals on to it and exit with its code; always as process 1 of a container
    #[arg(long)]
    pub stay: bool,
    /// Stop the server after this time: 30s, 500ms, 2m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub limit: Option<Duration>,
    #[command(flatten)]
    pub streams: StreamArgs,
    /// Server command and its arguments
    #[arg(last = true, required_unless_present = "stop", value_name = "COMMAND")]
    pub command: Vec<OsString>,

    /// Store this directory in the demo and restore it for each replay; for files that the server writes and reads back
    #[arg(long, value_name = "DIR", help_heading = "Demo contents")]
    pub state: Vec<PathBuf>,
    /// Do not record calls made by this library, such as an allocator that reads the clock
    #[arg(long, value_name = "NAME", help_heading = "Demo contents")]
    pub exclude_object: Vec<String>,
    /// End a frame at each such call of the main thread instead of at the first wait that may block
    #[arg(long, value_name = "CALL", value_parser = call, help_heading = "Demo contents")]
    pub frame_on: Option<prony_demo::Op>,

    #[command(flatten)]
    pub packing: PackingArgs,
    #[command(flatten)]
    pub processes: ProcessArgs,

    /// zstd compression level
    #[arg(long, value_name = "1..19", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=19), help_heading = "Output")]
    pub level: i32,
    /// Replace FILE if it exists
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    /// Replay the demo immediately and report whether it is replayable
    #[arg(long, help_heading = "Output")]
    pub check: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl RecordArgs {
    /// The demo to write; empty where the arguments are those of `--stop`.
    pub fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new(""))
    }
}

/// The server's standard input and output.
#[derive(Debug, Args)]
pub struct StreamArgs {
    /// Stop it by writing this text to its standard input instead of sending SIGTERM, for servers with a console: 'quit\n'
    #[arg(long, value_name = "TEXT", requires = "limit", value_parser = unescaped)]
    pub end_input: Option<Text>,
    /// Clients talk through the server's standard input and output, as editors and chess programs do: what it writes there
    /// is compared as an answer is. Assumed where both are one socket, as inetd hands it
    #[arg(long, conflicts_with = "json")]
    pub stdio: bool,
}

/// Files that the demo contains because the server only reads them.
#[derive(Debug, Args)]
pub struct PackingArgs {
    /// Store files up to this size that the server only reads; 0 stores none
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = size, help_heading = "Demo contents")]
    pub pack: u64,
    /// Total size limit of these files; smaller ones are stored first
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size, help_heading = "Demo contents")]
    pub pack_all: u64,
    /// Also store files that are not world-readable; they may contain keys and passwords
    #[arg(long, help_heading = "Demo contents")]
    pub pack_private: bool,
}

/// Processes that are recorded, and what of them runs in parallel.
#[derive(Debug, Args)]
pub struct ProcessArgs {
    /// Also record child processes that execute another program, such as a server started by a script or a supervisor
    #[arg(long, help_heading = "Demo contents")]
    pub follow_exec: bool,
    /// Let the server's threads run in parallel: less overhead, but the outcome of data races between calls may differ
    /// in a replay
    #[arg(long, help_heading = "Demo contents")]
    pub threads_side_by_side: bool,
    /// Let the server's processes take turns, as its threads do: for servers whose processes communicate through files.
    /// Processes that share memory do so anyway
    #[arg(long, conflicts_with = "threads_side_by_side", help_heading = "Demo contents")]
    pub processes_in_turn: bool,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  prony replay match.demo                           the recorded command
  prony replay match.demo -- ./server-new +map dm1  another build
  prony replay match.demo --repeat 10 --json        ten measured replays
  prony replay match.demo --tolerance floats.toml   numbers that may differ a little
  prony replay match.demo --tolerance game.toml --decoder 'python3 teeworlds.py' -- ./server-fast
                                                    fields of a packed protocol
  prony replay --explain match.demo                 why it diverged

A demo is a program: it names a command, variables that load code, and files. Unless you recorded it on this machine, its
command and its files are used only with --trust-demo, or after confirmation on a terminal. `prony demo info` shows them.

Exit codes:
  0  identical: at least one byte was verified, and all were equal
  1  diverged; or tolerant: not equal, but within the limits of --tolerance
  2  could not run
  3  the result proves little: hardly any output, a starved thread, a different environment";

/// Replay a demo against a build and compare every byte it sends.
#[derive(Debug, Clone, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub struct ReplayArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Build to run, with its arguments, and variables in front of it [default: the recorded command]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    /// Number of replays, for median and spread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Measurement")]
    pub repeat: u32,

    #[command(flatten)]
    pub comparison: ComparisonArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub limits: DemoLimits,
    /// Write a page to FILE: verdict, frame times, the demo along its time, both sides of a divergence
    #[arg(long, visible_alias = "html", value_name = "FILE", help_heading = "Output")]
    pub export_html: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What counts as equal, and which demos and builds are accepted.
#[derive(Debug, Clone, Args)]
pub struct ComparisonArgs {
    /// File with rules for numbers that may differ; such a result is tolerant, never identical
    #[arg(long, value_name = "FILE", help_heading = "Comparison")]
    pub tolerance: Option<PathBuf>,
    /// Compare the fields that this decoder finds in the datagrams, not their bytes; one runs for each side
    #[arg(long, value_name = "COMMAND", help_heading = "Comparison")]
    pub decoder: Option<String>,
    /// Replay a truncated demo up to its last complete block
    #[arg(long, help_heading = "Comparison")]
    pub allow_truncated: bool,
    /// Accept the result even if this machine differs from the recording machine
    #[arg(long, help_heading = "Comparison")]
    pub ignore_environment: bool,
    /// Try a build of another architecture (i386, x86_64) than the recorded server
    #[arg(long, help_heading = "Comparison")]
    pub other_architecture: bool,
}

/// How the build runs, and what is shown of it.
#[derive(Debug, Clone, Args)]
pub struct ExecutionArgs {
    /// Start the build by this tool: a debugger, a tracer, a checker; its output is shown, no times are
    #[arg(long, value_name = "COMMAND", help_heading = "Execution")]
    pub under: Option<String>,
    /// Report a thread as starved if it waits for its turn this long; 30 times as long with --under
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration, help_heading = "Execution")]
    pub watchdog: Duration,
    /// Set a variable of the build, instead of what was recorded; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, help_heading = "Execution")]
    pub env: Vec<(OsString, OsString)>,
    /// Empty this state directory and restore it in its recorded place instead of a private one
    #[arg(long, value_name = "DIR", help_heading = "Execution")]
    pub restore_in_place: Vec<PathBuf>,
    /// Also restore set-user-id and set-group-id bits of its files
    #[arg(long, help_heading = "Execution")]
    pub restore_set_ids: bool,
    /// Show the server's output
    #[arg(long, help_heading = "Execution")]
    pub show_output: bool,
    /// Explain a divergence: calls that fail only here, what threads wait for, the last output
    #[arg(long, help_heading = "Execution")]
    pub explain: bool,
}

impl ReplayArgs {
    /// Arguments for one replay of this demo, without limits on resources.
    pub fn of(demo: PathBuf) -> ReplayArgs {
        ReplayArgs {
            demo,
            command: Vec::new(),
            repeat: 1,
            comparison: ComparisonArgs {
                tolerance: None,
                decoder: None,
                allow_truncated: false,
                ignore_environment: false,
                other_architecture: false,
            },
            execution: ExecutionArgs {
                under: None,
                watchdog: Duration::from_secs(10),
                env: Vec::new(),
                restore_in_place: Vec::new(),
                restore_set_ids: false,
                show_output: false,
                explain: false,
            },
            files: FileArgs::default(),
            trust: TrustArgs::default(),
            limits: DemoLimits { max_memory: prony_replay::Limits::default().memory_bytes, max_state: u64::MAX },
            export_html: None,
            json: false,
        }
    }
}

/// Source of the files of a demo: options of all verbs that replay one.
#[derive(Debug, Clone, Default, Args)]
pub struct FileArgs {
    /// Use the local files even where the demo has others, to measure another configuration
    #[arg(long, requires = "demo", help_heading = "Files")]
    pub files_here: bool,
    /// Search this directory for missing recorded files, by content; may be repeated
    #[arg(long, value_name = "DIR", requires = "demo", conflicts_with = "files_here", help_heading = "Files")]
    pub assets: Vec<PathBuf>,
    /// Allow files of a trusted demo also over those below this directory, besides its own ones; may be repeated
    #[arg(long, value_name = "DIR", requires = "demo", conflicts_with = "files_here", help_heading = "Files")]
    pub overlay: Vec<PathBuf>,
}

impl From<&FileArgs> for prony_replay::FileOptions {
    fn from(args: &FileArgs) -> prony_replay::FileOptions {
        prony_replay::FileOptions { here: args.files_here, assets: args.assets.clone(), overlay: args.overlay.clone() }
    }
}

/// Permissions of a demo: options of all verbs that replay one.
#[derive(Debug, Clone, Default, Args)]
pub struct TrustArgs {
    /// Trust the demo's author: run its command and use its files, with all of its variables but those known to load code
    #[arg(long, requires = "demo", help_heading = "Trust")]
    pub trust_demo: bool,
    /// Give the build this variable as recorded, although it may load code; may be repeated
    #[arg(long, value_name = "NAME", requires = "demo", help_heading = "Trust")]
    pub keep_variable: Vec<OsString>,
}

/// Limits on the resources that a demo may use.
#[derive(Debug, Clone, Copy, Args)]
pub struct DemoLimits {
    /// Memory for the records of a demo; longer demos are unpacked during the replay
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = size, help_heading = "Resource limits")]
    pub max_memory: u64,
    /// Refuse a demo whose state archives exceed this size, or have more entries than one per KiB of it
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size, help_heading = "Resource limits")]
    pub max_state: u64,
}

impl From<DemoLimits> for prony_replay::Limits {
    fn from(limits: DemoLimits) -> prony_replay::Limits {
        prony_replay::Limits { memory_bytes: limits.max_memory, state_bytes: limits.max_state }
    }
}

/// Inspect, convert or check a demo.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct DemoArgs {
    #[command(subcommand)]
    pub verb: DemoVerb,
}

#[derive(Debug, Subcommand)]
pub enum DemoVerb {
    /// Show what was recorded, where and when
    Info(InfoArgs),
    /// Print the recorded calls, one per line
    Dump(DumpArgs),
    /// List frames with their end and duration
    Frames(FramesArgs),
    /// Export UDP and TCP traffic for Wireshark and tshark
    Pcap(PcapArgs),
    /// Write a page that shows the demo along its time
    View(ViewArgs),
    /// Copy a demo, replacing addresses, host names and given strings
    Anonymize(AnonymizeArgs),
    Pack(PackArgs),
    /// Check every byte of a demo
    Verify(VerifyArgs),
}

/// Show what was recorded, where and when.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Count calls; reads the whole demo
    #[arg(long)]
    pub calls: bool,
    /// Print JSON, with files, objects and environment
    #[arg(long)]
    pub json: bool,
}

const DUMP_EXAMPLES: &str = "\
Examples:
  prony demo dump match.demo --frames 312
  prony demo dump match.demo --frames 300..320 --call sendto --full
  prony demo dump match.demo --json | jq 'select(.call == \"sendto\")'";

/// Print the recorded calls, one per line.
#[derive(Debug, Args)]
#[command(after_help = DUMP_EXAMPLES)]
pub struct DumpArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Only these frames: 312, 300..320 (excluding 320), 300.. or ..20
    #[arg(long, value_name = "A..B", value_parser = frames)]
    pub frames: Option<FrameRange>,
    /// Only this call; may be repeated
    #[arg(long, value_name = "CALL", value_parser = call)]
    pub call: Vec<prony_demo::Op>,
    /// Only this process; 0 is the server that was started
    #[arg(long, value_name = "N")]
    pub process: Option<u16>,
    /// Show all bytes, not only the first sixteen
    #[arg(long)]
    pub full: bool,
    /// Print one JSON object per line, with all bytes in hex
    #[arg(long)]
    pub json: bool,
}

/// List frames with their end and duration.
#[derive(Debug, Args)]
pub struct FramesArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Only these frames: 312, 300..320 (excluding 320), 300.. or ..20
    #[arg(long, value_name = "A..B", value_parser = frames)]
    pub frames: Option<FrameRange>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const PCAP_EXAMPLES: &str = "\
Examples:
  prony demo pcap match.demo | tshark -r -
  prony demo pcap match.demo -o match.pcap

Packet headers are synthesised around the recorded bytes; a demo has no retransmissions and no packets dropped by the kernel.";

/// Export UDP and TCP traffic for Wireshark and tshark.
#[derive(Debug, Args)]
#[command(after_help = PCAP_EXAMPLES)]
pub struct PcapArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Print a summary of the file as JSON; requires -o
    #[arg(long, requires = "output")]
    pub json: bool,
}

const VIEW_EXAMPLES: &str = "\
Examples:
  prony demo view match.demo -o match.html
  prony replay match.demo --repeat 5 --json -- ./server > replay.json
  prony demo view match.demo --replay replay.json -o match.html
  prony demo view match.demo --frames 300..320 -o match.html

The page shows frames, clients and threads along the time, and opens a frame into its calls. It is one file that loads
nothing. A long demo has the calls of some frames only: those asked for, those around a divergence, the slowest, both ends,
and as many of the others as fit.";

/// Write a page that shows the demo along its time.
#[derive(Debug, Args)]
#[command(after_help = VIEW_EXAMPLES)]
pub struct ViewArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Write the page to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Show the frame times and the divergence of this replay: the output of `prony replay --json`
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Include all calls of these frames: 312, 300..320 (excluding 320), 300.. or ..20
    #[arg(long, value_name = "A..B", value_parser = frames)]
    pub frames: Option<FrameRange>,
    /// Overwrite FILE if it exists
    #[arg(long)]
    pub force: bool,
    /// Print a summary of the page as JSON
    #[arg(long)]
    pub json: bool,
}

const ANONYMIZE_HELP: &str = "\
Examples:
  prony demo anonymize match.demo -o public.demo
  prony demo anonymize match.demo -o public.demo --replace hunter2 --replace alice=carol

Replacements have the length of the original and are the same everywhere, so the result still replays; check it with
`prony replay`. Compressed or encrypted data cannot be searched. Variables that a server hardly needs are dropped.

The result is searched for everything that should have been replaced, as text, bytes, base64, hexadecimal and UTF-16.
Remaining occurrences are listed, and the result is then FILE.partial.

Exit codes: 0 nothing found in the result, 1 occurrences remain, 2 could not run.";

/// Copy a demo, replacing addresses, host names and given strings.
#[derive(Debug, Args)]
#[command(after_help = ANONYMIZE_HELP)]
pub struct AnonymizeArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Write the new demo to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace this string everywhere: by NEW of the same length, or by random letters and digits
    #[arg(long, value_name = "OLD[=NEW]")]
    pub replace: Vec<String>,
    /// Keep all addresses
    #[arg(long)]
    pub keep_addresses: bool,
    /// Keep this address, or a version number that looks like one
    #[arg(long, value_name = "ADDRESS")]
    pub keep_address: Vec<std::net::IpAddr>,
    /// Also replace loopback addresses by others in 127.0.0.0/8; a server that trusts 127.0.0.1 may then behave differently
    #[arg(long, conflicts_with = "keep_addresses")]
    pub map_loopback: bool,
    /// Also replace the four bytes of IPv4 addresses in payloads and files; check with a replay, since they may be other data
    #[arg(long, conflicts_with = "keep_addresses")]
    pub raw_addresses: bool,
    /// Keep this environment variable
    #[arg(long, value_name = "NAME")]
    pub keep_variable: Vec<String>,
    /// Random seed for the choice of replacements [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Overwrite FILE if it exists
    #[arg(long)]
    pub force: bool,
    /// Print a summary of the replacements as JSON
    #[arg(long)]
    pub json: bool,
}

const PACK_HELP: &str = "\
Examples:
  prony demo pack match.demo -o whole.demo --assets ~/games/maps

A recording stores small world-readable files. This command adds the others, if they are unchanged on this machine or found
by content below --assets. `prony demo info` lists the files that a demo still lacks.

Exit codes: 0 complete, 1 some files were not found or are private, 2 could not run.";

/// Copy a demo and add the files that its server read.
#[derive(Debug, Args)]
#[command(after_help = PACK_HELP)]
pub struct PackArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Write the new demo to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Search this directory for moved files, by content; may be repeated
    #[arg(long, value_name = "DIR")]
    pub assets: Vec<PathBuf>,
    /// Also add files that are not world-readable; they may contain keys and passwords
    #[arg(long)]
    pub private: bool,
    /// Overwrite FILE if it exists
    #[arg(long)]
    pub force: bool,
    /// Print a summary of the files as JSON
    #[arg(long)]
    pub json: bool,
}

/// Check every byte of a demo: checksums, records, index and commit marker.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 sound, 1 truncated or damaged, 2 not a demo.")]
pub struct VerifyArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Range of consecutive frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRange {
    /// First frame of the range.
    pub first: u64,
    /// The one after the last; `None`: to the end.
    pub end: Option<u64>,
}

fn frames(text: &str) -> Result<FrameRange, String> {
    let wrong = || "expected frames such as 312, 300..320, 300.. or ..20".to_owned();
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

/// Bytes that were written with escapes on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

/// A text in which `\n`, `\r`, `\t` and `\\` stand for one character.
fn unescaped(text: &str) -> Result<Text, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next() {
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'\\') => b'\\',
                _ => return Err(r"expected \n, \r, \t or \\ after a backslash".to_owned()),
            },
            byte => byte,
        });
    }
    Ok(Text(bytes))
}

/// A variable of the environment; its value may be empty.
fn variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("expected a name and a value, such as 'LD_LIBRARY_PATH=./new'".to_owned()),
    }
}

fn call(name: &str) -> Result<prony_demo::Op, String> {
    prony_demo::Op::from_name(name)
        .ok_or_else(|| "expected the C name of a call that prony records, such as sendto".to_owned())
}

#[cfg(test)]
mod tests;
