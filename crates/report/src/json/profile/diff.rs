//! `prony profile diff` as JSON.

use prony_profile::{Growth, Shift, Shifts, Stacks};
use serde_json::{Value, json};

use crate::profile::{Compared, observations};

/// JSON value of the functions whose shares differ.
pub fn answer(compared: &Compared, shifts: &Shifts) -> Value {
    let Compared { names, pair } = compared;
    let side = |place: usize, runs: &[Stacks]| json!({ "name": names[place], "runs": runs.len(), "samples": observations(runs) });
    json!({
        "a": side(0, &pair.a),
        "b": side(1, &pair.b),
        "renamed": pair.renamed.iter().map(|[a, b]| json!({ "a": a, "b": b })).collect::<Vec<_>>(),
        "questions": shifts.questions,
        "judged": shifts.is_judged,
        "functions": shifts.functions.iter().map(|shift| function(shift, shifts.is_judged)).collect::<Vec<_>>(),
    })
}

fn function(shift: &Shift, is_judged: bool) -> Value {
    let of = |growth: &Growth| json!({ "samples": growth.samples, "shares": growth.shares, "growth": growth.growth });
    json!({
        "name": shift.name,
        "self": of(&shift.own),
        "inclusive": of(&shift.inclusive),
        "differs": is_judged.then(|| shift.stands_out()),
        "interrupt": shift.is_interrupt,
    })
}
