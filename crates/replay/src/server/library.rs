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
    unpack(IMAGE)
}

/// Unpacks an image into memory of its size, which stands before it: growing there takes longer than unpacking.
fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let size = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten();
    let size = size.and_then(|size| usize::try_from(size).ok());
    zstd::bulk::decompress(packed, size.ok_or_else(|| io::Error::other("the library has no size"))?)
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
    /// Unpacks both into files in memory, at the same time: the server waits for them.
    pub(crate) fn in_memory() -> io::Result<Libraries> {
        let file = |packed: &[u8]| Channel::library_file(&unpack(packed)?);
        std::thread::scope(|scope| {
            let i386 = has_i386().then(|| scope.spawn(|| file(IMAGE_I386)));
            let own = file(IMAGE)?;
            let i386 = i386.map(|unpacked| unpacked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            Ok(Libraries { own, i386: i386.transpose()? })
        })
    }
}

/// Objects that read clocks or wait on their own account: allocators with a thread of their own, and a profiler. Their calls are not
/// the server's.
pub(crate) const EXCLUDED: [&str; 4] = ["libjemalloc", "libtcmalloc", "libmimalloc", "libprofiler"];

/// Runtimes of sanitizers, of GCC and of clang. Neither are their calls, in a replay of any demo.
pub(crate) const SANITIZERS: [&str; 5] = ["libasan.", "libtsan.", "libubsan.", "liblsan.", "libclang_rt."];
