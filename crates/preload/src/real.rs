//! The functions that the hooks stand in front of.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Address of the real function behind a hook, looked up when the library joins the recording.
pub struct Real {
    address: AtomicPtr<c_void>,
    name: &'static CStr,
}

impl Real {
    /// A function not looked up yet.
    pub const fn named(name: &'static CStr) -> Real {
        Real { address: AtomicPtr::new(std::ptr::null_mut()), name }
    }

    /// The address; the process is stopped when no object after this library has the name,
    /// which means that the program itself could not have been linked.
    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.wanted() } else { address }
    }

    #[cold]
    fn wanted(&self) -> *mut c_void {
        let address = self.look_up();
        if address.is_null() {
            super::report::fatal(&[b"this system has no function ", self.name.to_bytes()]);
        }
        address
    }

    fn look_up(&self) -> *mut c_void {
        // SAFETY: both names are C strings. `dlsym` without a version finds the oldest
        // `pthread_cond_*` and `sem_*` of glibc on x86-64, so their current version is looked up first.
        let address = unsafe {
            let mut found: *mut c_void = std::ptr::null_mut();
            #[cfg(target_arch = "x86")]
            if let Some(version) = super::versions::of_program(self.name) {
                found = libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr());
            }
            for version in [c"GLIBC_2.3.2", c"GLIBC_2.3.3"] {
                if found.is_null() && self.name.to_bytes().starts_with(b"pthread_cond_") {
                    found = libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr());
                }
            }
            if found.is_null() { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } else { found }
        };
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Looks up all real functions. A look-up takes away what `dlerror` has to say of the server's own, and frees memory of its
/// heap with it; one that waited for the first call would do so in a recording and not in a replay, where that call is not made.
#[cfg(not(test))]
pub fn look_up_all() {
    unsafe extern "C" {
        static __start_prony_reals: u8;
        static __stop_prony_reals: u8;
    }
    let start: *const Real = (&raw const __start_prony_reals).cast();
    let end: *const Real = (&raw const __stop_prony_reals).cast();
    // SAFETY: the linker has put all of them, and nothing else, between these two.
    let all = unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) };
    for real in all.iter().filter(|real| real.address.load(Ordering::Relaxed).is_null()) {
        real.look_up();
    }
}

/// Tests look up what they call.
#[cfg(test)]
pub fn look_up_all() {}

/// Frees what failed look-ups leave behind: the message is given away by the first call, and freed by the second.
pub fn forget_failures() {
    // SAFETY: what it returns is not looked at.
    unsafe {
        libc::dlerror();
        libc::dlerror();
    }
}

