//! Pointers that no program can follow: the kernel answers a call with one by EFAULT. The library must not follow them either, so
//! that a call with one goes past it, and a replay makes it as the recording did.

use libc::{iovec, mmsghdr, msghdr};
use std::any::TypeId;
use std::ffi::{CStr, c_char, c_void};

/// Nothing is mapped below: `vm.mmap_min_addr` as Linux has it.
const LOWEST: usize = 65536;

/// An argument of a hooked call.
pub struct Argument<'a, T>(pub &'a T);

impl<T: 'static> Argument<'_, *const T> {
    /// True for a pointer that no program can follow.
    #[inline(always)]
    pub fn is_refused(&self) -> bool {
        is_refused::<T>(self.0.addr())
    }
}

impl<T: 'static> Argument<'_, *mut T> {
    /// True for a pointer that no program can follow.
    #[inline(always)]
    pub fn is_refused(&self) -> bool {
        is_refused::<T>(self.0.addr())
    }
}

/// Arguments that are no pointers.
pub trait NoPointer {
    /// False: there is nothing to follow.
    #[inline(always)]
    fn is_refused(&self) -> bool {
        false
    }
}

impl<T> NoPointer for Argument<'_, T> {}

/// A pointer to nothing in particular may be a number, as that of `fcntl` is, and leads to bytes that only the kernel follows. Null has
/// a meaning for most functions, but for none that takes a list of buffers or a message.
#[inline(always)]
fn is_refused<T: 'static>(address: usize) -> bool {
    let is = |other| TypeId::of::<T>() == other;
    let is_message = is(TypeId::of::<iovec>()) || is(TypeId::of::<msghdr>()) || is(TypeId::of::<mmsghdr>());
    !is(TypeId::of::<c_void>()) && (is_low(address) || address == 0 && is_message)
}

/// True for a message whose name or list of buffers no program can follow.
///
/// # Safety
/// The pointer is to a message.
pub unsafe fn is_refused_message(message: *const msghdr) -> bool {
    // SAFETY: as for this function.
    let msghdr { msg_name, msg_iov, msg_iovlen, .. } = unsafe { *message };
    is_low(msg_name.addr()) || Argument(&msg_iov.cast_const()).is_refused() && msg_iovlen > 0
}

/// The text of a path that may be null, which has none.
///
/// # Safety
/// The path is null, or one that [`Argument::is_refused`] does not refuse and that leads to a C string.
pub unsafe fn text<'a>(path: *const c_char) -> &'a [u8] {
    // SAFETY: as for this function.
    if path.is_null() { &[] } else { unsafe { CStr::from_ptr(path) }.to_bytes() }
}

/// True for an address that is not null, and where nothing can be mapped.
#[inline(always)]
pub fn is_low(address: usize) -> bool {
    address.wrapping_sub(1) < LOWEST - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pointers_that_lead_nowhere_are_refused() {
        let (number, low, null) = (8, 8 as *const i32, std::ptr::null_mut::<u8>());
        let (high, untyped) = (0x10000 as *mut i32, 8 as *mut c_void);
        let (no_buffers, no_message) = (std::ptr::null::<iovec>(), std::ptr::null_mut::<msghdr>());
        assert!(Argument(&no_buffers).is_refused() && Argument(&no_message).is_refused());
        assert!(Argument(&low).is_refused());
        assert!(!Argument(&number).is_refused());
        assert!(!Argument(&null).is_refused());
        assert!(!Argument(&high).is_refused());
        assert!(!Argument(&untyped).is_refused());
        assert!(is_low(1) && is_low(65535) && !is_low(0) && !is_low(65536));
    }
}
