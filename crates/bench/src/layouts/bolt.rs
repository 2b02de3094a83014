//! Layouts of a program that is linked once: LLVM's BOLT puts the functions of the finished program in another order.
//!
//! It needs the relocations that the linker has resolved (`--emit-relocs`) and a table of symbols. A project that takes ten minutes to build
//! then has twenty layouts after ten minutes, not after two hundred. As with GNU ld, the place of a function follows from its name and the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use prony_machine::Interrupt;
use prony_profile::{FunctionSymbol, function_symbols};

use super::LayoutError;
use super::order::{rank, stable};
use super::toolchain::{Linker, Links, is_program};
use crate::build_command;
use crate::command::quoted;

/// Name of the program; packages of Debian add `-` and the version of LLVM.
const NAME: &str = "llvm-bolt";
/// All functions are moved, also those that no profile mentions, and no pages are padded for them.
const OPTIONS: [&str; 4] = ["--reorder-functions=user", "--lite=0", "--no-huge-pages", "--hot-text=0"];

/// Most functions of a program that are left where they are, one after another.
const MOST_LEFT: usize = 32;

/// BOLT of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bolt {
    program: PathBuf,
}

impl Bolt {
    /// The one in `PATH`: `llvm-bolt`, or else the newest `llvm-bolt-VERSION`.
    pub fn find() -> Option<Bolt> {
        Bolt::find_in(env::split_paths(&env::var_os("PATH")?))
    }

    fn find_in(directories: impl Iterator<Item = PathBuf>) -> Option<Bolt> {
        let mut newest: Option<(u32, PathBuf)> = None;
        for directory in directories {
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(NAME)) else { continue };
                let version = match rest {
                    // The one without a version is what the user means.
                    "" => Some(u32::MAX),
                    _ => rest.strip_prefix('-').and_then(|version| version.parse().ok()),
                };
                // Of one version, the first directory counts.
                if let Some(version) =
                    version.filter(|&version| newest.as_ref().is_none_or(|newest| version > newest.0))
                    && is_program(&entry.path())
                {
                    newest = Some((version, entry.path()));
                }
            }
        }
        newest.map(|(_, program)| Bolt { program })
    }

    /// Writes `linked` to `to` with its functions in the order of `seed`. `name`: of the command.
    ///
    /// A function that BOLT cannot move, and says so, is left where it is from then on.
    ///
    /// # Errors
    /// [`LayoutError`]: BOLT failed, or was interrupted.
    pub(super) fn order(
        &self,
        name: &str,
        linked: &mut Linked,
        to: &Path,
        seed: u32,
        interrupt: Option<&Interrupt>,
    ) -> Result<Links, LayoutError> {
        let directory = to.parent().unwrap_or(Path::new("."));
        let [list, log] = ["order", "bolt.log"].map(|name| directory.join(name));
        let functions = in_order(&linked.functions, seed);
        let text: String = functions.iter().map(|function| format!("{function}\n")).collect();
        fs::write(&list, text).map_err(LayoutError::io(&list))?;
        let ended = loop {
            let failed = build_command::run(&self.words(linked, to, &list), directory, &log, |_| {}, interrupt)?;
            let Some(ended) = failed else { break None };
            let printed = build_command::printed(&log);
            let obstacle = printed.iter().rev().find_map(|line| obstacle(line));
            match obstacle.filter(|name| linked.left.len() < MOST_LEFT && !linked.left.contains(name)) {
                Some(name) => linked.left.push(name),
                None => break Some((ended, printed)),
            }
        };
        // A program that runs from a directory of its own finds nothing else there.
        for path in [&list, &log] {
            fs::remove_file(path).map_err(LayoutError::io(path))?;
        }
        match ended {
            Some((ended, printed)) => {
                Err(LayoutError::Bolt { name: name.to_owned(), program: self.program.clone(), ended, printed })
            }
            None => Ok(Links { linker: Linker::Bolt, functions: Some(functions.len() - linked.left.len()) }),
        }
    }

    /// Command line that orders the functions, quoted.
    fn words(&self, linked: &Linked, to: &Path, list: &Path) -> String {
        let paths = [&self.program, &linked.program, Path::new("-o"), to];
        let mut words: Vec<String> = paths.map(|path: &Path| path.to_string_lossy().into_owned()).to_vec();
        words.extend(OPTIONS.map(str::to_owned));
        words.push(format!("--function-order={}", list.display()));
        if !linked.left.is_empty() {
            words.push(format!("--skip-funcs={}", linked.left.join(",")));
        }
        quoted(words.iter().map(String::as_str))
    }
}

