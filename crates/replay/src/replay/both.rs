//! Two builds stopped at the output that one of them makes differently, and where each of them computed it.

use crate::channel::OutputByte;
use crate::replay::ReplayOptions;
use crate::replay::debug::{Ended, Stopped, debug_all};
use crate::replay_error::ReplayError;
use crate::report::{Divergence, Progress, ReplayReport};
use crate::run::debugger::{DebuggerError, GdbOptions};
use crate::run::stop_place::StopPlace;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Arc;

/// Variable of a function, and its value as gdb prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Name of the variable.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Function on a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackFrame {
    /// Name of the function, if gdb knows it.
    pub function: Option<String>,
    /// Address of the instruction.
    pub address: u64,
    /// File of the program or library.
    pub object: String,
    /// Source file, if there is debug information.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u64>,
    /// Arguments of the function.
    pub arguments: Vec<Variable>,
    /// Variables of the blocks around the instruction.
    pub locals: Vec<Variable>,
}

/// The last change of a byte before the call that sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastWrite {
    /// An instruction made it.
    Written(WrittenAt),
    /// It changed after this record without an instruction of the server: by a system call made for real, or with its mapping.
    Unseen {
        /// Record of the process.
        since: u64,
    },
    /// It has not changed since the process began, with this record.
    Never {
        /// Record of the process.
        since: u64,
    },
}

/// Instruction that changed a byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenAt {
    /// The last record that the thread had passed, if it had passed one.
    pub record: Option<u64>,
    /// The byte before.
    pub old: Option<u8>,
    /// The byte behind.
    pub new: Option<u8>,
    /// True if the library wrote it: the answer of a recorded call.
    pub by_call: bool,
    /// The stack, innermost first.
    pub stack: Vec<StackFrame>,
}

/// One build at the place.
#[derive(Debug, Clone)]
pub struct SideOfBoth {
    /// The call that waits.
    pub stopped: Stopped,
    /// The stack that makes it, innermost first.
    pub stack: Vec<StackFrame>,
    /// Address of the byte of output, and its last change; `None` where the divergence is not in a byte that this build sends.
    pub write: Option<(u64, LastWrite)>,
}

/// A variable that differs between the builds, in a function that is on both stacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferingValue {
    /// Name of the function.
    pub function: String,
    /// Name of the variable.
    pub name: String,
    /// Its value in the old build and in the new one.
    pub values: [String; 2],
}

/// Two builds at the place at which the new one diverges.
#[derive(Debug, Clone)]
pub struct SideBySide {
    /// What the new build made differently.
    pub divergence: Divergence,
    /// The old build, and the new one.
    pub sides: [SideOfBoth; 2],
    /// Variables that differ at the call.
    pub at_call: Vec<DifferingValue>,
    /// Variables that differ where the byte was computed.
    pub at_write: Vec<DifferingValue>,
}

/// Result of a comparison of two builds at their first difference.
#[derive(Debug)]
pub enum BothReport {
    /// The new build diverges.
    Diverged(Box<SideBySide>),
    /// It does not.
    NoDivergence(Box<ReplayReport>),
}

