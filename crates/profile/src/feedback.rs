//! What a program's file says of profile-guided optimisation.
//!
//! GCC writes its flags into debug information, and every compiler's instrumentation leaves symbols. Clang and rustc write no flags unless they
//! are to (`-grecord-command-line`), so that a program that says nothing may be optimised by a profile all the same.
#![deny(clippy::indexing_slicing)]

use std::path::Path;

use object::{Object, ObjectSymbol};

use crate::elf::section;

/// Flags by which a compiler uses a profile.
const USES: [&str; 4] = ["-fprofile-use", "-fauto-profile", "-fprofile-instr-use", "-fprofile-sample-use"];
/// First words of what compilers write of themselves.
const COMPILERS: [&str; 3] = ["GNU ", "clang ", "rustc "];
/// Starts of the names of functions that count how often code runs.
const COUNTERS: [&str; 2] = ["__gcov_", "__llvm_profile_"];

/// The part of a profile in how a program was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// It was optimised by a profile.
    Used,
    /// It counts what it runs, for a profile or for coverage.
    Collected,
}

impl Feedback {
    /// Looks at a program's file. `None` where it says nothing of either, or is no program.
    pub fn of(path: &Path) -> Option<Feedback> {
        let bytes = std::fs::read(path).ok()?;
        Feedback::of_bytes(&bytes)
    }

    fn of_bytes(bytes: &[u8]) -> Option<Feedback> {
        let file = object::File::parse(bytes).ok()?;
        let counts = |name: &str| COUNTERS.iter().any(|start| name.starts_with(start));
        if file.symbols().chain(file.dynamic_symbols()).any(|symbol| symbol.name().is_ok_and(counts)) {
            return Some(Feedback::Collected);
        }
        let texts = [".debug_str", ".debug_line_str", ".GCC.command.line"];
        let texts = texts.iter().filter_map(|name| section(&file, name, bytes.len() as u64));
        let mut uses = false;
        for text in texts {
            uses |= text.split(|&byte| byte == 0).filter_map(|line| std::str::from_utf8(line).ok()).any(uses_profile);
        }
        uses.then_some(Feedback::Used)
    }
}

fn uses_profile(line: &str) -> bool {
    let is_use = |word: &str| {
        USES.iter().any(|flag| word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
    };
    COMPILERS.iter().any(|start| line.starts_with(start)) && line.split(' ').any(is_use)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn gcc_says_what_it_did() {
        let folder = tempfile::tempdir().expect("a directory");
        let source = folder.path().join("p.c");
        std::fs::write(&source, "int main(void) { return 0; }\n").expect("there is room");
        let made = |flags: &[&str]| {
            let program = folder.path().join("p");
            let done = Command::new("gcc")
                .args(flags)
                .arg("-Wno-missing-profile")
                .arg("-o")
                .args([&program, &source])
                .status();
            assert!(done.expect("gcc is there").success());
            Feedback::of(&program)
        };
        assert_eq!(made(&["-g"]), None);
        assert_eq!(made(&["-g", "-fprofile-use"]), Some(Feedback::Used));
        assert_eq!(made(&["-g", "-gz", "-fprofile-use"]), Some(Feedback::Used), "compressed");
        assert_eq!(made(&["-fprofile-generate"]), Some(Feedback::Collected));
        assert_eq!(made(&["--coverage", "-g"]), Some(Feedback::Collected));
        assert_eq!(Feedback::of(&source), None);
    }

    #[test]
    fn only_flags_of_a_compiler_count() {
        let uses =
            ["GNU C17 12.2.0 -O2 -fprofile-use=/tmp/a", "clang version 14 -fprofile-instr-use=x"].map(uses_profile);
        assert_eq!(uses, [true; 2]);
        let others = ["usage: -fprofile-use", "GNU C17 -fprofile-user", "GNU C17 -O2"].map(uses_profile);
        assert_eq!(others, [false; 3]);
    }
}
