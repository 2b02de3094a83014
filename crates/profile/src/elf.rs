//! Reader of ELF files: memory layout, build IDs, names and functions.
#![deny(clippy::indexing_slicing)]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use object::{CompressionFormat, Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

use crate::open::{NotOpened, open_regular};
use crate::space::{Object, ObjectKind};

/// Larger files are not read: a profile must not fill the memory.
const MOST_BYTES: u64 = 1 << 30;
/// A file may be this many times as long as what it takes on its disk, which some file systems compress; longer ones are
/// holes.
const HOLES_MOST: u64 = 16;
/// Short files lie in their directory on some file systems, and take nothing.
const HOLE_BYTES_LEAST: u64 = 16 << 20;
/// Compressed sections may become this many times as long as their file. Debug information compresses to a fifth or a tenth.
const EXPANSION_MOST: u64 = 16;
/// And so long in any case.
const EXPANDED_BYTES_MOST: u64 = 1 << 30;
/// Each byte of the line table may become a row of 24 bytes, so this may take 768 MiB.
const LINE_BYTES_MOST: u64 = 32 << 20;
/// The longest name of a function that is taken.
const NAME_BYTES_MOST: usize = 64 << 10;
/// All names of a file may be this many times as long as it: symbols share their ends.
const NAMES_MOST: u64 = 4;

/// Part of a file that exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected at most {most} bytes of {what}, found {found}")]
pub struct Bulky {
    /// The file, or a part of it.
    pub what: &'static str,
    /// Limit on the bytes that are read.
    pub most: u64,
    /// Size of the file in bytes.
    pub found: u64,
}

pub(crate) fn within(what: &'static str, most: u64, found: u64) -> Result<(), Bulky> {
    if found <= most { Ok(()) } else { Err(Bulky { what, most, found }) }
}

/// Looks how much memory the debug information of a file would take, by what its sections state.
///
/// `bytes`: the length of the file.
///
/// # Errors
/// What is too much.
pub(crate) fn check_debug(file: &object::File<'_>, bytes: u64) -> Result<(), Bulky> {
    let mut expanded = 0_u64;
    for section in file.sections() {
        let Ok(range) = section.compressed_file_range() else { continue };
        let is_compressed = range.format != CompressionFormat::None;
        if is_compressed {
            expanded = expanded.saturating_add(range.uncompressed_size);
        }
        let size = if is_compressed { range.uncompressed_size } else { section.size() };
        if matches!(section.name(), Ok(".debug_line" | ".zdebug_line")) {
            within("line table", LINE_BYTES_MOST, size)?;
        }
    }
    within("uncompressed debug information", expanded_most(bytes), expanded)
}

fn expanded_most(bytes: u64) -> u64 {
    bytes.saturating_mul(EXPANSION_MOST).min(EXPANDED_BYTES_MOST)
}

/// The bytes of a section, if it is there and does not become too long.
pub(crate) fn section(file: &object::File<'_>, name: &str, bytes: u64) -> Option<Vec<u8>> {
    let section = file.section_by_name(name)?;
    let range = section.compressed_file_range().ok()?;
    within("section", expanded_most(bytes).max(bytes), range.uncompressed_size).ok()?;
    let section = section.compressed_data().ok()?;
    let bytes = usize::try_from(section.uncompressed_size).ok()?;
    let unpacked = match section.format {
        CompressionFormat::None => section.data.to_vec(),
        CompressionFormat::Zlib => {
            let mut unpacked = Vec::new();
            ZlibDecoder::new(section.data).take(section.uncompressed_size).read_to_end(&mut unpacked).ok()?;
            unpacked
        }
        CompressionFormat::Zstandard => zstd::bulk::decompress(section.data, bytes).ok()?,
        _ => return None,
    };
    (unpacked.len() == bytes).then_some(unpacked)
}

/// Addresses of parts of the file in memory, as stated in the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Segments(Vec<(u64, u64, u64)>);

impl Segments {
    pub(crate) fn of(file: &object::File<'_>) -> Segments {
        let segments = file.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            (offset, length, segment.address())
        });
        Segments(segments.collect())
    }

    /// The stated address of the page from which on the file is loaded.
    pub(crate) fn base(&self) -> Option<u64> {
        const PAGE: u64 = 4096;
        self.0.iter().map(|&(_, _, address)| address / PAGE * PAGE).min()
    }

    /// The stated address of a byte of the file. Mappings begin at whole pages, which may be before their segment.
    pub(crate) fn address(&self, offset: u64) -> Option<u64> {
        const PAGE: u64 = 4096;
        let within = |&&(start, length, _): &&(u64, u64, u64)| offset >= start && offset - start < length;
        let just_before = |&&(start, _, _): &&(u64, u64, u64)| offset < start && start - offset < PAGE;
        let (start, _, address) = self.0.iter().find(within).or_else(|| self.0.iter().find(just_before))?;
        Some(address.wrapping_add(offset).wrapping_sub(*start))
    }
}

