//! Escaping of cells in CSV files.

use crate::output::printable_line;

/// A cell with a text, which is never a formula.
///
/// In quotes where the text would end the field (RFC 4180). A spreadsheet computes what begins with `=`, `+`, `-` or `@`;
/// an apostrophe before it makes it text (OWASP, "CSV Injection"). A number with a sign is left a number. Ends of lines
/// and tabs are escaped as [`Untrusted`](crate::Untrusted) escapes them, so that a row is a line for every reader.
pub fn csv_field(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    let formula = text.starts_with(['=', '+', '-', '@']) && !is_number;
    let text = format!("{}{}", if formula { "'" } else { "" }, printable_line(text));
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_would_be_computed_is_text_and_a_number_stays_one() {
        let cells = [
            ("=1+1", "'=1+1"),
            ("+map dm1", "'+map dm1"),
            ("-O3", "'-O3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\\t=1"),
            ("\r=1", "\\r=1"),
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("-1.5", "-1.5"),
            ("+3e8", "+3e8"),
            ("-inf", "'-inf"),
            ("a=b", "a=b"),
            ("", ""),
        ];
        for (text, cell) in cells {
            assert_eq!(csv_field(text), cell);
        }
    }

    #[test]
    fn a_cell_ends_where_its_text_ends() {
        assert_eq!(csv_field("plain"), "plain");
        assert_eq!(csv_field("a, \"b\""), "\"a, \"\"b\"\"\"");
        assert_eq!(csv_field("two\nlines\x1b[2J"), "two\\nlines\\x1b[2J");
    }
}
