//! Comparisons as test cases in the format of JUnit, which CI systems show.

use std::fmt::Write;

use prony_stats::Verdict;
use prony_text::Markup;

/// A comparison as a test case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What was compared: a demo, or two commands.
    pub name: String,
    /// Seconds that it took.
    pub seconds: f64,
    pub end: CaseEnd,
    /// The verdict in one line.
    pub message: String,
}

/// Ways in which a test case ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseEnd {
    /// Faster, the same, or nothing to fail.
    Passed,
    /// Slower.
    Failed,
    /// Unclear: neither passed nor failed.
    Skipped,
    /// It could not be compared.
    Error,
}

impl CaseEnd {
    /// End of a comparison with this verdict.
    pub fn of(verdict: Verdict) -> CaseEnd {
        match verdict {
            Verdict::Slower => CaseEnd::Failed,
            Verdict::Unclear => CaseEnd::Skipped,
            Verdict::Faster | Verdict::Same => CaseEnd::Passed,
        }
    }
}

/// All cases as one suite.
pub fn document(cases: &[Case]) -> String {
    let of = |end: CaseEnd| cases.iter().filter(|case| case.end == end).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        cases.len(),
        of(CaseEnd::Failed),
        of(CaseEnd::Error),
        of(CaseEnd::Skipped),
        cases.iter().map(|case| case.seconds).sum::<f64>()
    );
    let _ = writeln!(out, "<testsuites {counts}>\n<testsuite name=\"prony bench\" {counts}>");
    for Case { name, seconds, end, message } in cases {
        let (name, message) = (attribute(name), attribute(message));
        let _ = write!(out, "<testcase classname=\"prony.bench\" name=\"{name}\" time=\"{seconds:.3}\">");
        let _ = match end {
            CaseEnd::Passed => write!(out, "<system-out>{message}</system-out>"),
            CaseEnd::Failed => write!(out, "<failure type=\"slower\" message=\"{message}\"/>"),
            CaseEnd::Skipped => write!(out, "<skipped message=\"{message}\"/>"),
            CaseEnd::Error => write!(out, "<error message=\"{message}\"/>"),
        };
        out.push_str("</testcase>\n");
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

/// Text of others in XML 1.0, which has no other control characters than white space.
fn attribute(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Markup(&plain).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_ends_its_case_as_ci_systems_know_it() {
        let case = |name: &str, end| Case {
            name: name.to_owned(),
            seconds: 1.5,
            end,
            message: "by 1 % [0.6, 1.4]".to_owned(),
        };
        let cases = [
            case("a", CaseEnd::of(Verdict::Same)),
            case("<b> & \"c\"\u{7}", CaseEnd::of(Verdict::Slower)),
            case("d", CaseEnd::of(Verdict::Unclear)),
            case("e", CaseEnd::Error),
        ];
        insta::assert_snapshot!(document(&cases));
    }
}
