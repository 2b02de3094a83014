//! Annotations for GitHub Actions: lines that a workflow's log turns into notes on the run.
//!
//! On standard error, which the runner reads as well, so that standard output stays the answer.

use std::env;

use prony_report::junit::{Case, CaseEnd};

/// Writes a line for each case, if a workflow runs us.
pub fn annotate(cases: &[Case]) {
    if env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        for case in cases {
            eprintln!("{}", annotation(case));
        }
    }
}

/// `::error title=a.demo::new is slower: +1.0 % [+0.6, +1.4] CPU time, 26 pairs, 10.1 s`.
fn annotation(case: &Case) -> String {
    let level = match case.end {
        CaseEnd::Failed | CaseEnd::More | CaseEnd::Error => "error",
        CaseEnd::Skipped => "warning",
        CaseEnd::Passed => "notice",
    };
    let title = escaped(&format!("prony bench: {}", case.name)).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{}", escaped(&case.message))
}

/// As `escapeData` of the toolkit of actions writes it; other control characters are left out.
fn escaped(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    text.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_one_line_whatever_is_in_it() {
        let case =
            |end, message: &str| Case { name: "a,b: 1".to_owned(), seconds: 1.0, end, message: message.to_owned() };
        assert_eq!(
            annotation(&case(CaseEnd::Failed, "new is slower: +1.0 % [+0.6, +1.4] CPU time")),
            "::error title=prony bench%3A a%2Cb%3A 1::new is slower: +1.0 %25 [+0.6, +1.4] CPU time"
        );
        let two = annotation(&case(CaseEnd::Skipped, "unclear\n::error::no\u{1b}"));
        assert_eq!(two, "::warning title=prony bench%3A a%2Cb%3A 1::unclear%0A::error::no");
        assert!(annotation(&case(CaseEnd::Passed, "same")).starts_with("::notice "));
    }
}
