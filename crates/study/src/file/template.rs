//! Placeholders in commands: `{engine} +map {map}`; `{{` and `}}` are braces.
#![deny(clippy::indexing_slicing)]

use std::ops::Range;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text that stays as it is.
    Text(&'a str),
    /// The name of a placeholder, and where with its braces.
    Placeholder(&'a str, Range<usize>),
}

/// Splits a template into text and placeholders; an error has the offset in bytes and the problem.
///
/// # Errors
/// The byte of a brace that is alone, and what was expected.
pub(super) fn pieces(template: &str) -> Result<Vec<Piece<'_>>, (usize, &'static str)> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    while let Some(found) = template[at..].find(['{', '}']) {
        let brace = at + found;
        pieces.push(Piece::Text(&template[at..brace]));
        let rest = &template[brace..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            pieces.push(Piece::Text(&rest[..1]));
            at = brace + 2;
            continue;
        }
        let end = rest.find('}').filter(|_| rest.starts_with('{'));
        let Some(end) = end else {
            return Err((brace, "a placeholder in braces, or a doubled brace for a literal one"));
        };
        pieces.push(Piece::Placeholder(&rest[1..end], brace..brace + end + 1));
        at = brace + end + 1;
    }
    pieces.push(Piece::Text(&template[at..]));
    pieces.retain(|piece| *piece != Piece::Text(""));
    Ok(pieces)
}

/// Puts values in; `Err` names the placeholder that has none.
///
/// A template that cannot be taken apart is given back as it is: it was refused when it was read.
pub(crate) fn fill(template: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, (String, usize)> {
    let Ok(pieces) = pieces(template) else { return Ok(template.to_owned()) };
    pieces.into_iter().try_fold(String::new(), |filled, piece| match piece {
        Piece::Text(text) => Ok(filled + text),
        Piece::Placeholder(name, place) => match value(name) {
            Some(value) => Ok(filled + &value),
            None => Err((name.to_owned(), place.start)),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Result<String, (String, usize)> {
        fill(template, &|name| (name == "a b").then(|| "X".to_owned()))
    }

    #[test]
    fn values_take_the_place_of_their_names() {
        assert_eq!(filled("run {a b}/{a b} {{x}}"), Ok("run X/X {x}".to_owned()));
        assert_eq!(filled("run {c}"), Err(("c".to_owned(), 4)));
        assert_eq!(filled(""), Ok(String::new()));
    }

    #[test]
    fn a_brace_that_is_alone_is_named() {
        assert_eq!(pieces("a }").map_err(|(at, _)| at), Err(2));
        assert_eq!(pieces("a {b").map_err(|(at, _)| at), Err(2));
    }
}
