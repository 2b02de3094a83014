//! Names that people can read: without the arguments that templates of the standard library have by default, and where
//! little room is, without those of any template.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;

use prony_text::without_directories;

/// Arguments that the C++ standard gives these templates by default; who writes the type leaves them out.
const DEFAULTS: [&str; 6] =
    ["std::allocator", "std::char_traits", "std::less", "std::equal_to", "std::hash", "std::default_delete"];

/// Names longer than this lose what stands in angle brackets where little room is.
const ROOM: usize = 80;
/// Longer names are not read, and looking for brackets in them takes time.
const LONGEST: usize = 1 << 13;
/// Shorter arguments are worth their room.
const SHORT: usize = 16;

/// Leaves out default arguments of the standard library's templates and the namespaces of its versions:
/// `std::vector<int, std::allocator<int> >` is `std::vector<int>`.
pub(super) fn without_defaults(name: String) -> String {
    if !name.contains("std::") || name.len() > LONGEST {
        return name;
    }
    let mut name = name.replace("std::__cxx11::", "std::").replace("std::__1::", "std::");
    for template in DEFAULTS {
        let argument = format!(", {template}<");
        let mut from = 0;
        while let Some(start) = name[from..].find(&argument).map(|at| from + at) {
            match closing(&name, start + argument.len() - 1) {
                // Only the last arguments can be left out.
                Some(end) if name[end + 1..].trim_start().starts_with('>') || leads_to_default(&name[end + 1..]) => {
                    name.replace_range(start..=end, "");
                    from = start;
                }
                _ => from = start + argument.len(),
            }
        }
    }
    // C++98 needed the blank between brackets; nothing else does.
    name.replace(" >", ">").replace("std::basic_string<char>", "std::string")
}

/// Leaves out parameters of the functions in which a function is declared, and what stands behind the parameters of methods:
/// `f(int)::{lambda(int)#1}::operator() const` is `f::{lambda(int)#1}::operator()`.
pub(super) fn without_parameters(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        let known = ["operator()", "(anonymous namespace)"].iter().find(|known| rest.starts_with(**known));
        let whole = known.map(|known| known.len()).or_else(|| operator(rest)).or_else(|| match character {
            // Template arguments, and the signatures of lambdas.
            '<' => closing(rest, 0).map(|end| end + 1),
            '{' => matching(rest, b"{}"),
            _ => None,
        });
        let parameters = if character == '(' { matching(rest, b"()") } else { None };
        let taken = match (whole, parameters) {
            (None, Some(end)) if !out.is_empty() => {
                rest = without_qualifiers(rest.get(end..).unwrap_or_default());
                continue;
            }
            (whole, _) => whole.unwrap_or(character.len_utf8()),
        };
        let Some((taken, after)) = rest.split_at_checked(taken) else { break };
        out.push_str(taken);
        rest = after;
    }
    while let Some(end) = QUALIFIERS.iter().find_map(|qualifier| out.strip_suffix(qualifier)) {
        out.truncate(end.len());
    }
    out
}

/// What C++ writes behind the parameters of a method.
const QUALIFIERS: [&str; 4] = [" const", " volatile", " &&", " &"];

fn without_qualifiers(mut rest: &str) -> &str {
    while let Some(after) = QUALIFIERS.iter().find_map(|qualifier| rest.strip_prefix(qualifier)) {
        rest = after;
    }
    rest
}

/// The length of what stands in brackets at the start.
fn matching(text: &str, [open, close]: &[u8; 2]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        if byte == *open {
            depth += 1;
        } else if byte == *close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

/// True if the next argument is a default too and can be left out.
fn leads_to_default(rest: &str) -> bool {
    rest.strip_prefix(", ").is_some_and(|rest| DEFAULTS.iter().any(|template| rest.starts_with(template)))
}

/// A name for tables and pictures: without the directories of files, and the arguments of templates and generics are
/// left out of long ones, `ns::lexer<…>::scan`.
pub fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() > LONGEST {
        return Cow::Borrowed(name);
    }
    let whole = without_directories(name);
    if whole.len() <= ROOM {
        return whole;
    }
    let name: &str = &whole;
    let mut out = String::new();
    let mut at = 0;
    while let Some(character) = name[at..].chars().next() {
        if let Some(length) = operator(&name[at..]) {
            out.push_str(&name[at..at + length]);
            at += length;
            continue;
        }
        // Behind anything but a name or `::` is no list of arguments: `<T as Trait>::f` of Rust.
        let is_name = out.ends_with("::") || out.ends_with(|last: char| last.is_alphanumeric() || "_}]".contains(last));
        let is_list = character == '<' && is_name;
        if let Some(end) = closing(name, at).filter(|end| is_list && end - at > SHORT) {
            out.push_str("<…>");
            at = end + 1;
        } else {
            out.push(character);
            at += character.len_utf8();
        }
    }
    Cow::Owned(out)
}

