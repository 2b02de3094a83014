//! Substitute for the module `processor` on other architectures than x86-64, where instructions are not followed.

/// Does nothing: instructions are not followed here.
pub fn follow() {}

/// Nothing is said of it.
pub fn watched() {}

/// Does nothing: plugins are not followed either.
pub fn watch_loading() {}

/// Does nothing: there is no breakpoint.
pub fn give_back() {}

/// No signal is taken over.
pub fn catches(_signal: libc::c_int) -> bool {
    false
}
