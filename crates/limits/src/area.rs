//! Memory to measure on: touched before, on pages of a kind that is requested and then looked up.

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use serde::{Deserialize, Serialize};

/// Pages of 2 MiB begin at multiples of it.
const HUGE_BYTES: usize = 2 << 20;

/// Kind of pages that memory is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// The smallest: 4 KiB on x86-64. Transparent huge pages are refused.
    Small,
    /// Transparent huge pages by `madvise(MADV_HUGEPAGE)`.
    Transparent,
    /// Pages that were reserved as huge ones: `vm.nr_hugepages`.
    Reserved,
}

impl PageKind {
    /// A word for tables: `4K`, `2M THP`, `2M hugetlb`.
    pub fn word(self) -> &'static str {
        match self {
            PageKind::Small => "4K",
            PageKind::Transparent => "2M THP",
            PageKind::Reserved => "2M hugetlb",
        }
    }

    /// The best kind of huge page that this machine gives now: reserved ones if `bytes` of them are free.
    pub fn huge(bytes: usize) -> PageKind {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        match free_huge_bytes(&text) >= bytes.max(1) {
            true => PageKind::Reserved,
            false => PageKind::Transparent,
        }
    }
}

impl fmt::Display for PageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Memory of the requested kind could not be mapped.
#[derive(Debug, thiserror::Error)]
#[error("cannot map {bytes} bytes of {kind} pages: {error}")]
pub struct AreaError {
    /// Requested size of the area, in bytes.
    pub bytes: usize,
    /// Kind of the requested pages.
    pub kind: PageKind,
    /// Error that the kernel returned.
    pub error: io::Error,
}

/// Memory of this process alone, zero at first.
#[derive(Debug)]
pub struct Area {
    mapping: NonNull<u8>,
    mapped: usize,
    at: NonNull<u8>,
    bytes: usize,
    kind: PageKind,
}

// SAFETY: the mapping belongs to the area alone.
unsafe impl Send for Area {}
// SAFETY: shared references only read.
unsafe impl Sync for Area {}

impl Area {
    /// Memory of which no page was touched yet.
    ///
    /// # Errors
    /// [`AreaError`], also when none is reserved of [`PageKind::Reserved`].
    pub fn untouched(bytes: usize, kind: PageKind) -> Result<Area, AreaError> {
        Area::mapped(bytes, kind, 0)
    }

    /// Memory that the kernel populated at once: by `MAP_POPULATE`, or for [`PageKind::Transparent`], which has to be requested
    /// between the two, by `MADV_POPULATE_WRITE` (Linux 5.14).
    ///
    /// # Errors
    /// As [`Area::untouched`].
    pub fn populated(bytes: usize, kind: PageKind) -> Result<Area, AreaError> {
        if kind != PageKind::Transparent {
            return Area::mapped(bytes, kind, libc::MAP_POPULATE);
        }
        let area = Area::untouched(bytes, kind)?;
        // SAFETY: the first `bytes` from `at` are ours.
        let result = unsafe { libc::madvise(area.at.as_ptr().cast(), bytes, libc::MADV_POPULATE_WRITE) };
        if result != 0 {
            return Err(AreaError { bytes, kind, error: io::Error::last_os_error() });
        }
        Ok(area)
    }

    /// Memory of which every page was written to.
    ///
    /// # Errors
    /// As [`Area::untouched`].
    pub fn touched(bytes: usize, kind: PageKind) -> Result<Area, AreaError> {
        let mut area = Area::untouched(bytes, kind)?;
        area.touch();
        Ok(area)
    }

