//! Two builds at the output that the new one makes differently, as JSON.

use prony_replay::{DifferingValue, LastWrite, SideBySide, SideOfBoth, StackFrame, Variable};
use serde_json::{Value, json};

use super::replay;

/// The answer. `commands`: the old build and the new one.
pub fn answer(commands: [&str; 2], both: &SideBySide) -> Value {
    let [old, new] = &both.sides;
    json!({
        "divergence": replay::divergence(&both.divergence),
        "old": side(commands[0], old),
        "new": side(commands[1], new),
        "differing_at_call": both.at_call.iter().map(differing).collect::<Vec<_>>(),
        "differing_at_write": both.at_write.iter().map(differing).collect::<Vec<_>>(),
    })
}

fn side(command: &str, side: &SideOfBoth) -> Value {
    json!({
        "command": command,
        "process": side.stopped.process,
        "record": side.stopped.record,
        "frame": side.stopped.frame,
        "call": side.stopped.call,
        "stack": stack(&side.stack),
        "write": side.write.as_ref().map(|(address, write)| last_write(*address, write)),
    })
}

fn last_write(address: u64, write: &LastWrite) -> Value {
    match write {
        LastWrite::Written(written) => json!({
            "kind": "written", "address": address, "record": written.record, "old": written.old, "new": written.new,
            "by_call": written.by_call, "stack": stack(&written.stack),
        }),
        LastWrite::Unseen { since } => json!({ "kind": "unseen", "address": address, "since_record": since }),
        LastWrite::Never { since } => json!({ "kind": "never", "address": address, "since_record": since }),
    }
}

fn stack(frames: &[StackFrame]) -> Vec<Value> {
    let frame = |frame: &StackFrame| {
        json!({
            "function": frame.function, "address": frame.address, "object": frame.object, "file": frame.file,
            "line": frame.line, "arguments": variables(&frame.arguments), "locals": variables(&frame.locals),
        })
    };
    frames.iter().map(frame).collect()
}

fn variables(variables: &[Variable]) -> Vec<Value> {
    variables.iter().map(|variable| json!({ "name": variable.name, "value": variable.value })).collect()
}

fn differing(value: &DifferingValue) -> Value {
    let [old, new] = &value.values;
    json!({ "function": value.function, "name": value.name, "old": old, "new": new })
}

#[cfg(test)]
mod tests {
    use crate::text::both::tests::{divergence, sample};

    #[test]
    fn both_sides_are_objects_of_one_shape() {
        let found = super::answer(["./old 40", "./new 40"], &sample(divergence()));
        assert_eq!(found["divergence"]["record"], 37);
        for (side, digit) in [("old", 0x31), ("new", 0x32)] {
            assert_eq!(found[side]["write"]["new"], digit);
            assert_eq!(found[side]["stack"][0]["function"], "send_answer");
            assert_eq!(found[side]["write"]["stack"][1]["line"], 33);
        }
        assert_eq!(found["differing_at_call"][0]["new"], "22");
    }
}
