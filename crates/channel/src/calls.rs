//! How often a server that is replayed calls each hooked function.

use crate::word::{SharedBytes, layout};
use std::sync::atomic::AtomicU64;

/// Functions that can be counted: more than there are hooks.
pub const CALLS: usize = 768;
/// Bytes of the name of a function, a zero byte behind it included.
pub const CALL_NAME_BYTES: usize = 32;

/// Calls of one function, in all processes.
#[repr(C)]
pub struct CallCount {
    /// Its name in C.
    pub name: SharedBytes<CALL_NAME_BYTES>,
    /// Calls so far.
    pub calls: AtomicU64,
    /// Bytes that they moved, as they returned it.
    pub bytes: AtomicU64,
}

layout!(CallCount, 48, { name: 0, calls: 32, bytes: 40, });
