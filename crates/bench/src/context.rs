//! The run context: what one run of a command needs, and the run itself.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use prony_machine::Interrupt;
use prony_machine::process::{self, Counter, Drain, Ended, Placement, Process, Run, Runner};

use crate::deadline::Deadline;
use crate::error::{BenchError, Failed, MeasureError, Phase, Problem};
use crate::options::{Input, Options, Output, Subject};
use crate::randomization::{NestedDirectories, Randomization};
use crate::repetitions::Repetitions;
use crate::sample::Observation;
use crate::worker;

/// Number of bytes shown of the last output of a failed command.
const TAIL_BYTES: u64 = 2048;
const TAIL_LINES: usize = 10;

/// Time slice that each command of a duet requests from the scheduler, and period of its metronome, in nanoseconds.
pub(crate) const TURN_NS: u64 = 500_000;

/// State shared by all runs.
#[derive(Debug)]
pub struct RunContext<'a> {
    options: &'a Options,
    interrupt: Option<&'a Interrupt>,
    runner: Runner,
    nowhere: File,
    stderr: File,
    places: Option<NestedDirectories>,
    /// Loops that each worker's own calibration found.
    loops: Vec<Option<u64>>,
    /// Number of values and warm-ups requested from workers.
    repetitions: Option<Repetitions>,
    /// Time limit of a run.
    deadline: Option<Deadline>,
}

