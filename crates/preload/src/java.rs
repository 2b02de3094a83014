//! Options of Java virtual machines.

use super::notes;
use super::report::Text;
use super::thread::PassThrough;
use std::ffi::{CStr, c_int, c_void};

/// Variable from which a virtual machine takes options.
const VARIABLE: &CStr = c"JAVA_TOOL_OPTIONS";
/// The counters of a virtual machine lie in a file below `/tmp`, beside those of all others of this user, among which it
/// cleans up: what it finds there is another thing in each replay.
const OPTION: &[u8] = b"-XX:-UsePerfData";

/// Gives the option to a program that begins as a virtual machine.
pub fn set_options() {
    // SAFETY: the process has one thread, names and values are C strings, and the walk visits objects that are mapped.
    unsafe {
        if libc::dl_iterate_phdr(Some(is_of_java), std::ptr::null_mut()) == 0 {
            return;
        }
        let _pass_through = PassThrough::enter();
        let given = libc::getenv(VARIABLE.as_ptr());
        let given = if given.is_null() { &[][..] } else { CStr::from_ptr(given).to_bytes() };
        if given.windows(OPTION.len()).any(|part| part == OPTION) {
            return;
        }
        let mut value = [0; 4096];
        if given.len() + OPTION.len() + 2 > value.len() {
            return;
        }
        let mut text = Text { to: &mut value, used: 0 };
        text.put(given);
        text.put(if given.is_empty() { b"" } else { b" " });
        text.put(OPTION);
        text.put(b"\0");
        libc::setenv(VARIABLE.as_ptr(), value.as_ptr().cast(), 1);
    }
    notes::covered(&[b"Java is given -XX:-UsePerfData, as counters of other virtual machines would be in its way"]);
}

/// 1 for the library of a virtual machine, or of the program that starts one.
unsafe extern "C" fn is_of_java(info: *mut libc::dl_phdr_info, _size: usize, _: *mut c_void) -> c_int {
    // SAFETY: called by `dl_iterate_phdr` with an object that is mapped.
    let path = unsafe { CStr::from_ptr((*info).dlpi_name) }.to_bytes();
    c_int::from([b"/libjli.so", b"/libjvm.so"].iter().any(|name| path.ends_with(*name)))
}