/// A program with its relocations.
#[derive(Debug)]
pub struct Linked {
    program: PathBuf,
    /// Functions in its table of symbols.
    functions: Vec<FunctionSymbol>,
    /// Functions that BOLT leaves where they are, as it calls them: `luaV_execute/1`.
    pub left: Vec<String>,
}

impl Linked {
    /// Reads the table of symbols of a program.
    ///
    /// # Errors
    /// When the program cannot be read.
    pub fn of(program: PathBuf) -> Result<Linked, LayoutError> {
        let bytes = fs::read(&program).map_err(LayoutError::io(&program))?;
        Ok(Linked { functions: function_symbols(&bytes), program, left: Vec::new() })
    }
}

/// Name of a function that BOLT cannot move and suggests to skip: in most cases one that jumps to computed addresses within itself.
fn obstacle(line: &str) -> Option<String> {
    let name = line.strip_prefix("BOLT-ERROR: ").filter(|line| line.contains("--skip-funcs"))?;
    let name = name.split_once(" in function ")?.1.split(['(', ' ']).next()?.trim_end_matches('.');
    (!name.is_empty() && !name.contains(',')).then(|| name.to_owned())
}

/// Names as BOLT has them, in the order of a seed. Of local functions it numbers those of one name.
fn in_order(functions: &[FunctionSymbol], seed: u32) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked = BTreeSet::new();
    for FunctionSymbol { name, local } in functions {
        let known = match local {
            false => name.clone(),
            true => {
                let number = seen.entry(name).and_modify(|number| *number += 1).or_insert(1);
                format!("{name}/{number}")
            }
        };
        ranked.insert((rank(&stable(&known), seed.into()), known));
    }
    ranked.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_order_follows_the_names_and_the_seed() {
        let symbol = |name: &str, local| FunctionSymbol { name: name.to_owned(), local };
        let old = [symbol("main", false), symbol("f", true), symbol("g", false), symbol("f", true), symbol("h", true)];
        let order = |functions: &[FunctionSymbol], seed| in_order(functions, seed);
        let first = order(&old, 1);
        assert_eq!(
            first.iter().map(String::as_str).collect::<BTreeSet<_>>(),
            ["f/1", "f/2", "g", "h/1", "main"].into()
        );
        assert!((2..20).any(|seed| order(&old, seed) != first));
        // A function more moves none of the others against each other.
        let new = [&old[..], &[symbol("more", false)]].concat();
        let without: Vec<String> = order(&new, 1).into_iter().filter(|name| name != "more").collect();
        assert_eq!(without, first);
    }

    #[test]
    fn a_function_that_cannot_be_moved_is_known_by_what_bolt_says() {
        let said = "BOLT-ERROR: unable to get new address corresponding to input address 0xa180 in function luaV_execute/1(*2). \
                    Consider adding this function to --skip-funcs=...";
        assert_eq!(obstacle(said).as_deref(), Some("luaV_execute/1"));
        assert_eq!(obstacle("BOLT-ERROR: stripped binaries are not supported"), None);
        assert_eq!(obstacle("BOLT-INFO: in function f. Consider --skip-funcs"), None);
    }

    #[test]
    fn the_newest_is_found_and_the_one_without_a_version_before_it() {
        let scratch = tempfile::tempdir().expect("a directory");
        let [first, second] = ["first", "second"].map(|name| scratch.path().join(name));
        let program = |directory: &Path, name: &str, mode| {
            fs::create_dir_all(directory).expect("it can be made");
            let path = directory.join(name);
            fs::write(&path, "")
                .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
                .expect("a file");
            Some(Bolt { program: path })
        };
        let find = || Bolt::find_in([first.clone(), second.clone()].into_iter());
        assert_eq!(find(), None);
        program(&first, "llvm-bolt-heatmap-19", 0o755);
        program(&first, "llvm-bolt-20", 0o644);
        assert_eq!(find(), None);
        let old = program(&first, "llvm-bolt-9", 0o755);
        assert_eq!(find(), old);
        let new = program(&second, "llvm-bolt-19", 0o755);
        assert_eq!(find(), new);
        let own = program(&second, "llvm-bolt", 0o755);
        assert_eq!(find(), own);
    }
}
