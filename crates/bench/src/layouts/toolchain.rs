//! Tools that stand before those of the user while a layout is built: compilers that give each function a section of its own,
//! and linkers that order the sections.
//!
//! gcc and clang look for their subprograms in `COMPILER_PATH` and after `-B`, before anywhere else. A directory with scripts of the
//! names `ld`, `ld.lld`, `cc1` … thus reaches every link of a build, whatever starts it: make, cmake, cargo, meson. Each script runs the
//! tool that would have been found without it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::order::{input_sections, script};
use crate::command::quoted;

/// Variable with the seed of a layout, for build commands that order functions by themselves; unset in a build as it is.
pub const SEED_VARIABLE: &str = "PRONY_LAYOUT_SEED";
/// Variable with the directory of the scripts.
const TOOLS_VARIABLE: &str = "PRONY_LAYOUT_TOOLS";
/// Variable that is set where links are to keep their relocations.
const RELOCATIONS_VARIABLE: &str = "PRONY_LAYOUT_RELOCATIONS";
/// File in that directory with a line for each link.
const LINKS: &str = "links";
/// Programs that compile and link, as build systems call them.
const DRIVERS: [&str; 6] = ["cc", "gcc", "clang", "c++", "g++", "clang++"];
/// Compilers proper of gcc.
const COMPILERS: [&str; 2] = ["cc1", "cc1plus"];
/// Names of linkers.
const LINKERS: [&str; 5] = ["ld", "ld.bfd", "ld.lld", "ld.mold", "ld.gold"];
/// A section for each function and each variable.
const SECTION_FLAGS: [&str; 2] = ["-ffunction-sections", "-fdata-sections"];
/// A function in two parts is one that BOLT does not move.
const WHOLE_FUNCTIONS: &str = "-fno-reorder-blocks-and-partition";
/// Sections that lld may shuffle; the order of others, such as `.init_array`, has a meaning.
const SHUFFLED_BY_LLD: [&str; 4] = [".text*", ".rodata*", ".data*", ".bss*"];
/// Arguments with which a linker leaves out symbols.
const STRIPS: [&str; 4] = ["-s", "--strip-all", "-S", "--strip-debug"];
/// Arguments with which a linker does not make a program from a script of its own.
const OTHER_LINKS: [&str; 9] = ["-r", "-i", "-Ur", "--relocatable", "-T", "--script", "--help", "--version", "-dT"];

/// Linkers that can be made to order sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linker {
    /// GNU ld: by a script. Order and offsets follow names.
    Gnu,
    /// LLVM's lld: by `--shuffle-sections`. The order follows the number of sections.
    Lld,
    /// mold: by `--shuffle-sections`.
    Mold,
    /// BOLT, after the linker: by `--function-order`. The order follows names.
    Bolt,
}

impl Linker {
    /// Name as it is shown and written.
    pub fn name(self) -> &'static str {
        match self {
            Linker::Gnu => "GNU ld",
            Linker::Lld => "lld",
            Linker::Mold => "mold",
            Linker::Bolt => "BOLT",
        }
    }

    fn of_version(text: &str) -> Option<Linker> {
        let is = |name: &str| text.contains(name);
        match () {
            // mold says that it is compatible with GNU ld, as does lld.
            () if is("mold") => Some(Linker::Mold),
            () if is("LLD") => Some(Linker::Lld),
            () if is("GNU ld") => Some(Linker::Gnu),
            () => None,
        }
    }
}

/// Links of a build in which sections were ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Links {
    /// Linker of the link with most functions.
    pub linker: Linker,
    /// Functions, or objects, that were ordered in that link; `None` where only the linker knows.
    pub functions: Option<usize>,
}

/// Functions below which their order says little, or which are whole objects.
const FUNCTIONS_FEW: usize = 4;

impl Links {
    /// Number of functions, if that is so small that objects may have been moved as a whole.
    pub fn few(&self) -> Option<usize> {
        self.functions.filter(|&functions| functions < FUNCTIONS_FEW)
    }
}

/// Directory with the scripts.
#[derive(Debug)]
pub struct Tools {
    directory: PathBuf,
}

impl Tools {
    /// Makes the scripts in `directory`. `link`: program and arguments that stand before the name of a linker and its arguments, and end
    /// up in [`link`].
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn make(directory: &Path, link: &[String]) -> io::Result<Tools> {
        fs::create_dir_all(directory)?;
        let tools = Tools { directory: directory.to_owned() };
        let own = quoted([directory.to_string_lossy().as_ref()]);
        for name in DRIVERS {
            if let Some(real) = next(name, &[env::var_os("PATH")], directory) {
                let real = quoted([real.to_string_lossy().as_ref()]);
                tools.write(name, &format!("exec {real} -B {own} \"$@\""))?;
            }
        }
        let flags = SECTION_FLAGS.join(" ");
        for name in COMPILERS {
            let real = format!("real=$(COMPILER_PATH= \"${{COLLECT_GCC:-gcc}}\" -print-prog-name={name})");
            let whole = format!("${{{RELOCATIONS_VARIABLE}:+{WHOLE_FUNCTIONS}}}");
            tools.write(name, &format!("{real}\nexec \"$real\" \"$@\" {flags} {whole}"))?;
        }
        let link = quoted(link.iter().map(String::as_str));
        for name in LINKERS {
            tools.write(name, &format!("exec {link} {name} \"$@\""))?;
        }
        Ok(tools)
    }