/// Declares hooks: each line is the C signature; the body decides what is recorded.
///
/// A hook passes straight through when its thread is not attached or is already inside the
/// library, and for a pointer that no program can follow (`vetted`). `real::NAME(args)` is the function behind it. `[other, …]` in front gives the hook
/// further names under which libc exports the same function. `large [other]` names the variant for large files, the same
/// function but on i386, and `time64 [other]` the one with times of 64 bits, which only i386 has: each is a hook of its own
/// with this body, in which `real::NAME` is the variant. `until [over]` in front of `fn` has the hook call the function behind it once
/// `over()` is true: it keeps nothing for the server. Tests call the hooks by no C name: they are ordinary
/// programs.
macro_rules! hooks {
    // One hook and the function behind it.
    (@hook [$($over:path)?] $(#[$meta:meta])* $name:ident ($($arg:ident: $ty:ty),* $(,)?) $ret:ty, $body:block) => {
        $(#[$meta])*
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(clippy::too_many_arguments, clippy::diverging_sub_expression, unreachable_code, unused_variables)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            #[allow(clippy::too_many_arguments, clippy::diverging_sub_expression, unreachable_code, unused_unsafe)]
            unsafe extern "C" fn hooked($($arg: $ty),*) -> $ret {
                // SAFETY: as for the caller.
                unsafe { $body }
            }
            // In a frame of its own, which can be cleared.
            #[inline(never)]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn apart($($arg: $ty),*) -> $ret {
                // SAFETY: as for the caller.
                unsafe { hooked($($arg),*) }
            }
            // The usual way saves no register for this.
            #[cold]
            #[inline(never)]
            #[allow(clippy::too_many_arguments, clippy::diverging_sub_expression, unreachable_code, unused_variables)]
            unsafe extern "C" fn watched($($arg: $ty),*) -> $ret {
                static CALL: $crate::collect::Call = $crate::collect::Call::named(stringify!($name));
                let kept = $crate::stack::keep();
                let paused = $crate::collect::pause_for(&CALL);
                // SAFETY: as for the caller.
                let value = unsafe { apart($($arg),*) };
                $crate::checkpoint::consider();
                let value = $crate::collect::resume_with(paused, &CALL, value);
                $crate::stack::put_back(&kept);
                value
            }
            #[allow(unused_imports, reason = "some functions take pointers only, or none")]
            use $crate::vetted::NoPointer as _;
            let is_refused = false $(|| $crate::vetted::Argument(&$arg).is_refused())*;
            // SAFETY: C code calls this under the contract of the function whose name it bears, so that what the arguments lead
            // to is valid as that contract says; the block is the calling thread's own.
            unsafe {
                if (*$crate::thread::this()).live == $crate::thread::PASS_THROUGH {
                    return real::$name($($arg),*);
                }
                let is_over = false $(|| $over())?;
                if is_over || is_refused {
                    return real::$name($($arg),*);
                }
                if $crate::stack::are_calls_apart() {
                    return watched($($arg),*);
                }
                hooked($($arg),*)
            }
        }
    };
    (@real $name:ident ($($arg:ident: $ty:ty),* $(,)?) $ret:ty) => {
        #[inline(always)]
        pub unsafe fn $name($($arg: $ty),*) -> $ret {
            #[cfg_attr(not(test), unsafe(link_section = "prony_reals"))]
            static REAL: $crate::real::Real = $crate::real::Real::named(
                match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a function name has no zero byte"),
                });
            type Function = unsafe extern "C" fn($($ty),*) -> $ret;
            // SAFETY: libc has a function of this name and type at the address; the caller keeps its contract.
            unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(REAL.address())($($arg),*) }
        }
    };
    (@alias $alias:ident $name:ident ($($arg:ident: $ty:ty),* $(,)?) $ret:ty) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(clippy::too_many_arguments)]
        #[cfg_attr(test, allow(non_snake_case))]
        pub unsafe extern "C" fn $alias($($arg: $ty),*) -> $ret {
            // SAFETY: as for the function whose other name this is.
            unsafe { $name($($arg),*) }
        }
    };
    // The same function for other widths, see `widths`: the hook's body with the types of one of its modules.
    (@twin $over:tt $widths:ident $twin:ident $name:ident $args:tt $ret:ty, $body:block) => {
        mod $twin {
            #[allow(unused_imports, reason = "few functions have all of the types")]
            use $crate::widths::$widths::{Entry, FileSystemStatus, Stat, VirtualStatus, itimerspec, itimerval, off_t, rusage, time_t, timespec, timeval};
            use super::*;

            mod twin {
                use super::*;
                $crate::real::hooks!(@real $twin $args $ret);
            }

            /// The functions behind the hooks of the module around, and this one under the name that the body has for it.
            #[allow(unused_imports, reason = "few bodies use all of them")]
            mod real {
                pub use super::super::real::*;
                pub use super::twin::$twin;
                pub use super::twin::$twin as $name;
            }

            $crate::real::hooks!(@hook $over $twin $args $ret, $body);
        }
    };
    ($(
        $(#[$meta:meta])*
        $([$($alias:ident),*])? $(large [$($large:ident),*])? $(time64 [$($time64:ident),*])? $(until [$over:path])?
        fn $name:ident $args:tt -> $ret:ty $body:block
    )*) => {
        /// The functions behind the hooks of this module.
        #[allow(dead_code, unused_imports, clippy::too_many_arguments)]
        mod real {
            use super::*;
            $($crate::real::hooks!(@real $name $args $ret);)*
        }
        $($crate::real::hooks!(@hook [$($over)?] $(#[$meta])* $name $args $ret, $body);)*
        $($($($crate::real::hooks!(@alias $alias $name $args $ret);)*)?)*
        $($($(
            #[cfg(not(target_arch = "x86"))]
            $crate::real::hooks!(@alias $large $name $args $ret);
            #[cfg(target_arch = "x86")]
            $crate::real::hooks!(@twin [] large $large $name $args $ret, $body);
        )*)?)*
        $($($(
            #[cfg(target_arch = "x86")]
            $crate::real::hooks!(@twin [] time64 $time64 $name $args $ret, $body);
        )*)?)*
    };
}

pub(super) use hooks;
