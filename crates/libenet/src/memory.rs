//! Allocator of packet memory, and the library version that programs see.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::exported;

/// 1.3.17, as the stock library packs it.
const VERSION: u32 = 1 << 16 | 3 << 8 | 17;
const OLDEST_VERSION: u32 = 1 << 16 | 3 << 8;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Callbacks {
    malloc: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
    no_memory: Option<unsafe extern "C" fn()>,
}

const _: () = assert!(size_of::<Callbacks>() == 24);

/// What the program gave last; null before. Never freed, so that each packet can look without a lock: programs do this
/// once.
static CALLBACKS: AtomicPtr<Callbacks> = AtomicPtr::new(null_mut());

fn callbacks() -> Callbacks {
    let given = CALLBACKS.load(Ordering::Acquire);
    // SAFETY: it is null, or leads to what was written before it was stored and stays.
    unsafe { given.as_ref() }.copied().unwrap_or(Callbacks { malloc: None, free: None, no_memory: None })
}

exported! {
    fn enet_initialize() -> c_int, else -1, { 0 }

    fn enet_deinitialize() -> (), else (), {}

    fn enet_linked_version() -> u32, else 0, { VERSION }

    /// Both of `malloc` and `free`, or neither.
    fn enet_initialize_with_callbacks(version: u32, given: *const Callbacks) -> c_int, else -1, {
        if version < OLDEST_VERSION || given.is_null() {
            return -1;
        }
        let given = *given;
        if given.malloc.is_some() != given.free.is_some() {
            return -1;
        }
        let mut callbacks = callbacks();
        if given.malloc.is_some() {
            (callbacks.malloc, callbacks.free) = (given.malloc, given.free);
        }
        if given.no_memory.is_some() {
            callbacks.no_memory = given.no_memory;
        }
        CALLBACKS.store(Box::into_raw(Box::new(callbacks)), Ordering::Release);
        enet_initialize()
    }

    /// Never null, unless a `no_memory` of the program returns.
    fn enet_malloc(size: usize) -> *mut c_void, else std::ptr::null_mut(), {
        let callbacks = callbacks();
        let memory = match callbacks.malloc {
            Some(malloc) => malloc(size),
            None => libc::malloc(size),
        };
        if memory.is_null() {
            match callbacks.no_memory {
                Some(no_memory) => no_memory(),
                None => libc::abort(),
            }
        }
        memory
    }

    fn enet_free(memory: *mut c_void) -> (), else (), {
        match callbacks().free {
            Some(free) => free(memory),
            None => libc::free(memory),
        }
    }
}
