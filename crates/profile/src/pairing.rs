//! Two profiles of two builds in one vocabulary: what is the same root or function has the same name in both.
//!
//! The root of a stack is the name of its thread, which a main thread has from its program's file. So two builds in files of
//! two names share no stack as text. Their functions may differ in text only, too: by hashes that Rust puts behind them, by
//! the disambiguators of its crates, and code without symbols by the version of its library; and where one build has another
//! function of the same name, so that both have their parameters, or marks of copies.

use std::borrow::Cow;

use prony_text::printable_line;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::stacks::{NameId, Stacks};
use crate::symbols::{demangle, is_mangled, shorter_names};

/// The kernel keeps this many bytes of a thread's name (`TASK_COMM_LEN` − 1, proc_pid_comm(5)).
const COMM_BYTES: usize = 15;
/// This many names of each build are matched, the heaviest roots: each is compared with each of the other build.
const MATCHED_MAX: usize = 64;
/// Shorter runs of hexadecimal digits may be words.
const HASH_DIGITS: usize = 8;

/// The profiles of two builds, in one vocabulary.
#[derive(Debug)]
pub struct Pair {
    /// Stacks of the first build, one entry for each run.
    pub a: Vec<Stacks>,
    /// Stacks of the second build, one entry for each run.
    pub b: Vec<Stacks>,
    /// Roots and objects without symbols that are taken for the same: their names in the first and in the second. In the
    /// profiles they are called `first → second`.
    pub renamed: Vec<[String; 2]>,
}

/// Puts profiles of two builds into one vocabulary.
///
/// Names that both have are the same. Of the roots that only one has, those belong together whose samples end in the same
/// functions, the most alike first; a last one on either side belongs to that of the other.
pub fn pair(a: &[Stacks], b: &[Stacks]) -> Pair {
    let sides = [a, b].map(Side::of);
    let mut renamed = roots(&sides);
    renamed.extend(objects(&sides, &renamed));
    let translate = |runs: &[Stacks], place: usize| {
        let names: FxHashMap<&str, String> =
            renamed.iter().map(|pair| (pair[place].as_str(), together(pair))).collect();
        let shorter = shorter(&sides[place], &sides[1 - place]);
        runs.iter().map(|stacks| translated(stacks, &names, &shorter)).collect()
    };
    Pair { a: translate(a, 0), b: translate(b, 1), renamed }
}

/// `old → new`, and of objects `[old → new]`.
fn together([a, b]: &[String; 2]) -> String {
    match (object(a), object(b)) {
        (Some(a), Some(b)) => format!("[{a} → {b}]"),
        _ => format!("{a} → {b}"),
    }
}

/// Data of one build: its roots with the functions in which their samples end, and its objects without symbols.
struct Side {
    /// Weight of each function in which samples of a root ended.
    roots: FxHashMap<String, FxHashMap<String, u64>>,
    objects: Vec<String>,
    /// All names of functions.
    names: FxHashSet<String>,
}

impl Side {
    fn of(runs: &[Stacks]) -> Side {
        let mut side = Side { roots: FxHashMap::default(), objects: Vec::new(), names: FxHashSet::default() };
        for stacks in runs {
            for (stack, weight) in stacks.iter() {
                let (Some(&root), Some(&last)) = (stack.first(), stack.last()) else { continue };
                let ends = side.roots.entry(plain(stacks.text(root)).into_owned()).or_default();
                *ends.entry(plain(stacks.text(last)).into_owned()).or_default() += weight;
            }
            side.names.extend(stacks.names().iter().map(|name| plain(name).into_owned()));
            side.objects.extend(stacks.names().iter().filter(|name| object(name).is_some()).cloned());
        }
        side.objects.sort_unstable();
        side.objects.dedup();
        side
    }

    /// The roots that the other build has not, the heaviest first.
    fn alone<'a>(&'a self, other: &Side) -> Vec<&'a str> {
        let alone = self.roots.iter().filter(|(name, _)| !other.roots.contains_key(name.as_str()));
        let mut alone: Vec<(u64, &str)> = alone.map(|(name, ends)| (ends.values().sum(), name.as_str())).collect();
        alone.sort_unstable_by(|x, y| y.0.cmp(&x.0).then(x.1.cmp(y.1)));
        alone.into_iter().take(MATCHED_MAX).map(|(_, name)| name).collect()
    }
}

