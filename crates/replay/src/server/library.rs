//! The preload library, carried inside this crate: one for each architecture of servers.

use crate::channel::Channel;
use crate::server::program::Architecture;
use std::io;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;
use zstd::zstd_safe;

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

/// Unpacks an image into memory of its size, both halves at the same time: a server waits for it.
fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let odd = || io::Error::other("the library was not packed in two halves");
    let end = zstd_safe::find_frame_compressed_size(packed).map_err(|_| odd())?;
    let (first, second) = packed.split_at_checked(end).ok_or_else(odd)?;
    let size_of = |half: &[u8]| zstd_safe::get_frame_content_size(half).ok().flatten().map(|size| size as usize);
    let (middle, length) = (size_of(first).ok_or_else(odd)?, size_of(second).ok_or_else(odd)?);
    let mut image = vec![0; middle + length];
    let (to_first, to_second) = image.split_at_mut(middle);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| zstd::bulk::decompress_to_buffer(second, to_second));
        zstd::bulk::decompress_to_buffer(first, to_first)?;
        second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(image)
}

/// The libraries as files that a server can load; they exist in memory only.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// Library for the architecture of this process, in memory.
    pub(crate) own: OwnedFd,
    /// Library for i386, if it was built.
    pub(crate) i386: Option<OwnedFd>,
}

/// The library for i386, which is still being unpacked.
#[derive(Debug)]
#[must_use]
pub(crate) struct Unpacking(Option<JoinHandle<io::Result<()>>>);

impl Libraries {
    /// Unpacks both into files in memory.
    pub(crate) fn in_memory() -> io::Result<Libraries> {
        let (libraries, unpacking) = Libraries::begun(Architecture::Own)?;
        unpacking.complete()?;
        Ok(libraries)
    }

    /// Unpacks that for a server of this architecture. The other one has to be complete before the server's code runs, which may start
    /// programs of that.
    pub(crate) fn begun(architecture: Architecture) -> io::Result<(Libraries, Unpacking)> {
        let own = Channel::empty_library()?;
        Channel::fill_library(own.try_clone()?, &unpack(IMAGE)?)?;
        if !has_i386() {
            return Ok((Libraries { own, i386: None }, Unpacking(None)));
        }
        let i386 = Channel::empty_library()?;
        let file = i386.try_clone()?;
        let fill = || Channel::fill_library(file, &unpack(IMAGE_I386)?);
        let unpacking = match architecture {
            Architecture::Own => Some(std::thread::spawn(fill)),
            Architecture::I386 => {
                fill()?;
                None
            }
        };
        Ok((Libraries { own, i386: Some(i386) }, Unpacking(unpacking)))
    }
}

impl Unpacking {
    /// Waits until it is unpacked.
    pub(crate) fn complete(self) -> io::Result<()> {
        self.0.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

/// Objects that read clocks or wait on their own account: allocators with a thread of their own, and a profiler. Their calls are not
/// the server's.
pub(crate) const EXCLUDED: [&str; 4] = ["libjemalloc", "libtcmalloc", "libmimalloc", "libprofiler"];

/// Runtimes of sanitizers, of GCC and of clang. Neither are their calls, in a replay of any demo.
pub(crate) const SANITIZERS: [&str; 5] = ["libasan.", "libtsan.", "libubsan.", "liblsan.", "libclang_rt."];
