//! Forks that no hook sees, and what a child counts from its first instruction.

use super::collect;
use super::lifecycle;
use super::notes;
use super::thread::{self, PASS_THROUGH};
use std::sync::atomic::{AtomicBool, Ordering};

/// Watches for forks that no hook sees: within libc, or by the address of a function of it. The child is another process, which has
/// no part in the recording, and must not touch the ring of its parent.
pub fn watch() {
    // SAFETY: both functions are of this library, which is never unloaded.
    unsafe { libc::pthread_atfork(None, Some(after_fork_in_parent), Some(after_fork_in_child)) };
}

/// True if the calling thread forks in code of the server; a hook that does has left the recording before.
fn forks_unseen() -> bool {
    // SAFETY: the block is the calling thread's own.
    unsafe { (*thread::this()).live != PASS_THROUGH }
}

static UNSEEN_SAID: AtomicBool = AtomicBool::new(false);

extern "C" fn after_fork_in_parent() {
    if forks_unseen() && !UNSEEN_SAID.swap(true, Ordering::Relaxed) {
        notes::uncovered(&[b"a child that was forked within a library is not recorded"]);
    }
}

extern "C" fn after_fork_in_child() {
    // Before functions of the server run in the child: a call of theirs would count what the parent does meanwhile.
    collect::forked();
    if forks_unseen() {
        lifecycle::detach();
    }
}
