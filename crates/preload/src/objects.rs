//! The objects of the process: which of them make calls that are not the server's, and whether any
//! of them calls the kernel behind libc's back.

use super::report::Text;
use super::state::{self, control};
use super::thread::{PassThrough, RECORDING};
use super::{notes, processor, raw_calls, search};
use prony_channel::{EXCLUDED_BYTES, ScanState};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering;

// Tags of the dynamic section (ELF specification, figure 2-10).
const DT_PLTRELSZ: usize = 2;
/// Tag of the dynamic section for the names.
pub const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_JMPREL: usize = 23;

#[cfg(target_pointer_width = "64")]
mod shape {
    //! Relocations are `Elf64_Rela`: place, kind and symbol, addend.
    pub const DT_RELOCATIONS: usize = 7;
    pub const DT_RELOCATIONS_BYTES: usize = 8;
    pub const RELOCATION_WORDS: usize = 3;
    pub const SYMBOL_SHIFT: u32 = 32;
    pub const KIND: usize = 0xffff_ffff;
    pub const SYMBOL_BYTES: usize = 24;
}

#[cfg(target_pointer_width = "32")]
mod shape {
    //! Relocations are `Elf32_Rel`, whose addend is what stands at the place.
    pub const DT_RELOCATIONS: usize = 17;
    pub const DT_RELOCATIONS_BYTES: usize = 18;
    pub const RELOCATION_WORDS: usize = 2;
    pub const SYMBOL_SHIFT: u32 = 8;
    pub const KIND: usize = 0xff;
    pub const SYMBOL_BYTES: usize = 16;
}

// Relocations that hold the address of a function (psABI of i386, x86-64 and aarch64). The first two have the same numbers.
const IS_X86: bool = cfg!(any(target_arch = "x86_64", target_arch = "x86"));
const RELOCATION_ABSOLUTE: usize = if IS_X86 { 1 } else { 257 };
const RELOCATION_DATA: usize = if IS_X86 { 6 } else { 1025 };
const RELOCATION_CALL: usize = if IS_X86 { 7 } else { 1026 };

/// Lets the excluded objects (allocators that read the clock from a thread of their own) call the
/// real functions: their tables are rewritten once, so no hook has to ask who calls.
pub fn exclude() {
    // SAFETY: the copy of the names outlives the walk, and is what the function takes it for.
    unsafe {
        let mut excluded = control().excluded.read();
        libc::dl_iterate_phdr(Some(exclude_object), (&raw mut excluded).cast());
    }
}

unsafe extern "C" fn exclude_object(info: *mut libc::dl_phdr_info, _size: usize, excluded: *mut c_void) -> c_int {
    // SAFETY: called by `dl_iterate_phdr` with an object that is mapped, and with the names that `exclude` hands over.
    unsafe {
        let excluded: &[u8; EXCLUDED_BYTES] = &*excluded.cast();
        let path = CStr::from_ptr((*info).dlpi_name).to_bytes();
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let mut names = excluded.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        if !name.is_empty() && names.any(|excluded| name.starts_with(excluded)) {
            rewrite_calls(&*info, &|_| null_mut());
        }
        0
    }
}

/// Base of this library.
pub fn own_base() -> usize {
    // SAFETY: all zero is a valid answer, and the address is one of this library.
    unsafe {
        let mut own: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(own_base as *const c_void, &mut own);
        own.dli_fbase as usize
    }
}

/// The dynamic section of an object, which ends with an entry whose tag is 0; null if it has none.
///
/// # Safety
/// The object is mapped.
pub unsafe fn dynamic_of(info: &libc::dl_phdr_info) -> *const [usize; 2] {
    // SAFETY: the loader keeps the list of segments of an object mapped.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC);
    dynamic.map_or(null(), |dynamic| (info.dlpi_addr as usize + dynamic.p_vaddr as usize) as *const [usize; 2])
}

/// Values of the dynamic section of an object, by their tags; 0 where there is none.
///
/// # Safety
/// As for [`dynamic_of`].
pub unsafe fn tables_of(info: &libc::dl_phdr_info) -> [usize; 24] {
    let mut found = [0; 24];
    // SAFETY: as for this function; the section ends with an entry whose tag is 0.
    unsafe {
        let mut entry = dynamic_of(info);
        while !entry.is_null() && (*entry)[0] != 0 {
            if let Some(place) = found.get_mut((*entry)[0]) {
                *place = (*entry)[1];
            }
            entry = entry.add(1);
        }
    }
    found
}

/// Lets an object call the real functions instead of this library's, and `replacement` of a name where that is not null.
///
/// # Safety
/// The object is mapped, and the replacements have the types of what they replace.
pub unsafe fn rewrite_calls(info: &libc::dl_phdr_info, replacement: &dyn Fn(&CStr) -> *mut c_void) {
    // SAFETY: the loader keeps its lists of segments, dynamic entries, relocations, symbols and strings of an object
    // mapped, in the shapes that the ELF specification gives them.
    unsafe {
        let (base, own) = (info.dlpi_addr as usize, own_base());
        let found = tables_of(info);
        for (table, bytes) in [(shape::DT_RELOCATIONS, shape::DT_RELOCATIONS_BYTES), (DT_JMPREL, DT_PLTRELSZ)] {
            let relocations = found[table] as *const [usize; shape::RELOCATION_WORDS];
            for at in 0..found[bytes] / size_of::<[usize; shape::RELOCATION_WORDS]>() {
                let [place, what, ..] = *relocations.add(at);
                if ![RELOCATION_ABSOLUTE, RELOCATION_DATA, RELOCATION_CALL].contains(&(what & shape::KIND)) {
                    continue;
                }
                // The name of a symbol is its first four bytes.
                let symbol = (found[DT_SYMTAB] as *const u8).add((what >> shape::SYMBOL_SHIFT) * shape::SYMBOL_BYTES);
                let name = (found[DT_STRTAB] as *const libc::c_char).add(symbol.cast::<u32>().read() as usize);
                let mut real = replacement(CStr::from_ptr(name));
                if real.is_null() {
                    let bound = libc::dlsym(libc::RTLD_DEFAULT, name);
                    let mut holder: libc::Dl_info = std::mem::zeroed();
                    if bound.is_null() || libc::dladdr(bound, &mut holder) == 0 || holder.dli_fbase as usize != own {
                        continue;
                    }
                    real = libc::dlsym(libc::RTLD_NEXT, name);
                }
                if !real.is_null() {
                    store((base + place) as *mut *mut c_void, real);
                }
            }
        }
    }
}

