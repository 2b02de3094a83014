//! Versions of functions that libc has several of, as the program was linked with them.
//!
//! On i386 a program that is older than some function of today, such as `fopen`, is bound to an old version of it, which takes
//! structures of another shape. What the library looks up by name alone is the newest.

use std::ffi::{CStr, c_int, c_void};
use std::mem::size_of;

// Tags of the dynamic section (ELF specification, figure 2-10; GNU's of versions, Linux Standard Base 10.7).
const DT_PLTRELSZ: usize = 2;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_REL: usize = 17;
const DT_RELSZ: usize = 18;
const DT_JMPREL: usize = 23;
const DT_VERSYM: usize = 0x6fff_fff0;
const DT_VERNEED: usize = 0x6fff_fffe;
const DT_VERNEEDNUM: usize = 0x6fff_ffff;

/// `Elf32_Sym`, of which the name is of interest.
#[repr(C)]
struct Symbol {
    name: u32,
    rest: [u32; 3],
}

/// `Elf32_Verneed`: an object from which versions are needed, and where they and the next object stand.
#[repr(C)]
struct Needed {
    version: u16,
    count: u16,
    file: u32,
    first: u32,
    next: u32,
}

/// `Elf32_Vernaux`: a version, and where the next one stands.
#[repr(C)]
struct NeededVersion {
    hash: u32,
    flags: u16,
    number: u16,
    name: u32,
    next: u32,
}

/// Search for a name in the program, and the version that was found.
struct Search<'a> {
    name: &'a CStr,
    version: Option<&'static CStr>,
}

/// Functions that make streams, or take those that others make: all are of the version of one.
const OF_STREAMS: [&CStr; 6] = [c"fclose", c"fdopen", c"fopen", c"freopen", c"pclose", c"popen"];

/// Version of a function that the program itself was linked with, if it uses it.
pub fn of_program(name: &CStr) -> Option<&'static CStr> {
    let others = OF_STREAMS.iter().filter(|_| OF_STREAMS.contains(&name));
    used_by_program(name).or_else(|| others.into_iter().find_map(|other| used_by_program(other)))
}

fn used_by_program(name: &CStr) -> Option<&'static CStr> {
    let mut search = Search { name, version: None };
    // SAFETY: the search outlives the walk, and is what the function takes it for.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.version
}

/// The first object is the program.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: called by `dl_iterate_phdr` with an object that is mapped, and with the search of the function above.
    unsafe {
        let search: *mut Search = search.cast();
        (*search).version = version_in(&*info, (*search).name);
        1
    }
}

unsafe fn version_in(info: &libc::dl_phdr_info, name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the loader keeps the tables of an object mapped, in the shapes that the ELF specification gives them.
    unsafe {
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let base = info.dlpi_addr as usize;
        let mut found = [0usize; 24];
        let (mut numbers, mut needed, mut needed_count) = (0, 0, 0);
        let mut entry = (base + dynamic.p_vaddr as usize) as *const [usize; 2];
        while (*entry)[0] != 0 {
            let [tag, value] = *entry;
            match tag {
                DT_VERSYM => numbers = value,
                // The loader leaves this one as it is in the file.
                DT_VERNEED => needed = base + value,
                DT_VERNEEDNUM => needed_count = value,
                _ => {
                    if let Some(place) = found.get_mut(tag) {
                        *place = value;
                    }
                }
            }
            entry = entry.add(1);
        }
        if numbers == 0 || needed == 0 {
            return None;
        }
        let text = |at: u32| CStr::from_ptr((found[DT_STRTAB] as *const libc::c_char).add(at as usize));
        for (table, bytes) in [(found[DT_JMPREL], found[DT_PLTRELSZ]), (found[DT_REL], found[DT_RELSZ])] {
            let relocations = table as *const [u32; 2];
            for at in 0..bytes / size_of::<[u32; 2]>() {
                let symbol = ((*relocations.add(at))[1] >> 8) as usize;
                if symbol == 0 || text((*(found[DT_SYMTAB] as *const Symbol).add(symbol)).name) != name {
                    continue;
                }
                // The highest bit says that the version is hidden.
                let number = *(numbers as *const u16).add(symbol) & 0x7fff;
                return version_numbered(needed as *const Needed, needed_count, number).map(text);
            }
        }
        None
    }
}

/// Offset of the name of a needed version.
unsafe fn version_numbered(mut needed: *const Needed, count: usize, number: u16) -> Option<u32> {
    // SAFETY: the caller passes the list of an object, which the loader keeps mapped.
    unsafe {
        for _ in 0..count {
            let mut version: *const NeededVersion = needed.byte_add((*needed).first as usize).cast();
            for _ in 0..(*needed).count {
                if (*version).number & 0x7fff == number {
                    return Some((*version).name);
                }
                version = version.byte_add((*version).next as usize);
            }
            needed = needed.byte_add((*needed).next as usize);
        }
        None
    }
}
