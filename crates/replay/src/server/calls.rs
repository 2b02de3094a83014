//! The class of every function of libc and of every system call: what prony does about it.
//!
//! Both lists are those of Debian 12. A function that another libc has besides is not known: which objects of a server
//! refer to it is said while recording. A system call that is not known is made, and named when it is used.

use crate::files::regular;
use object::Endianness;
use object::elf::{STT_FUNC, STT_GNU_IFUNC};
use object::read::elf::ElfFile64;
use object::read::{Object, ObjectSymbol, ReadCache};
use std::collections::BTreeSet;
use std::path::Path;

/// Functions below their classes.
const LIBC: &str = include_str!("calls/libc.txt");

/// What prony does about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// A record has the answer, or what a replay needs to come to the same.
    Recorded,
    /// Made in a replay as in the recording: files, memory, what a process is.
    Real,
    /// Made, and named when it is used.
    Reported,
    /// Answered with an error.
    Refused,
    /// Reaches no system call but those for memory and for waiting at locks.
    Pure,
    /// No program can be linked to it any more.
    Obsolete,
}

impl Class {
    const ALL: [(Class, &str); 6] = [
        (Class::Recorded, "recorded"),
        (Class::Real, "real"),
        (Class::Reported, "reported"),
        (Class::Refused, "refused"),
        (Class::Pure, "pure"),
        (Class::Obsolete, "obsolete"),
    ];
}

/// Names of a list with their classes. A name of the list that is none of a class stands below one.
fn classes(list: &str) -> impl Iterator<Item = (&str, Class)> {
    let mut class = None;
    list.lines().filter(|line| !line.starts_with('#')).flat_map(move |line| {
        if let Some((found, _)) = Class::ALL.iter().find(|(_, name)| *name == line) {
            class = Some(*found);
            return Vec::new();
        }
        line.split_whitespace().filter_map(|name| Some((name, class?))).collect()
    })
}

/// Functions that this libc exports and that the list does not have.
pub(crate) fn unknown(libc: &Path) -> BTreeSet<String> {
    // Other architectures have functions of their own.
    if !cfg!(target_arch = "x86_64") {
        return BTreeSet::new();
    }
    let known: BTreeSet<&str> = classes(LIBC).map(|(name, _)| name).collect();
    let mut found = symbols(libc, true);
    found.retain(|name| !known.contains(name.as_str()));
    found
}

/// Those of these functions to which an object refers.
pub(crate) fn used(object: &Path, functions: &BTreeSet<String>) -> BTreeSet<String> {
    &symbols(object, false) & functions
}

/// Functions that an object of 64 bits exports to every program, or names that it refers to.
fn symbols(object: &Path, exported: bool) -> BTreeSet<String> {
    let Ok(file) = regular::open_object(object) else { return BTreeSet::new() };
    let bytes = &ReadCache::new(file);
    let Ok(object) = ElfFile64::<Endianness, _>::parse(bytes) else { return BTreeSet::new() };
    let versions = object.elf_section_table().versions(object.endian(), bytes).ok().flatten();
    let is_private = |index| {
        let Some(versions) = &versions else { return false };
        let version = versions.version(versions.version_index(object.endian(), index)).ok().flatten();
        version.is_some_and(|version| version.name() == b"GLIBC_PRIVATE")
    };
    object
        .dynamic_symbols()
        .filter(|symbol| symbol.is_undefined() != exported)
        .filter(|symbol| !exported || [STT_FUNC, STT_GNU_IFUNC].contains(&symbol.elf_symbol().st_type()))
        .filter(|symbol| !exported || !is_private(symbol.index()))
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests;
