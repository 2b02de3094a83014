//! Hooks that load plugins. What they call must come through the hooks as well, from their constructors on.
//!
//! The loader finds a plugin by the RUNPATH and `$ORIGIN` of the object that calls `dlopen`, which it
//! knows from the return address. So the hooks here run in front of the real function and then jump
//! to it, instead of calling it.

use super::super::collect;
use super::super::notes;
use super::super::processor;
use super::super::real::Real;
use super::super::state;
use super::super::thread::{PASS_THROUGH, PassThrough};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;

/// Resolves symbols of the plugin in itself before it looks at the program, its libraries and this
/// library: every hook would be passed by.
const DEEP_BINDING: c_int = libc::RTLD_DEEPBIND;

static DLOPEN: Real = Real::named(c"dlopen");
static DLMOPEN: Real = Real::named(c"dlmopen");

unsafe fn name_of<'a>(path: *const c_char) -> &'a [u8] {
    // SAFETY: the caller passes a path that is null or a C string.
    unsafe {
        let path = if path.is_null() { &[] } else { CStr::from_ptr(path).to_bytes() };
        path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
    }
}

/// Takes deep binding out of `flags`; returns the function to go on with.
unsafe extern "C" fn before_dlopen(path: *const c_char, flags: *mut c_int) -> *mut c_void {
    // SAFETY: called by the entry of `dlopen` with the path that it got, and with the place where it keeps the flags.
    unsafe {
        let paused = collect::pause();
        if state::mode() != PASS_THROUGH && *flags & DEEP_BINDING != 0 {
            *flags &= !DEEP_BINDING;
            notes::covered(&[name_of(path), b" is loaded without RTLD_DEEPBIND, so that its calls are seen"]);
        }
        if state::mode() != PASS_THROUGH {
            processor::watch_loading();
        }
        collect::resume(paused);
        let _pass_through = PassThrough::enter();
        DLOPEN.address()
    }
}

/// An object in another namespace has a libc of its own, which no hook stands in front of: it is not
/// found. Returns the function to go on with.
unsafe extern "C" fn before_dlmopen(request: *mut Request) -> *mut c_void {
    // SAFETY: called by the entry of `dlmopen` with the arguments that it pushed.
    unsafe {
        let paused = collect::pause();
        let request = &mut *request;
        if state::mode() != PASS_THROUGH {
            if request.namespace != libc::LM_ID_BASE {
                notes::covered(&[
                    b"dlmopen(",
                    name_of(request.path),
                    b") is not recorded: it would bring another libc",
                ]);
                // What `dlerror` says then.
                request.path = c"dlmopen under prony: a second libc".as_ptr();
            }
            request.flags &= !DEEP_BINDING;
        }
        collect::resume(paused);
        let _pass_through = PassThrough::enter();
        DLMOPEN.address()
    }
}

/// Arguments of `dlmopen` as [`dlmopen`] pushes them.
#[cfg(not(target_arch = "x86"))]
#[repr(C)]
struct Request {
    flags: c_int,
    path: *const c_char,
    namespace: libc::Lmid_t,
}

/// Arguments of `dlmopen` where its caller has put them.
#[cfg(target_arch = "x86")]
#[repr(C)]
struct Request {
    namespace: libc::Lmid_t,
    path: *const c_char,
    flags: c_int,
}

/// The arguments are on the stack, where they may be changed: they belong to the function that is called.
#[cfg(target_arch = "x86")]
mod entries {
    use super::*;

    #[cfg_attr(not(test), unsafe(no_mangle))]
    #[unsafe(naked)]
    unsafe extern "C" fn dlopen() {
        std::arch::naked_asm!(
            // The stack is aligned to 16 bytes at a call.
            "sub esp, 12",
            "mov ecx, [esp + 16]",
            "lea eax, [esp + 20]",
            "mov [esp], ecx",
            "mov [esp + 4], eax",
            "call {before}",
            "add esp, 12",
            "jmp eax",
            before = sym before_dlopen,
        )
    }

    #[cfg_attr(not(test), unsafe(no_mangle))]
    #[unsafe(naked)]
    unsafe extern "C" fn dlmopen() {
        std::arch::naked_asm!(
            "sub esp, 12",
            "lea eax, [esp + 16]",
            "mov [esp], eax",
            "call {before}",
            "add esp, 12",
            "jmp eax",
            before = sym before_dlmopen,
        )
    }
}

#[cfg(target_arch = "x86_64")]
mod entries {
    use super::*;

    #[cfg_attr(not(test), unsafe(no_mangle))]
    #[unsafe(naked)]
    unsafe extern "C" fn dlopen() {
        std::arch::naked_asm!(
            "push rdi",
            "push rsi",
            // The stack is aligned to 16 bytes at a call.
            "sub rsp, 8",
            "lea rsi, [rsp + 8]",
            "call {before}",
            "add rsp, 8",
            "pop rsi",
            "pop rdi",
            "jmp rax",
            before = sym before_dlopen,
        )
    }

    #[cfg_attr(not(test), unsafe(no_mangle))]
    #[unsafe(naked)]
    unsafe extern "C" fn dlmopen() {
        std::arch::naked_asm!(
            "push rdi",
            "push rsi",
            "push rdx",
            "mov rdi, rsp",
            "call {before}",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            "jmp rax",
            before = sym before_dlmopen,
        )
    }
}

#[cfg(target_arch = "aarch64")]
mod entries {
    use super::*;

    #[cfg_attr(not(test), unsafe(no_mangle))]
    #[unsafe(naked)]
    unsafe extern "C" fn dlopen() {
        std::arch::naked_asm!(
            "stp x29, x30, [sp, #-32]!",
            "stp x1, x0, [sp, #16]",
            "add x1, sp, #16",
            "bl {before}",
            "mov x16, x0",
            "ldp x1, x0, [sp, #16]",
            "ldp x29, x30, [sp], #32",
            "br x16",
            before = sym before_dlopen,
        )
    }

    #[cfg_attr(not(test), unsafe(no_mangle))]
    #[unsafe(naked)]
    unsafe extern "C" fn dlmopen() {
        std::arch::naked_asm!(
            "stp x29, x30, [sp, #-48]!",
            "stp x2, x1, [sp, #16]",
            "str x0, [sp, #32]",
            "add x0, sp, #16",
            "bl {before}",
            "mov x16, x0",
            "ldp x2, x1, [sp, #16]",
            "ldr x0, [sp, #32]",
            "ldp x29, x30, [sp], #48",
            "br x16",
            before = sym before_dlmopen,
        )
    }
}