/// Roots of the two builds that belong together although they have other names.
fn roots(sides: &[Side; 2]) -> Vec<[String; 2]> {
    let (mut of_a, mut of_b) = (sides[0].alone(&sides[1]), sides[1].alone(&sides[0]));
    let mut found = Vec::new();
    while !of_a.is_empty() && !of_b.is_empty() {
        let mut best = (0.0, 0, 0);
        for (x, a) in of_a.iter().enumerate() {
            for (y, b) in of_b.iter().enumerate() {
                let alike = overlap(&sides[0].roots[*a], &sides[1].roots[*b]);
                // The heaviest of equals.
                if alike > best.0 {
                    best = (alike, x, y);
                }
            }
        }
        if best.0 == 0.0 && (of_a.len() > 1 || of_b.len() > 1) {
            break;
        }
        found.push([of_a.remove(best.1).to_owned(), of_b.remove(best.2).to_owned()]);
    }
    found
}

/// Overlap of two distributions, 0 to 1: 1 − their total variation distance.
fn overlap(a: &FxHashMap<String, u64>, b: &FxHashMap<String, u64>) -> f64 {
    let total = |ends: &FxHashMap<String, u64>| ends.values().sum::<u64>().max(1) as f64;
    let (of_a, of_b) = (total(a), total(b));
    let common = a.iter().filter_map(|(name, &in_a)| Some((in_a as f64 / of_a).min(*b.get(name)? as f64 / of_b)));
    common.sum()
}

/// Objects without symbols that belong together: those called as roots that do, and those whose names differ in version or
/// hash only.
fn objects(sides: &[Side; 2], roots: &[[String; 2]]) -> Vec<[String; 2]> {
    let alone = |place: usize| -> Vec<&str> {
        let others = &sides[1 - place].objects;
        let alone = sides[place].objects.iter().filter(|name| others.binary_search(name).is_err());
        alone.take(MATCHED_MAX).map(String::as_str).collect()
    };
    let (of_a, mut of_b) = (alone(0), alone(1));
    let mut found = Vec::new();
    for a in &of_a {
        let belongs = |b: &&str| {
            let (Some(a), Some(b)) = (object(a), object(b)) else { return false };
            let of_root = |[root_a, root_b]: &[String; 2]| is_thread_of(root_a, a) && is_thread_of(root_b, b);
            stem(a) == stem(b) || roots.iter().any(of_root)
        };
        // Two of one stem tell nothing of which is which.
        let is_only = of_a.iter().filter(|other| object(other).map(stem) == object(a).map(stem)).count() == 1;
        let fits: Vec<usize> = (0..of_b.len()).filter(|&at| belongs(&of_b[at])).collect();
        if let ([at], true) = (fits.as_slice(), is_only) {
            found.push([(*a).to_owned(), of_b.remove(*at).to_owned()]);
        }
    }
    found
}

/// True if the main thread of a program in this file has this name.
fn is_thread_of(thread: &str, file: &str) -> bool {
    file == thread || (thread.len() == COMM_BYTES && file.starts_with(thread))
}

/// The object of code without a name: `[libssl.so.3]`.
fn object(name: &str) -> Option<&str> {
    name.strip_prefix('[')?.strip_suffix(']').filter(|&object| object != "unknown")
}

/// A file's name without version and hash: `libstd-0a1b2c3d4e5f6071.so` and `libstd.so.1.2` are `libstd`.
fn stem(object: &str) -> &str {
    let name = object.find(".so").map_or(object, |at| &object[..at]);
    let is_hash = |text: &str| text.len() >= HASH_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_version = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    match name.rsplit_once('-') {
        Some((stem, last)) if !stem.is_empty() && (is_hash(last) || is_version(last)) => stem,
        _ => name,
    }
}

/// A function's name as every build of it has it.
///
/// Left out: the hash of Rust's legacy mangling (`::h0123456789abcdef`, always 16 digits), and the disambiguators of crates
/// in its present one (`alloc[f9c6a8b4d5e7a1b2]::vec`, RFC 2603). What is still mangled is demangled.
fn plain(name: &str) -> Cow<'_, str> {
    let (name, mark) = split_mark(name);
    let demangled = match is_mangled(name) {
        true => Cow::Owned(printable_line(&demangle(name).replace(';', ":")).into_owned()),
        false => Cow::Borrowed(name),
    };
    let without = match demangled.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && is_hexadecimal(hash) => Cow::Owned(path.to_owned()),
        _ => demangled,
    };
    let without = match without.contains('[') {
        true => Cow::Owned(without_disambiguators(&without)),
        false => without,
    };
    if mark.is_empty() { without } else { Cow::Owned(format!("{without}{mark}")) }
}

