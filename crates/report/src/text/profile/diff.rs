//! `prony profile diff` in the terminal.

use std::fmt::Write;

use prony_profile::{Growth, Shifts, shortened};
use prony_text::{count, thousands};

use crate::profile::Compared;

/// The functions whose shares differ most, for people.
pub fn text(compared: &Compared, shifts: &Shifts, top: usize) -> String {
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
