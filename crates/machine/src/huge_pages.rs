//! Huge pages for programs that map some: reserved for a while, and given back.

use crate::Tree;
use crate::knob::Knob;
use crate::tune::{Back, Restoring, restore};
use crate::undo::{Change, Found, HUGE_PAGES, Lock, Resource, Stage, Undo, UndoError};

const NUMBER: &str = "/proc/sys/vm/nr_hugepages";
const FACTS: &str = "/proc/meminfo";

/// Reasons why there are not enough huge pages.
#[derive(Debug, thiserror::Error)]
pub enum HugePagesError {
    /// The kernel has no huge pages.
    #[error("this kernel has no huge pages")]
    Unsupported,
    /// Too few pages are free, and only root reserves more.
    #[error("{wanted} free huge pages are needed, but there {} {free}", if *free == 1 { "is" } else { "are" })]
    NotPermitted {
        /// Number of pages that are needed.
        wanted: u64,
        /// Number of pages that are free.
        free: u64,
        /// The number of all pages with which enough would be free.
        number: u64,
    },
    /// Memory is too fragmented, or there is too little of it.
    #[error("{wanted} free huge pages are needed, but the kernel found memory for {free} only")]
    NoMemory {
        /// Number of pages that are needed.
        wanted: u64,
        /// Pages that are free now.
        free: u64,
    },
    /// Without an undo file nothing is changed.
    #[error(transparent)]
    Undo(#[from] UndoError),
}

/// Huge pages that are there until this is dropped.
///
/// What was reserved beyond those that were free is given back then. A process that is killed leaves an undo file, from which
/// [`give_back`] and [`crate::restore`] do the same.
#[derive(Debug)]
pub struct HugePages<'a> {
    tree: &'a Tree,
    /// The kernel's number of huge pages is changed as long as this lives.
    _lock: Option<Lock>,
    /// Number of all huge pages: before, if more were reserved, and now.
    before: Option<u64>,
    now: u64,
}

impl<'a> HugePages<'a> {
    /// Makes sure that `wanted` huge pages of the default size are free.
    ///
    /// # Errors
    /// [`HugePagesError`]: then the number of huge pages is as it was.
    pub fn reserve(tree: &'a Tree, wanted: u64) -> Result<HugePages<'a>, HugePagesError> {
        let counts = |tree| number(tree).zip(free(tree)).ok_or(HugePagesError::Unsupported);
        let (mut all, mut available) = counts(tree)?;
        if available >= wanted {
            return Ok(HugePages { tree, _lock: None, before: None, now: all });
        }
        let lock = Lock::take(tree, HUGE_PAGES)?;
        match Undo::load(tree, HUGE_PAGES)? {
            Found::Nothing => {}
            Found::EarlierBoot => drop(restore::drop_earlier_boot(tree, HUGE_PAGES)?),
            Found::Undo(undo) => drop(restore::apply(tree, HUGE_PAGES, undo)?),
        }
        (all, available) = counts(tree)?;
        // The kernel counts surplus pages, which are all in use, into the pool before it adds any: those of a process that is
        // ending, for example, whose pool was given back.
        let number = all + surplus(tree) + wanted.saturating_sub(available);
        let resource = |found: Option<String>| Resource::File {
            path: NUMBER.to_owned(),
            before: format!("{all}\n"),
            asked: Some(number.to_string()),
            settled: found.clone(),
            found,
        };
        let change = |stage, found| Change { knob: Knob::HugePagePool, stage, resource: resource(found) };
        Undo::new(tree, vec![change(Stage::Begun, None)], Vec::new()).save(tree, HUGE_PAGES)?;
        if tree.write(NUMBER, &number.to_string()).is_err() {
            crate::undo::remove(tree, HUGE_PAGES)?;
            return Err(HugePagesError::NotPermitted { wanted, free: available, number });
        }
        let (now, available) = counts(tree)?;
        Undo::new(tree, vec![change(Stage::Done, Some(format!("{now}\n")))], Vec::new()).save(tree, HUGE_PAGES)?;
        let pages = HugePages { tree, _lock: Some(lock), before: Some(all), now };
        if available < wanted {
            drop(pages);
            return Err(HugePagesError::NoMemory { wanted, free: available });
        }
        Ok(pages)
    }

    /// Number of all huge pages since the reservation.
    pub fn number(&self) -> u64 {
        self.now
    }

    /// True if pages were reserved, and will be given back.
    pub fn is_changed(&self) -> bool {
        self.before.is_some()
    }
}

impl Drop for HugePages<'_> {
    fn drop(&mut self) {
        if self.before.is_some()
            && let Ok(Found::Undo(undo)) = Undo::load(self.tree, HUGE_PAGES)
        {
            // What cannot be put back stays in the undo file.
            let _ = restore::apply(self.tree, HUGE_PAGES, undo);
        }
    }
}