/// A name and the mark of where its code is: `_[k]`.
fn split_mark(name: &str) -> (&str, &str) {
    match name.rfind("_[").filter(|&at| name.ends_with(']') && name.len() - at == 4) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn without_disambiguators(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let follows_crate = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let hash = after.split_once(']').map_or("", |(hash, _)| hash);
        if follows_crate && (HASH_DIGITS..=16).contains(&hash.len()) && is_hexadecimal(hash) {
            rest = &after[hash.len() + 1..];
        } else {
            out.push('[');
            rest = after;
        }
    }
    out + rest
}

/// Names of functions that only one build has, of which the other has a shorter form: it has no second function of that name.
fn shorter<'a>(own: &'a Side, other: &Side) -> FxHashMap<&'a str, String> {
    let only = own.names.iter().filter(|name| !other.names.contains(*name));
    let shorter = only.filter_map(|name| {
        let (function, mark) = split_mark(name);
        let mut forms = shorter_names(function).into_iter().map(|form| form + mark);
        Some((name.as_str(), forms.find(|form| other.names.contains(form) && !own.names.contains(form))?))
    });
    shorter.collect()
}

/// The same stacks with the names that both builds have; `renamed`: what roots and objects are called instead, `shorter`:
/// functions.
fn translated(stacks: &Stacks, renamed: &FxHashMap<&str, String>, shorter: &FxHashMap<&str, String>) -> Stacks {
    let mut out = Stacks::new(stacks.weight_unit());
    let mut names: Vec<[Option<NameId>; 2]> = vec![[None; 2]; stacks.names().len()];
    let mut translated = Vec::new();
    for (stack, weight) in stacks.iter() {
        translated.clear();
        for (place, &name) in stack.iter().enumerate() {
            // A thread may be called as a function is.
            let known = &mut names[name as usize][usize::from(place == 0)];
            let new = *known.get_or_insert_with(|| {
                let text = plain(stacks.text(name));
                match renamed.get(&*text) {
                    Some(new) if place == 0 || object(&text).is_some() => out.name(new),
                    _ if place == 0 => out.name(&text),
                    _ => out.name(shorter.get(&*text).map_or(&*text, String::as_str)),
                }
            });
            translated.push(new);
        }
        out.add(&translated, weight);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stacks(text: &str) -> Stacks {
        Stacks::from_folded(text.as_bytes()).stacks
    }

    fn folded(a: &str, b: &str) -> [String; 2] {
        let pair = pair(&[stacks(a)], &[stacks(b)]);
        [pair.a[0].folded(), pair.b[0].folded()]
    }

    #[test]
    fn programs_in_files_of_two_names_share_their_stacks() {
        let [a, b] = folded("server-old;main;f 3\n", "server-new;main;f 5\n");
        assert_eq!(a, "server-old → server-new;main;f 3\n");
        assert_eq!(b, "server-old → server-new;main;f 5\n");
    }

    #[test]
    fn threads_that_both_have_are_the_same_and_others_go_by_what_they_do() {
        let a = "old;main;tick 50\nold-io;run;read_[k] 20\nlogger;run;write 9\nhelper;help 2\n";
        let b = "new-io;run;read_[k] 30\nnew;main;tick 40\nlogger;run;write 9\n";
        let pair = pair(&[stacks(a)], &[stacks(b)]);
        assert_eq!(pair.renamed, [["old", "new"], ["old-io", "new-io"]].map(|pair| pair.map(str::to_owned)));
        // Nothing is left for it, and it stays alone.
        assert!(pair.a[0].folded().contains("helper;help 2\n"));
        assert!(pair.b[0].folded().contains("logger;run;write 9\n"));
    }

    #[test]
    fn equal_names_stay_as_they_are() {
        let text = "srv;main;f 3\nsrv;main;g 2\nworker;g 1\n";
        assert_eq!(folded(text, text), [text, text].map(str::to_owned));
        assert!(pair(&[stacks(text)], &[stacks(text)]).renamed.is_empty());
    }

    #[test]
    fn a_function_that_has_overloads_in_one_build_only_is_the_same() {
        let [a, b] = folded("s;main;f;g.cold_[k] 3\n", "s;main;f(int);g_[k] 2\ns;main;f(double);h(int) 1\n");
        assert_eq!(a, "s;main;f;g_[k] 3\n");
        assert_eq!(b, "s;main;f;g_[k] 2\ns;main;f;h(int) 1\n");
        // Both builds have both.
        let text = "s;main;f [clone .cold] 1\ns;main;f(int) 3\ns;main;f 2\n";
        assert_eq!(folded(text, "s;main;f 3\n")[0], "s;main;f 2\ns;main;f [clone .cold] 1\ns;main;f(int) 3\n");
    }

    #[test]
    fn names_of_rust_are_those_of_every_build() {
        for (name, expected) in [
            ("core::fmt::Formatter::pad::h0123456789abcdef", "core::fmt::Formatter::pad"),
            ("core::fmt::Formatter::pad::h0123456789abcdef_[i]", "core::fmt::Formatter::pad_[i]"),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"),
            ("mycrate[7f0ec1be02d6c7a4]::foo::bar", "mycrate::foo::bar"),
            (
                "<alloc[f9c6a8b4d5e7a1b2]::vec::Vec<u8> as core[0123456789ab]::ops::Drop>::drop",
                "<alloc::vec::Vec<u8> as core::ops::Drop>::drop",
            ),
            ("hash::h01234567", "hash::h01234567"),
            ("f<[u8]>::g", "f<[u8]>::g"),
            ("table[12]", "table[12]"),
            ("operator[]", "operator[]"),
            ("read_[k]", "read_[k]"),
            ("a[", "a["),
        ] {
            assert_eq!(plain(name), expected, "{name}");
        }
    }

    #[test]
    fn code_without_symbols_belongs_to_its_object_in_every_version() {
        let a =
            "old;main;[old];[libcrypto.so.1.1] 3\nold;main;[libstd-0a1b2c3d4e5f6071.so] 1\nold;main;[libm-2.31.so] 1\n";
        let b = "new;main;[new];[libcrypto.so.3] 3\nnew;main;[libstd-a1b2c3d4e5f60718.so] 1\nnew;main;[libz.so.1] 1\n";
        let [a, b] = folded(a, b);
        assert_eq!(
            a,
            "old → new;main;[libm-2.31.so] 1\n\
             old → new;main;[libstd-0a1b2c3d4e5f6071.so → libstd-a1b2c3d4e5f60718.so] 1\n\
             old → new;main;[old → new];[libcrypto.so.1.1 → libcrypto.so.3] 3\n"
        );
        assert!(b.contains("old → new;main;[libz.so.1] 1\n") && b.contains("[libcrypto.so.1.1 → libcrypto.so.3] 3\n"));
    }

    #[test]
    fn a_thread_named_as_a_function_is_no_function() {
        let [a, b] = folded("main;main;f 3\n", "other;main;f 3\n");
        assert_eq!(a, b);
        assert_eq!(a, "main → other;main;f 3\n");
    }

    #[test]
    fn of_thousands_of_threads_the_heaviest_are_matched() {
        let text = |build: &str| -> String {
            (0..5000).map(|thread| format!("{build}-{thread};work;f{} {}\n", thread % 50, 10_000 - thread)).collect()
        };
        let pair = pair(&[stacks(&text("old"))], &[stacks(&text("new"))]);
        assert_eq!(pair.renamed.len(), MATCHED_MAX);
        assert_eq!(pair.renamed[0], ["old-0", "new-0"].map(str::to_owned));
    }

    proptest! {
        #[test]
        fn any_names_are_paired(names in proptest::collection::vec("(_ZN|_R|::h|[\\[\\]_a-f0-9é]|\\.so|-|[k]){0,20}", 2..6)) {
            let text: String = names.iter().map(|name| format!("{name};{name} 3\n")).collect();
            let pair = pair(&[stacks(&text)], &[stacks("x;y 1\n")]);
            prop_assert_eq!(pair.a[0].total(), stacks(&text).total());
        }
    }

    #[test]
    fn the_file_of_a_long_name_is_cut_in_the_name_of_its_thread() {
        let [a, b] = folded("server-of-the-o;[server-of-the-old-build] 3\n", "srv;[srv] 3\n");
        assert_eq!((a.as_str(), &a), ("server-of-the-o → srv;[server-of-the-old-build → srv] 3\n", &b));
    }
}
