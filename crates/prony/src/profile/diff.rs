//! Verb `prony profile diff`: compares two profiles.

use std::fmt::Write;
use std::io::Write as _;

use prony_profile::{Growth, Pair, Shift, Shifts, Stacks, differential_flame_graph, pair, shifts, shortened};
use prony_text::{count, thousands};
use serde::Serialize;
use serde_json::json;

use prony_profile::FEWEST_SAMPLES;

use super::{short, stored};
use crate::cli::profile::DiffArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// Both profiles: their names, and their stacks in one vocabulary.
struct Compared {
    names: [String; 2],
    pair: Pair,
}

/// # Errors
/// When a file cannot be read, or nothing in it is a stack.
pub fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let flame = args.flame.as_ref().map(|path| NewFile::create(path, args.force).map(|file| (path, file)));
    let flame = flame.transpose()?;
    let pair = pair(&stored::runs(&args.a)?, &stored::runs(&args.b)?);
    let compared = Compared { names: [short(&args.a), short(&args.b)], pair };
    let Compared { names, pair } = &compared;
    if let Some((path, mut file)) = flame {
        let title = args.title.clone().unwrap_or_else(|| format!("{} → {}", names[0], names[1]));
        let how = compared.samples();
        let svg = differential_flame_graph(&pair.a, &pair.b, &title, &how)
            .map_err(|error| Failure::io("write", path, &error))?;
        file.file().write_all(&svg).map_err(|error| Failure::io("write", path, &error))?;
        file.finish()?;
    }
    let shifts = shifts(&pair.a, &pair.b, prony_report::profile::LEVEL);
    if args.json {
        output::print_json(&json(&compared, &shifts))?;
    } else {
        output::print(&text(&compared, &shifts, args.top))?;
    }
    let fewest = observations(&pair.a).min(observations(&pair.b));
    if fewest < FEWEST_SAMPLES {
        eprintln!("warning: only {}: shares are very uncertain", count(fewest, "stack sample"));
        return Ok(Exit::NotTrusted);
    }
    Ok(Exit::Good)
}

fn observations(runs: &[Stacks]) -> u64 {
    runs.iter().map(Stacks::observations).sum()
}

impl Compared {
    /// `5,000 and 5,100 stack samples`, with the runs where there are several.
    fn samples(&self) -> String {
        let [a, b] = [&self.pair.a, &self.pair.b];
        let samples = format!("{} and {} stack samples", thousands(observations(a)), thousands(observations(b)));
        match a.len().max(b.len()) {
            1 => samples,
            _ => format!("{samples}, of {} and {} runs", a.len(), b.len()),
        }
    }
}

fn text(compared: &Compared, shifts: &Shifts, top: usize) -> String {
    let Compared { names, pair } = compared;
    let mut out = format!("{} → {}: {}\n", names[0], names[1], compared.samples());
    for [a, b] in &pair.renamed {
        let _ = writeln!(out, "  `{a}` of the first is `{b}` of the second");
    }
    let half = |kind: &str| format!("{kind:>5} A  {kind:>5} B  points      95 %       ");
    let _ = writeln!(out, "\n  {}  {}  function", half("self"), half("incl."));
    for shift in shifts.functions.iter().take(top) {
        let mark = if shifts.is_judged && shift.stands_out() { '*' } else { ' ' };
        let note = if shift.is_interrupt { "  (in interrupts)" } else { "" };
        let _ = writeln!(
            out,
            "{mark} {}  {}  {}{note}",
            half_line(&shift.own),
            half_line(&shift.inclusive),
            shortened(&shift.name)
        );
    }
    let stand_out = shifts.functions.iter().filter(|shift| shift.stands_out()).count() as u64;
    let of = format!(
        "intervals that exclude 0: {} of {}",
        thousands(stand_out),
        count(shifts.functions.len() as u64, "function")
    );
    out += &match shifts.is_judged {
        true => format!(
            "\n{of} (*), at most 0.05 expected by chance: the intervals are \
             simultaneous, so comparing\na build with itself marks a function in at most 5 of 100 comparisons\n"
        ),
        false => format!(
            "\n{of}, of sampling error alone; two runs of one build differ by \
             more than that:\nto compare the builds, give a directory with several runs of each\n"
        ),
    };
    out
}

/// One kind of share in both profiles.
fn half_line(growth: &Growth) -> String {
    let Growth { shares: [a, b], growth, .. } = growth;
    format!(
        "{:>5.1} %  {:>5.1} %  {:>+6.1}  {:>+6.1} to {:>+5.1}",
        a * 100.0,
        b * 100.0,
        growth.estimate * 100.0,
        growth.low * 100.0,
        growth.high * 100.0
    )
}

fn json(compared: &Compared, shifts: &Shifts) -> impl Serialize {
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

fn function(shift: &Shift, is_judged: bool) -> serde_json::Value {
    let of = |growth: &Growth| json!({ "samples": growth.samples, "shares": growth.shares, "growth": growth.growth });
    json!({
        "name": shift.name,
        "self": of(&shift.own),
        "inclusive": of(&shift.inclusive),
        "differs": is_judged.then(|| shift.stands_out()),
        "interrupt": shift.is_interrupt,
    })
}
