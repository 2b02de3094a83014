//! What speaks against trusting samples, in the terminal.

use prony_stats::check::{Checked, Finding};
use prony_text::{Quantity, Untrusted, count, thousands};

use crate::change::{self, change};
use crate::words::too_few;

/// A benchmark: the smallest difference that its samples can show, and a line for each finding. `file`: where several were checked.
pub fn text(file: Option<&str>, benchmark: &str, checked: &Checked) -> String {
    let file = file.map_or_else(String::new, |file| format!("{}: ", Untrusted::new(file)));
    let detectable = checked.detectable_difference.map_or_else(
        || "no difference is detectable".to_owned(),
        |difference| format!("minimum detectable difference {}", change::size(difference)),
    );
    let head = format!("{file}{}: {detectable}\n", Untrusted::new(benchmark));
    checked.findings.iter().fold(head, |out, finding| out + "  " + &sentence(finding) + "\n")
}

/// A finding in one sentence.
pub fn sentence(finding: &Finding) -> String {
    match finding {
        Finding::TooFewValues(why) => too_few(*why),
        Finding::DetectableDifference { margin, times_the_runs } => {
            format!("detecting {} needs about {times_the_runs:.0} times as many runs", change::size(*margin))
        }
        Finding::NoValues => "no values: all runs were warm-ups or calibration".to_owned(),
        Finding::OneProcess { values } => format!(
            "all {} are from one process: the variation between processes may be larger",
            count(*values as u64, "value")
        ),
        Finding::FewProcesses { processes } => {
            format!("only {processes} processes: addresses and hash seeds were randomised {processes} times")
        }
        Finding::Short { shortest_s } => format!(
            "the shortest value took {}: use more loops to reduce the overhead of reading the clock",
            Quantity::of(*shortest_s, "second").value(*shortest_s)
        ),
        Finding::WarmUp { slower } => {
            format!(
                "the first value of a process differs from the others by {}: one more warm-up",
                change::value(*slower)
            )
        }
        Finding::Drift { change: found } => format!("the second half differs from the first: {}", change(found)),
        Finding::Autocorrelation { correlation, runs, effective_runs } => format!(
            "consecutive runs are correlated ({correlation:.2}): {} have an effective sample size of about \
             {effective_runs:.0}",
            thousands(*runs as u64)
        ),
        Finding::Outliers { below, above, values } => format!(
            "{} of {} values are outliers: {below} below, {above} above",
            below + above,
            thousands(*values as u64)
        ),
        Finding::Waiting { share } => {
            format!("runs waited for a CPU during {:.1} % of their time: other work ran", 100.0 * share)
        }
        Finding::Failed { failed, runs } => {
            format!("{failed} of {} ended with a non-zero exit code", count(*runs as u64, "run"))
        }
        Finding::FrequencyTrap => "nohz_full together with intel_pstate: the frequency follows other CPUs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use prony_stats::Interval;
    use prony_stats::single_sample::TooFew;

    use super::*;

    #[test]
    fn each_finding_has_its_evidence() {
        let change = Interval { estimate: 0.05, low: 0.02, high: 0.08, confidence: 0.99, n: 40 };
        let findings = vec![
            Finding::TooFewValues(TooFew::Values { n: 3, needed: 9 }),
            Finding::TooFewValues(TooFew::Correlated { n: 26 }),
            Finding::DetectableDifference { margin: 0.01_f64.ln_1p(), times_the_runs: 9.2 },
            Finding::NoValues,
            Finding::OneProcess { values: 40 },
            Finding::FewProcesses { processes: 3 },
            Finding::Short { shortest_s: 20e-6 },
            Finding::WarmUp { slower: 0.25 },
            Finding::Drift { change },
            Finding::Autocorrelation { correlation: 0.94, runs: 1_040, effective_runs: 12.4 },
            Finding::Outliers { below: 1, above: 6, values: 1_040 },
            Finding::Waiting { share: 0.3 },
            Finding::Failed { failed: 1, runs: 12 },
            Finding::FrequencyTrap,
        ];
        let checked = Checked { detectable_difference: Some(0.003), findings };
        let none = Checked { detectable_difference: None, findings: Vec::new() };
        insta::assert_snapshot!(text(Some("x.json"), "disturbed", &checked) + &text(None, "once", &none));
    }
}
