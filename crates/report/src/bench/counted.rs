//! Instructions of two builds on demos in words, for every medium.

use std::collections::HashMap;
use std::hash::BuildHasher;

use prony_bench::count::{CountComparison, CountError, CountVerdict, Counter, FunctionChange};
use prony_bench::counted::{CountedDemo, CountedDemos};
use prony_machine::process::{Counter as Hardware, UserEvent};
use prony_profile::{CountedFunction, distinct_names, shortened};
use prony_text::{Table, count, thousands, without_error_numbers};

use crate::change;
use crate::divergence;

/// Words for what was counted.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// The events, in the plural.
    pub events: &'static str,
    /// What a build does with them.
    pub verb: &'static str,
    /// What builds have the same of, where their counts are equal.
    pub equal: &'static str,
}

impl Words {
    /// For what this counts.
    pub fn of(counter: &Counter) -> Words {
        match counter {
            Counter::Kernel(event, _) => Words::of_event(*event),
            Counter::Own | Counter::Callgrind | Counter::OnlyCallgrind(_) => {
                Words { events: "instructions", verb: "runs", equal: "instructions, function by function" }
            }
        }
    }

    fn of_event(event: UserEvent) -> Words {
        let has = |events, equal| Words { events, verb: "has", equal };
        match event {
            UserEvent::Hardware(Hardware::Instructions) => {
                Words { events: "instructions", verb: "runs", equal: "number of instructions" }
            }
            UserEvent::Hardware(Hardware::Cycles) => has("cycles", "number of cycles"),
            UserEvent::Hardware(Hardware::BranchMisses) => has("branch misses", "number of branch misses"),
            UserEvent::Hardware(Hardware::CacheMisses) => has("cache misses", "number of cache misses"),
            UserEvent::PageFaults => has("page faults", "number of page faults"),
        }
    }

    fn of_demos(demos: &CountedDemos) -> Words {
        Words::of(demos.counter().unwrap_or(&Counter::Own))
    }
}

/// Why a demo was not counted; `None` where it was.
pub fn failure(demo: &CountedDemo) -> Option<String> {
    let error = demo.report.as_ref().err()?;
    let place = match error {
        CountError::Diverged { report, .. } => report.divergence.as_ref().map(divergence::in_short),
        _ => None,
    };
    let message = [Some(error.to_string()), place].into_iter().flatten().collect::<Vec<String>>().join(": ");
    Some(without_error_numbers(&message))
}

/// Why demos were not counted, where counts stand beside times.
pub fn failures(demos: &CountedDemos) -> Vec<String> {
    let of = |demo: &CountedDemo| {
        let named = if demos.requested > 1 { format!("{}: ", demo.name) } else { String::new() };
        Some(format!("{named}instructions were not counted: {}", failure(demo)?))
    };
    demos.all.iter().filter_map(of).collect()
}

/// The verdict for all demos in a sentence.
pub fn sentence(builds: [&str; 2], demos: &CountedDemos) -> String {
    let [a, b] = builds;
    let Words { events, verb, equal } = Words::of_demos(demos);
    let verb_of_both = if verb == "has" { "have" } else { "run" };
    let on = |verdict| match demos.requested {
        1 => String::new(),
        of => {
            let number = demos.all.iter().filter(|demo| demos.verdict_on(demo) == Some(verdict)).count();
            format!(" on {number} of {of} demos")
        }
    };
    match demos.verdict() {
        Some(CountVerdict::More) => format!("{b} {verb} more {events} than {a}{}", on(CountVerdict::More)),
        Some(CountVerdict::Fewer) => {
            format!("{b} {verb} fewer {events} than {a}{}, and more on none", on(CountVerdict::Fewer))
        }
        Some(CountVerdict::Same) => format!("{b} and {a} {verb_of_both} the same {events}, within {}", limit(demos)),
        Some(CountVerdict::Equal) => format!("{b} and {a} {verb_of_both} the same {equal}"),
        None => {
            let failed = demos.all.iter().filter(|demo| demo.report.is_err()).count();
            match demos.requested {
                1 => "not counted".to_owned(),
                of => format!("not counted on {failed} of {of} demos"),
            }
        }
    }
}

