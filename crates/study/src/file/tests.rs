use proptest::prelude::*;

use super::*;

const BASE: &str = r#"title = "t"
metric = { name = "cpu", unit = "second", direction = "lower" }

[[factor]]
name = "engine"
levels = ["stock", { name = "new", build = "builds/new", set = { flag = "-x" } }]

[[factor]]
name = "clients"
levels = [16, 64]

[[workload]]
name = "{map}"
axes = { map = ["dm1", "dm6"] }
command = "{engine} +map {map} -n {clients}"

[[machine]]
name = "m"
"#;

fn with(old: &str, new: &str) -> String {
    assert!(BASE.contains(old), "{old}");
    BASE.replacen(old, new, 1)
}

/// The same with `line` above the first factor.
fn and(line: &str) -> String {
    with("\n[[factor]]", &format!("{line}\n[[factor]]"))
}

#[test]
fn every_mistake_names_the_place_what_was_expected_and_what_was_found() {
    let sweep = |sweep: &str| with("levels = [16, 64]", &format!("sweep = {{ {sweep} }}"));
    let stop = |stop: &str| with("levels = [16, 64]", &format!("levels = [16, 64]\nstop = {{ {stop} }}"));
    let machine = |line: &str| with("name = \"m\"", &format!("name = \"m\"\n{line}"));
    let mistakes = [
        ("no TOML", "title = ".to_owned()),
        ("unknown key", and("colour = 3")),
        ("unknown key of a level", with("set =", "sets =")),
        ("missing key", with("title = \"t\"\n", "")),
        ("wrong type", and("repeats = \"3\"")),
        ("wrong type of a level", with("\"stock\"", "true")),
        ("wrong direction", with("lower", "down")),
        ("no repeats", and("repeats = 0")),
        ("duplicate level", with("\"stock\", {", "\"stock\", \"stock\", {")),
        ("duplicate number", with("[16, 64]", "[16, 16.0]")),
        ("duplicate factor", with("\"clients\"", "\"engine\"")),
        ("no levels", with("[16, 64]", "[]")),
        ("neither levels nor sweep", with("levels = [16, 64]", "")),
        ("a name with a brace", with("\"clients\"", "\"{clients}\"")),
        ("unknown factor in a filter", and("where = \"engin == 'stock'\"")),
        ("unknown level in a filter", and("where = \"engine == 'stok'\"")),
        ("unknown number in a filter", and("where = \"clients == 32\"")),
        ("unknown axis value", and("where = \"map != 'dm7'\"")),
        ("ordered names", and("where = \"engine < 3\"")),
        ("a number and a text", and("where = \"clients < 'few'\"")),
        ("no filter", and("where = \"engine == 'stock' und clients == 16\"")),
        ("a filter on several lines", and("where = '''\nengine == \"stock\"\nand client == 16'''")),
        ("skip without why", and("skip = [{ where = \"clients == 16\" }]")),
        ("skip with an empty why", and("skip = [{ where = \"clients == 16\", why = \" \" }]")),
        ("empty design by where", and("where = \"clients > 64\"")),
        ("empty design by skip", and("skip = [{ where = \"clients >= 16\", why = \"all\" }]")),
        ("empty design by only", and("only = []")),
        ("unknown factor in only", and("only = [{ engines = \"new\" }]")),
        ("unknown level in only", and("only = [{ engine = [\"new\", \"old\"] }]")),
        ("unknown factor in zip", and("zip = [[\"engine\", \"client\"]]")),
        ("zip of one", and("zip = [[\"engine\"]]")),
        (
            "zip of unequal length",
            with("[16, 64]", "[16, 64, 99]").replacen(
                "\n[[factor]]",
                "zip = [[\"engine\", \"clients\"]]\n[[factor]]",
                1,
            ),
        ),
        ("a random sweep", sweep("from = 1, to = 4, steps = 4 }\nrandom = true # {")),
        ("a random factor with a stopping rule", stop("when = \"late > 1\", then = \"skip\" }\nrandom = true # {")),
        ("one random level", with("[16, 64]", "[16]\nrandom = true")),
        ("neither random nor not", with("[16, 64]", "[16, 64]\nrandom = 12")),
        (
            "a random factor that goes along with another",
            with("levels = [16, 64]", "levels = [16, 64]\nrandom = true").replacen(
                "\n[[factor]]",
                "zip = [[\"engine\", \"clients\"]]\n[[factor]]",
                1,
            ),
        ),
        ("sweep that falls", sweep("from = 4, to = 1, scale = \"log2\"")),
        ("sweep without steps", sweep("from = 1, to = 4")),
        ("sweep from zero", sweep("from = 0, to = 4, scale = \"log\", steps = 3")),
        ("sweep with too many steps", sweep("from = 1, to = 4, steps = 1000000")),
        ("sweep of another scale", sweep("from = 1, to = 4, scale = \"cubic\"")),
        ("sweep of texts", sweep("from = \"1\", to = 4")),
        ("stop for names", with("set = { flag = \"-x\" } }]", "}]\nstop = { when = \"a > 1\", then = \"skip\" }")),
        ("stop without a condition", stop("when = \"late\", then = \"skip\"")),
        ("stop without resolution", stop("when = \"late > 1\", then = \"bisect\"")),
        ("stop with something else", stop("when = \"late > 1\", then = \"cry\"")),
        ("unknown placeholder", with("-n {clients}", "-n {client}")),
        ("a placeholder that one level sets", with("-n {clients}", "{flag}")),
        ("a brace that is alone", with("-n {clients}", "-n }")),
        ("a workload's name with a factor", with("name = \"{map}\"", "name = \"{engine}\"")),
        ("two workloads of one name", with("name = \"{map}\"", "name = \"dm\"")),
        ("an axis without values", with("[\"dm1\", \"dm6\"]", "[]")),
        ("an axis with a factor's name", with("{ map =", "{ clients = 3, map =")),
        ("no workload", BASE.split("[[workload]]").next().unwrap_or_default().to_owned()),
        ("nothing to run", with("command = \"{engine} +map {map} -n {clients}\"", "")),
        ("two factors that set one thing", with("[16, 64]", "[{ name = \"a\", set = { flag = \"1\" } }]")),
        ("unknown requirement", machine("require = { colour = \"red\" }")),
        ("a requirement that cannot be", machine("require = { turbo = \"maybe\" }")),
        ("exec without a command", machine("exec = \"ssh m\"")),
        ("slurm and exec", machine("exec = \"ssh m {command}\"\nslurm = {}")),
        ("two machines of one name", machine("[[machine]]\nname = \"m\"")),
        ("a machine that is a path", with("name = \"m\"", "name = \"../m\"")),
    ];
    let all = mistakes.map(|(what, text)| {
        let error = Study::parse(&text).expect_err(what);
        format!("{what}\n    {error}\n")
    });
    insta::assert_snapshot!(all.concat());
}

