//! Inlined calls from debug information: of the file itself, and split from it (`.dwo` and `.dwp`; DWARF 5, 7.3).
//!
//! A file names its split debug information by paths of its own choice, so these are opened as [`open_named`] has
//! it, and all of them together stay within a budget.
#![deny(clippy::indexing_slicing)]

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{AbbreviationsCacheStrategy, Dwarf, DwarfPackage, RunTimeEndian, SectionId};
use gimli::{EndianRcSlice, Reader as _, Section as _};
use object::Object as _;

use super::mangling::is_mangled;
use super::scope::{ScopedName, Scopes, has_scopes};
use crate::elf;
use crate::open::open_named;

/// Deeper, calls that were inlined into each other are cut.
const INLINED_MOST: usize = 256;
/// All split debug information of one file takes at most this.
const SPLIT_BYTES_MOST: u64 = 1 << 30;

type Slice = EndianRcSlice<RunTimeEndian>;

/// Debug information of one file.
pub(super) struct DebugInfo {
    context: Context<Slice>,
    sections: Arc<Dwarf<Slice>>,
    scopes: Scopes,
    /// Path beside which a package (`.dwp`) is looked for.
    path: PathBuf,
    /// Owner of the file.
    owner: u32,
    package: OnceCell<Option<DwarfPackage<Slice>>>,
    split_bytes_left: Cell<u64>,
    refused: RefCell<Option<Refused>>,
}

/// A function that was inlined, or into which others were, with a line in it.
pub(super) struct InlinedFrame {
    pub(super) function: FunctionName,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
}

/// What debug information states of the name of a function.
pub(super) enum FunctionName {
    Symbol(String),
    Scoped(Rc<ScopedName>),
}

/// The first file with split debug information that is there and was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) path: PathBuf,
    pub(super) why: String,
}

impl DebugInfo {
    /// `bytes`: length of the file; `owner`: its user.
    pub(super) fn of(file: &object::File<'_>, bytes: u64, path: &Path, owner: u32) -> Option<DebugInfo> {
        let mut dwarf = Dwarf::load(|id| section(file, Some(id.name()), id, bytes)).ok()?;
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        #[expect(clippy::arc_with_non_send_sync, reason = "addr2line takes an `Arc`, which stays in this thread")]
        let sections = Arc::new(dwarf);
        Some(DebugInfo {
            context: Context::from_arc_dwarf(Arc::clone(&sections)).ok()?,
            sections,
            scopes: Scopes::default(),
            path: path.to_owned(),
            owner,
            package: OnceCell::new(),
            split_bytes_left: Cell::new(SPLIT_BYTES_MOST),
            refused: RefCell::new(None),
        })
    }

    /// Strings, among them the symbols of functions. Those of split debug information are not among them.
    pub(super) fn strings(&self) -> Slice {
        self.sections.debug_str.reader().clone()
    }

    /// Functions at an address, innermost first; none if the debug information is silent on one.
    pub(super) fn inlined(&self, address: u64) -> Vec<InlinedFrame> {
        let mut inlined = Vec::new();
        let Ok(mut frames) = self.resolve(self.context.find_frames(address)) else { return inlined };
        let mut unit = None;
        while inlined.len() < INLINED_MOST
            && let Ok(Some(frame)) = frames.next()
        {
            let Some(function) = frame.function else { return Vec::new() };
            let Ok(name) = function.raw_name() else { return Vec::new() };
            let scoped = frame.dw_die_offset.filter(|_| function.language.is_none_or(has_scopes) && !is_mangled(&name));
            let scoped = scoped.and_then(|entry| {
                let unit = *unit.get_or_insert_with(|| self.resolve(self.context.find_dwarf_and_unit(address)));
                self.scopes.name(unit?, entry)
            });
            let location = frame.location;
            inlined.push(InlinedFrame {
                function: scoped.map_or_else(|| FunctionName::Symbol(name.into_owned()), FunctionName::Scoped),
                file: location.as_ref().and_then(|location| location.file).map(str::to_owned),
                line: location.and_then(|location| location.line),
            });
        }
        inlined
    }

