//! The preload library, carried inside this crate.

use crate::channel::Channel;
use std::io;
use std::os::fd::OwnedFd;

/// The image of the shared object.
static IMAGE: &[u8] = include_bytes!(env!("PRONY_PRELOAD_LIBRARY"));

/// The library as a file that a server can load; it exists in memory only.
pub(crate) fn in_memory() -> io::Result<OwnedFd> {
    Channel::library_file(IMAGE)
}

/// Objects that read clocks or wait on their own account: allocators with a thread of their own
/// and the runtimes of sanitizers. Their calls are not the server's.
pub(crate) const EXCLUDED: [&str; 8] =
    ["libjemalloc", "libtcmalloc", "libmimalloc", "libasan", "libtsan", "libubsan", "liblsan", "libprofiler"];
