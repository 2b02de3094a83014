//! Commands that look as if a shell were to run them, and the shell that is requested.

use prony_bench::shell::construct;

use crate::cli::{BenchArgs, ShellArgs};

/// Programs that a forgotten `=` turns into commands: `--shell bash './a'`.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "none", "default"];

/// The shell that runs the commands; `None` for none.
pub fn requested(args: &ShellArgs) -> Option<&str> {
    match args.in_shell.as_deref().or(args.shell.as_deref())? {
        "none" => None,
        "default" => Some("sh"),
        shell => Some(shell),
    }
}

/// What to know before anything runs: words that only a shell understands, and shells that are measured.
///
/// `command_line`: arguments of this process, from the verb on.
pub fn warnings(args: &BenchArgs, command_line: &[String]) -> Vec<String> {
    let mut warnings = Vec::new();
    // Who says that there is none knows what becomes of the words.
    let shell = &args.shell;
    let chosen = shell.no_shell || shell.in_shell.is_some() || shell.shell.is_some();
    let traps = args.commands.iter().filter_map(|text| Some((text, construct(text)?)));
    for (text, construct) in traps.filter(|_| !chosen && args.replays.demo.is_empty()) {
        warnings.push(format!(
            "`{text}`: no shell runs it, so `{construct}` is passed on as it is; in a shell: {}",
            in_shell(command_line)
        ));
    }
    if let ([first, _, ..], Some("sh")) = (args.commands.as_slice(), shell.shell.as_deref())
        && SHELLS.contains(&first.as_str())
    {
        warnings.push(format!(
            "`{first}` is measured as the first command; -S {first} or --shell={first} selects the shell"
        ));
    }
    warnings
}

/// The same command line with a shell.
fn in_shell(command_line: &[String]) -> String {
    let (verb, rest) = command_line.split_first().map_or(("bench", &[][..]), |(verb, rest)| (verb.as_str(), rest));
    let words = ["prony", verb, "--shell"].into_iter().chain(rest.iter().map(String::as_str));
    prony_bench::quoted(words)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn args(words: &[&str]) -> BenchArgs {
        let cli = Cli::try_parse_from([&["prony", "bench"], words].concat()).unwrap_or_else(|error| panic!("{error}"));
        let Verb::Bench(args) = cli.verb else { panic!("{words:?}") };
        *args
    }

    fn warnings_of(words: &[&str]) -> Vec<String> {
        let line: Vec<String> = [&["bench"], words].concat().into_iter().map(str::to_owned).collect();
        warnings(&args(words), &line)
    }

    #[test]
    fn the_warning_has_the_line_that_does_what_was_meant() {
        assert_eq!(
            warnings_of(&["--warmup", "2", "sort big | head", "true"]),
            ["`sort big | head`: no shell runs it, so `|` is passed on as it is; in a shell: \
              prony bench --shell --warmup 2 'sort big | head' true"]
        );
        assert!(warnings_of(&["--shell", "a | b"]).is_empty());
        for none in [&["-N", "a | b"][..], &["-S", "none", "a | b"], &["-S", "bash", "a | b"]] {
            assert!(warnings_of(none).is_empty(), "{none:?}");
        }
        assert_eq!(
            warnings_of(&["--shell", "bash", "a"]),
            ["`bash` is measured as the first command; -S bash or --shell=bash selects the shell"]
        );
    }

    #[test]
    fn a_shell_is_named_as_in_hyperfine_and_none_is_none() {
        for (words, shell) in [
            (&["a"][..], None),
            (&["-S", "bash", "a"], Some("bash")),
            (&["-S", "none", "a"], None),
            (&["--shell=none", "a"], None),
            (&["--shell=zsh -f", "a"], Some("zsh -f")),
            (&["--shell", "a"], Some("sh")),
            (&["-S", "default", "a"], Some("sh")),
        ] {
            assert_eq!(requested(&args(words).shell), shell, "{words:?}");
        }
    }
}