/// A function of a symbol table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Name of the function as the linker knows it.
    pub(crate) name: String,
}

/// Functions by their start, without overlaps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Functions(Vec<Function>);

impl Functions {
    /// Functions of the symbol table, or of the dynamic one if the file is stripped.
    ///
    /// `bytes`: the length of the file. A table whose symbols share long names is read as far as they fit.
    pub(crate) fn of(file: &object::File<'_>, bytes: u64) -> Functions {
        let mut name_bytes = 0;
        let symbols = file.symbols().chain(file.dynamic_symbols()).filter_map(|symbol| function(file, &symbol));
        let functions = symbols.take_while(|function| {
            name_bytes += function.name.len() as u64;
            name_bytes <= bytes.saturating_mul(NAMES_MOST)
        });
        Functions::sorted(functions.collect())
    }

    /// Sorts them; one without a length reaches to the next.
    pub(crate) fn sorted(mut functions: Vec<Function>) -> Functions {
        // Of several names of one place the longest function wins, then the name with the fewest underscores in front:
        // `memcpy` before `__memcpy`.
        let underscores = |name: &str| name.len() - name.trim_start_matches('_').len();
        functions.sort_by(|a, b| {
            let key = |f: &Function| (f.start, std::cmp::Reverse(f.end), underscores(&f.name));
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        functions.dedup_by_key(|function| function.start);
        let mut next = u64::MAX;
        for function in functions.iter_mut().rev() {
            function.end = if function.end > function.start { function.end.min(next) } else { next };
            next = function.start;
        }
        Functions(functions)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The functions, by their start.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Function> {
        self.0.iter()
    }

    pub(crate) fn at(&self, address: u64) -> Option<&Function> {
        let after = self.0.partition_point(|function| function.start <= address);
        self.0.get(after.checked_sub(1)?).filter(|function| address < function.end)
    }
}

fn function(file: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> Option<Function> {
    let is_code = match symbol.kind() {
        SymbolKind::Text => true,
        // Assembly often states no type; labels inside of functions begin with a dot or a dollar sign.
        SymbolKind::Unknown | SymbolKind::Label => symbol
            .section_index()
            .and_then(|section| file.section_by_index(section).ok())
            .is_some_and(|section| object::ObjectSection::kind(&section) == object::SectionKind::Text),
        _ => false,
    };
    let name = symbol
        .name()
        .ok()
        .filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MOST && !name.starts_with(['.', '$']))?;
    let start = symbol.address();
    (is_code && symbol.is_definition()).then(|| Function {
        start,
        end: start.saturating_add(symbol.size()),
        name: name.to_owned(),
    })
}

/// Path from which the bytes of an object can be read; `None` if it is not a file.
pub(crate) fn path(object: &Object) -> Option<PathBuf> {
    match (&object.file, &object.kind) {
        (Some(file), _) => Some(PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))),
        (None, ObjectKind::File(path)) => Some(path.clone()),
        _ => None,
    }
}

/// The bytes of an object's file.
pub(crate) fn read(object: &Object) -> io::Result<Vec<u8>> {
    read_file(&path(object).ok_or(io::ErrorKind::NotFound)?)
}

/// The bytes of a regular file.
///
/// # Errors
/// The system's; [`Bulky`] as a cause for a file that is too long or mostly a hole.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    read_opened(open_regular(path)?)
}

