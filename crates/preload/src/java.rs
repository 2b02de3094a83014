//! Options of Java virtual machines.

use super::notes;
use super::report::Text;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Variable from which a virtual machine takes options.
const VARIABLE: &[u8] = b"JAVA_TOOL_OPTIONS=";
/// The counters of a virtual machine lie in a file below `/tmp`, beside those of all others of this user, among which it
/// cleans up: what it finds there is another thing in each replay.
const OPTION: &[u8] = b"-XX:-UsePerfData";

/// The variable with its value, as it stands in the environment. Written before `main`, by the only thread.
static mut GIVEN: [u8; 4096] = [0; 4096];

/// Gives the option to a program that begins as a virtual machine.
///
/// # Safety
/// The process has one thread, `environment` is an array of C strings that ends with a null pointer, and no other code uses it.
pub unsafe fn set_options(environment: *mut *mut c_char) {
    // SAFETY: `place` moves up to the null pointer, behind which the stack goes on; the walk visits objects that are mapped.
    unsafe {
        if libc::dl_iterate_phdr(Some(is_of_java), std::ptr::null_mut()) == 0 {
            return;
        }
        let mut place = environment;
        while !(*place).is_null() && !CStr::from_ptr(*place).to_bytes().starts_with(VARIABLE) {
            place = place.add(1);
        }
        let given = if (*place).is_null() { VARIABLE } else { CStr::from_ptr(*place).to_bytes() };
        if given.windows(OPTION.len()).any(|part| part == OPTION) {
            return;
        }
        // Variables of this library were taken out before, so there is room for one more. libc's `setenv` would make an
        // environment of its own, from which libc returns to this one before `main`.
        let has_room = !(*place).is_null() || (*place.add(1)).is_null();
        let given_room = &raw mut GIVEN;
        let room = &mut *given_room;
        if !has_room || given.len() + OPTION.len() + 2 > room.len() {
            return;
        }
        let mut text = Text { to: room, used: 0 };
        text.put(given);
        text.put(if given == VARIABLE { b"" } else { b" " });
        text.put(OPTION);
        text.put(b"\0");
        *place = given_room.cast();
    }
    notes::covered(&[b"Java is given -XX:-UsePerfData, as counters of other virtual machines would be in its way"]);
}

/// 1 for the library of a virtual machine, or of the program that starts one.
unsafe extern "C" fn is_of_java(info: *mut libc::dl_phdr_info, _size: usize, _: *mut c_void) -> c_int {
    // SAFETY: called by `dl_iterate_phdr` with an object that is mapped.
    let path = unsafe { CStr::from_ptr((*info).dlpi_name) }.to_bytes();
    c_int::from([b"/libjli.so", b"/libjvm.so"].iter().any(|name| path.ends_with(*name)))
}