#[test]
fn places_are_counted_in_characters_behind_escapes_too() {
    let error = Study::parse(&and("where = \"ü == 1\"")).expect_err("there is no such factor");
    assert_eq!((error.line, error.column), (3, 10));
    let error = Study::parse(&and("where = \"engine == \\\"stok\\\"\"")).expect_err("there is no such level");
    assert_eq!((error.line, error.column), (3, 9), "the text is not as it stands in the file");
    let long = "x".repeat(MOST_BYTES + 1);
    let error = Study::parse(&long).expect_err("it is too long");
    assert_eq!(error.to_string(), "line 1, column 1: expected at most 4194304 bytes, found 4194305");
}

#[test]
fn a_sweep_has_the_requested_points() {
    let points = |sweep: &str| {
        let study = Study::parse(&with("levels = [16, 64]", &format!("sweep = {{ {sweep} }}"))).expect("it is a study");
        study.factors[1].numbers.clone().expect("a sweep has numbers")
    };
    assert_eq!(points("from = 1, to = 100, scale = \"log2\""), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    assert_eq!(points("from = 0, to = 1.0, steps = 5"), [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(points("from = 1, to = 1000, steps = 4, scale = \"log\""), [1.0, 10.0, 100.0, 1000.0]);
    assert_eq!(points("from = 1, to = 4, steps = 7"), [1.0, 2.0, 3.0, 4.0], "whole ends, whole points");
}

#[test]
fn levels_of_a_random_factor_are_no_numbers() {
    let study = Study::parse(&with("levels = [16, 64]", "levels = [16, 64]\nrandom = true")).expect("it is a study");
    assert_eq!(study.factors.iter().map(|factor| factor.random).collect::<Vec<_>>(), [false, true]);
    assert_eq!(study.factors[1].numbers, None);
    let not = Study::parse(&with("levels = [16, 64]", "levels = [16, 64]\nrandom = false")).expect("it is a study");
    assert!(!not.factors[1].random && not.factors[1].numbers.is_some());
}

#[test]
fn a_task_has_its_placeholders_filled() {
    let text = with(
        "name = \"{map}\"",
        "name = \"{map}\"\ndemo = \"demos/{map}.demo\"\nfiles = { maps = \"data/{map}\" }\nenvironment = { A = \"{workload}{{}}\" }",
    );
    let text = text.replace("+map {map}", "+map {maps} {demo}").replace(
        "\"stock\", {",
        "{ name = \"stock\", environment = { A = \"b\", C = \"{clients}\" }, tuning = { pin = 2 } }, {",
    );
    let study = Study::parse(&text).expect("it is a study");
    let place = |path: &str| format!("/shipped/{path}");
    let task = study.task(1, &[0, 1], &place).expect("they lead somewhere");
    assert_eq!(task.command.as_deref(), Some("stock +map /shipped/data/dm6 /shipped/demos/dm6.demo -n 64"));
    assert_eq!(task.environment, BTreeMap::from([("A".into(), "b".into()), ("C".into(), "64".into())]));
    assert_eq!(task.tuning, Tuning { pin: Some(2), fifo: None });
    let other = study.task(0, &[1, 0], &place).expect("they lead somewhere");
    assert_eq!(
        other.command.as_deref(),
        Some("/shipped/builds/new +map /shipped/data/dm1 /shipped/demos/dm1.demo -n 16")
    );
    assert_eq!(other.environment, BTreeMap::from([("A".into(), "dm1{}".into())]));
    assert_eq!(
        study.paths().into_iter().collect::<Vec<_>>(),
        ["builds/new", "data/dm1", "data/dm6", "demos/dm1.demo", "demos/dm6.demo"]
    );
    assert_eq!(
        (study.task(2, &[0, 0], &place), study.task(0, &[0], &place), study.task(0, &[0, 9], &place)),
        (None, None, None)
    );
}

#[test]
fn a_list_of_configurations_may_leave_factors_open() {
    let text = and("only = [{ engine = \"new\" }, { engine = \"stock\", clients = [16] }]");
    let study = Study::parse(&text).expect("it is a study");
    let fits = |levels: [usize; 2]| study.only.iter().any(|pattern| pattern.fits(&levels));
    assert!(fits([1, 0]) && fits([1, 1]) && fits([0, 0]) && !fits([0, 1]));
}

#[test]
fn the_examples_of_the_format_page_and_of_the_fuzzer_are_studies() {
    let page = include_str!("../../../../docs/formats/study.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the page has one");
    let study = Study::parse(example).expect("it is a study");
    assert_eq!((study.factors.len(), study.workloads.len(), study.skips.len()), (2, 2, 1));
    assert_eq!(study.factors[1].levels.len(), 10);
    assert!(Study::parse(include_str!("../../../../fuzz/seeds/study/every_key")).is_ok());
}

proptest! {
    #[test]
    fn no_change_of_a_study_makes_reading_panic(at in 0..BASE.len(), length in 0usize..12, new in "[-a-z0-9{}\\[\\]\"'=#.,\n é]{0,8}") {
        let mut bytes = BASE.as_bytes().to_vec();
        bytes.splice(at..(at + length).min(BASE.len()), new.bytes());
        if let Ok(study) = Study::parse(&String::from_utf8_lossy(&bytes)) {
            let _ = study.plan(&crate::Contents::new());
        }
    }
}

/// A file of a stranger names machines and settings that come into the command lines of `ssh`, `sbatch` and `srun`.
#[test]
fn what_comes_into_a_command_line_is_a_word_and_no_flag() {
    let study = |machine: &str| {
        format!(
            "title = \"t\"\nmetric = {{ name = \"cpu\", unit = \"second\", direction = \"lower\" }}\n\
             [[factor]]\nname = \"f\"\nlevels = [\"a\"]\n[[workload]]\nname = \"w\"\ncommand = \"true {{f}}\"\n\
             [[machine]]\n{machine}\n"
        )
    };
    let freq = "expected a governor, a frequency in kHz or a range of them";
    for (machine, said) in [
        (
            r#"name = "-oProxyCommand=id""#,
            "line 10, column 8: expected a name that does not look like an option, found `-oProxyCommand=id`",
        ),
        (
            "name = \"m\"\nslurm = { cpu_freq = \"high; touch /tmp/x #\" }",
            &*format!("line 11, column 22: cpu_freq: {freq}, found `high; touch /tmp/x #`"),
        ),
        (
            "name = \"m\"\nslurm = { cpu_freq = \"$(id)\" }",
            &*format!("line 11, column 22: cpu_freq: {freq}, found `$(id)`"),
        ),
        ("name = \"m\"\nslurm = { cpu_freq = \"-x\" }", &*format!("line 11, column 22: cpu_freq: {freq}, found `-x`")),
        ("name = \"m\"\nslurm = { cpu_freq = \"\" }", &*format!("line 11, column 22: cpu_freq: {freq}, found ``")),
        (
            "name = \"m\"\nslurm = { node = \"-n1\" }",
            "line 11, column 18: node: expected a word that does not look like an option, found `-n1`",
        ),
        (
            "name = \"m\"\nslurm = { partition = \"a b\" }",
            "line 11, column 23: partition: expected a word that does not look like an option, found `a b`",
        ),
        (
            "name = \"m\"\nslurm = { account = \"a\\tb\" }",
            "line 11, column 21: account: expected a word that does not look like an option, found `a\\tb`",
        ),
    ] {
        let error = Study::parse(&study(machine)).expect_err(machine).to_string();
        assert_eq!(error, said);
    }
    for fine in ["performance", "2400000", "800000-2400000:performance", "highm1", "Low"] {
        let machine = format!(
            "name = \"m\"\nslurm = {{ cpu_freq = \"{fine}\", constraint = \"[rack1|rack2]&ssd*2\", node = \"n[1-2],n7\" }}"
        );
        Study::parse(&study(&machine)).expect(fine);
    }
}
