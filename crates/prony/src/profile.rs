//! `prony profile`: samples a command, a replay, a process or the machine, and says where the time goes.

pub mod diff;
pub mod fold;
mod frames;
mod outputs;
pub mod show;
mod stored;
mod take;
pub mod zones;

use prony_profile::{Profile, Recording, Stacks, Walk, WeightUnit};

use prony_profile::{MissingSymbols, NoSymbols};
use prony_report::profile::{Found, Shown};
use prony_report::{json, text};

use crate::cli::profile::{AnswerArgs, TakeArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

use outputs::Outputs;
use prony_text::{count, significant, thousands};
use take::{ProfileRun, short, take};

/// With fewer samples even the largest shares are hardly known: 100 give ± 10 points.
const FEWEST_SAMPLES: u64 = 100;
/// More lost samples may be those of one kind.
const MOST_LOST: f64 = 0.01;
/// Objects in fewer samples are not worth a warning.
const RARE: f64 = 0.01;
/// Programs with frame pointers have fewer stacks than this that end at once.
const MOST_SHALLOW: f64 = 0.5;

/// An interpreter with frame pointers has fewer: 2.7 % of CPython 3.14.6.
const MOST_FROM_GENERATED: f64 = 0.05;

/// Samples, answers and says how it went.
///
/// # Errors
/// What kept it from running.
pub fn run(args: &TakeArgs) -> Result<Exit, Failure> {
    let mut outputs = Outputs::create(&args.answer)?;
    outputs.add("speedscope", args.speedscope.as_deref(), args.answer.force)?;
    outputs.add("perf-script", args.perf_script.as_deref(), args.answer.force)?;
    let ProfileRun { name, mut recording, replay, mut doubts } = take(args)?;
    let chosen = match (&args.frames, &replay) {
        (Some(frames), Some(report)) => Some(frames::choose(frames, report, &mut recording)?),
        _ => None,
    };
    let profile = Profile::of(&recording);
    doubts.extend(self::doubts(&recording, &profile));
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
    warn(&recording, &profile);
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

/// Reasons why the result would mean little.
fn doubts(recording: &Recording, profile: &Profile) -> Vec<String> {
    let mut doubts = Vec::new();
    let samples = profile.stacks.observations();
    match samples {
        0 if recording.weight_unit == WeightUnit::Samples => {
            doubts.push("no stack samples: it used no CPU; --off-cpu shows where it waits".to_owned());
        }
        0..FEWEST_SAMPLES => {
            doubts.push(format!(
                "only {}: shares are very uncertain",
                text::profile::counted(samples, recording.weight_unit)
            ));
        }
        _ => {}
    }
    let all = samples + recording.lost;
    if recording.lost as f64 > MOST_LOST * all as f64 {
        doubts.push(format!(
            "{} of {} were lost: the machine was too busy to write them",
            thousands(recording.lost),
            count(all, "record")
        ));
    }
    doubts
}

/// Warnings that limit the result without making it wrong.
fn warn(recording: &Recording, profile: &Profile) {
    let samples = profile.stacks.observations();
    let share = |part: u64| part as f64 / samples.max(1) as f64;
    for (missing_symbols, seen) in profile.missing_symbols.iter().filter(|(_, seen)| share(*seen) >= RARE) {
        eprintln!(
            "warning: {} {} ({} % of the samples)",
            missing_symbols.object,
            prony_text::without_error_numbers(&missing_symbols.why.to_string()),
            significant(share(*seen) * 100.0)
        );
        if let Some(hint) = hint(missing_symbols) {
            eprintln!("hint: {hint}");
        }
    }
    if !recording.kernel && samples > 0 {
        eprintln!("warning: kernel time is missing: kernel stacks are visible only to root");
        eprintln!("hint: run `sysctl kernel.perf_event_paranoid=1` as root");
    }
    if recording.walk == Walk::FramePointers && samples > 0 && share(profile.shallow) > MOST_SHALLOW {
        eprintln!(
            "warning: {} % of the stacks end after one call: the program has no frame pointers",
            significant(share(profile.shallow) * 100.0)
        );
        eprintln!("hint: build it with -fno-omit-frame-pointer, or use --dwarf");
    }
    if share(profile.from_generated_code) >= MOST_FROM_GENERATED {
        eprintln!(
            "warning: {} % of the stacks end in generated code: what called it is missing, also from inclusive times",
            significant(share(profile.from_generated_code) * 100.0)
        );
        eprintln!(
            "hint: for Python, use an interpreter built with -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer; for \
             Java, -XX:+PreserveFramePointer"
        );
    }
    if let Walk::Tables { stack_bytes } = recording.walk
        && share(recording.cut) >= RARE
    {
        eprintln!(
            "warning: {} ({} %) are deeper than the copied {} bytes: their outermost functions are missing",
            count(recording.cut, "stack"),
            significant(share(recording.cut) * 100.0),
            thousands(u64::from(stack_bytes))
        );
        match stack_bytes {
            0..65_000 => eprintln!("hint: use --stack-bytes 65000"),
            _ => eprintln!("hint: build it with -fno-omit-frame-pointer, and omit --dwarf"),
        }
    }
    if recording.unfinished > 0 {
        eprintln!("warning: {} had not ended and are not included", count(recording.unfinished, "wait"));
    }
}

/// True when there is nothing to show.
fn is_empty(stacks: &Stacks) -> bool {
    stacks.total() == 0
}

/// What is asked for of a profile.
fn shown(args: &AnswerArgs) -> Shown<'_> {
    Shown { components: &args.share, functions: args.top }
}

/// Next step that would give an object its symbols; `None` if none is known.
fn hint(missing_symbols: &MissingSymbols) -> Option<String> {
    Some(match &missing_symbols.why {
        NoSymbols::Bulky(_) | NoSymbols::Split { .. } => "functions have names, inlined calls do not".to_owned(),
        NoSymbols::Stripped => {
            "build it without -s and strip, or install its debug symbols (in Debian, NAME-dbgsym)".to_owned()
        }
        NoSymbols::Replaced { .. } => "profile again, and do not rebuild until it has ended".to_owned(),
        NoSymbols::Hidden => "run `sysctl kernel.kptr_restrict=0` as root".to_owned(),
        NoSymbols::NoMap(_) => {
            "node --perf-basic-prof, mono --jitmap, DOTNET_PerfMapEnabled=1, java -XX:+PreserveFramePointer \
                                -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit write one"
                .to_owned()
        }
        NoSymbols::Unreadable(_) => "profile again, and keep the file until the result is printed".to_owned(),
    })
}