/// Gives back what a process that was killed had reserved. True if there was something.
///
/// # Errors
/// [`UndoError::Busy`] if that process is still there.
pub fn give_back(tree: &Tree) -> Result<bool, UndoError> {
    Ok(match restore::restore_one(tree, HUGE_PAGES)? {
        Restoring::Applied(restored) => restored.iter().any(|restored| restored.back == Back::Put),
        Restoring::Nothing | Restoring::EarlierBoot => false,
    })
}

/// Number of all huge pages of the default size.
pub fn number(tree: &Tree) -> Option<u64> {
    tree.value(NUMBER)
}

/// Number of those neither in use nor reserved.
fn free(tree: &Tree) -> Option<u64> {
    Some(fact(tree, "HugePages_Free:")?.saturating_sub(fact(tree, "HugePages_Rsvd:")?))
}

/// Number of those in use beyond the number of all.
fn surplus(tree: &Tree) -> u64 {
    fact(tree, "HugePages_Surp:").unwrap_or(0)
}

fn fact(tree: &Tree, name: &str) -> Option<u64> {
    let facts = tree.read(FACTS).ok()?;
    facts.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(number: &str, free: u64) -> (tempfile::TempDir, Tree) {
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it is writable");
            fs::write(path, text).expect("it is writable");
        };
        write("proc/sys/vm/nr_hugepages", number);
        write("proc/meminfo", &format!("HugePages_Total: 9\nHugePages_Free: {free}\nHugePages_Rsvd: 1\n"));
        write("proc/sys/kernel/random/boot_id", "b\n");
        let tree = Tree::at(directory.path());
        (directory, tree)
    }

    #[test]
    fn enough_free_pages_change_nothing() {
        let (_directory, tree) = machine("9\n", 5);
        let pages = HugePages::reserve(&tree, 4).expect("four are free and not promised");
        assert!(!pages.is_changed() && pages.number() == 9);
        drop(pages);
        assert_eq!(number(&tree), Some(9));
    }

    #[test]
    fn too_few_pages_are_given_back_when_the_kernel_found_no_memory() {
        // The imitation takes the number, and has no more free pages.
        let (_directory, tree) = machine("9\n", 5);
        let error = HugePages::reserve(&tree, 32).expect_err("they do not become free");
        assert_eq!(error.to_string(), "32 free huge pages are needed, but the kernel found memory for 4 only");
        assert_eq!(tree.read(NUMBER).expect("it is there"), "9\n");
        assert!(!give_back(&tree).expect("nobody has the lock"));
    }

    #[test]
    fn what_a_killed_process_left_is_given_back() {
        let (_directory, tree) = machine("9\n", 5);
        let resource = Resource::File {
            path: NUMBER.to_owned(),
            before: "0\n".to_owned(),
            asked: Some("9".to_owned()),
            found: None,
            settled: None,
        };
        let change = Change { knob: Knob::HugePagePool, stage: Stage::Begun, resource };
        let lock = Lock::take(&tree, HUGE_PAGES).expect("nobody has it");
        Undo::new(&tree, vec![change], Vec::new()).save(&tree, HUGE_PAGES).expect("it is writable");
        drop(lock);
        assert!(give_back(&tree).expect("nobody has the lock"));
        assert_eq!(number(&tree), Some(0));
        assert!(!give_back(&tree).expect("nobody has the lock"));
    }
}
