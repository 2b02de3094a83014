//! `prony profile`: samples a command, a replay, a process or the machine, and says where the time goes.

pub mod diff;
pub mod fold;
mod frames;
mod outputs;
pub mod show;
mod stored;
mod take;
pub mod zones;

use prony_profile::{Lack, NoSymbols, Profile, Stacks, lacks};
use prony_report::profile::{Found, Shown};
use prony_report::{json, text};

use crate::cli::profile::{AnswerArgs, TakeArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

use outputs::Outputs;
use take::{ProfileRun, short, take};

/// Samples, answers and says how it went.
///
/// # Errors
/// What kept it from running.
pub fn run(args: &TakeArgs) -> Result<Exit, Failure> {
    let mut outputs = Outputs::create(&args.answer)?;
    outputs.add("speedscope", args.speedscope.as_deref(), args.answer.force)?;
    outputs.add("perf-script", args.perf_script.as_deref(), args.answer.force)?;
    let ProfileRun { name, mut recording, replay, mut doubts } = take(args)?;
    let chosen = match (&args.replay.frames, &replay) {
        (Some(frames), Some(report)) => Some(frames::choose(frames, report, &mut recording)?),
        _ => None,
    };
    let profile = Profile::of(&recording);
    doubts.extend(prony_profile::doubts(&recording, &profile).iter().map(text::profile::doubt));
    let title = args.answer.title.clone().unwrap_or_else(|| name.clone());
    let how = text::profile::how(&recording, profile.stacks.observations());
    // What was found is shown even if a disk is full.
    let written = write(outputs, &profile, recording.frequency_hz, &title, &how);
    let found = Found { name: &name, recording: &recording, profile: &profile, chosen: chosen.as_ref() };
    if args.answer.json {
        output::print_json(&json::profile::taken(&found, shown(&args.answer), &doubts))?;
    } else {
        output::print(&text::profile::taken(&found, shown(&args.answer)))?;
    }
    for lack in lacks(&recording, &profile) {
        eprintln!("warning: {}", text::profile::lack(&lack));
        if let Some(hint) = hint(&lack) {
            eprintln!("hint: {hint}");
        }
    }
    for doubt in &doubts {
        eprintln!("warning: {doubt}");
    }
    written?;
    Ok(if doubts.is_empty() { Exit::Good } else { Exit::NotTrusted })
}

fn write(outputs: Outputs, profile: &Profile, hz: u32, title: &str, how: &str) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    outputs.write(|kind| match kind {
        "speedscope" => Some(Ok(prony_profile::speedscope(profile, title, version, hz).into_bytes())),
        "perf-script" => Some(Ok(prony_profile::perf_script(profile).into_bytes())),
        kind => outputs::of_stacks(kind, &profile.stacks, title, how),
    })
}

/// True when there is nothing to show.
fn is_empty(stacks: &Stacks) -> bool {
    stacks.total() == 0
}

/// Parts of a profile that are requested.
fn shown(args: &AnswerArgs) -> Shown<'_> {
    Shown { components: &args.share, functions: args.top }
}

/// Next step that would give a profile what it lacks; `None` if none is known.
fn hint(lack: &Lack<'_>) -> Option<&'static str> {
    Some(match lack {
        Lack::Names(missing_symbols, _) => match &missing_symbols.why {
            NoSymbols::Bulky(_) | NoSymbols::Split { .. } => "functions have names, inlined calls do not",
            NoSymbols::Stripped => {
                "build it without -s and strip, or install its debug symbols (in Debian, NAME-dbgsym)"
            }
            NoSymbols::Replaced { .. } => "profile again, and do not rebuild until it has ended",
            NoSymbols::Hidden => "run `sysctl kernel.kptr_restrict=0` as root",
            NoSymbols::NoMap(_) => {
                "node --perf-basic-prof, mono --jitmap, DOTNET_PerfMapEnabled=1, java -XX:+PreserveFramePointer \
                 -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit write one"
            }
            NoSymbols::Unreadable(_) => "profile again, and keep the file until the result is printed",
        },
        Lack::Kernel => "run `sysctl kernel.perf_event_paranoid=1` as root",
        Lack::FramePointers(_) => "build it with -fno-omit-frame-pointer, or use --dwarf",
        Lack::Callers(_) => {
            "for Python, use an interpreter built with -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer; for \
             Java, -XX:+PreserveFramePointer"
        }
        Lack::Depth { copied_bytes: 0..65_000, .. } => "use --stack-bytes 65000",
        Lack::Depth { .. } => "build it with -fno-omit-frame-pointer, and omit --dwarf",
        Lack::Unfinished(_) => return None,
    })
}
