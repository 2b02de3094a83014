//! Words that only a shell understands.

/// The first operator or expansion of a shell in `text` that is not quoted; `None` if a shell would only split it.
pub fn construct(text: &str) -> Option<&'static str> {
    let mut quote = None;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let rest = &text[at..];
        let begins_name =
            rest[letter.len_utf8()..].starts_with(|next: char| next.is_alphanumeric() || "_({?@#!".contains(next));
        match (letter, quote) {
            ('\'', Some('\'')) | ('"', Some('"')) => quote = None,
            (_, Some('\'')) => {}
            ('\\', _) => drop(letters.next()),
            // A shell expands these in double quotes too.
            ('`', _) => return Some("`"),
            ('$', _) if begins_name => return Some("$"),
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(letter),
            ('|', None) => return Some(if rest.starts_with("||") { "||" } else { "|" }),
            ('&', None) if rest.starts_with("&&") => return Some("&&"),
            ('&', None) if rest[1..].trim_start().is_empty() || rest[1..].starts_with(' ') => return Some("&"),
            ('>', None) => return Some(if rest.starts_with(">>") { ">>" } else { ">" }),
            ('<', None) => return Some("<"),
            (';', None) => return Some(";"),
            ('*', None) => return Some("*"),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_expansions_are_found_unless_they_are_quoted() {
        for (text, found) in [
            ("sort big | head", "|"),
            ("a||b", "||"),
            ("a && b", "&&"),
            ("a > out", ">"),
            ("a 2>>log", ">>"),
            ("a < in", "<"),
            ("a; b", ";"),
            ("ls *.c", "*"),
            ("echo $HOME", "$"),
            ("echo \"$HOME\"", "$"),
            ("echo `id`", "`"),
            ("sleep 1 &", "&"),
        ] {
            assert_eq!(construct(text), Some(found), "{text}");
        }
        for text in [
            "grep '|' f",
            "awk '{print $1 > \"x\"}' f",
            "find . -exec x {} \\;",
            "echo \"a|b;c*\"",
            "curl x?a=1&b=2",
            "echo 5$",
            "",
        ] {
            assert_eq!(construct(text), None, "{text}");
        }
    }
}