/// The limit below which there is no difference.
pub fn limit(demos: &CountedDemos) -> String {
    format!("{} %", prony_text::plain(demos.limit * 100.0))
}

/// The difference of two builds: `5,000 more (+0.028 %)`.
pub fn difference(compared: &CountComparison) -> String {
    let [a, b] = compared.totals;
    let share = match change::value((b.min as f64 / a.min as f64).ln()) {
        none if none == "0 %" || a.min == 0 => String::new(),
        share => format!(" ({share})"),
    };
    let more = if compared.difference() < 0 { "fewer" } else { "more" };
    format!("{} {more}{share}", thousands(compared.difference().unsigned_abs()))
}

/// A row a demo. `names`: of the builds, as the head of their columns. `shown`: how the name of a demo is written.
pub fn table(names: [String; 2], demos: &CountedDemos, shown: fn(&str) -> String) -> Table {
    let [a, b] = names;
    let head = ["demo".to_owned(), a, b, "difference".to_owned(), "verdict".to_owned()];
    let mut table = Table::with_head(head).numbers(1..4);
    for demo in &demos.all {
        let name = shown(&demo.name);
        match demo.comparison() {
            Some(compared) => {
                let [a, b] = compared.totals.map(|total| thousands(total.min));
                let verdict = verdict_word(compared.verdict(demos.limit));
                table.row([name, a, b, difference(&compared), verdict.to_owned()]);
            }
            None => table.row([name, "–".to_owned(), "–".to_owned(), "–".to_owned(), not_counted(demo).to_owned()]),
        }
    }
    table
}

/// The verdict in a word.
pub fn verdict_word(verdict: CountVerdict) -> &'static str {
    match verdict {
        CountVerdict::Equal => "equal",
        CountVerdict::Same => "same",
        CountVerdict::More => "more",
        CountVerdict::Fewer => "fewer",
    }
}

fn not_counted(demo: &CountedDemo) -> &'static str {
    match &demo.report {
        Err(CountError::Diverged { .. }) => "diverged",
        _ => "failed",
    }
}

/// The verdict on a demo in a line, with the function that makes most of it.
pub fn claim(demos: &CountedDemos, demo: &CountedDemo) -> Option<String> {
    let compared = demo.comparison()?;
    let b = demos.builds.last()?;
    let Words { events, verb, equal } = Words::of_demos(demos);
    Some(match compared.verdict(demos.limit) {
        CountVerdict::Equal => format!("{b} {verb} the same {equal}"),
        CountVerdict::Same => format!("the same within {}: {b} {verb} {}", limit(demos), difference(&compared)),
        CountVerdict::More | CountVerdict::Fewer => {
            let most = compared.differing.first().map(|change| {
                let name = names(std::slice::from_ref(change)).concat();
                format!(", most of all in {name}")
            });
            format!("{b} {verb} {} {events}{}", difference(&compared), most.unwrap_or_default())
        }
    })
}

/// What the numbers are of.
pub fn basis(demos: &CountedDemos) -> String {
    let replays = demos.all.iter().find_map(|demo| Some(demo.report.as_ref().ok()?.builds.first()?.replays.len()));
    format!(
        "{} of the server's own code, the least of {} of each build; same: within {}; a count is no time",
        Words::of_demos(demos).events,
        count(replays.unwrap_or(0) as u64, "replay"),
        limit(demos)
    )
}

/// Names of functions as people read them.
pub fn names(changes: &[FunctionChange]) -> Vec<String> {
    let names = distinct_names(changes.iter().map(|change| change.function.symbol.as_str()));
    changes.iter().map(|change| readable(&change.function, &names)).collect()
}

/// Name of a function; an address says nothing without its object.
pub fn readable(function: &CountedFunction, names: &HashMap<&str, String, impl BuildHasher>) -> String {
    let symbol = function.symbol.as_str();
    let name = shortened(names.get(symbol).map_or(symbol, String::as_str)).to_string();
    match name.strip_prefix("0x").map(|digits| digits.trim_start_matches('0')) {
        Some(digits) => format!("{}+0x{digits}", function.object),
        None => name,
    }
}

/// A difference of counts: `+5,000`.
pub fn with_sign(difference: i64) -> String {
    let sign = if difference < 0 { "−" } else { "+" };
    format!("{sign}{}", thousands(difference.unsigned_abs()))
}
