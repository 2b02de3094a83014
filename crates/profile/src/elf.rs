//! What is read of ELF files: where their bytes lie in memory, what they are called, and their functions.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

use crate::space::{Object, ObjectKind};

/// Larger files are not read: no program is that large, and a profile must not fill the memory.
const MOST_BYTES: u64 = 4 << 30;

/// Where parts of the file lie in memory, as the file states it.
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
    /// As the linker knows it.
    pub(crate) name: String,
}

/// Functions by their start, without overlaps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Functions(Vec<Function>);

impl Functions {
    /// Of the symbol table, or of the dynamic one where the file is stripped.
    pub(crate) fn of(file: &object::File<'_>) -> Functions {
        let mut functions: Vec<Function> = file.symbols().filter_map(|symbol| function(file, &symbol)).collect();
        functions.extend(file.dynamic_symbols().filter_map(|symbol| function(file, &symbol)));
        Functions::sorted(functions)
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
        for at in 0..functions.len() {
            let next = functions.get(at + 1).map_or(u64::MAX, |next| next.start);
            let function = &mut functions[at];
            function.end = if function.end > function.start { function.end.min(next) } else { next };
        }
        Functions(functions)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn at(&self, address: u64) -> Option<&Function> {
        let after = self.0.partition_point(|function| function.start <= address);
        self.0[..after].last().filter(|function| address < function.end)
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
    let name = symbol.name().ok().filter(|name| !name.is_empty() && !name.starts_with(['.', '$']))?;
    let start = symbol.address();
    (is_code && symbol.is_definition()).then(|| Function {
        start,
        end: start.saturating_add(symbol.size()),
        name: name.to_owned(),
    })
}

/// Where the bytes of an object are to be read; `None` for what is no file.
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
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    // Not even opened unless it is a file: opening a device or a pipe may do something or wait.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("expected a file"));
    }
    let file = File::open(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len().min(MOST_BYTES)).unwrap_or(0));
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
