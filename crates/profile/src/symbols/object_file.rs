//! Names from an ELF file and its debug information, if both belong to what ran.
#![deny(clippy::indexing_slicing)]

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _};

use super::debug_info::{DebugInfo, FunctionName, Refused};
use super::function_names::FunctionNames;
use super::{NoSymbols, SourceLine};
use crate::elf::{self, Functions, Segments, read_opened};
use crate::open::{open_named, open_regular};
use crate::space::{FileIdentity, Object};

/// Symbols and lines of one file.
pub(super) struct ObjectFile {
    segments: Segments,
    functions: FunctionNames,
    /// Debug information, for lines and inlined calls.
    debug: Option<DebugInfo>,
}

impl ObjectFile {
    /// Reads the file, and the debug information that a distribution keeps apart. Names that are there are used even if
    /// there should be more: the second result says so.
    pub(super) fn open(object: &Object) -> Result<(ObjectFile, Option<NoSymbols>), NoSymbols> {
        let unreadable = |error: &dyn std::fmt::Display| NoSymbols::Unreadable(error.to_string());
        let path = elf::path(object).ok_or_else(|| unreadable(&"it has no path"))?;
        let expected = match &object.identity {
            FileIdentity::BuildId(id) => Some(id.as_slice()),
            FileIdentity::Inode(_) | FileIdentity::None => None,
        };
        let opened = open_regular(&path).and_then(|file| Ok((file.metadata()?.uid(), read_opened(file)?)));
        let (owner, bytes) = match opened {
            Ok(opened) => opened,
            Err(error) => return debug_alone(expected, &path, None).ok_or_else(|| unreadable(&error)),
        };
        let file = object::File::parse(&*bytes).map_err(|error| unreadable(&error))?;
        let id = file.build_id().ok().flatten();
        if let Err(replaced) = same(object, id, &path) {
            return debug_alone(expected, &path, Some(owner)).ok_or(replaced);
        }
        let mut functions = Functions::of(&file, bytes.len() as u64);
        let mut stripped = file.symbols().next().is_none();
        let mut bulky = elf::check_debug(&file, bytes.len() as u64).err();
        let mut debug = None;
        if file.section_by_name(".debug_info").is_some() {
            if bulky.is_none() {
                debug = DebugInfo::of(&file, bytes.len() as u64, &path, owner);
            }
        } else if let Some((found, owner, bytes)) = debug_file(id, &path, owner, &file)
            && let Ok(file) = object::File::parse(&*bytes)
        {
            functions = Functions::of(&file, bytes.len() as u64);
            stripped = false;
            bulky = elf::check_debug(&file, bytes.len() as u64).err();
            if bulky.is_none() {
                debug = DebugInfo::of(&file, bytes.len() as u64, &found, owner);
            }
        }
        let file = ObjectFile::of(Segments::of(&file), functions, debug);
        Ok((file, bulky.map(NoSymbols::Bulky).or(stripped.then_some(NoSymbols::Stripped))))
    }

    fn of(segments: Segments, functions: Functions, debug: Option<DebugInfo>) -> ObjectFile {
        let functions = FunctionNames::of(functions, debug.as_ref().map(DebugInfo::strings));
        ObjectFile { segments, functions, debug }
    }

    /// The functions at an offset of the file, innermost first.
    pub(super) fn names(&self, offset: u64) -> Vec<String> {
        let Some(address) = self.segments.address(offset) else { return Vec::new() };
        self.lines_at(address).into_iter().map(|line| line.function).collect()
    }

    /// The functions at a distance from where the file is loaded, innermost first, with their lines.
    pub(super) fn lines(&self, from_base: u64) -> Vec<SourceLine> {
        self.segments.base().map_or_else(Vec::new, |base| self.lines_at(base.wrapping_add(from_base)))
    }

    fn lines_at(&self, address: u64) -> Vec<SourceLine> {
        let inlined = self.debug.as_ref().map_or_else(Vec::new, |debug| debug.inlined(address));
        let outermost = inlined.len().saturating_sub(1);
        // The symbol is the function that was compiled, whatever was inlined into it.
        let compiled = self.functions.at(address);
        let mut lines: Vec<SourceLine> = Vec::new();
        for (place, frame) in inlined.into_iter().enumerate() {
            let function = match (&compiled, &frame.function) {
                (Some(compiled), _) if place == outermost => compiled.clone(),
                (_, FunctionName::Symbol(symbol)) => self.functions.of_symbol(symbol),
                (_, FunctionName::Scoped(name)) => self.functions.of_scoped(name),
            };
            lines.push(SourceLine { function, file: frame.file, line: frame.line });
        }
        if let (true, Some(function)) = (lines.is_empty(), compiled) {
            lines.push(SourceLine { function, ..SourceLine::default() });
        }
        lines
    }