    fn mapped(bytes: usize, kind: PageKind, flags: i32) -> Result<Area, AreaError> {
        let failed = |error| AreaError { bytes, kind, error };
        let flags = match kind {
            // Reserved now: a process that touches a page that is not there any more is killed.
            PageKind::Reserved => flags | libc::MAP_HUGETLB,
            _ => flags | libc::MAP_NORESERVE,
        };
        // Room to begin at a multiple of 2 MiB; reserved pages do so anyway, and populating more than is used would be timed.
        let room = if kind == PageKind::Transparent { HUGE_BYTES } else { 0 };
        let mapped = bytes.max(1).next_multiple_of(if kind == PageKind::Small { 4096 } else { HUGE_BYTES }) + room;
        // SAFETY: a new private mapping touches nothing that exists.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
                -1,
                0,
            )
        };
        if mapping == libc::MAP_FAILED {
            return Err(failed(io::Error::last_os_error()));
        }
        let mapping: NonNull<u8> = NonNull::new(mapping.cast()).expect("mmap(2) gives no null without MAP_FIXED");
        let skip = if room > 0 { mapping.as_ptr().align_offset(HUGE_BYTES) } else { 0 };
        // SAFETY: the mapping has room for a start at the next multiple.
        let at = unsafe { mapping.add(skip) };
        let area = Area { mapping, mapped, at, bytes, kind };
        let advice = match kind {
            PageKind::Small => libc::MADV_NOHUGEPAGE,
            PageKind::Transparent => libc::MADV_HUGEPAGE,
            PageKind::Reserved => return Ok(area),
        };
        // SAFETY: the whole mapping is ours. A kernel without transparent huge pages refuses, which leaves small ones.
        unsafe { libc::madvise(area.mapping.as_ptr().cast(), mapped, advice) };
        Ok(area)
    }

    /// Writes to every page, so that the kernel provides it.
    pub fn touch(&mut self) {
        for byte in self.iter_mut().step_by(4096) {
            // SAFETY: `byte` is ours; volatile, so that the write is made.
            unsafe { std::ptr::write_volatile(byte, 1) };
        }
    }

    /// Gives the pages back, so that the next touch of each is a first one.
    pub fn drop_pages(&mut self) {
        // SAFETY: the whole mapping is ours, and zero pages are as good as any content.
        unsafe { libc::madvise(self.mapping.as_ptr().cast(), self.mapped, libc::MADV_DONTNEED) };
    }

    /// Kind of pages that was requested.
    pub fn kind(&self) -> PageKind {
        self.kind
    }

    /// The share of the memory that lies on huge pages, 0 to 1, as the kernel reports; `None` where it does not.
    ///
    /// `AnonHugePages` and `Private_Hugetlb` of `/proc/self/smaps`, Documentation/filesystems/proc.rst.
    pub fn huge_share(&self) -> Option<f64> {
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        // Neighbouring mappings of one kind may have become one.
        let at = self.at.as_ptr() as u64;
        let (mut inside, mut huge, mut resident) = (false, 0u64, 0u64);
        for line in smaps.lines() {
            if let Some((start, end)) = range(line) {
                inside = (start..end).contains(&at);
            } else if inside {
                let kilobytes = |name: &str| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse::<u64>().ok();
                huge += kilobytes("AnonHugePages:").or_else(|| kilobytes("Private_Hugetlb:")).unwrap_or(0);
                resident += kilobytes("Rss:").or_else(|| kilobytes("Private_Hugetlb:")).unwrap_or(0);
            }
        }
        (resident > 0).then(|| huge as f64 / resident as f64)
    }

    /// Words for the pages that it really has.
    pub fn pages(&self) -> String {
        match (self.kind, self.huge_share()) {
            (PageKind::Transparent, Some(share)) => format!("2M THP, {:.0} % of it", share * 100.0),
            (kind, _) => kind.word().to_owned(),
        }
    }
}

/// Bytes of huge pages of 2 MiB that a mapping could have now: free ones are counted as free until they are touched, also when a
/// mapping was promised them (Documentation/admin-guide/mm/hugetlbpage.rst).
fn free_huge_bytes(meminfo: &str) -> usize {
    let number = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse::<usize>().ok()
    };
    let pages = number("HugePages_Free:").unwrap_or(0).saturating_sub(number("HugePages_Rsvd:").unwrap_or(0));
    if number("Hugepagesize:") == Some(HUGE_BYTES >> 10) { pages * HUGE_BYTES } else { 0 }
}

/// The addresses at the beginning of an entry of `smaps`.
fn range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

impl Deref for Area {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is at least so long from `at`, readable, and ours.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Area {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and writable.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.bytes) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and all borrows of it have ended.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pages_are_small_and_an_area_has_the_requested_length() {
        let area = Area::touched(3 << 20, PageKind::Small).expect("3 MiB");
        assert_eq!(area.len(), 3 << 20);
        assert_eq!(area.huge_share(), Some(0.0));
        assert_eq!((area[0], area[4096], area[4097]), (1, 1, 0));
    }

    #[test]
    fn an_area_for_huge_pages_begins_where_one_can() {
        let area = Area::untouched(4 << 20, PageKind::Transparent).expect("4 MiB");
        assert_eq!(area.as_ptr() as usize % HUGE_BYTES, 0);
    }

    #[test]
    fn reserved_pages_are_not_free() {
        let text = "HugePages_Total:      64\nHugePages_Free:       40\nHugePages_Rsvd:       32\nHugepagesize:       2048 kB\n";
        assert_eq!(free_huge_bytes(text), 8 * HUGE_BYTES);
        assert_eq!(free_huge_bytes(&text.replace("2048", "1048576")), 0);
        assert_eq!(free_huge_bytes(""), 0);
    }

    #[test]
    fn dropped_pages_are_zero_again() {
        let mut area = Area::touched(1 << 20, PageKind::Small).expect("1 MiB");
        area.drop_pages();
        assert!(area.iter().all(|&byte| byte == 0));
    }
}
