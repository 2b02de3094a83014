//! Conversion of a command's text to a program, its arguments and its variables.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Environment variables with their values.
pub type Variables = Vec<(OsString, OsString)>;

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Environment variables that the command sets, as in `LC_ALL=C ./server`.
    pub variables: Variables,
    /// Path of the program file, as `execve` gets it.
    pub program: PathBuf,
    /// Program name as given, and its arguments.
    pub arguments: Vec<OsString>,
}

/// Reasons why a text is not a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// A text without a word.
    #[error("the command is empty")]
    Empty,
    /// A quote that is not closed.
    #[error("`{0}` has an unclosed quote")]
    Quote(String),
    /// The program was not found in `PATH`.
    #[error("`{0}`: command not found")]
    NotInPath(String),
    /// The file does not exist.
    #[error("`{0}` does not exist")]
    NoFile(String),
    /// A file without execute permission.
    #[error("`{0}` is not executable")]
    NotExecutable(String),
}

impl CommandLine {
    /// Splits `text` into words as a shell would, without expanding anything, and finds the program. Words in front of it that
    /// are assignments set variables.
    ///
    /// # Errors
    /// [`CommandError`] when it has no words, or its program is not there.
    pub fn split(text: &str) -> Result<CommandLine, CommandError> {
        let words = shell_words::split(text).map_err(|_| CommandError::Quote(text.to_owned()))?;
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        let (variables, words) = split_variables(&words);
        Ok(CommandLine { variables, ..CommandLine::of_words(words.to_vec())? })
    }

    /// Words of a text as a shell splits it, whatever program they name.
    ///
    /// # Errors
    /// [`CommandError`] when it has no words, or a quote is not closed.
    pub fn words(text: &str) -> Result<Vec<String>, CommandError> {
        let words = shell_words::split(text).map_err(|_| CommandError::Quote(text.to_owned()))?;
        if words.is_empty() { Err(CommandError::Empty) } else { Ok(words) }
    }

    /// The words of the command, with its variables in front.
    pub fn in_words(&self) -> Vec<String> {
        let variable =
            |(name, value): &(OsString, OsString)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy());
        let word = |word: &OsString| word.to_string_lossy().into_owned();
        self.variables.iter().map(variable).chain(self.arguments.iter().map(word)).collect()
    }

    /// Gives `text` to a shell: a program and its own arguments, as `sh` or `bash --norc`.
    ///
    /// # Errors
    /// [`CommandError`] when the shell is not there, or `text` is empty.
    pub fn through_shell(text: &str, shell: &str) -> Result<CommandLine, CommandError> {
        if text.trim().is_empty() {
            return Err(CommandError::Empty);
        }
        let mut command = CommandLine::split(shell)?;
        command.arguments.extend(["-c".into(), text.into()]);
        Ok(command)
    }

    /// Words that are words already.
    ///
    /// # Errors
    /// [`CommandError`] when there are none, or the program is not there.
    pub fn of_words(arguments: Vec<OsString>) -> Result<CommandLine, CommandError> {
        let name = arguments.first().filter(|name| !name.is_empty()).ok_or(CommandError::Empty)?;
        let program = find(name, env::var_os("PATH").as_deref())?;
        Ok(CommandLine { variables: Variables::new(), program, arguments })
    }
}

/// Variables that the first words of a command set, as in `LC_ALL=C ./server`, and its other words. Words that are nothing but
/// assignments are no command; the first of them is left as its program, which is not found.
pub fn split_variables(words: &[OsString]) -> (Variables, &[OsString]) {
    let (assigned, command) = words.split_at(assignments(words));
    let own = |(name, value): (&OsStr, &OsStr)| (name.to_owned(), value.to_owned());
    (assigned.iter().filter_map(|word| assignment(word)).map(own).collect(), command)
}

/// Number of words in front of the program of a command that are assignments.
pub fn assignments(words: &[impl AsRef<OsStr>]) -> usize {
    let number = words.iter().take_while(|word| assignment(word.as_ref()).is_some()).count();
    if number == words.len() { 0 } else { number }
}

/// Name and value of what a shell takes for an assignment.
fn assignment(word: &OsStr) -> Option<(&OsStr, &OsStr)> {
    let mut parts = word.as_bytes().splitn(2, |&byte| byte == b'=');
    let (name, value) = (parts.next()?, parts.next()?);
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_name = name.first().is_some_and(is_first) && name.iter().all(|byte| is_first(byte) || byte.is_ascii_digit());
    is_name.then_some((OsStr::from_bytes(name), OsStr::from_bytes(value)))
}

/// Words as one line that a shell splits into the same words.
pub fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    shell_words::join(words)
}

/// The file that a name stands for: itself with a slash in it, otherwise the first in `path`.
fn find(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, CommandError> {
    let shown = || name.to_string_lossy().into_owned();
    let file = Path::new(name);
    if file.components().count() > 1 || name.to_string_lossy().contains('/') {
        return match fs::metadata(file) {
            Err(_) => Err(CommandError::NoFile(shown())),
            Ok(_) if !is_executable(file) => Err(CommandError::NotExecutable(shown())),
            // A working directory of another depth must not change what it means.
            Ok(_) => Ok(std::path::absolute(file).unwrap_or_else(|_| file.to_owned())),
        };
    }
    path.into_iter()
        .flat_map(env::split_paths)
        .map(|directory| directory.join(file))
        .find(|candidate| is_executable(candidate))
        .ok_or_else(|| CommandError::NotInPath(shown()))
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let command = CommandLine::split("sh -c 'echo \"a b\"' c\\ d").expect("sh is everywhere");
        assert_eq!(command.arguments, ["sh", "-c", "echo \"a b\"", "c d"].map(OsString::from));
        assert!(command.program.is_absolute() && command.program.ends_with("sh"));
    }

    #[test]
    fn assignments_in_front_of_the_program_are_variables() {
        let command = CommandLine::split("A=1 _b2='x =y' sh C=3").expect("sh is everywhere");
        let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        assert_eq!(command.variables, [variable("A", "1"), variable("_b2", "x =y")]);
        assert_eq!(command.arguments, ["sh", "C=3"].map(OsString::from));
        assert_eq!(command.in_words(), ["A=1", "_b2=x =y", "sh", "C=3"]);
        for program in ["2A=1 sh", "=1 sh", "a-b=1 sh", "A=1"] {
            let error = CommandLine::split(program).expect_err("it is the name of a program").to_string();
            let name = program.split(' ').next().unwrap_or_default();
            assert_eq!(error, format!("`{name}`: command not found"));
        }
    }

    #[test]
    fn a_shell_gets_the_text_as_it_is() {
        let command = CommandLine::through_shell("a | b", "/bin/sh -e").expect("sh is everywhere");
        assert_eq!(command.arguments, ["/bin/sh", "-e", "-c", "a | b"].map(OsString::from));
        assert_eq!(CommandLine::through_shell(" ", "sh"), Err(CommandError::Empty));
    }

    #[test]
    fn what_is_no_command_says_why() {
        let error = |text: &str| CommandLine::split(text).expect_err("it is no command").to_string();
        assert_eq!(error(""), "the command is empty");
        assert_eq!(error("''"), "the command is empty");
        assert_eq!(error("a 'b"), "`a 'b` has an unclosed quote");
        assert_eq!(error("no-such-program-here x"), "`no-such-program-here`: command not found");
        assert_eq!(error("./no-such-file"), "`./no-such-file` does not exist");
        assert_eq!(error("/etc/passwd"), "`/etc/passwd` is not executable");
    }
}