    fn write(&self, name: &str, body: &str) -> io::Result<()> {
        let path = self.directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
    }

    /// Sets the environment of a build whose links keep their relocations and symbols.
    pub fn adapt_for_relocations(&self, command: &mut Command) {
        self.adapt(command, None);
        self.stand_before(command);
        command.env(RELOCATIONS_VARIABLE, "1");
    }

    fn stand_before(&self, command: &mut Command) {
        let before = |name: &str| {
            let mut value = self.directory.clone().into_os_string();
            if let Some(rest) = env::var_os(name).filter(|rest| !rest.is_empty()) {
                value.push(":");
                value.push(rest);
            }
            value
        };
        command.env(TOOLS_VARIABLE, &self.directory);
        command.env("PATH", before("PATH")).env("COMPILER_PATH", before("COMPILER_PATH")).env("CCACHE_DISABLE", "1");
    }

    /// Sets the environment of a build; `None` for a build as it is.
    ///
    /// Go's own linker takes the seed from `GOFLAGS`, unless that has flags for the linker already. Compilers that a cache stands
    /// before are not run for what it knows, so ccache is switched off.
    pub fn adapt(&self, command: &mut Command, seed: Option<u32>) {
        command.env_remove(SEED_VARIABLE).env_remove(RELOCATIONS_VARIABLE);
        let Some(seed) = seed else { return };
        self.stand_before(command);
        command.env(SEED_VARIABLE, seed.to_string());
        let overrides = SECTION_FLAGS.map(|flag| format!("+{flag}")).join(" ");
        command.env("CCC_OVERRIDE_OPTIONS", format!("# {overrides}"));
        let go = env::var("GOFLAGS").unwrap_or_default();
        if !go.contains("-ldflags") {
            command.env("GOFLAGS", format!("{go} -ldflags=-randlayout={seed}").trim_start());
        }
    }

    /// What the links since the last call ordered; `None` without one that did.
    pub fn take_links(&self) -> Option<Links> {
        let path = self.directory.join(LINKS);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(&path);
        let links = text.lines().filter_map(|line| {
            let (linker, functions) = line.split_once('\t')?;
            let linker = [Linker::Gnu, Linker::Lld, Linker::Mold].into_iter().find(|known| known.name() == linker)?;
            Some(Links { linker, functions: functions.parse().ok() })
        });
        links.max_by_key(|links| links.functions)
    }
}

/// Reasons why a link fails before or beside the linker.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// There is no other linker of this name.
    #[error("no `{0}` in COMPILER_PATH or PATH")]
    NoLinker(String),
    /// It could not be run.
    #[error("cannot run {}: {error}", path.display())]
    Run {
        /// Path of the linker.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// A file of ours could not be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
}