    /// Split debug information that is there and was not read, so far.
    pub(super) fn refused(&self) -> Option<Refused> {
        self.debug.as_ref()?.refused()
    }
}

/// Checks that the file is the one that was mapped.
fn same(object: &Object, id: Option<&[u8]>, path: &Path) -> Result<(), NoSymbols> {
    match &object.identity {
        FileIdentity::BuildId(expected) if id != Some(expected) => Err(NoSymbols::Replaced {
            expected: format!("build id {}", hex(expected)),
            found: id.map_or("none".to_owned(), |id| format!("build id {}", hex(id))),
        }),
        // A file that is kept open is the one that was mapped.
        FileIdentity::Inode(expected) if *expected != 0 && object.file.is_none() => {
            let found = path.metadata().map_or(0, |file| file.ino());
            let replaced =
                || NoSymbols::Replaced { expected: format!("inode {expected}"), found: format!("inode {found}") };
            if found == *expected { Ok(()) } else { Err(replaced()) }
        }
        _ => Ok(()),
    }
}

/// The file itself is gone or another, but a distribution's debug information of it is there.
///
/// `owner`: of what is at the path by now; without it, only our own files and root's are read.
fn debug_alone(id: Option<&[u8]>, path: &Path, owner: Option<u32>) -> Option<(ObjectFile, Option<NoSymbols>)> {
    let owner = owner.unwrap_or_else(|| rustix::process::geteuid().as_raw());
    let (found, owner, bytes) = first_file(by_build_id(id?), path, owner)?;
    let file = object::File::parse(&*bytes).ok()?;
    // Such a file has the addresses of the original, but not its bytes: offsets mean nothing, unless the segments were
    // kept as they were.
    let (segments, functions) = (Segments::of(&file), Functions::of(&file, bytes.len() as u64));
    let bulky = elf::check_debug(&file, bytes.len() as u64).err();
    let debug = bulky.is_none().then(|| DebugInfo::of(&file, bytes.len() as u64, &found, owner)).flatten();
    Some((ObjectFile::of(segments, functions, debug), bulky.map(NoSymbols::Bulky)))
}

/// Separate debug information, with its path and owner: by build ID (including debuginfod's cache), or by the name in
/// `.gnu_debuglink`.
fn debug_file(id: Option<&[u8]>, path: &Path, owner: u32, file: &object::File<'_>) -> Option<(PathBuf, u32, Vec<u8>)> {
    let by_id = id.map(by_build_id).unwrap_or_default();
    let by_name = file.gnu_debuglink().ok().flatten().and_then(|(name, _checksum)| {
        let name = Path::new(std::str::from_utf8(name).ok()?);
        let name = name.file_name()?;
        let directory = path.parent()?;
        let below = directory.strip_prefix("/").unwrap_or(directory);
        Some([
            directory.join(name),
            directory.join(".debug").join(name),
            Path::new("/usr/lib/debug").join(below).join(name),
        ])
    });
    let (found, owner, bytes) = first_file(by_id.into_iter().chain(by_name.into_iter().flatten()), path, owner)?;
    // A name may lead to the debug information of another build.
    let debug = object::File::parse(&*bytes).ok()?;
    let has_names = debug.section_by_name(".symtab").is_some_and(|symbols| symbols.size() > 0);
    let is_same = has_names && debug.build_id().ok().flatten() == id;
    is_same.then_some((found, owner, bytes))
}

/// The first of these files that may be read for a program of this user, with its owner.
fn first_file(paths: impl IntoIterator<Item = PathBuf>, path: &Path, owner: u32) -> Option<(PathBuf, u32, Vec<u8>)> {
    let mut others = paths.into_iter().filter(|found| found != path);
    let (found, file) = others.find_map(|found| open_named(&found, owner).ok().map(|file| (found, file)))?;
    let owner = file.metadata().ok()?.uid();
    Some((found, owner, read_opened(file).ok()?))
}

fn by_build_id(id: &[u8]) -> Vec<PathBuf> {
    let Some((first, rest)) = id.split_first() else { return Vec::new() };
    let mut paths = vec![PathBuf::from(format!("/usr/lib/debug/.build-id/{first:02x}/{}.debug", hex(rest)))];
    if let Some(home) = std::env::var_os("HOME") {
        paths.push(PathBuf::from(home).join(format!(".cache/debuginfod_client/{}/debuginfo", hex(id))));
    }
    paths
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
