use clap::CommandFactory;

use super::*;

fn page(path: &[&str]) -> String {
    let mut command = Cli::command();
    command.build();
    let page = path.iter().fold(&mut command, |command, name| {
        command.find_subcommand_mut(name).unwrap_or_else(|| panic!("no verb `{name}`"))
    });
    page.render_help().to_string()
}

#[test]
fn help_pages_read_well() {
    insta::assert_snapshot!("help", page(&[]));
    for path in [
        &["record"][..],
        &["replay"],
        &["demo"],
        &["demo", "info"],
        &["demo", "dump"],
        &["demo", "frames"],
        &["demo", "pcap"],
        &["demo", "view"],
        &["demo", "anonymize"],
        &["demo", "verify"],
        &["bench"],
        &["bisect"],
        &["selftest"],
        &["load"],
        &["load", "enet"],
        &["load", "nic"],
        &["nic"],
        &["nic", "trace"],
        &["nic", "check"],
        &["compare"],
        &["stats"],
        &["hist"],
        &["check"],
        &["limits"],
        &["limits", "show"],
        &["limits", "compare"],
        &["machine"],
        &["machine", "show"],
        &["machine", "check"],
        &["machine", "tune"],
        &["machine", "restore"],
        &["profile"],
        &["profile", "show"],
        &["profile", "diff"],
        &["profile", "fold"],
        &["profile", "zones"],
        &["study"],
        &["study", "plan"],
        &["study", "run"],
        &["study", "resume"],
        &["study", "status"],
        &["study", "merge"],
        &["study", "export"],
        &["study", "import"],
        &["study", "effects"],
        &["study", "diff"],
        &["study", "history"],
        &["study", "report"],
        &["doctor"],
        &["completions"],
        &["man"],
    ] {
        insta::assert_snapshot!(format!("help_{}", path.join("_")), page(path));
    }
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
    assert_eq!((args.repeat, args.watchdog, args.command.len()), (1, Duration::from_secs(10), 2));
}
