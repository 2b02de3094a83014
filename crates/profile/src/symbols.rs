//! Names for places of code.
#![deny(clippy::indexing_slicing)]

mod debug_info;
mod demangle;
mod distinct;
mod function_names;
mod jit;
mod kernel;
mod mangling;
mod object_file;
mod readable;
mod scope;
mod stem;

use std::fmt;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

pub use demangle::demangle;
pub use distinct::distinct_names;
pub(crate) use distinct::shorter_names;
pub use jit::{JitMap, read_map};
pub(crate) use mangling::is_mangled;
pub use readable::shortened;

use crate::elf::Bulky;
use crate::space::{CodeLocation, FileIdentity, Object, ObjectId, ObjectKind, object};
use debug_info::Refused;
use object_file::ObjectFile;

/// Ends the names of code that a process has generated.
pub(crate) const GENERATED: &str = "_[j]";

/// Reasons why places of an object have no names, or fewer than possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSymbols {
    /// The file does not exist, or cannot be read.
    Unreadable(String),
    /// The file at the path is another one by now: build IDs of the mapped one and of the present one.
    Replaced {
        /// Build id or inode of the one that ran.
        expected: String,
        /// Build id or inode of the one at the path.
        found: String,
    },
    /// Debug information that would fill the memory: inlined calls have no names.
    Bulky(Bulky),
    /// Split debug information that is no regular file, another user's or too long: inlined calls have no names.
    Split {
        /// Path of the split debug information, which the file names.
        path: PathBuf,
        /// Reason why it is not read.
        why: String,
    },
    /// The file has no symbol table beyond its exported symbols.
    Stripped,
    /// The kernel hides its addresses: `kernel.kptr_restrict` is not 0, or it has no list.
    Hidden,
    /// The process wrote no `/tmp/perf-PID.map`.
    NoMap(i32),
}

impl fmt::Display for NoSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSymbols::Unreadable(error) => write!(f, "cannot be read: {error}"),
            NoSymbols::Replaced { expected, found } => {
                write!(f, "is not the file that ran: expected {expected}, found {found}")
            }
            NoSymbols::Bulky(bulky) => write!(f, "is read without its debug information: {bulky}"),
            NoSymbols::Split { path, why } => {
                write!(f, "is read without its split debug information {}: {why}", path.display())
            }
            NoSymbols::Stripped => write!(f, "is stripped: only exported functions have names"),
            NoSymbols::Hidden => write!(f, "hides its symbols"),
            NoSymbols::NoMap(pid) => write!(f, "generated code in memory but wrote no /tmp/perf-{pid}.map"),
        }
    }
}

/// An object without names, and how many samples that concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSymbols {
    /// The object, as people call it.
    pub object: String,
    /// Path of the file, if it is one.
    pub path: Option<PathBuf>,
    /// Reason why they are missing.
    pub why: NoSymbols,
}

/// Sources of names of one object.
enum Source {
    File(Box<ObjectFile>),
    Kernel(kernel::Kernel),
    Jit(JitMap),
    Nothing,
}

impl Source {
    fn refused(&self) -> Option<Refused> {
        if let Source::File(file) = self { file.refused() } else { None }
    }
}

/// Names of all objects of a recording, read when they are first requested.
pub(crate) struct Symbols<'a> {
    objects: &'a [Object],
    sources: FxHashMap<ObjectId, Source>,
    missing_symbols: Vec<(ObjectId, MissingSymbols)>,
}

