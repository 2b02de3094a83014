//! Whole answers and messages on their way out, with names of others somewhere in them.
//!
//! Unlike [`Untrusted`](crate::Untrusted), these change nothing in what they returned once already.

use std::borrow::Cow;
use std::fmt::Write;

use crate::character::{is_harmful, write_escape};

/// Text of several lines for people, ours or a foreign tool's: ends of lines and tabs stay, whatever else a terminal
/// would obey or not show is escaped as [`Untrusted`](crate::Untrusted) escapes it.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// Text for one line: an end of a line in it is `\n`, other harmful characters are escaped as in [`printable`].
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

fn escaped(text: &str, is_layout: fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |character: char| is_harmful(character) && !is_layout(character);
    // Most text is ASCII, megabytes of folded stacks for instance.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t') && (byte >= b' ' || is_layout(byte.into())))
        || !text.contains(is_escaped)
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_escaped(character) {
            true => write_escape(&mut out, character).expect("a string takes all"),
            false => out.push(character),
        }
    }
    Cow::Owned(out)
}

/// A JSON document whose strings show nothing harmful and read back the same: RFC 8259 asks for escapes up to U+001F
/// only, so U+009B, which is the beginning of a command to a terminal, stands in it as it is.
pub fn json(document: &str) -> Cow<'_, str> {
    // Between strings there are spaces and ends of lines only.
    let is_escaped = |character: char| is_harmful(character) && !matches!(character, '\n' | '\r' | '\t');
    if !document.contains(is_escaped) {
        return Cow::Borrowed(document);
    }
    let mut out = String::with_capacity(document.len() + 16);
    for character in document.chars() {
        if is_escaped(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("a string takes all");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_stay_lines_and_commands_are_shown() {
        assert_eq!(printable("a\tb\n\x1b[2J\r\u{9b}\n"), "a\tb\n\\x1b[2J\\r\\u{9b}\n");
        assert_eq!(printable_line("a\n\tb\u{2028}"), "a\\n\\tb\\u{2028}");
        assert!(matches!(printable("größe … ± µs\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_shows_no_command_and_reads_back_the_same() {
        let name = "a\u{9b}31m\u{202e}\u{7f}\u{e0041}\"\\é\n";
        let document = serde_json::to_string_pretty(&[name]).expect("text is JSON");
        let safe = json(&document);
        assert!(safe.contains(r"\u009b31m\u202e\u007f\udb40\udc41") && safe.contains('é'), "{safe}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&safe).expect("it is JSON"), [name]);
    }

    proptest! {
        #[test]
        fn what_is_printable_stays_as_it_is(text: String) {
            let once = printable_line(&text).into_owned();
            prop_assert!(!once.contains(is_harmful));
            prop_assert_eq!(printable_line(&once), once.as_str());
            let lines = printable(&text).into_owned();
            prop_assert_eq!(printable(&lines), lines.as_str());
        }
    }
}
