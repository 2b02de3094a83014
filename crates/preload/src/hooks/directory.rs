//! What a directory contains.

use super::super::digest;
use super::super::state::control;
use super::super::widths::DirectoryEntry;
use libc::DIR;
use prony_demo::LISTED_NAMES;
use std::sync::atomic::Ordering;

/// Entries of a directory: how many, the sum of digests of their names, and a digest of them in their order.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Listing {
    entries: u64,
    names: u64,
    order: u64,
}

impl Listing {
    pub(super) const EMPTY: Listing = Listing { entries: 0, names: 0, order: 0 };

    fn add(&mut self, name: &[u8]) {
        let digest = digest::long(name.iter().copied());
        self.entries += 1;
        self.names = self.names.wrapping_add(digest);
        self.order = digest::long(self.order.to_ne_bytes().into_iter().chain(digest.to_ne_bytes()));
    }
}

/// Names of a directory, each ended by a slash, as far as there is room.
#[derive(Clone, Copy)]
pub(super) struct Names {
    bytes: [u8; LISTED_NAMES],
    used: usize,
}

impl Names {
    pub(super) const EMPTY: Names = Names { bytes: [0; LISTED_NAMES], used: 0 };

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    fn add(&mut self, name: &[u8]) {
        if let Some(room) = self.bytes[self.used..].get_mut(..=name.len()) {
            room[..name.len()].copy_from_slice(name);
            room[name.len()] = b'/';
            self.used += room.len();
        }
    }
}

/// True for the entry of the demo that is written or replayed: no directory has it for the server, as it was not there, or is
/// somewhere else.
pub(super) fn is_demo(entry: &impl DirectoryEntry) -> bool {
    let inode = entry.inode();
    let control = control();
    let hidden = [&control.hidden_inode, &control.replaced_inode].map(|inode| inode.load(Ordering::Relaxed));
    inode != 0 && hidden.contains(&inode)
}

/// Lists a directory that was just opened, and leaves it at its beginning. The thread is in pass-through mode.
pub(super) unsafe fn listing_of(directory: *mut DIR, names: &mut Names) -> Listing {
    let mut listing = Listing::EMPTY;
    // SAFETY: the caller passes an open directory; an entry lives until the next one is read.
    unsafe {
        loop {
            let entry = libc::readdir64(directory);
            if entry.is_null() {
                break;
            }
            if !is_demo(&*entry) {
                let name = (*entry).name().to_bytes();
                listing.add(name);
                names.add(name);
            }
        }
        libc::rewinddir(directory);
    }
    listing
}