    /// The result of a search, for which split debug information is read as it is needed.
    fn resolve<L: LookupContinuation<Buf = Slice>>(&self, mut lookup: LookupResult<L>) -> L::Output {
        loop {
            match lookup {
                LookupResult::Output(output) => return output,
                LookupResult::Load { load, continuation } => lookup = continuation.resume(self.split(&load)),
            }
        }
    }

    /// Split debug information that is there and was not read.
    pub(super) fn refused(&self) -> Option<Refused> {
        self.refused.borrow().clone()
    }

    /// Split debug information of one unit.
    fn split(&self, load: &SplitDwarfLoad<Slice>) -> Option<Arc<Dwarf<Slice>>> {
        let package = self.package.get_or_init(|| self.open_package());
        let dwarf = match package.as_ref().and_then(|package| package.find_cu(load.dwo_id, &load.parent).ok().flatten())
        {
            Some(dwarf) => dwarf,
            None => self.open_unit(load)?,
        };
        #[expect(clippy::arc_with_non_send_sync, reason = "addr2line takes an `Arc`, which stays in this thread")]
        Some(Arc::new(dwarf))
    }

    fn open_package(&self) -> Option<DwarfPackage<Slice>> {
        let mut path = self.path.clone().into_os_string();
        path.push(".dwp");
        let bytes = self.read(Path::new(&path))?;
        let file = object::File::parse(&*bytes).ok()?;
        let empty = Slice::new(Rc::from([]), endian(&file));
        DwarfPackage::load(|id| section(&file, id.dwo_name(), id, bytes.len() as u64), empty).ok()
    }

    fn open_unit(&self, load: &SplitDwarfLoad<Slice>) -> Option<Dwarf<Slice>> {
        let mut path = PathBuf::new();
        for part in [&load.comp_dir, &Some(load.path.clone()?)].into_iter().flatten() {
            path.push(OsStr::from_bytes(&part.to_slice().ok()?));
        }
        let bytes = self.read(&path)?;
        let file = object::File::parse(&*bytes).ok()?;
        let mut dwarf = Dwarf::load(|id| section(&file, id.dwo_name(), id, bytes.len() as u64)).ok()?;
        let header = dwarf.units().next().ok()??;
        if dwarf.unit(header).ok()?.dwo_id != Some(load.dwo_id) {
            return None;
        }
        dwarf.make_dwo(&load.parent);
        Some(dwarf)
    }

    /// The bytes of a file with split debug information, if it may be read and is not too much.
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let left = self.split_bytes_left.get();
        let read = open_named(path, self.owner).and_then(|file| {
            let found = file.metadata()?.len();
            elf::within("split debug information", left, found).map_err(io::Error::other)?;
            let bytes = elf::read_opened(file)?;
            let parsed = object::File::parse(&*bytes).map_err(io::Error::other)?;
            elf::check_debug(&parsed, bytes.len() as u64).map_err(io::Error::other)?;
            Ok(bytes)
        });
        match read {
            Ok(bytes) => {
                self.split_bytes_left.set(left.saturating_sub(bytes.len() as u64));
                Some(bytes)
            }
            Err(error) => {
                // A program without the objects of its build is common and no news.
                if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
                    let refused = Refused { path: path.to_owned(), why: error.to_string() };
                    self.refused.borrow_mut().get_or_insert(refused);
                }
                None
            }
        }
    }
}

fn endian(file: &object::File<'_>) -> RunTimeEndian {
    if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
}

/// A section by its name; an empty one where it is missing, too long or not needed to find functions.
fn section(file: &object::File<'_>, name: Option<&str>, id: SectionId, bytes: u64) -> Result<Slice, gimli::Error> {
    let is_needed = !matches!(
        id,
        SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
            | SectionId::DebugTypes
    );
    let data = name.filter(|_| is_needed).and_then(|name| elf::section(file, name, bytes));
    Ok(Slice::new(Rc::from(data.unwrap_or_default()), endian(file)))
}