/// Replays the new build up to its divergence and the old one up to the same call, and follows the first byte that differs back to where
/// each of them computed it. `gdb`: the program alone counts.
///
/// # Errors
/// As [`crate::debug`]; a gdb that finds nothing.
pub fn debug_both(
    [old, new]: [&ReplayOptions; 2],
    gdb: &GdbOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<BothReport, ReplayError> {
    let found = with_facts(new, StopPlace::Divergence, None, gdb, progress)?;
    let Some(divergence) = found.stopped.as_ref().and_then(|stopped| stopped.divergence.clone()) else {
        return Ok(BothReport::NoDivergence(Box::new(found.ended.report.replay)));
    };
    let byte = divergence.window.differing.zip(found.ended.message);
    let output = byte.map(|(byte, message)| OutputByte { message, byte });
    let new_side = side(found)?;
    let place = StopPlace::Record { process: divergence.process, record: divergence.record };
    let old_side = side(with_facts(old, place, output, gdb, progress)?)?;
    let write_of = |side: &SideOfBoth| match &side.write {
        Some((_, LastWrite::Written(written))) => written.stack.clone(),
        _ => Vec::new(),
    };
    let at_call = differing(&old_side.stack, &new_side.stack);
    let at_write = differing(&write_of(&old_side), &write_of(&new_side));
    let sides = [old_side, new_side];
    Ok(BothReport::Diverged(Box::new(SideBySide { divergence, sides, at_call, at_write })))
}

/// What a gdb found that went to a place.
struct Found {
    /// The place; `None` if the replay did not come there.
    stopped: Option<Stopped>,
    ended: Ended,
    /// What gdb printed.
    printed: Arc<File>,
}

/// Stops a build at a place, and has gdb say what is so there.
fn with_facts(
    options: &ReplayOptions,
    place: StopPlace,
    output: Option<OutputByte>,
    gdb: &GdbOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Found, ReplayError> {
    let printed = tempfile::tempfile().map(Arc::new).map_err(DebuggerError::Script)?;
    let command = if output.is_some() { "prony facts output" } else { "prony facts" };
    let gdb = GdbOptions {
        program: gdb.program.clone(),
        commands: vec![command.to_owned()],
        batch: true,
        output: Some(Arc::clone(&printed)),
        port: None,
        script: None,
    };
    let mut stopped = None;
    let mut reached = |at: &Stopped| stopped = stopped.take().or_else(|| Some(at.clone()));
    let ended = debug_all(options, place, output, &gdb, &mut reached, progress)?;
    Ok(Found { stopped, ended, printed })
}

fn side(found: Found) -> Result<SideOfBoth, DebuggerError> {
    let Found { stopped, ended, printed } = found;
    let nothing = || DebuggerError::NoFacts(last_line(&printed));
    let line = ended.session.as_ref().and_then(|session| session.facts().last()).ok_or_else(nothing)?;
    let facts: Value = serde_json::from_str(line).map_err(|_| nothing())?;
    let stopped = stopped.ok_or_else(nothing)?;
    let found = &facts["write"];
    let write = found["address"].as_u64().zip(last_write(found));
    Ok(SideOfBoth { stopped, stack: stack(&facts["call"]), write })
}

/// The last line that gdb printed, which mostly is an error.
fn last_line(printed: &File) -> String {
    let mut text = Vec::new();
    let mut file = printed;
    // What cannot be read is no reason for another error.
    let _ = file.rewind().and_then(|()| file.take(1 << 20).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output").to_owned()
}

fn last_write(found: &Value) -> Option<LastWrite> {
    let since = found["since"].as_u64()?;
    let byte = |name: &str| found[name].as_str().and_then(|hex| u8::from_str_radix(hex, 16).ok());
    Some(match found["kind"].as_str()? {
        "written" => LastWrite::Written(WrittenAt {
            record: found["record"].as_u64(),
            old: byte("old"),
            new: byte("new"),
            by_call: found["by_call"] == true,
            stack: stack(&found["stack"]),
        }),
        "unseen" => LastWrite::Unseen { since },
        _ => LastWrite::Never { since },
    })
}

fn stack(frames: &Value) -> Vec<StackFrame> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let variables = |list: &Value| {
        let pair = |pair: &Value| Some(Variable { name: text(&pair[0])?, value: text(&pair[1])? });
        list.as_array().map(|list| list.iter().filter_map(pair).collect()).unwrap_or_default()
    };
    let frame = |frame: &Value| StackFrame {
        function: text(&frame["function"]),
        address: frame["address"].as_u64().unwrap_or_default(),
        object: text(&frame["object"]).unwrap_or_default(),
        file: text(&frame["file"]),
        line: frame["line"].as_u64(),
        arguments: variables(&frame["arguments"]),
        locals: variables(&frame["locals"]),
    };
    frames.as_array().map(|list| list.iter().map(frame).collect()).unwrap_or_default()
}

/// Variables that differ in the functions which both stacks have from their outermost one on. Pointers into different programs differ
/// often, and say nothing.
fn differing(old: &[StackFrame], new: &[StackFrame]) -> Vec<DifferingValue> {
    let same = |(old, new): &(&StackFrame, &StackFrame)| old.function.is_some() && old.function == new.function;
    let shared: Vec<_> = old.iter().rev().zip(new.iter().rev()).take_while(same).collect();
    let mut found = Vec::new();
    for (old, new) in shared.into_iter().rev() {
        let variables = |frame: &StackFrame| [frame.arguments.clone(), frame.locals.clone()].concat();
        let others = variables(new);
        for variable in variables(old) {
            let other = others.iter().find(|other| other.name == variable.name && other.value != variable.value);
            if let Some(other) = other {
                found.push(DifferingValue {
                    function: old.function.clone().unwrap_or_default(),
                    name: variable.name,
                    values: [variable.value, other.value.clone()],
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, locals: &[(&str, &str)]) -> StackFrame {
        let variable = |&(name, value): &(&str, &str)| Variable { name: name.to_owned(), value: value.to_owned() };
        StackFrame {
            function: Some(function.to_owned()),
            locals: locals.iter().map(variable).collect(),
            ..StackFrame::default()
        }
    }

    #[test]
    fn variables_differ_in_functions_that_both_stacks_share_from_outside() {
        let old = [frame("send", &[("n", "1")]), frame("answer", &[("value", "21"), ("fd", "3")]), frame("main", &[])];
        let new = [frame("write", &[("n", "2")]), frame("answer", &[("value", "22"), ("fd", "3")]), frame("main", &[])];
        let expected = DifferingValue {
            function: "answer".to_owned(),
            name: "value".to_owned(),
            values: ["21".to_owned(), "22".to_owned()],
        };
        assert_eq!(differing(&old, &new), [expected]);
        assert_eq!(differing(&old, &[]), []);
    }

    #[test]
    fn what_gdb_says_becomes_facts() {
        let text = r#"{"kind": "written", "since": 3, "record": null, "old": "00", "new": "32", "by_call": false,
            "stack": [{"function": "f", "address": 16, "object": "/a", "file": "a.c", "line": 7, "arguments": [["x", "1"]], "locals": []}]}"#;
        let found = last_write(&serde_json::from_str(text).expect("an object"));
        let Some(LastWrite::Written(written)) = found else { panic!("{found:?}") };
        assert_eq!((written.record, written.old, written.new), (None, Some(0), Some(0x32)));
        assert_eq!((written.stack[0].line, written.stack[0].arguments[0].value.as_str()), (Some(7), "1"));
        let never = last_write(&serde_json::json!({"kind": "never", "since": 3}));
        assert_eq!(never, Some(LastWrite::Never { since: 3 }));
        assert_eq!(last_write(&Value::Null), None);
    }
}
