//! Names from an ELF file and its debug information, if both belong to what ran.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::{Object as _, ObjectSection as _};

use super::NoSymbols;
use super::demangle::demangle;
use crate::elf::{self, Functions, Segments, read_file};
use crate::space::{FileIdentity, Object};

/// Deeper, calls that were inlined into each other are cut.
const INLINED_MOST: usize = 256;

/// Symbols and lines of one file.
pub(super) struct ObjectFile {
    segments: Segments,
    functions: Functions,
    /// Debug information, for lines and inlined calls.
    debug: Option<Loader>,
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
        let bytes = match read_file(&path) {
            Ok(bytes) => bytes,
            Err(error) => return debug_alone(expected, &path).ok_or_else(|| unreadable(&error)),
        };
        let file = object::File::parse(&*bytes).map_err(|error| unreadable(&error))?;
        let id = file.build_id().ok().flatten();
        if let Err(replaced) = same(object, id, &path) {
            return debug_alone(expected, &path).ok_or(replaced);
        }
        let mut functions = Functions::of(&file, bytes.len() as u64);
        let mut stripped = file.symbols().next().is_none();
        let mut debug_path = file.section_by_name(".debug_info").map(|_| path.clone());
        let mut bulky = elf::check_debug(&file, bytes.len() as u64).err();
        if debug_path.is_none()
            && let Some(found) = debug_file(id, &path, &file)
            && let Ok(bytes) = read_file(&found)
            && let Ok(file) = object::File::parse(&*bytes)
        {
            functions = Functions::of(&file, bytes.len() as u64);
            stripped = false;
            debug_path = Some(found);
            bulky = elf::check_debug(&file, bytes.len() as u64).err();
        }
        let debug = debug_path.filter(|_| bulky.is_none()).and_then(|path| Loader::new(path).ok());
        let file = ObjectFile { segments: Segments::of(&file), functions, debug };
        Ok((file, bulky.map(NoSymbols::Bulky).or(stripped.then_some(NoSymbols::Stripped))))
    }

    /// The functions at an offset of the file, innermost first.
    pub(super) fn names(&self, offset: u64) -> Vec<String> {
        let Some(address) = self.segments.address(offset) else { return Vec::new() };
        let mut names = self.debug.as_ref().map_or_else(Vec::new, |debug| inlined(debug, address));
        if let Some(function) = self.functions.at(address) {
            // The symbol is the function that was compiled, whatever was inlined into it.
            names.pop();
            names.push(demangle(&function.name));
        }
        names
    }
}

/// Functions at an address as the debug information has them, innermost first; none if it is silent on one.
fn inlined(debug: &Loader, address: u64) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(mut frames) = debug.find_frames(address) else { return names };
    while names.len() < INLINED_MOST
        && let Ok(Some(frame)) = frames.next()
    {
        let Some(function) = frame.function else { return Vec::new() };
        match function.raw_name() {
            Ok(name) => names.push(demangle(&name)),
            Err(_) => return Vec::new(),
        }
    }
    names
}

/// Checks that the file is the one that was mapped.
fn same(object: &Object, id: Option<&[u8]>, path: &Path) -> Result<(), NoSymbols> {
    match &object.identity {
        FileIdentity::BuildId(expected) if id != Some(expected) => Err(NoSymbols::Replaced {
            expected: format!("build id {}", hex(expected)),
            found: id.map_or("none".to_owned(), |id| format!("build id {}", hex(id))),
        }),
        // A file that is held open is the one that was mapped.
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
fn debug_alone(id: Option<&[u8]>, path: &Path) -> Option<(ObjectFile, Option<NoSymbols>)> {
    let found = by_build_id(id?).into_iter().find(|found| found != path && found.is_file())?;
    let bytes = read_file(&found).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    // Such a file has the addresses of the original, but not its bytes: offsets mean nothing, unless the segments were
    // kept as they were.
    let (segments, functions) = (Segments::of(&file), Functions::of(&file, bytes.len() as u64));
    let bulky = elf::check_debug(&file, bytes.len() as u64).err();
    let debug = if bulky.is_none() { Loader::new(&found).ok() } else { None };
    Some((ObjectFile { segments, functions, debug }, bulky.map(NoSymbols::Bulky)))
}

/// Path of separate debug information: by build ID (including debuginfod's cache), or by the name in `.gnu_debuglink`.
fn debug_file(id: Option<&[u8]>, path: &Path, file: &object::File<'_>) -> Option<PathBuf> {
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
    let found =
        by_id.into_iter().chain(by_name.into_iter().flatten()).find(|found| found != path && found.is_file())?;
    // A name may lead to the debug information of another build.
    let bytes = read_file(&found).ok()?;
    let debug = object::File::parse(&*bytes).ok()?;
    let has_names = debug.section_by_name(".symtab").is_some_and(|symbols| symbols.size() > 0);
    (has_names && debug.build_id().ok().flatten() == id).then_some(found)
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
