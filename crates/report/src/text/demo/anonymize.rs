//! `prony demo anonymize` in the terminal.

use std::fmt::Write;
use std::path::Path;

use prony_demo::FILES_ARCHIVE;
use prony_demo::anonymize::{AnonymizeReport, Check, Finding, Form, Kind, Where};
use prony_demo::dump::call_name;
use prony_text::count;

/// Findings that are printed; `--json` has more.
const FINDINGS_SHOWN: usize = 10;

/// What was replaced, for people.
pub fn text(report: &AnonymizeReport) -> String {
    let mut replaced = vec![count(report.addresses, "address")];
    if report.hardware_addresses > 0 {
        replaced.push(count(report.hardware_addresses, "hardware address"));
    }
    if report.secret_values > 0 {
        replaced.push(count(report.secret_values, "secret variable value"));
    }
    let kept = match report.host_names_kept {
        0 => String::new(),
        kept => format!("; {} kept, use --replace for them", count(kept, "short host name")),
    };
    let mut text = format!(
        "{} and {} replaced, in {} and {}; {} dropped{kept}\n",
        replaced.join(", "),
        count(report.host_names, "host name"),
        count(report.addresses_rewritten, "socket address"),
        count(report.texts_rewritten, "text"),
        count(report.variables_dropped, "variable"),
    );
    if report.addresses_in_text_only > 0 {
        let _ = writeln!(
            text,
            "  {} of the addresses only in text; use --keep-address for a version number",
            report.addresses_in_text_only
        );
    }
    text
}

/// What is left, a line each, by what it is and what stands for it elsewhere: the secret itself may
/// not get into a log.
pub fn findings(check: &Check, path: &Path) -> String {
    let mut text = String::new();
    if check.not_searched > 0 {
        let _ = writeln!(
            text,
            "warning: {} not searched for, because they also replace other strings",
            count(check.not_searched, "secret")
        );
    }
    if check.found == 0 {
        return text;
    }
    let _ = writeln!(text, "{}: {} not replaced", path.display(), count(check.found, "occurrence"));
    for finding in check.findings.iter().take(FINDINGS_SHOWN) {
        let _ = writeln!(text, "  {}: {}", place(&finding.place), what(finding));
    }
    let more = check.found.saturating_sub(FINDINGS_SHOWN as u64);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more, listed by --json");
    }
    text
}

fn place(place: &Where) -> String {
    match place {
        Where::Header { field, byte } => format!("header, {field}, byte {byte}"),
        Where::Trailer { field, byte } => format!("trailer, {field}, byte {byte}"),
        Where::State { directory, entry, byte } => {
            let place = byte.map_or_else(|| "its name".to_owned(), |byte| format!("byte {byte}"));
            let archive = match *directory {
                FILES_ARCHIVE => "files".to_owned(),
                number => format!("state directory {number}"),
            };
            format!("{archive}, {}, {place}", entry.escape_debug())
        }
        Where::Record { process, record, call, part, byte, split } => {
            let process = if *process == 0 { String::new() } else { format!("process {process}, ") };
            let place = if *split { "begins in an earlier call".to_owned() } else { format!("byte {byte}") };
            format!("{process}record {record}, {}, part {part}, {place}", call_name(*call))
        }
    }
}

fn what(finding: &Finding) -> String {
    let kind = match finding.kind {
        Kind::String => "a string of --replace",
        Kind::HostName => "a host name",
        Kind::SecretValue => "a secret variable value",
        Kind::Address => "an address",
        Kind::HardwareAddress => "a hardware address",
    };
    let form = match finding.form {
        Form::Text => "",
        Form::Bytes => " as bytes",
        Form::BytesReversed => " as bytes in reverse",
        Form::Base64 => " in base64",
        Form::Hexadecimal => " in hexadecimal",
        Form::Decimal => " as a decimal number",
        Form::Utf16 => " in UTF-16",
    };
    format!("{kind}{form}, elsewhere `{}`", finding.replacement.escape_debug())
}

/// The next step for what is left.
pub fn remedy(check: &Check) -> &'static str {
    let raw =
        |finding: &Finding| finding.kind == Kind::Address && matches!(finding.form, Form::Bytes | Form::BytesReversed);
    if check.findings.iter().all(raw) {
        "use --raw-addresses to replace address bytes too"
    } else {
        "use --replace with the bytes found there"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_talk_says_how_much_was_replaced() {
        let report = AnonymizeReport {
            addresses: 8,
            addresses_in_text_only: 2,
            hardware_addresses: 1,
            host_names: 1,
            host_names_kept: 1,
            secret_values: 1,
            addresses_rewritten: 10_426,
            texts_rewritten: 31,
            variables_dropped: 17,
        };
        insta::assert_snapshot!(text(&report));
    }

    #[test]
    fn the_talk_names_what_is_left_and_never_by_itself() {
        let finding =
            |place, kind, form, replacement: &str| Finding { place, kind, form, replacement: replacement.into() };
        let record = |split| Where::Record { process: 1, record: 41, call: 65, part: 1, byte: 12, split };
        let state = |byte| Where::State { directory: 0, entry: "a/\u{1b}b.cfg".into(), byte };
        let check = Check {
            findings: vec![
                finding(Where::Header { field: "argument", byte: 3 }, Kind::String, Form::Base64, "kwm"),
                finding(state(Some(7)), Kind::HostName, Form::Utf16, "qxbmhdz"),
                finding(state(None), Kind::SecretValue, Form::Text, "x1"),
                finding(record(false), Kind::Address, Form::Bytes, "10.3.4.5"),
                finding(record(true), Kind::HardwareAddress, Form::Hexadecimal, "02:00:00:00:00:01"),
                finding(Where::Trailer { field: "note", byte: 0 }, Kind::Address, Form::BytesReversed, "10.3.4.5"),
            ],
            found: 17,
            not_searched: 2,
        };
        insta::assert_snapshot!(findings(&check, Path::new("public.demo.partial")));
    }
}
