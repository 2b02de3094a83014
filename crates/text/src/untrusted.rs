//! Names, paths, arguments and messages from an untrusted source.

use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter, Write};

use crate::character::{is_harmful, write_byte, write_escape};

/// Text from an untrusted source. Its [`Display`] is one line that does nothing but show itself.
///
/// Harmful characters are `\n`, `\r`, `\t`, `\x1b`, `\u{202e}`; bytes that are no UTF-8 are `\xff`. What is shown can be
/// read in one way only: a backslash that could begin such an escape is doubled, and any other stays as it is, so
/// that `C:\Logs` and `\d+` are themselves and `C:\new` is `C:\\new`. Show a text once: what was shown, shown again,
/// has more backslashes.
///
/// Width and precision count what is shown, so tables stay straight: `{:<20}`.
#[derive(Debug, Clone, Copy)]
pub struct Untrusted<'a> {
    bytes: &'a [u8],
    most_characters: usize,
}

impl<'a> Untrusted<'a> {
    /// A `str`, a `String`, a `Path`, an `OsStr`.
    pub fn new<T: AsRef<OsStr> + ?Sized>(text: &'a T) -> Untrusted<'a> {
        Untrusted::bytes(text.as_ref().as_encoded_bytes())
    }

    /// An untrusted name from bytes that are probably UTF-8.
    pub fn bytes(bytes: &'a [u8]) -> Untrusted<'a> {
        Untrusted { bytes, most_characters: usize::MAX }
    }

    /// Shows this many characters at most, and `…` where there are more: an excerpt of a file may be as long as the file.
    pub fn at_most(self, characters: usize) -> Untrusted<'a> {
        Untrusted { most_characters: characters, ..self }
    }

    fn write(&self, out: &mut impl Write) -> fmt::Result {
        let mut left = self.most_characters;
        for chunk in self.bytes.utf8_chunks() {
            let mut characters = chunk.valid().chars().peekable();
            while let Some(character) = characters.next() {
                if left == 0 {
                    return out.write_char('…');
                }
                left -= 1;
                match character {
                    '\\' => {
                        let begins_escape = match characters.peek() {
                            Some(&next) => matches!(next, '\\' | 'n' | 'r' | 't' | 'u' | 'x') || is_harmful(next),
                            None => !chunk.invalid().is_empty(),
                        };
                        out.write_str(if begins_escape { "\\\\" } else { "\\" })?;
                    }
                    harmful if is_harmful(harmful) => write_escape(out, harmful)?,
                    harmless => out.write_char(harmless)?,
                }
            }
            for &byte in chunk.invalid() {
                if left == 0 {
                    return out.write_char('…');
                }
                left -= 1;
                write_byte(out, byte)?;
            }
        }
        Ok(())
    }
}

impl Display for Untrusted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if f.width().is_none() && f.precision().is_none() {
            return self.write(f);
        }
        let mut shown = String::with_capacity(self.bytes.len());
        self.write(&mut shown)?;
        f.pad(&shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(bytes: &[u8]) -> String {
        Untrusted::bytes(bytes).to_string()
    }

    /// The bytes that are shown so.
    fn read_back(shown: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = shown;
        while let Some(character) = rest.chars().next() {
            let after = &rest[character.len_utf8()..];
            let hex = |digits: &str| u32::from_str_radix(digits, 16).expect("hexadecimal digits");
            let mut push = |character: char| bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = match (character, after.chars().next()) {
                ('\\', Some('\\')) => {
                    push('\\');
                    &after[1..]
                }
                ('\\', Some(letter @ ('n' | 'r' | 't'))) => {
                    push(match letter {
                        'n' => '\n',
                        'r' => '\r',
                        _ => '\t',
                    });
                    &after[1..]
                }
                ('\\', Some('x')) => {
                    bytes.push(hex(&after[1..3]) as u8);
                    &after[3..]
                }
                ('\\', Some('u')) => {
                    let (digits, after) = after[2..].split_once('}').expect("a closing brace");
                    push(char::from_u32(hex(digits)).expect("a character"));
                    after
                }
                _ => {
                    push(character);
                    after
                }
            };
        }
        bytes
    }

    #[test]
    fn what_commands_a_terminal_is_shown_instead() {
        assert_eq!(shown(b"\x1b]0;owned\x07"), r"\x1b]0;owned\x07");
        assert_eq!(shown("a\r\nb\tc\u{9b}31m\u{7f}".as_bytes()), r"a\r\nb\tc\u{9b}31m\x7f");
        assert_eq!(shown("exe\u{202e}gpj.\u{200b}\u{feff}".as_bytes()), r"exe\u{202e}gpj.\u{200b}\u{feff}");
        assert_eq!(shown(b"caf\xe9 \xc2"), r"caf\xe9 \xc2");
    }

    #[test]
    fn names_as_people_give_them_stay_as_they_are() {
        for name in ["./server +map dm1", r"C:\Logs\Server", r"\d+(\.\d+)?", "größe 漢字 🦀", "a\\"] {
            assert_eq!(Untrusted::new(name).to_string(), name);
        }
        assert_eq!(Untrusted::new(r"C:\new\\x").to_string(), r"C:\\new\\\\x");
    }

    #[test]
    fn width_counts_what_is_shown() {
        assert_eq!(format!("{:<8}|{:>6}|", Untrusted::new("a\x1bb"), Untrusted::new("é")), "a\\x1bb  |     é|");
    }

    #[test]
    fn an_excerpt_ends_with_an_ellipsis_only_where_more_follows() {
        let cut = |text: &str, most| Untrusted::new(text).at_most(most).to_string();
        assert_eq!((cut("abc", 3), cut("abcd", 3), cut("a\x1bcd", 2)), ("abc".into(), "abc…".into(), "a\\x1b…".into()));
        assert_eq!(Untrusted::bytes(b"a\xff\xff").at_most(2).to_string(), "a\\xff…");
    }

    proptest! {
        #[test]
        fn whatever_is_shown_can_be_read_in_one_way_only(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\\'), Just(b'x'), Just(b'n'), Just(b'\n')], 0..40)
        ) {
            let shown = shown(&bytes);
            prop_assert!(!shown.chars().any(is_harmful), "{shown:?}");
            prop_assert_eq!(read_back(&shown), bytes);
        }
    }
}
