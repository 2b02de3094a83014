//! Surroundings that change the cost of a program by accident: drawn again each round.
//!
//! The size of the environment moves the stack, and with it what lies together in a cache line or a
//! page; a link order or a user name can make a program 10 % faster (Mytkowicz, Diwan, Hauswirth &
//! Sweeney 2009, "Producing wrong data without doing anything obviously wrong!"). Seeds of hash
//! tables change the order of everything in a dictionary. One fixed value of these measures that
//! value; drawn again each round they become noise that the judge sees and averages. Addresses are
//! drawn by the kernel (ASLR), which we leave on.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use prony_stats::Seed;
use tempfile::TempDir;

/// A page: what a stack is moved by beyond this only repeats.
const PADDING_BYTES_MOST: usize = 4096;
/// Levels of directories that a run may be below ours.
const DEPTH_MOST: usize = 16;
/// Variable that makes an environment larger.
pub(crate) const PADDING: &str = "PRONY_PADDING";

/// Random environment common to the runs of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Randomization {
    padding_bytes: usize,
    hash_seed: u32,
    depth: usize,
}

impl Randomization {
    pub fn draw(seed: &mut Seed) -> Randomization {
        Randomization {
            padding_bytes: seed.below(PADDING_BYTES_MOST + 1),
            // The values that Python takes (PYTHONHASHSEED); 0 switches the seed off, so it is not drawn.
            hash_seed: 1 + seed.below(u32::MAX as usize) as u32,
            depth: seed.below(DEPTH_MOST + 1),
        }
    }

    /// Randomization that leaves environment and directory as they are.
    pub fn none() -> Randomization {
        Randomization { padding_bytes: 0, hash_seed: 0, depth: 0 }
    }

    /// `environment` with the round's padding and seeds. A seed that the user has
    /// set stays.
    pub fn environment(&self, environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        if *self == Randomization::none() {
            return environment.to_vec();
        }
        let mut all: Vec<(OsString, OsString)> =
            environment.iter().filter(|(name, _)| name != PADDING).cloned().collect();
        all.push((PADDING.into(), "x".repeat(self.padding_bytes).into()));
        for name in ["PYTHONHASHSEED", "PERL_HASH_SEED"] {
            if !environment.iter().any(|(set, _)| set == name) {
                all.push((name.into(), self.hash_seed.to_string().into()));
            }
        }
        all
    }

    /// Working directory of the round's runs, below `places`.
    pub fn directory(&self, places: &NestedDirectories) -> PathBuf {
        places.at_depth(self.depth)
    }
}

/// Empty directories, one in the other, gone in the end.
#[derive(Debug)]
pub struct NestedDirectories(TempDir);

impl NestedDirectories {
    pub fn make() -> io::Result<NestedDirectories> {
        let places = NestedDirectories(TempDir::with_prefix("prony-")?);
        fs::create_dir_all(places.at_depth(DEPTH_MOST))?;
        Ok(places)
    }

    fn at_depth(&self, depth: usize) -> PathBuf {
        self.0.path().join((0..depth).map(|_| Path::new("deeper")).collect::<PathBuf>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_draw_equal_surroundings() {
        let draws = |seed| {
            let mut seed = Seed::new(seed);
            (0..20).map(|_| Randomization::draw(&mut seed)).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
    }

    #[test]
    fn a_seed_that_the_user_set_stays() {
        let ours: Vec<(OsString, OsString)> =
            vec![("PYTHONHASHSEED".into(), "0".into()), ("PRONY_PADDING".into(), "y".into())];
        let randomization = Randomization { padding_bytes: 3, hash_seed: 9, depth: 2 };
        let expected = [("PYTHONHASHSEED", "0"), ("PRONY_PADDING", "xxx"), ("PERL_HASH_SEED", "9")];
        assert_eq!(randomization.environment(&ours), expected.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn every_depth_is_a_directory() {
        let places = NestedDirectories::make().expect("the temporary directory is writable");
        let mut seed = Seed::new(1);
        for _ in 0..50 {
            assert!(Randomization::draw(&mut seed).directory(&places).is_dir());
        }
    }
}
