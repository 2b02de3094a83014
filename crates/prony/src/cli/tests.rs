use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::*;

/// Every verb that is shown, with its page for `--help`.
fn pages(command: &Command, name: &str, all: &mut Vec<(String, String)>) {
    all.push((name.to_owned(), command.clone().render_long_help().to_string()));
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        pages(verb, &format!("{name} {}", verb.get_name()), all);
    }
}

fn all_pages() -> Vec<(String, String)> {
    let mut command = command();
    command.build();
    let mut all = Vec::new();
    pages(&command, "prony", &mut all);
    all
}

#[test]
fn the_reference_has_the_help_page_of_each_verb() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/command-line.md");
    let mut expected = "# Command line\n\nWhat `--help` prints, of each verb. Made by `PRONY_WRITE_PAGES=1 cargo test -p prony --bins reference`.\n".to_owned();
    for (name, page) in all_pages() {
        let page: String = page.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        let _ = write!(expected, "\n## {name}\n\n```text\n{}\n```\n", page.trim_end());
    }
    if env::var_os("PRONY_WRITE_PAGES").is_some() {
        fs::write(&path, &expected).expect("the page can be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "`PRONY_WRITE_PAGES=1 cargo test -p prony --bins reference` writes {}", path.display());
}

#[test]
fn short_help_is_short_and_says_that_there_is_more() {
    let mut root = command();
    root.build();
    fn check(command: &mut Command, name: &str) {
        let page = command.render_help().to_string();
        let flags = page.lines().filter(|line| line.trim_start().starts_with('-')).count();
        // The flags for help are beside the verb's own.
        assert!(flags <= SHORT_MOST + 2, "{name} -h shows {flags} flags");
        let hidden = command.get_arguments().filter(|argument| argument.is_hide_short_help_set()).count();
        assert_eq!(page.contains(&format!("{hidden} more flags: --help")), hidden > 0, "{name}: {page}");
        for verb in command.get_subcommands_mut() {
            let name = format!("{name} {}", verb.get_name());
            check(verb, &name);
        }
    }
    check(&mut root, "prony");
}

#[test]
fn each_verb_is_in_one_group_of_the_help_page() {
    let command = command();
    let shown: BTreeSet<&str> =
        command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name).collect();
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    assert_eq!(grouped.len(), shown.len(), "{grouped:?}");
    assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), shown);
}

#[test]
fn flags_do_not_contradict_each_other() {
    Cli::command().debug_assert();
}

#[test]
fn frames_are_one_or_a_range_without_its_end() {
    let range = |first, end| Ok(FrameRange { first, end });
    assert_eq!(frames("312"), range(312, Some(313)));
    assert_eq!(frames("300..320"), range(300, Some(320)));
    assert_eq!(frames("300..=320"), range(300, Some(321)));
    assert_eq!(frames("300.."), range(300, None));
    assert_eq!(frames("..20"), range(0, Some(20)));
    for wrong in ["", "x", "5..5", "9..3", "-1", "1...3", "18446744073709551616"] {
        assert!(frames(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_flags_of_the_server_stay_with_the_server() {
    let cli = Cli::try_parse_from(["prony", "record", "-o", "x.demo", "--for", "30s", "--", "srv", "--for", "-o"]);
    let Ok(Cli { verb: Verb::Record(args) }) = cli else { panic!("{cli:?}") };
    assert_eq!(args.limit, Some(Duration::from_secs(30)));
    assert_eq!(args.command, ["srv", "--for", "-o"]);
    let cli = Cli::try_parse_from(["prony", "replay", "x.demo", "--json", "--", "srv", "--json"]);
    let Ok(Cli { verb: Verb::Replay(args) }) = cli else { panic!("{cli:?}") };
    assert_eq!((args.repeat, args.execution.watchdog, args.command.len()), (1, Duration::from_secs(10), 2));
}
