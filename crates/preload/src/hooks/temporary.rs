//! Files and folders with names that libc makes up of random letters, which it reads from the kernel within itself, where no hook
//! sees it: so the letters are made here of random bytes that are recorded.

use super::super::real::hooks;
use super::super::state::{self, errno, set_errno};
use super::super::thread::REPLAYING;
use super::file::opened;
use libc::{c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Letters that stand for a random number, as many as libc has.
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/// What a template has in their place.
const PLACES: &[u8; 6] = b"XXXXXX";
/// Names that are tried, as many as libc tries.
const ATTEMPTS: u32 = 62 * 62 * 62;

/// Fills in the template, in front of a suffix of this length, until `make` makes something of that name.
unsafe fn made(template: *mut c_char, suffix: c_int, make: impl Fn() -> c_int) -> c_int {
    // SAFETY: the caller passes a C string that may be written; the places lie in it.
    unsafe {
        let behind = usize::try_from(suffix).unwrap_or(usize::MAX).saturating_add(PLACES.len());
        let Some(from) = libc::strlen(template).checked_sub(behind) else {
            set_errno(libc::EINVAL);
            return -1;
        };
        let places = std::slice::from_raw_parts_mut(template.add(from).cast::<u8>(), PLACES.len());
        if places != PLACES {
            set_errno(libc::EINVAL);
            return -1;
        }
        for _ in 0..ATTEMPTS {
            let mut random = 0u64;
            // Through the hook: recorded.
            libc::getrandom((&raw mut random).cast(), size_of::<u64>(), 0);
            for place in &mut *places {
                *place = LETTERS[(random % LETTERS.len() as u64) as usize];
                random /= LETTERS.len() as u64;
            }
            let result = make();
            if result != -1 || errno() != libc::EEXIST {
                return result;
            }
        }
        -1
    }
}

/// Makes a file of the name that the template has now. In a replay it may be there, from the replay before.
unsafe fn file(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller passes a C string.
    unsafe {
        let flags = flags & !libc::O_ACCMODE | libc::O_RDWR | libc::O_CREAT;
        let of = if state::mode() == REPLAYING { libc::O_TRUNC } else { libc::O_EXCL };
        opened(path, flags | libc::O_EXCL, || libc::open64(path, flags | of, 0o600))
    }
}

/// A name that nothing has, and that nothing is made of here. In a replay something may have it from the replay before.
unsafe fn unused(template: *mut c_char) -> c_int {
    // SAFETY: the caller passes a C string; the structure lives across the call.
    unsafe {
        let mut found: libc::stat64 = std::mem::zeroed();
        if state::mode() == REPLAYING || (libc::lstat64(template, &mut found) == -1 && errno() == libc::ENOENT) {
            return 0;
        }
        set_errno(libc::EEXIST);
        -1
    }
}

unsafe extern "C" {
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// The longest name that `tmpnam` makes, with its end (`L_tmpnam`).
const NAME_BYTES: usize = 20;

hooks! {
    fn mktemp(template: *mut c_char) -> *mut c_char {
        if made(template, 0, || unused(template)) != 0 {
            *template = 0;
        }
        template
    }

    fn tmpnam(to: *mut c_char) -> *mut c_char {
        static OWN: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
        if !to.is_null() {
            return tmpnam_r(to);
        }
        let mut own = OWN.load(Ordering::Relaxed);
        if own.is_null() {
            own = libc::malloc(NAME_BYTES).cast();
            OWN.store(own, Ordering::Relaxed);
        }
        tmpnam_r(own)
    }

    fn tmpnam_r(to: *mut c_char) -> *mut c_char {
        const TEMPLATE: &[u8; NAME_BYTES] = b"/tmp/fileXXXXXX\0\0\0\0\0";
        if to.is_null() {
            return to;
        }
        TEMPLATE.as_ptr().copy_to_nonoverlapping(to.cast(), NAME_BYTES);
        if made(to, 0, || unused(to)) == 0 { to } else { null_mut() }
    }

    fn tempnam(folder: *const c_char, prefix: *const c_char) -> *mut c_char {
        let is_folder = |path: *const c_char| {
            let mut found: libc::stat64 = std::mem::zeroed();
            !path.is_null() && libc::stat64(path, &mut found) == 0 && found.st_mode & libc::S_IFMT == libc::S_IFDIR
        };
        let candidates = [secure_getenv(c"TMPDIR".as_ptr()).cast_const(), folder];
        let folder = candidates.into_iter().find(|&path| is_folder(path)).unwrap_or(c"/tmp".as_ptr());
        let (length, letters) = (libc::strlen(folder), if prefix.is_null() { 0 } else { libc::strnlen(prefix, 5) });
        let name: *mut c_char = libc::malloc(length + letters + 8).cast();
        if name.is_null() {
            return name;
        }
        folder.copy_to_nonoverlapping(name, length);
        *name.add(length) = b'/' as c_char;
        if letters > 0 {
            prefix.copy_to_nonoverlapping(name.add(length + 1), letters);
        }
        c"XXXXXX".as_ptr().copy_to_nonoverlapping(name.add(length + 1 + letters), 7);
        if made(name, 0, || unused(name)) == 0 {
            return name;
        }
        libc::free(name.cast());
        null_mut()
    }

    [mkstemp64] fn mkstemp(template: *mut c_char) -> c_int {
        made(template, 0, || file(template, 0))
    }

    [mkostemp64] fn mkostemp(template: *mut c_char, flags: c_int) -> c_int {
        made(template, 0, || file(template, flags))
    }

    [mkstemps64] fn mkstemps(template: *mut c_char, suffix: c_int) -> c_int {
        made(template, suffix, || file(template, 0))
    }

    [mkostemps64] fn mkostemps(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
        made(template, suffix, || file(template, flags))
    }

    fn mkdtemp(template: *mut c_char) -> *mut c_char {
        let folder = || {
            let result = libc::mkdir(template, 0o700);
            let there = result == -1 && errno() == libc::EEXIST && state::mode() == REPLAYING;
            if there { 0 } else { result }
        };
        if made(template, 0, folder) == 0 { template } else { null_mut() }
    }
}
