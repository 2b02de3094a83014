//! Two builds at the output that the new one makes differently, in the terminal.

use std::fmt::Write;
use std::path::Path;

use prony_replay::{DifferingValue, LastWrite, SideBySide, SideOfBoth, StackFrame};
use prony_text::{Untrusted, printable_line, thousands};

use super::replay::divergence;
use crate::divergence::{class_name, frame_name, sides, variables, write_in_words};

/// Frames of a stack that are listed.
const FRAMES_MAX: usize = 16;

/// Both builds: the stacks that make the call, those that computed the byte, and the values that differ. `commands`: the old build and
/// the new one.
pub fn text(demo: &Path, commands: [&str; 2], both: &SideBySide) -> String {
    let name = Untrusted::new(demo.file_name().unwrap_or(demo.as_os_str()));
    let mut out = format!("{name}: the new build diverges: {}\n", class_name(both.divergence.class));
    divergence::describe(&mut out, &both.divergence);
    for (title, command, side) in sides(commands, both) {
        let _ = writeln!(out, "{title} build: {}", Untrusted::new(command));
        self::side(&mut out, both, side);
    }
    differing(&mut out, "values that differ at the call, old and new:", &both.at_call);
    differing(&mut out, "values that differ where the byte was computed, old and new:", &both.at_write);
    out
}

fn side(out: &mut String, both: &SideBySide, side: &SideOfBoth) {
    let stopped = &side.stopped;
    let is_there = stopped.record == both.divergence.record && stopped.process == both.divergence.process;
    let before = if is_there { "" } else { ", where this build diverges before" };
    let _ = writeln!(out, "  {} of record {}{before}", printable_line(&stopped.call), thousands(stopped.record));
    stack(out, &side.stack);
    let Some((_, write)) = &side.write else { return };
    let _ = writeln!(out, "  {}", write_in_words(both.divergence.window.differing, write));
    if let LastWrite::Written(written) = write {
        stack(out, &written.stack);
    }
}

fn stack(out: &mut String, frames: &[StackFrame]) {
    for (number, frame) in frames.iter().take(FRAMES_MAX).enumerate() {
        let arguments = variables(&frame.arguments);
        let place = match (&frame.file, frame.line) {
            (Some(file), Some(line)) => format!(" at {file}:{line}"),
            _ => format!(" in {}", frame.object),
        };
        let line = format!("#{number:<2} {} ({arguments}){place}", frame_name(frame));
        let _ = writeln!(out, "    {}", printable_line(&line));
    }
    if let Some(more) = frames.len().checked_sub(FRAMES_MAX + 1) {
        let _ = writeln!(out, "    {} more", thousands(more + 1));
    }
}

fn differing(out: &mut String, title: &str, values: &[DifferingValue]) {
    if values.is_empty() {
        return;
    }
    let _ = writeln!(out, "{title}");
    for DifferingValue { function, name, values: [old, new] } in values {
        let _ = writeln!(out, "  {}", printable_line(&format!("{function}: {name} = {old}, {new}")));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use prony_replay::{
        ByteWindow, Difference, DifferingValue, Divergence, DivergenceClass, LastWrite, SideBySide, SideOfBoth,
        StackFrame, Stopped, Variable, Way, WrittenAt,
    };

    fn frame(function: &str, line: u64, values: &[(&str, &str)]) -> StackFrame {
        let variable = |&(name, value): &(&str, &str)| Variable { name: name.to_owned(), value: value.to_owned() };
        StackFrame {
            function: Some(function.to_owned()),
            address: 0x5555_5555_5262,
            object: "/srv/server".to_owned(),
            file: Some("answered.c".to_owned()),
            line: Some(line),
            arguments: values.iter().map(variable).collect(),
            locals: Vec::new(),
        }
    }

    pub(crate) fn sample(divergence: Divergence) -> SideBySide {
        let stopped = Stopped {
            process: divergence.process,
            thread: 0,
            pid: 4711,
            tid: 4711,
            frame: divergence.frame,
            record: divergence.record,
            call: "send".to_owned(),
            fd: 3,
            way: Way::First,
            divergence: None,
            script: None,
        };
        let side = |digit: u8, file: Option<&str>| SideOfBoth {
            stopped: stopped.clone(),
            stack: vec![frame("send_answer", 34, &[("fd", "3"), ("round", "7")]), frame("main", 65, &[])],
            write: Some((
                0x7fff_ffff_e5bd,
                LastWrite::Written(WrittenAt {
                    record: Some(35),
                    old: None,
                    new: Some(digit),
                    by_call: false,
                    stack: vec![
                        StackFrame { file: file.map(str::to_owned), ..frame("<mempcpy>", 5, &[]) },
                        frame("send_answer", 33, &[("fd", "3"), ("round", "7")]),
                    ],
                }),
            )),
        };
        let value = |old: &str, new: &str| DifferingValue {
            function: "send_answer".to_owned(),
            name: "value".to_owned(),
            values: [old.to_owned(), new.to_owned()],
        };
        SideBySide {
            divergence,
            sides: [side(0x31, None), side(0x32, Some("x.S"))],
            at_call: vec![value("21", "22")],
            at_write: vec![value("21", "22")],
        }
    }

    pub(crate) fn divergence() -> Divergence {
        Divergence {
            class: DivergenceClass::Output,
            process: 0,
            thread: 0,
            record: 37,
            frame: 7,
            call: "send".to_owned(),
            fd: 3,
            window: ByteWindow {
                differing: Some(13),
                from: 0,
                expected: b"answer 7 is 21".to_vec(),
                found: b"answer 7 is 22".to_vec(),
            },
            expected_call: "send".to_owned(),
            recent: Vec::new(),
            backtrace: Vec::new(),
            detail: None,
            difference: Difference::Bytes,
            threads: Vec::new(),
        }
    }

    #[test]
    fn both_stacks_stand_below_each_other() {
        let both = sample(divergence());
        insta::assert_snapshot!(super::text(Path::new("/srv/x.demo"), ["./old 40", "./new 40"], &both));
    }
}
