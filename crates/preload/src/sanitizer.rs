//! Builds with AddressSanitizer.

use libc::c_char;

/// Options of AddressSanitizer, which it takes from the first object that has them; `ASAN_OPTIONS` stands above them.
///
/// Its runtime refuses to start behind another library, as its own functions are not reached then; the hooks call them. The search
/// for leaks at the end stops the threads of the process by `ptrace`, in a process that a replay would not know.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __asan_default_options() -> *const c_char {
    c"verify_asan_link_order=0:detect_leaks=0".as_ptr()
}
