//! The command `prony`: flags, messages, hints, exit codes.
//!
//! Standard output carries the answer, standard error the talk. Libraries say what is wrong;
//! only here is known what to do about it.
#![forbid(unsafe_code)]

// Messages hold names of others: whatever goes to standard error in this crate passes `output`, so these two take the
// place of the standard library's.
macro_rules! eprint {
    ($($message:tt)*) => { $crate::output::talk(format_args!($($message)*)) };
}
macro_rules! eprintln {
    ($($message:tt)*) => { $crate::output::talk_line(format_args!($($message)*)) };
}

mod bench;
mod bisect;
mod cli;
mod compare;
mod count;
mod debug;
mod demo;
mod doctor;
mod exit;
mod failure;
mod limits;
mod load;
mod machine;
mod nic;
mod numbers;
mod output;
mod pages;
mod profile;
mod progress;
mod record;
mod replay;
mod samples;
mod selftest;
mod study;
mod trust;
mod version;

use std::process::ExitCode;

use cli::{DemoVerb, LimitsVerb, LoadVerb, MachineVerb, NicVerb, ProfileVerb, StudyVerb, Verb};
use exit::Exit;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let answered = match cli.verb {
        Verb::Record(args) => record::run(&args, record::start, |args| replay::start(args, None)),
        Verb::Replay(args) => replay::run(&args, replay::start),
        Verb::Debug(args) => debug::run(&args),
        Verb::Demo(demo) => match demo.verb {
            DemoVerb::Info(args) => demo::info::run(&args),
            DemoVerb::Dump(args) => demo::dump::run(&args),
            DemoVerb::Frames(args) => demo::frames::run(&args),
            DemoVerb::Pcap(args) => demo::pcap::run(&args),
            DemoVerb::View(args) => demo::view::run(&args),
            DemoVerb::Anonymize(args) => demo::anonymize::run(&args),
            DemoVerb::Pack(args) => demo::pack::run(&args),
            DemoVerb::Verify(args) => demo::verify::run(&args),
        },
        Verb::Machine(machine) => match machine.verb {
            MachineVerb::Show(args) => machine::show::run(&args),
            MachineVerb::Check(args) => machine::check::run(&args),
            MachineVerb::Tune(args) => machine::tune::run(&args),
            MachineVerb::Restore(args) => machine::restore::run(&args),
        },
        Verb::Study(study) => match study.verb {
            StudyVerb::Plan(args) => study::plan::run(&args),
            StudyVerb::Run(args) => study::run::run(&args),
            StudyVerb::Status(args) => study::status::run(&args),
            StudyVerb::Resume(args) => study::run::resume(&args),
            StudyVerb::Merge(args) => study::merge::run(&args),
            StudyVerb::Export(args) => study::export::run(&args),
            StudyVerb::Work(args) => study::work::run(&args),
            StudyVerb::Collect(args) => study::work::collect(&args),
            StudyVerb::Import(args) => study::import::run(&args),
            StudyVerb::Effects(args) => study::effects::run(&args),
            StudyVerb::Diff(args) => study::diff::run(&args),
            StudyVerb::History(args) => study::history::run(&args),
            StudyVerb::Report(args) => study::report::run(&args),
        },
        Verb::Limits(limits) => match &limits.verb {
            None => limits::run(&limits.measure),
            Some(LimitsVerb::Show(args)) => limits::show::run(args),
            Some(LimitsVerb::Compare(args)) => limits::compare::run(args),
        },
        Verb::Load(load) => match load.verb {
            LoadVerb::Enet(args) => load::enet(&args),
            LoadVerb::Nic(args) => nic::load(&args),
        },
        Verb::Nic(args) => match &args.verb {
            None => nic::serve(&args.serve),
            Some(NicVerb::Trace(args)) => nic::trace(args),
            Some(NicVerb::Check(args)) => nic::check(args),
            Some(NicVerb::Join(args)) => nic::join(args),
            Some(NicVerb::Guard) => nic::guard(),
        },
        Verb::Profile(profile) => match &profile.verb {
            None => profile::run(&profile.take),
            Some(ProfileVerb::Show(args)) => profile::show::run(args),
            Some(ProfileVerb::Diff(args)) => profile::diff::run(args),
            Some(ProfileVerb::Fold(args)) => profile::fold::run(args),
            Some(ProfileVerb::Zones(args)) => profile::zones::run(args),
        },
        Verb::Bench(args) => bench::run(&args),
        Verb::Count(args) => count::run(&args),
        Verb::Bisect(args) => bisect::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Stats(args) => samples::stats::run(&args),
        Verb::Hist(args) => samples::hist::run(&args),
        Verb::Check(args) => samples::check::run(&args),
        Verb::Selftest(args) => selftest::run(&args),
        Verb::Work(args) => selftest::work(&args),
        Verb::Link(args) => return bench::layouts::link(&args),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Subject(args) => doctor::subject(&args),
        Verb::Completions(args) => pages::completions(&args),
        Verb::Man(args) => pages::man(&args),
    };
    match answered {
        Ok(exit) => exit.into(),
        // The reader of the output has seen enough: `prony demo dump x.demo | head`.
        Err(failure) if failure.is_closed_pipe() => Exit::Good.into(),
        Err(failure) => {
            eprint!("{failure}");
            Exit::CouldNotRun.into()
        }
    }
}