/// Reads an open file, as [`read_file`] does.
pub(crate) fn read_opened(file: File) -> io::Result<Vec<u8>> {
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(io::Error::other(NotOpened::Kind));
    }
    // Blocks of 512 bytes, whatever the file system's own are (stat(2)).
    let on_disk = facts.blocks().saturating_mul(512);
    within("file", MOST_BYTES, facts.len()).map_err(io::Error::other)?;
    let most = on_disk.saturating_mul(HOLES_MOST).max(HOLE_BYTES_LEAST);
    within("file for what it takes on its disk", most, facts.len()).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(usize::try_from(facts.len()).unwrap_or(0));
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(start: u64, end: u64, name: &str) -> Function {
        Function { start, end, name: name.to_owned() }
    }

    #[test]
    fn a_file_that_is_a_hole_is_not_read() {
        let file = tempfile::NamedTempFile::new().expect("the temporary directory is writable");
        file.as_file().set_len(900 << 20).expect("a hole takes nothing");
        let error = read_file(file.path()).expect_err("it is a hole").to_string();
        assert!(error.starts_with("expected at most 16777216 bytes of file for what it takes on its disk"), "{error}");
        file.as_file().set_len(3 << 30).expect("a hole takes nothing");
        let error = read_file(file.path()).expect_err("it is too long").to_string();
        assert_eq!(error, "expected at most 1073741824 bytes of file, found 3221225472");
    }

    /// A file with one section that is compressed by zlib and states its length, which is never reached.
    fn compressed(name: &str, uncompressed: u64) -> Vec<u8> {
        let names = format!("\0.names\0{name}\0");
        let data: Vec<u8> = [1_u64.to_le_bytes(), uncompressed.to_le_bytes(), 1_u64.to_le_bytes()].concat();
        let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        let table = 64 + names.len() as u64 + data.len() as u64;
        file.extend([2, 0, 62, 0, 1, 0, 0, 0]);
        file.extend([0, 0, table].map(u64::to_le_bytes).concat());
        file.extend(0_u32.to_le_bytes());
        file.extend([64_u16, 56, 0, 64, 3, 1].map(u16::to_le_bytes).concat());
        file.extend(names.as_bytes());
        file.extend(&data);
        // Name, type, flags, address, offset, size, link, info, alignment, size of an entry (elf(5)).
        let mut section = |name: u32, kind: u32, flags: u64, offset: u64, size: u64| {
            file.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
            file.extend([flags, 0, offset, size, 0, 1, 0].map(u64::to_le_bytes).concat());
        };
        section(0, 0, 0, 0, 0);
        section(1, 3, 0, 64, names.len() as u64);
        section(8, 1, 0x800, 64 + names.len() as u64, data.len() as u64);
        file
    }

    #[test]
    fn debug_information_that_would_fill_the_memory_is_left_out() {
        let (kilo, giga) = (1 << 10, 1 << 30);
        for (name, states, bytes, found) in [
            (".debug_info", 3 * giga, 3 << 20, Some(("uncompressed debug information", 48 << 20))),
            (".debug_info", 3 * giga, 900 << 20, Some(("uncompressed debug information", giga))),
            (".debug_line", 200 << 20, 100 << 20, Some(("line table", 32 << 20))),
            (".debug_info", 10 << 20, kilo << 10, None),
        ] {
            let file = compressed(name, states);
            let file = object::File::parse(&*file).expect("it is an ELF file");
            let expected = found.map(|(what, most)| Bulky { what, most, found: states });
            assert_eq!(check_debug(&file, bytes).err(), expected, "{name}");
        }
        let file = compressed(".eh_frame", 3 * giga);
        let parsed = object::File::parse(&*file).expect("it is an ELF file");
        assert_eq!(section(&parsed, ".eh_frame", file.len() as u64), None);
    }

    #[test]
    fn a_function_ends_where_it_says_and_before_the_next() {
        let functions = Functions::sorted(vec![
            function(0x30, 0x30, "asm"),
            function(0x10, 0x18, "short"),
            function(0x20, 0x90, "long"),
            function(0x40, 0x48, "last"),
        ]);
        let name = |address| functions.at(address).map(|function| function.name.as_str());
        assert_eq!([name(0x0f), name(0x10), name(0x17), name(0x18)], [None, Some("short"), Some("short"), None]);
        assert_eq!([name(0x2f), name(0x3f), name(0x47), name(0x48)], [Some("long"), Some("asm"), Some("last"), None]);
    }

    #[test]
    fn of_several_names_the_plainest_is_shown() {
        let functions =
            Functions::sorted(vec![function(1, 9, "__memcpy"), function(1, 9, "memcpy"), function(1, 1, "a_label")]);
        assert_eq!(functions.at(5).map(|function| function.name.as_str()), Some("memcpy"));
    }

    #[test]
    fn bytes_of_a_file_lie_where_its_segment_says() {
        let segments = Segments(vec![(0, 0x100, 0x40_0000), (0x1010, 0x200, 0x50_1010)]);
        assert_eq!(segments.address(0x20), Some(0x40_0020));
        assert_eq!(segments.address(0x1000), Some(0x50_1000));
        assert_eq!(segments.address(0x1020), Some(0x50_1020));
        assert_eq!(segments.address(0x9000), None);
    }
}
