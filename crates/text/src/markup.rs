//! Text of others in HTML, XML and Markdown: nothing of it may become markup.

use std::fmt::{self, Display, Formatter, Write};

use crate::character::{is_harmful, write_escape};
use crate::output::printable_line;

/// Text that is safe between tags and inside a quoted attribute, of HTML and of XML.
///
/// Control characters, which XML forbids even as references, and those that turn the direction of the text around what
/// follows are shown as [`Untrusted`](crate::Untrusted) shows them (Unicode Technical Report 36, 2.3).
#[derive(Debug, Clone, Copy)]
pub struct Markup<'a>(pub &'a str);

impl Display for Markup<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                '\n' | '\t' => out.write_char(letter)?,
                harmful if is_harmful(harmful) => write_escape(out, harmful)?,
                letter => out.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// Text for a cell of a Markdown table, or for a part of a line: characters of Markdown's syntax are escaped.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(letter);
            }
            harmful if is_harmful(harmful) => {
                // The backslash of the escape is Markdown's own, too.
                out.push('\\');
                write_escape(&mut out, harmful).expect("a string takes all");
            }
            letter => out.push(letter),
        }
    }
    out
}

/// Inline code for a Markdown table, whatever the text holds: a fence longer than any run of backticks inside, and no
/// bar that would end a cell.
pub fn markdown_code(text: &str) -> String {
    let text = text.replace('|', "\\|").replace(['\n', '\r', '\t'], " ");
    let text = printable_line(&text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_of_a_name_is_markup() {
        let name = "<script>alert('1')</script> & \"x\"\u{0}\u{202e}";
        let escaped = Markup(name).to_string();
        assert!(!escaped.contains(['<', '>', '"', '\'', '\u{0}', '\u{202e}']), "{escaped}");
        assert_eq!(escaped, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;\\x00\\u{202e}");
    }

    #[test]
    fn a_name_stays_in_its_cell_of_a_markdown_table() {
        assert_eq!(markdown("a|b\nc <b> *x*\x1b"), "a\\|b c &lt;b> \\*x\\*\\\\x1b");
        assert_eq!(markdown_code("a|`b`\n\x1b"), "`` a\\|`b` \\x1b ``");
    }
}