impl<'a> Symbols<'a> {
    pub(crate) fn of(objects: &'a [Object]) -> Symbols<'a> {
        Symbols { objects, sources: FxHashMap::default(), missing_symbols: Vec::new() }
    }

    /// The functions at a place, innermost first: more than one where calls were inlined. Never none.
    pub(crate) fn names(&mut self, place: CodeLocation) -> Vec<String> {
        let object = object(self.objects, place.object);
        let missing_symbols = &mut self.missing_symbols;
        let source = self.sources.entry(place.object).or_insert_with(|| {
            let (source, why) = open(object);
            if let Some(why) = why {
                let path = if let ObjectKind::File(path) = &object.kind { Some(path.clone()) } else { None };
                missing_symbols.push((place.object, MissingSymbols { object: shown(&object.kind), path, why }));
            }
            source
        });
        let names = match source {
            Source::File(file) => file.names(place.offset),
            Source::Kernel(kernel) => kernel.name(place.offset).map(|name| format!("{name}_[k]")).into_iter().collect(),
            Source::Jit(map) => map.name(place.offset).map(|name| format!("{name}{GENERATED}")).into_iter().collect(),
            Source::Nothing => Vec::new(),
        };
        if names.is_empty() { vec![bracketed(&object.kind)] } else { names }
    }

    /// Objects that lack names, in the order in which they were requested.
    pub(crate) fn missing_symbols(mut self) -> Vec<(ObjectId, MissingSymbols)> {
        let mut refused: Vec<_> =
            self.sources.iter().filter_map(|(&id, source)| Some((id, source.refused()?))).collect();
        refused.sort_by_key(|&(id, _)| id);
        for (id, Refused { path: split, why }) in refused {
            let kind = &object(self.objects, id).kind;
            let path = if let ObjectKind::File(path) = kind { Some(path.clone()) } else { None };
            let why = NoSymbols::Split { path: split, why };
            self.missing_symbols.push((id, MissingSymbols { object: shown(kind), path, why }));
        }
        self.missing_symbols
    }
}

/// The functions at an offset of a program's file, innermost first; none where it has no names.
///
/// # Errors
/// [`NoSymbols`] when it cannot be read, or is too much to read.
pub fn names_in_file(path: &Path, offset: u64) -> Result<Vec<String>, NoSymbols> {
    Ok(whole_file(path)?.names(offset))
}

/// A program's file with its debug information.
fn whole_file(path: &Path) -> Result<ObjectFile, NoSymbols> {
    let kind = ObjectKind::File(path.to_owned());
    let (file, why) = ObjectFile::open(&Object { kind, identity: FileIdentity::None, file: None })?;
    match why {
        Some(why @ NoSymbols::Bulky(_)) => Err(why),
        _ => Ok(file),
    }
}

/// A function, and where its source is, as far as debug information says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceLine {
    /// Name of the function.
    pub function: String,
    /// Path of the source file, as the compiler was given it.
    pub file: Option<String>,
    /// Line in it, from 1.
    pub line: Option<u32>,
}

/// For each of these distances from where a program's file is loaded the functions there, innermost first, with their
/// lines; none where it has no names.
///
/// # Errors
/// As [`names_in_file`].
pub fn lines_in_file(path: &Path, from_base: &[u64]) -> Result<Vec<Vec<SourceLine>>, NoSymbols> {
    let file = whole_file(path)?;
    Ok(from_base.iter().map(|&distance| file.lines(distance)).collect())
}

fn open(object: &Object) -> (Source, Option<NoSymbols>) {
    match &object.kind {
        ObjectKind::Kernel => match kernel::Kernel::read() {
            Some(kernel) => (Source::Kernel(kernel), None),
            None => (Source::Nothing, Some(NoSymbols::Hidden)),
        },
        ObjectKind::File(_) => match ObjectFile::open(object) {
            Ok((file, why)) => (Source::File(Box::new(file)), why),
            Err(why) => (Source::Nothing, Some(why)),
        },
        ObjectKind::Made(pid) => match JitMap::of_process(*pid) {
            Some(map) => (Source::Jit(map), None),
            None => (Source::Nothing, Some(NoSymbols::NoMap(*pid))),
        },
        ObjectKind::Vdso | ObjectKind::Nowhere => (Source::Nothing, None),
    }
}

/// Name of an object for people.
fn shown(kind: &ObjectKind) -> String {
    match kind {
        ObjectKind::Kernel => "the kernel".to_owned(),
        ObjectKind::File(path) => path.display().to_string(),
        ObjectKind::Made(pid) => format!("process {pid}"),
        ObjectKind::Vdso => "vdso".to_owned(),
        ObjectKind::Nowhere => "unknown".to_owned(),
    }
}

/// Placeholder for an unknown name, in brackets as in `perf script` and its readers.
fn bracketed(kind: &ObjectKind) -> String {
    match kind {
        ObjectKind::Kernel => "[kernel]".to_owned(),
        ObjectKind::File(path) => {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            format!("[{}]", name.trim_end_matches(" (deleted)"))
        }
        // Not by the process, as `perf` does: runs and builds are compared by names.
        ObjectKind::Made(_) => "[generated code]".to_owned(),
        ObjectKind::Vdso => "[vdso]".to_owned(),
        ObjectKind::Nowhere => "[unknown]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_code_without_names_is_called_the_same_in_every_process() {
        assert_eq!(bracketed(&ObjectKind::Made(7)), bracketed(&ObjectKind::Made(8)));
        assert_ne!(bracketed(&ObjectKind::Made(7)), bracketed(&ObjectKind::Nowhere));
    }
}
