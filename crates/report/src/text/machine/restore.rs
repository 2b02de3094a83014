//! `prony machine restore` in the terminal.

use std::fmt::Write;

use prony_machine::{Back, Knob, Restored, Restoring};
use prony_text::count;

/// Text of the answer, for people.
pub fn text(restoring: &Restoring) -> String {
    let restored = match restoring {
        Restoring::Nothing => {
            return "nothing to restore: nothing was tuned, or it was restored already\n".to_owned();
        }
        Restoring::EarlierBoot => return "nothing to restore: the settings were reset by a reboot\n".to_owned(),
        Restoring::Applied(restored) => restored,
    };
    let left = restoring.left().count() as u64;
    if restored.is_empty() {
        return "nothing to restore: nothing had been changed\n".to_owned();
    }
    let mut out = match left {
        0 => format!("{} as before tune, byte for byte\n", are(restored.len() as u64)),
        _ => format!("{} as before tune, {} not\n", are(restored.len() as u64 - left), left),
    };
    out += &details(restored);
    out
}

fn are(number: u64) -> String {
    count(number, "setting") + if number == 1 { " is" } else { " are" }
}

/// A line for each thing that was put back, and two for each that was not.
fn details(restored: &[Restored]) -> String {
    let mut out = String::new();
    for Restored { knob, place, before, tuned, now, back } in restored {
        let (word, text) = match back {
            Back::Same => ("as before", format!("{place}: {before}")),
            Back::Put => ("restored", format!("{place}: {tuned} → {before}")),
            Back::Foreign => (
                "left",
                format!(
                    "{place}: tune set {tuned}, someone changed it to {now}; before tune it was \
                                  {before}"
                ),
            ),
            Back::Gone => ("gone", format!("{place}: before tune it was {before}")),
            Back::Failed(reason) => ("failed", format!("{place}: {}; before tune it was {before}", lower(reason))),
        };
        let _ = writeln!(out, "  {word:<11}{knob:<16}{text}");
        match back {
            Back::Foreign => {
                let _ = writeln!(out, "  {:<27}→ {}", "", by_hand(*knob, place, before));
            }
            Back::Failed(_) => {
                let _ = writeln!(out, "  {:<27}→ run `prony machine restore` again", "");
            }
            _ => {}
        }
    }
    out
}

/// The line that puts a value back all the same.
fn by_hand(knob: Knob, place: &str, before: &str) -> String {
    let value = before.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(before, |(word, _)| word);
    match knob {
        Knob::Shield => format!("check {place}"),
        _ => format!("restore it with `echo {value} > {place}`"),
    }
}

/// Reason from the kernel in lower case and without its error number; the text before it is unchanged.
pub fn lower(reason: &str) -> String {
    let reason = reason.split(" (os error ").next().unwrap_or_default();
    let (before, said) = reason.rfind(": ").map_or(("", reason), |colon| reason.split_at(colon + 2));
    let mut letters = said.chars();
    let said: String = letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect());
    before.to_owned() + &said
}