impl<'a> RunContext<'a> {
    pub fn new(options: &'a Options, interrupt: Option<&'a Interrupt>) -> Result<RunContext<'a>, BenchError> {
        let nowhere = File::options().read(true).write(true).open("/dev/null");
        let places = options.execution.randomize_directory.then(NestedDirectories::make).transpose();
        Ok(RunContext {
            options,
            interrupt,
            runner: Runner::new(),
            nowhere: nowhere.map_err(|error| BenchError::System { what: "open /dev/null", error })?,
            stderr: process::file_in_memory()
                .map_err(|error| BenchError::System { what: "make a file in memory", error })?,
            places: places.map_err(|error| BenchError::System { what: "make a temporary directory", error })?,
            loops: vec![None; options.subjects.len()],
            repetitions: None,
            deadline: None,
        })
    }

    pub fn counters(&self) -> &[Counter] {
        self.runner.counters()
    }

    /// Sets the repetitions requested from workers from here on.
    pub fn ask(&mut self, repetitions: Repetitions) {
        self.repetitions = Some(repetitions);
    }

    /// Ends runs that take longer, from here on.
    pub fn end_after(&mut self, limit: Duration) -> Result<(), BenchError> {
        let deadline = Deadline::new(self.interrupt.map(Interrupt::descriptor), limit);
        self.deadline = Some(deadline.map_err(|error| BenchError::System { what: "make a timer", error })?);
        Ok(())
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(Interrupt::is_requested)
    }

    /// Prepares and runs a command once.
    pub fn run(
        &mut self,
        subject: usize,
        randomization: &Randomization,
        phase: Phase,
    ) -> Result<Observation, MeasureError> {
        self.prepare(subject)?;
        let observation = self.run_prepared(subject, randomization, phase)?;
        self.conclude(subject)?;
        Ok(observation)
    }

    /// Runs the command that precedes each run, not measured.
    pub fn prepare(&self, subject: usize) -> Result<(), MeasureError> {
        if let Some(prepare) = &self.options.subjects[subject].prepare {
            self.shell(subject, prepare, Phase::Prepare)?;
        }
        if self.is_interrupted() { Err(MeasureError::Interrupted) } else { Ok(()) }
    }

    /// Runs the command that follows each run, not measured.
    pub fn conclude(&self, subject: usize) -> Result<(), MeasureError> {
        match &self.options.subjects[subject].conclude {
            Some(conclude) => self.shell(subject, conclude, Phase::Conclude),
            None => Ok(()),
        }
    }

    /// Runs a command that is prepared once.
    pub fn run_prepared(
        &mut self,
        subject: usize,
        randomization: &Randomization,
        phase: Phase,
    ) -> Result<Observation, MeasureError> {
        let name = &self.options.subjects[subject].name;
        let failed =
            |problem, stderr_tail| MeasureError::Failed(Failed { name: name.clone(), phase, problem, stderr_tail });
        let (run, written) = self.execute(subject, randomization).map_err(|problem| failed(problem, String::new()))?;
        match run.ended {
            Ended::Stopped => {
                let limit = self.deadline.as_ref().map(Deadline::limit).filter(|_| !self.is_interrupted());
                return Err(match limit {
                    Some(limit) => failed(Problem::TimedOut(limit), self.stderr_tail()),
                    None => MeasureError::Interrupted,
                });
            }
            ended if self.options.execution.accepted.takes(ended) => {}
            Ended::Exited(code) => return Err(failed(Problem::Exited(code), self.stderr_tail())),
            Ended::Signalled(signal) => return Err(failed(Problem::Signalled(signal), self.stderr_tail())),
        }
        let values = worker::parse(&written).map_err(|error| failed(error.into(), self.stderr_tail()))?;
        if self.options.duet && !values.is_empty() {
            return Err(failed(Problem::WorkerInDuet, String::new()));
        }
        if let Some(loops) = values.iter().map(|value| value.loops).max() {
            self.loops[subject].get_or_insert(loops);
        }
        Ok(Observation { run, values, duet: self.options.duet })
    }

    fn execute(&mut self, subject: usize, randomization: &Randomization) -> Result<(Run, Vec<u8>), Problem> {
        let command = &self.options.subjects[subject].command;
        let system = |verb, file: &str| {
            let file = file.to_owned();
            move |error| Problem::File { verb, file, error }
        };
        let input = match &self.options.execution.input {
            Input::Null => None,
            Input::File(path) => Some(File::open(path).map_err(system("read", &path.to_string_lossy()))?),
        };
        let mut drains = Vec::new();
        let output: Option<OwnedFd> = match &self.options.execution.output {
            Output::Null | Output::Inherit => None,
            Output::Pipe => {
                let (read, write) = io::pipe().map_err(system("make", "pipe"))?;
                drains.push(drain(read, 0).map_err(system("make", "pipe"))?);
                Some(write.into())
            }
            Output::File(path) => Some(File::create(path).map_err(system("write", &path.to_string_lossy()))?.into()),
        };
        let (read, values) = io::pipe().map_err(system("make", "pipe"))?;
        drains.push(drain(read, worker::MOST_BYTES).map_err(system("make", "pipe"))?);
        // A file that is empty already costs a look only.
        if self.stderr.metadata().is_ok_and(|facts| facts.len() > 0) {
            self.stderr.set_len(0).map_err(system("cut", "the file for standard error"))?;
        }
        let (ours_out, ours_err) = (io::stdout(), io::stderr());
        let inherit = self.options.execution.output == Output::Inherit;
        let directory = self.directory(randomization);
        let process = Process {
            program: &command.program,
            arguments: &command.arguments,
            environment: &self.environment(subject, randomization),
            directory: directory.as_deref(),
            streams: [
                input.as_ref().unwrap_or(&self.nowhere).as_fd(),
                match &output {
                    Some(output) => output.as_fd(),
                    None if inherit => ours_out.as_fd(),
                    None => self.nowhere.as_fd(),
                },
                if inherit { ours_err.as_fd() } else { self.stderr.as_fd() },
            ],
            extra: Some(values.as_fd()),
            placement: Placement { slice_ns: self.options.duet.then_some(TURN_NS), ..self.options.execution.placement },
        };
        let stop: Option<BorrowedFd> = match &self.deadline {
            Some(deadline) => {
                deadline.start().map_err(system("start", "timer"))?;
                Some(deadline.descriptor())
            }
            None => self.interrupt.map(Interrupt::descriptor),
        };
        let run = self.runner.run(&process, &mut drains, stop)?;
        Ok((run, drains.pop().map(|drain| drain.bytes).unwrap_or_default()))
    }

    fn environment(&self, subject: usize, randomization: &Randomization) -> Vec<(OsString, OsString)> {
        let mut environment = randomization.environment(&self.options.execution.environment);
        let mut set = |name: &OsStr, value: OsString| {
            environment.retain(|(other, _)| other != name);
            environment.push((name.to_owned(), value));
        };
        for (name, value) in &self.options.subjects[subject].command.variables {
            set(name, value.clone());
        }
        set(worker::DESCRIPTOR_VARIABLE.as_ref(), process::EXTRA_DESCRIPTOR.to_string().into());
        set(worker::MIN_TIME_VARIABLE.as_ref(), self.options.value_s_min.to_string().into());
        if let Some(loops) = self.loops[subject] {
            set(worker::LOOPS_VARIABLE.as_ref(), loops.to_string().into());
        }
        if let Some(repetitions) = self.repetitions {
            set(worker::VALUES_VARIABLE.as_ref(), repetitions.values.to_string().into());
            set(worker::WARMUPS_VARIABLE.as_ref(), repetitions.warmups.to_string().into());
        }
        environment
    }

    fn directory(&self, randomization: &Randomization) -> Option<PathBuf> {
        self.places.as_ref().map(|places| randomization.directory(places))
    }

    /// Runs text for `sh` that is not measured.
    pub fn shell(&self, subject: usize, text: &str, phase: Phase) -> Result<(), MeasureError> {
        let failed = |problem, stderr_tail| {
            let name = self.options.subjects[subject].name.clone();
            MeasureError::Failed(Failed { name, phase, problem, stderr_tail })
        };
        let ran = Command::new("/bin/sh").args(["-c", text]).stdin(Stdio::null()).stdout(Stdio::null()).output();
        let ran = ran.map_err(|error| {
            failed(Problem::File { verb: "execute", file: "/bin/sh".to_owned(), error }, String::new())
        })?;
        if self.is_interrupted() && phase != Phase::Cleanup {
            return Err(MeasureError::Interrupted);
        }
        let problem = match (ran.status.code(), ran.status.signal()) {
            (Some(0), _) => return Ok(()),
            (Some(code), _) => Problem::Exited(code),
            (None, signal) => Problem::Signalled(signal.unwrap_or_default()),
        };
        Err(failed(problem, tail(&ran.stderr)))
    }

    /// The end of what the last run printed on standard error.
    fn stderr_tail(&self) -> String {
        let length = self.stderr.metadata().map_or(0, |facts| facts.len());
        let from = length.saturating_sub(TAIL_BYTES);
        let mut bytes = vec![0; (length - from) as usize];
        match self.stderr.read_exact_at(&mut bytes, from) {
            Ok(()) => tail(&bytes),
            Err(_) => String::new(),
        }
    }
}

/// The whole commands before any of their runs and after all of them.
pub fn run_setup_or_cleanup(context: &RunContext, subjects: &[Subject], phase: Phase) -> Result<(), MeasureError> {
    for (place, subject) in subjects.iter().enumerate() {
        let text = if phase == Phase::Setup { &subject.setup } else { &subject.cleanup };
        if let Some(text) = text {
            context.shell(place, text, phase)?;
        }
    }
    Ok(())
}

fn drain(from: PipeReader, keep_bytes: usize) -> io::Result<Drain> {
    Drain::new(OwnedFd::from(from), keep_bytes)
}

fn tail(bytes: &[u8]) -> String {
    let bytes = &bytes[bytes.len().saturating_sub(TAIL_BYTES as usize)..];
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_ten_lines() {
        let many: String = (1..=40).map(|line| format!("line {line}\n")).collect();
        assert_eq!(tail(many.as_bytes()).lines().collect::<Vec<_>>()[0], "line 31");
        assert_eq!(tail(b"one\n\n"), "one");
        assert!(tail(&[b'x'; 10_000]).len() <= 2048);
        assert_eq!(tail(b""), "");
    }
}
