//! What the server asks the processor itself is followed on x86-64 only.

/// Nothing is followed.
pub fn follow() {}

/// Nothing is said of it.
pub fn watched() {}

/// Plugins neither.
pub fn watch_loading() {}

/// No signal is taken over.
pub fn catches() -> bool {
    false
}
