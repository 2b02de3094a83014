//! Flags of `prony doctor`, `completions` and `man`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const DOCTOR_HELP: &str = "\
Records and replays a small program, and tries what other verbs need from the kernel and from other programs. Nothing is
changed. `prony machine check` reports what disturbs measurements, which is another question.

Exit codes: 0 everything works, 1 something does not, 2 could not run.";

/// Report what works here, and what to install or set for the rest.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_HELP)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The program that `prony doctor` records.
#[derive(Debug, Args)]
pub struct SubjectArgs {
    /// Directory in which it writes a file and reads it back
    pub state: Option<PathBuf>,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  prony completions bash > ~/.local/share/bash-completion/completions/prony
  prony completions zsh > ~/.zfunc/_prony            with `fpath+=~/.zfunc` in ~/.zshrc, before `compinit`
  prony completions fish > ~/.config/fish/completions/prony.fish";

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: ShellName,
}

/// Shells with completion scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellName {
    /// GNU Bash
    Bash,
    /// Z shell
    Zsh,
    /// fish
    Fish,
}

const MAN_HELP: &str = "\
Examples:
  prony man | man -l -                  read the page of prony
  prony man bench | man -l -            read that of a verb
  prony man --dir ~/.local/share/man/man1";

/// Print a man page, or write those of all verbs.
#[derive(Debug, Args)]
#[command(after_help = MAN_HELP)]
pub struct ManArgs {
    /// Verb, such as `bench` or `machine tune` [default: prony itself]
    #[arg(value_name = "VERB")]
    pub verb: Vec<String>,
    /// Write the pages of all verbs to DIR
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub dir: Option<PathBuf>,
}