/// Position of the bracket that closes the one at `open`.
fn closing(name: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = open;
    while let Some(&byte) = name.as_bytes().get(at) {
        if name.is_char_boundary(at)
            && let Some(length) = operator(&name[at..])
        {
            at += length;
            continue;
        }
        match byte {
            b'<' => depth += 1,
            // `->`, of a function's result.
            b'>' if at > open && name.as_bytes().get(at - 1) != Some(&b'-') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of an operator's name that has angle brackets.
fn operator(text: &str) -> Option<usize> {
    let symbols = text.strip_prefix("operator")?;
    let names = ["<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"];
    names.iter().find(|name| symbols.starts_with(**name)).map(|name| "operator".len() + name.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn types_of_the_standard_library_are_as_people_write_them() {
        for (name, shown) in [
            ("std::vector<int, std::allocator<int> >::push_back", "std::vector<int>::push_back"),
            ("f<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >", "f<std::string>"),
            (
                "std::map<std::string, int, std::less<std::string>, std::allocator<std::pair<std::string const, int> > >::at",
                "std::map<std::string, int>::at",
            ),
            ("std::unique_ptr<A, std::default_delete<A> >::~unique_ptr", "std::unique_ptr<A>::~unique_ptr"),
            ("std::map<int, A, std::greater<int>, B>::at", "std::map<int, A, std::greater<int>, B>::at"),
            ("f<A, std::allocator<A>, B>", "f<A, std::allocator<A>, B>"),
            ("f<A, std::allocator", "f<A, std::allocator"),
            ("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::at", "std::string::at"),
            ("std::operator<< <std::char_traits<char> >", "std::operator<< <std::char_traits<char>>"),
        ] {
            assert_eq!(without_defaults(name.to_owned()), shown);
        }
    }

    #[test]
    fn parameters_of_the_functions_around_a_function_are_left_out() {
        for (name, shown) in [
            ("f(int)::{lambda(int)#1}::operator() const", "f::{lambda(int)#1}::operator()"),
            (
                "f<double>(double)::L::g() const volatile::{lambda()#1}::operator() const",
                "f<double>::L::g::{lambda()#1}::operator()",
            ),
            ("f<void (*)(int)>(int)::L::g const volatile", "f<void (*)(int)>::L::g"),
            ("(anonymous namespace)::f(int)::L::g", "(anonymous namespace)::f::L::g"),
            ("A::operator()(int) &&::L::operator int const &", "A::operator()::L::operator int"),
            ("A::operator char const*", "A::operator char const*"),
            ("A::operator<(A)::L::operator()", "A::operator<::L::operator()"),
            ("{virtual override thunk({offset(-8)}, C::w)}", "{virtual override thunk({offset(-8)}, C::w)}"),
            ("a(b", "a(b"),
        ] {
            assert_eq!(without_parameters(name), shown);
        }
    }

    #[test]
    fn long_names_lose_the_arguments_of_templates() {
        let lexer =
            "ns::detail::lexer<ns::basic_json<std::map, std::vector, std::string, bool, long, unsigned long, double>>";
        assert_eq!(shortened(&format!("{lexer}::scan")), "ns::detail::lexer<…>::scan");
        assert_eq!(shortened(&format!("{lexer}::operator->")), "ns::detail::lexer<…>::operator->");
        assert_eq!(shortened(&format!("{lexer}::operator<<")), "ns::detail::lexer<…>::operator<<");
        let next =
            "<alloc::vec::into_iter::IntoIter<some::long::type::of::things> as core::iter::Iterator>::next_of_them";
        assert_eq!(shortened(next), "<alloc::vec::into_iter::IntoIter<…> as core::iter::Iterator>::next_of_them");
        assert_eq!(shortened("std::vector<int>::push_back"), "std::vector<int>::push_back");
        let turbofish = "std::panicking::catch_unwind::do_call::<std::rt::lang_start_internal::{closure#0}, isize>";
        assert_eq!(shortened(turbofish), "std::panicking::catch_unwind::do_call::<…>");
    }

    proptest! {
        #[test]
        fn any_name_stays_text(name in "[a-z<>:(){}, é-]{0,200}|(operator[<>-]{0,3}|std::allocator<|, |>|x){0,60}") {
            prop_assert!(without_parameters(&name).len() <= name.len());
            let name = without_defaults(name);
            prop_assert!(shortened(&name).len() <= name.len() + 2);
        }
    }
}
