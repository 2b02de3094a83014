//! Names are written by others: nothing of them may become markup.

use std::fmt::{self, Display, Formatter, Write};

/// Text that is safe between tags and inside a quoted attribute, of HTML and of XML.
///
/// Control characters, which XML forbids, and those that turn the direction of the text around what follows are shown
/// as U+FFFD (Unicode Technical Report 36, 2.3).
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                letter if is_harmful(letter) => out.write_char('\u{fffd}')?,
                letter => out.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// JSON that is safe inside a `script` element, where `</script>` and `<!--` would end or change it.
pub fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// One cell of a Markdown table, or a part of a line: what Markdown would take for its own is escaped.
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
            letter if is_harmful(letter) => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

fn is_harmful(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_of_a_name_is_markup() {
        let name = "<script>alert('1')</script> & \"x\"\u{0}\u{202e}";
        let escaped = Escaped(name).to_string();
        assert!(!escaped.contains(['<', '>', '"', '\'', '\u{0}', '\u{202e}']), "{escaped}");
        assert_eq!(escaped, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;\u{fffd}\u{fffd}");
    }

    #[test]
    fn json_in_a_script_cannot_end_it_and_reads_back_the_same() {
        let text = "</script><!-- & ]]>";
        let json = json_in_script(&serde_json::to_string(text).expect("text is JSON"));
        assert!(!json.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<String>(&json).expect("it is JSON"), text);
    }

    #[test]
    fn a_name_stays_in_its_cell_of_a_markdown_table() {
        assert_eq!(markdown("a|b\nc <b> *x*"), "a\\|b c &lt;b> \\*x\\*");
    }
}
