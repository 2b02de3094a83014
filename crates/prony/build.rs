//! Tells the command which commit and target it is built from.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PRONY_COMMIT");
    let target = env::var("TARGET").expect("cargo sets TARGET for build scripts");
    println!("cargo::rustc-env=PRONY_TARGET={target}");
    let directory = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    // Who builds from an archive may name the commit.
    let commit = env::var("PRONY_COMMIT").ok().or_else(|| packaged(&directory)).or_else(|| checked_out(&directory));
    println!("cargo::rustc-env=PRONY_COMMIT={}", commit.unwrap_or_default());
}

/// The commit of a package of crates.io, which cargo has noted in it.
fn packaged(directory: &Path) -> Option<String> {
    let noted = std::fs::read_to_string(directory.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = noted.split_once("\"sha1\"")?;
    let commit: String =
        rest.chars().skip_while(|c| !c.is_ascii_hexdigit()).take_while(char::is_ascii_hexdigit).collect();
    commit.get(..12).map(str::to_owned)
}

/// The commit of a checkout, with a `+` if tracked files differ from it.
fn checked_out(directory: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).current_dir(directory).env("GIT_OPTIONAL_LOCKS", "0").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // Not a repository into which the source was unpacked.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // `logs/HEAD` changes with every commit and checkout, and lies in the directory of the worktree.
    for name in ["HEAD", "logs/HEAD"] {
        // A file that is missing counts as changed, each time.
        let path = git(&["rev-parse", "--git-path", name]).map(|path| directory.join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let is_clean = git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|changed| changed.is_empty());
    Some(if is_clean { commit } else { commit + "+" })
}