/// Writes a slot of a table that the loader may have made read-only.
unsafe fn store(slot: *mut *mut c_void, value: *mut c_void) {
    // SAFETY: the caller passes a slot of a table of an object that is mapped; only whole pages of it change their
    // protection, and get it back.
    unsafe {
        let page = (slot as usize & !4095) as *mut c_void;
        let protection = protection_of(slot as usize);
        libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_WRITE);
        *slot = value;
        libc::mprotect(page, 4096, protection);
    }
}

/// Tables the loader protects after relocation lie in the range its `PT_GNU_RELRO` names.
fn protection_of(address: usize) -> c_int {
    struct Search {
        address: usize,
        protection: c_int,
    }
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        // SAFETY: called by `dl_iterate_phdr` with an object that is mapped, and with the search of the function
        // around.
        unsafe {
            let search: *mut Search = search.cast();
            for header in std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize) {
                let start = (*info).dlpi_addr as usize + header.p_vaddr as usize;
                let end = (start + header.p_memsz as usize) & !4095;
                if header.p_type == libc::PT_GNU_RELRO && (start & !4095..end).contains(&(*search).address) {
                    (*search).protection = libc::PROT_READ;
                }
            }
            0
        }
    }
    let mut search = Search { address, protection: libc::PROT_READ | libc::PROT_WRITE };
    // SAFETY: the search outlives the walk, and is what the function takes it for.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.protection
}

/// Functions that programs export themselves now and then, to stand in front of libc's.
const OFTEN_EXPORTED: [&CStr; 24] = [
    c"accept",
    c"clock_gettime",
    c"close",
    c"connect",
    c"epoll_wait",
    c"fcntl",
    c"fork",
    c"getpid",
    c"getrandom",
    c"gettimeofday",
    c"nanosleep",
    c"open",
    c"poll",
    c"pthread_create",
    c"pthread_mutex_lock",
    c"read",
    c"recv",
    c"recvfrom",
    c"select",
    c"send",
    c"sendto",
    c"sigaction",
    c"time",
    c"write",
];

/// Names an object whose functions stand in front of ours: what it does not pass on to libc is not seen.
pub fn name_interposer() {
    // SAFETY: names are C strings, `dlopen` has the type that is given here, and what `dladdr` fills in for an address
    // that it knows are C strings of an object that stays loaded.
    unsafe {
        if state::mode() != RECORDING {
            return;
        }
        let mut own: libc::Dl_info = std::mem::zeroed();
        let mut found: Option<(&CStr, libc::Dl_info)> = None;
        let mut more = 0;
        {
            let _pass_through = PassThrough::enter();
            libc::dladdr(name_interposer as *const c_void, &mut own);
            // As the program looks them up: for this library, which is bound to itself, its own come first.
            type Open = unsafe extern "C" fn(*const libc::c_char, c_int) -> *mut c_void;
            let open = libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr());
            if open.is_null() {
                return;
            }
            let open = std::mem::transmute::<*mut c_void, Open>(open);
            let program = open(std::ptr::null(), libc::RTLD_LAZY);
            for name in OFTEN_EXPORTED {
                let bound = libc::dlsym(program, name.as_ptr());
                let mut holder: libc::Dl_info = std::mem::zeroed();
                if bound.is_null() || libc::dladdr(bound, &mut holder) == 0 || holder.dli_fbase == own.dli_fbase {
                    continue;
                }
                match found {
                    None => found = Some((name, holder)),
                    Some(_) => more += 1,
                }
            }
        }
        let Some((name, holder)) = found else { return };
        let path = CStr::from_ptr(holder.dli_fname).to_bytes();
        let object = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let mut number = [0; 24];
        let mut others = Text { to: &mut number, used: 0 };
        if more > 0 {
            others.put(b" and ");
            others.decimal(more);
            others.put(b" more");
        }
        let used = others.used;
        notes::covered(&[
            object,
            b" exports ",
            name.to_bytes(),
            &number[..used],
            b" of libc: only forwarded calls are seen",
        ]);
    }
}

/// Has the objects of this process searched. If any of them holds a system call instruction of its own, the kernel
/// reports the calls that do not come from libc.
///
/// The kernel's syscall user dispatch costs each system call some 60 ns, so it is switched on only
/// where it can find something. It ends with the thread, and does not follow `exec`.
pub fn watch() {
    let recording = state::mode() == RECORDING;
    let mut reports = control().raw_calls.load(Ordering::Relaxed);
    if recording || control().processor.load(Ordering::Relaxed) {
        let found = search::ask(ScanState::Program, processor::follow);
        processor::watched();
        reports |= recording && found;
        if recording && found {
            raw_calls::follow();
        }
    }
    if reports {
        let _pass_through = PassThrough::enter();
        raw_calls::trap();
    }
}
