//! The preload library, carried inside this crate: one for each architecture of servers.

use crate::channel::Channel;
use std::io;
use std::os::fd::OwnedFd;

/// Image of the shared object for this architecture, compressed with zstd.
static IMAGE: &[u8] = include_bytes!(env!("PRONY_PRELOAD_LIBRARY"));
/// Image for i386 on x86-64, compressed; empty if the build had no compiler for it.
static IMAGE_I386: &[u8] = include_bytes!(env!("PRONY_PRELOAD_LIBRARY_I386"));

/// True if servers of i386 can be recorded and replayed.
pub fn has_i386() -> bool {
    !IMAGE_I386.is_empty()
}

/// The library for this architecture, as it is loaded.
#[cfg(test)]
pub(crate) fn own_image() -> io::Result<Vec<u8>> {
    zstd::decode_all(IMAGE)
}

/// The libraries as files that a server can load; they exist in memory only.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// Library for the architecture of this process, in memory.
    pub(crate) own: OwnedFd,
    /// Library for i386, if it was built.
    pub(crate) i386: Option<OwnedFd>,
}

impl Libraries {
    /// Unpacks both into files in memory.
    pub(crate) fn in_memory() -> io::Result<Libraries> {
        let file = |packed: &[u8]| Channel::library_file(&zstd::decode_all(packed)?);
        let i386 = if has_i386() { Some(file(IMAGE_I386)?) } else { None };
        Ok(Libraries { own: file(IMAGE)?, i386 })
    }
}

/// Objects that read clocks or wait on their own account: allocators with a thread of their own
/// and the runtimes of sanitizers. Their calls are not the server's.
pub(crate) const EXCLUDED: [&str; 8] =
    ["libjemalloc", "libtcmalloc", "libmimalloc", "libasan", "libtsan", "libubsan", "liblsan", "libprofiler"];
