//! Characters that are never shown literally, and their escapes.

use std::fmt::{self, Write};

/// True of what a terminal obeys instead of showing it, and of what is there without being seen.
///
/// These are control characters (C0, DEL, C1), line and paragraph separators, format characters (general category Cf,
/// Unicode 16), among them those that turn the direction of the text around them, default ignorable code points
/// (`DerivedCoreProperties.txt`), and noncharacters, two of which XML forbids.
pub fn is_harmful(character: char) -> bool {
    match character {
        ' '..='~' => false,
        '\0'..='\u{9f}' => true,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' => {
            true
        }
        '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' => true,
        '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' => true,
        '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        // The last two code points of each plane.
        other => u32::from(other) & 0xfffe == 0xfffe,
    }
}

/// Writes a harmful character visibly: `\n`, `\r`, `\t`, `\x1b`, `\u{202e}`. A `\x` of 80 and more is a byte that is no
/// UTF-8, see [`write_byte`]; characters from U+0080 on are `\u`.
pub fn write_escape(out: &mut impl Write, character: char) -> fmt::Result {
    match character {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\0'..='\x7f' => write!(out, "\\x{:02x}", u32::from(character)),
        _ => write!(out, "\\u{{{:x}}}", u32::from(character)),
    }
}

/// Writes a byte that belongs to no character.
pub fn write_byte(out: &mut impl Write, byte: u8) -> fmt::Result {
    write!(out, "\\x{byte:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_signs_and_emoji_are_shown_and_what_acts_or_hides_is_not() {
        for shown in " az~\\é漢ß€…×±µ\u{a0}\u{3000}\u{fffd}🦀\u{1f468}\u{e000}".chars() {
            assert!(!is_harmful(shown), "{shown:?}");
        }
        let controls = (0..0x20).chain(0x7f..0xa0);
        let bidirectional = (0x200e..0x2010).chain(0x202a..0x202f).chain(0x2066..0x206a);
        let unseen = [0xad, 0x200b, 0x200d, 0x2028, 0x2029, 0x2060, 0xfe0f, 0xfeff, 0xfffe, 0x1ffff, 0xe0041, 0xe0100];
        for harmful in controls.chain(bidirectional).chain(unseen) {
            let harmful = char::from_u32(harmful).expect("no surrogate is among them");
            assert!(is_harmful(harmful), "{harmful:?}");
        }
    }

    #[test]
    fn an_escape_has_nothing_harmful() {
        for character in (0..=0x10_ffff).filter_map(char::from_u32).filter(|&character| is_harmful(character)) {
            let mut escaped = String::new();
            write_escape(&mut escaped, character).expect("a string takes all");
            assert!(escaped.starts_with('\\') && escaped.bytes().all(|byte| byte.is_ascii_graphic()), "{escaped}");
        }
    }
}
