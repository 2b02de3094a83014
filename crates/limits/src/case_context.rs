//! State shared by running cases: the CPU, the tester, memory touched in advance, a directory for files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use prony_machine::Cache;
use prony_stats::Seed;

use crate::area::{Area, AreaError, PageKind};
use crate::contents::Contents;
use crate::tester::{Effort, Tester};

/// Most memory of one area: as the first measurement of its kind had, and more than any cache of today.
const AREA_MAX: usize = 1 << 30;

/// How much longer the second area of a pair is, so that the two, which the kernel lays side by side, do not begin a power of two
/// apart. AMD's first-level cache finds a line by a hash of bits 12 to 27 of its address (Lipp and others, "Take A Way", 2020): two
/// lines of one hash push each other out, and a copy between areas 1 GiB apart ran at a third of its speed.
const SKEW_BYTES: usize = 21 * 4096;

/// Facts about the machine, known before anything is planned.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Time limits of each case.
    pub effort: Effort,
    /// All CPUs that may be used; first the one on which one thread measures.
    pub cpus: Vec<usize>,
    /// Data and unified caches, the nearest first.
    pub caches: Vec<Cache>,
    /// Most bytes of one area.
    pub area_bytes: usize,
    /// Huge pages that this machine gives.
    pub huge: PageKind,
    /// Directory for the files that are read.
    pub directory: PathBuf,
}

impl Setting {
    /// Size of an area that no cache holds, in bytes, at most an eighth of the available memory: there are two areas of
    /// each kind of page, and the machine has other users.
    pub fn area_bytes(available: Option<u64>, caches: &[Cache], thorough: bool) -> usize {
        let last = caches.iter().map(|cache| cache.size_bytes as usize).max().unwrap_or(32 << 20);
        let wanted = if thorough { AREA_MAX } else { last.saturating_mul(4).clamp(256 << 20, AREA_MAX) };
        let most = available.map_or(AREA_MAX / 4, |bytes| (bytes / 8) as usize);
        let most = most.clamp(16 << 20, wanted.next_power_of_two());
        // A power of two, as every size of a sweep is or nearly is.
        if most.is_power_of_two() { most } else { most.next_power_of_two() / 2 }
    }

    /// A size that is in each level for sure, named: half of each cache, and for memory four times the last and more.
    pub fn levels(&self) -> Vec<(String, usize)> {
        let caches = self.caches.iter().map(|cache| (format!("L{}", cache.level), (cache.size_bytes / 2) as usize));
        let mut levels: Vec<(String, usize)> = caches.filter(|(_, bytes)| *bytes <= self.area_bytes / 4).collect();
        levels.push(("DRAM".to_owned(), self.memory_size()));
        levels
    }

    /// A size that no cache holds, where this machine has memory for it.
    pub fn memory_size(&self) -> usize {
        self.area_bytes
    }
}

/// Resources that running cases share.
#[derive(Debug)]
pub struct CaseContext {
    /// Facts about the machine that cases depend on.
    pub setting: Setting,
    /// Tester that repeats and times the work.
    pub tester: Tester,
    /// Memory that was touched before.
    pub memory: Memory,
    /// Numbers for orders and patterns.
    pub seed: Seed,
    /// File for the experiment that reads files, made on first use.
    pub file: Option<File>,
}

/// Two areas of each kind of page, made when they are first used: the first holds [`Contents::Noise`] and is only read, the
/// second is written.
#[derive(Debug)]
pub struct Memory {
    bytes: usize,
    seed: Seed,
    areas: BTreeMap<PageKind, (Area, Area)>,
}

impl Memory {
    /// Nothing yet; `bytes`: of each area; `seed`: of what they hold.
    pub fn new(bytes: usize, seed: Seed) -> Memory {
        Memory { bytes, seed, areas: BTreeMap::new() }
    }

    /// Words for the pages of a kind, as the kernel really gave them.
    pub fn pages(&self, kind: PageKind) -> String {
        self.areas.get(&kind).map_or_else(String::new, |(a, _)| a.pages())
    }

    /// Two areas on pages of this kind, every page touched. A case that changes the first fills it again.
    ///
    /// # Errors
    /// [`AreaError`]
    pub fn pair(&mut self, kind: PageKind) -> Result<(&mut Area, &mut Area), AreaError> {
        if !self.areas.contains_key(&kind) {
            let mut pair = (Area::untouched(self.bytes, kind)?, Area::touched(self.bytes + SKEW_BYTES, kind)?);
            Contents::Noise.fill(&mut pair.0, &mut self.seed);
            self.areas.insert(kind, pair);
        }
        let (a, b) = self.areas.get_mut(&kind).expect("it was made if it was missing");
        Ok((a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(area_bytes: usize, thorough: bool) -> Setting {
        let cache = |level, size_bytes| Cache { level, kind: "Data".to_owned(), size_bytes, shared_by: String::new() };
        let effort = if thorough { Effort::FULL } else { Effort::QUICK };
        Setting {
            effort,
            cpus: vec![0],
            caches: vec![cache(1, 32 << 10), cache(2, 1 << 20), cache(3, 32 << 20)],
            area_bytes,
            huge: PageKind::Transparent,
            directory: PathBuf::new(),
        }
    }

    #[test]
    fn every_level_has_a_size_that_it_holds_for_sure() {
        let sizes: Vec<usize> = setting(1 << 30, true).levels().into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(sizes, [16 << 10, 512 << 10, 16 << 20, 1 << 30]);
        let small: Vec<String> = setting(32 << 20, false).levels().into_iter().map(|(name, _)| name).collect();
        assert_eq!(small, ["L1", "L2", "DRAM"]);
    }

    #[test]
    fn areas_are_an_eighth_of_the_memory_at_most() {
        let caches = setting(1 << 30, true).caches;
        let bytes = |available, thorough| Setting::area_bytes(available, &caches, thorough);
        assert_eq!(bytes(Some(23 << 30), true), 1 << 30);
        assert_eq!(bytes(Some(23 << 30), false), 256 << 20);
        assert_eq!(bytes(Some(3 << 30), true), 256 << 20);
        assert_eq!([bytes(Some(0), true), bytes(None, true)], [16 << 20, 256 << 20]);
    }
}