/// Runs the linker `name` with its sections in the order of the seed in the environment. Links that cannot be ordered, and those
/// without a seed, are those of the linker alone.
///
/// # Errors
/// [`LinkError`]; what the linker finds wrong it says itself, and its status is returned.
pub fn link(name: &str, arguments: &[OsString]) -> Result<ExitStatus, LinkError> {
    let tools = env::var_os(TOOLS_VARIABLE).map(PathBuf::from).unwrap_or_default();
    let real = next(name, &[env::var_os("COMPILER_PATH"), env::var_os("PATH")], &tools);
    let real = real.ok_or_else(|| LinkError::NoLinker(name.to_owned()))?;
    let run = |command: &mut Command| command.status().map_err(|error| LinkError::Run { path: real.clone(), error });
    let plain = || {
        let error = Command::new(&real).args(arguments).exec();
        Err(LinkError::Run { path: real.clone(), error })
    };
    let seed = env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse::<u32>().ok());
    if env::var_os(RELOCATIONS_VARIABLE).is_some() {
        let kept = arguments.iter().filter(|argument| !STRIPS.iter().any(|strip| argument == strip));
        return run(Command::new(&real).args(kept).arg("--emit-relocs"));
    }
    let is_other = |argument: &OsString| {
        OTHER_LINKS.iter().any(|other| argument == *other) || argument.to_string_lossy().starts_with("--script=")
    };
    let (Some(seed), false) = (seed, arguments.iter().any(is_other)) else { return plain() };
    let version = Command::new(&real).arg("--version").output();
    let version = version.map_err(|error| LinkError::Run { path: real.clone(), error })?.stdout;
    match Linker::of_version(&String::from_utf8_lossy(&version)) {
        None | Some(Linker::Bolt) => plain(),
        Some(Linker::Gnu) => {
            let map = tools.join(format!("map-{}", std::process::id()));
            let first = Command::new(&real).args(arguments).arg("--verbose").arg(option("-Map=", &map)).output();
            let first = first.map_err(|error| LinkError::Run { path: real.clone(), error })?;
            let sections = input_sections(&fs::read_to_string(&map).unwrap_or_default());
            let _ = fs::remove_file(&map);
            let printed = String::from_utf8_lossy(&first.stdout);
            let default = printed.split("==================================================").nth(1);
            let ordered = default.and_then(|default| script(default, &sections, seed.into()));
            // A link that fails is repeated, so that the user sees the messages of the linker.
            let Some(ordered) = ordered.filter(|_| first.status.success()) else { return plain() };
            let path = tools.join(format!("script-{}", std::process::id()));
            fs::write(&path, &ordered.script).map_err(|error| LinkError::Write { path: path.clone(), error })?;
            let status = run(Command::new(&real).args(arguments).arg("-T").arg(&path))?;
            let _ = fs::remove_file(&path);
            note(&tools, Linker::Gnu, Some(ordered.functions))?;
            Ok(status)
        }
        Some(linker @ Linker::Lld) => {
            let shuffled = SHUFFLED_BY_LLD.map(|pattern| format!("--shuffle-sections={pattern}={seed}"));
            note(&tools, linker, None)?;
            run(Command::new(&real).args(arguments).args(shuffled))
        }
        Some(linker @ Linker::Mold) => {
            note(&tools, linker, None)?;
            run(Command::new(&real).args(arguments).arg(format!("--shuffle-sections={seed}")))
        }
    }
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}

/// Writes down that a link was ordered, in one write, because links of a build may run in parallel.
fn note(tools: &Path, linker: Linker, functions: Option<usize>) -> Result<(), LinkError> {
    let path = tools.join(LINKS);
    let functions = functions.map_or_else(|| "-".to_owned(), |functions| functions.to_string());
    let line = format!("{}\t{functions}\n", linker.name());
    let file = fs::File::options().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|error| LinkError::Write { path, error })
}

/// The first program of this name in lists of directories, without those in `own`.
fn next(name: &str, lists: &[Option<OsString>], own: &Path) -> Option<PathBuf> {
    let own = fs::canonicalize(own).unwrap_or_else(|_| own.to_owned());
    let directories = lists.iter().flatten().flat_map(|list: &OsString| env::split_paths::<OsStr>(list));
    let candidates = directories.filter(|path| fs::canonicalize(path).is_ok_and(|path| path != own));
    candidates.map(|directory| directory.join(name)).find(|path| is_program(path))
}

/// True for a file that may be run.
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linkers_are_known_by_their_versions() {
        let of = Linker::of_version;
        assert_eq!(of("GNU ld (GNU Binutils for Debian) 2.40"), Some(Linker::Gnu));
        assert_eq!(of("Debian LLD 14.0.6 (compatible with GNU linkers)"), Some(Linker::Lld));
        assert_eq!(of("mold 1.10.1 (compatible with GNU ld)"), Some(Linker::Mold));
        assert_eq!(of("GNU gold (GNU Binutils for Debian 2.40) 1.16"), None);
    }

    #[test]
    fn a_script_runs_the_tool_behind_it_and_a_build_as_it_is_sees_none() {
        let scratch = tempfile::tempdir().expect("a directory");
        let tools = Tools::make(scratch.path(), &["echo".to_owned(), "link".to_owned()]).expect("it can be written");
        let sh = |seed| {
            let mut command = Command::new("sh");
            command.args(["-c", "ld a.o; echo ${PRONY_LAYOUT_SEED-none}"]);
            tools.adapt(&mut command, seed);
            String::from_utf8(command.output().expect("sh is everywhere").stdout).expect("text")
        };
        assert_eq!(sh(Some(5)), "link ld a.o\n5\n");
        assert_eq!(sh(None), "none\n");
        assert_eq!(next("ld", &[Some(scratch.path().into())], scratch.path()), None);
    }

    #[test]
    fn links_are_taken_once_and_the_largest_counts() {
        let scratch = tempfile::tempdir().expect("a directory");
        let tools = Tools::make(scratch.path(), &["echo".to_owned()]).expect("it can be written");
        assert_eq!(tools.take_links(), None);
        for functions in [3, 40, 7] {
            note(scratch.path(), Linker::Gnu, Some(functions)).expect("it can be written");
        }
        assert_eq!(tools.take_links(), Some(Links { linker: Linker::Gnu, functions: Some(40) }));
        assert_eq!(tools.take_links(), None);
    }
}
