//! Every verb on files and names that try to command the terminal of their reader.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use prony_demo::{
    Exit, FileEntry, FileRole, Head, Header, ObjectEntry, Op, PartKind, Record, Trailer, Writer, WriterOptions,
};
use prony_testing::scratch::Scratch;
use serde_json::{Value, json};

/// Sets the title, clears the screen, begins a line of its own, turns the direction around, hides, and is markup.
const HOSTILE: &str = "a\u{1b}]0;b\u{7}\u{1b}[2J\r\nFORGED\u{9b}31m\u{202e}\u{200b}\u{2028}\u{7f}<b>&|";
/// The same where control characters are refused already.
const SOFT: &str = "=FORGED\u{202e}\u{200b}\u{2028}\u{e0041}<b>&|";

/// The verbs that `--help` does not list.
const HIDDEN: [&str; 4] = ["link", "work", "study work", "study collect"];

/// A verb, and its arguments where what others wrote is shown. Each verb is also given a file that is not there and a
/// flag that it has not, of hostile names both.
type Row = (&'static str, &'static [&'static [&'static str]]);

/// `DEMO` and its like stand for files of [`Sandbox`].
const ROWS: &[Row] = &[
    ("record", &[&["-o", "HOSTILE", "--", "./HOSTILE"]]),
    (
        "replay",
        &[
            &["DEMO"],
            &["CUT", "--allow-truncated"],
            &["DEMO", "--", "/bin/true"],
            &["DEMO", "--json", "--", "/bin/true"],
            &["DEMO", "--tolerance", "BROKEN"],
            &["DEMO", "--decoder", "'HOSTILE'", "--", "/bin/true"],
            &["DEMO", "--decoder", "sh FAILING", "--", "/bin/true"],
        ],
    ),
    ("demo info", &[&["DEMO"], &["DEMO", "--calls"], &["DEMO", "--json"], &["CUT"]]),
    ("demo dump", &[&["DEMO"], &["DEMO", "--full"], &["DEMO", "--json"]]),
    ("demo frames", &[&["DEMO"], &["DEMO", "--json"]]),
    ("demo pcap", &[&["DEMO", "-o", "HOSTILE.pcap"]]),
    (
        "demo anonymize",
        &[&["DEMO", "-o", "HOSTILE.anonymous"], &["DEMO", "-o", "x.anonymous", "--replace", "a=HOSTILE"]],
    ),
    (
        "demo pack",
        &[&["DEMO", "-o", "HOSTILE.packed"], &["DEMO", "-o", "x.packed", "--json"], &["CUT", "-o", "y.packed"]],
    ),
    ("demo verify", &[&["DEMO"], &["CUT"]]),
    ("demo view", &[&["DEMO", "-o", "view.html"], &["BROKEN", "-o", "no.html"]]),
    (
        "bisect",
        &[
            &["--repository", "commits", "--demo", "DEMO", "--good", "HOSTILE", "--build", "true", "--", "./x"],
            &["--repository", "commits", "--demo", "BROKEN", "--good", "HEAD~1", "--build", "true", "--", "./x"],
            &[
                "--repository",
                "commits",
                "--dir",
                "bisected",
                "--demo",
                "DEMO",
                "--good",
                "HEAD~1",
                "--build",
                "git log -1; false",
                "--",
                "./HOSTILE",
            ],
        ],
    ),
    (
        "count",
        &[&["DEMO", "./HOSTILE"], &["DEMO", "'HOSTILE'", "--json"], &["DEMO", "/bin/true 'HOSTILE"], &["BROKEN"]],
    ),
    (
        "debug",
        &[&["DEMO", "--divergence", "--", "./HOSTILE"], &["DEMO", "--frame", "HOSTILE"], &["BROKEN", "--record", "1"]],
    ),
    ("completions", &[&["HOSTILE"]]),
    ("doctor", &[]),
    ("man", &[]),
    ("bench", &[&["'HOSTILE'", "true"], &["sh FAILING", "sh FAILING"], &["--demo", "DEMO", "/bin/true", "'HOSTILE'"]]),
    ("selftest", &[&["'HOSTILE'"]]),
    ("link", &[&["HOSTILE"]]),
    ("work", &[]),
    (
        "load enet",
        &[
            &["--connect", "HOSTILE"],
            &["--connect", "127.0.0.1:9", "-o", "HOSTILE/x"],
            &["--connect", "127.0.0.1:9", "--clients", "1..2", "--until", "HOSTILE"],
            &["--connect", "127.0.0.1:9", "--clients", "1..2", "--until", "p9<1s", "--svg", "HOSTILE/x"],
        ],
    ),
    ("load nic", &[&["--rate", "HOSTILE", "--", "true"], &["--size", "HOSTILE", "--", "true"]]),
    ("nic", &[&["--rate", "HOSTILE"]]),
    ("nic trace", &[&["--size", "HOSTILE"], &["--for", "HOSTILE"]]),
    ("nic check", &[&["--only", "HOSTILE", "--", "true"], &["--setup-timeout", "HOSTILE", "--", "true"]]),
    // Without a device it names nothing but its flags.
    ("nic join", &[]),
    (
        "compare",
        &[
            &["SAMPLES", "SAMPLES2"],
            &["SAMPLES", "SAMPLES2", "--json"],
            &["SAMPLES", "SAMPLES2", "--markdown"],
            &["SAMPLES", "SAMPLES2", "--group-by", "note"],
            &["SAMPLES", "BROKEN"],
        ],
    ),
    ("stats", &[&["SAMPLES"], &["SAMPLES", "SAMPLES2"], &["SAMPLES", "--json"], &["BROKEN"]]),
    ("hist", &[&["SAMPLES"], &["SAMPLES", "--json"], &["BROKEN"]]),
    ("check", &[&["SAMPLES", "SAMPLES2"], &["SAMPLES", "--json"], &["BROKEN"]]),
    ("limits", &[&["--only", "HOSTILE"]]),
    ("limits show", &[]),
    ("limits compare", &[&["SAMPLES", "--from", "SAMPLES2"], &["BROKEN"]]),
    ("machine show", &[&["--root", "MACHINE"], &["--root", "MACHINE", "--json"]]),
    ("machine check", &[&["--root", "MACHINE", "--for", "1ms"], &["--root", "MACHINE", "--for", "1ms", "--json"]]),
    ("machine tune", &[&["--root", "MACHINE", "--", "./HOSTILE"]]),
    ("machine restore", &[]),
    (
        "profile",
        &[&["--", "./PROGRAM"], &["--json", "--flame", "taken.svg", "--folded", "taken.folded", "--", "./PROGRAM"]],
    ),
    (
        "profile show",
        &[&["FOLDED"], &["FOLDED", "--json"], &["SCRIPT", "--flame", "shown.svg", "--title", "HOSTILE"], &["BROKEN"]],
    ),
    (
        "profile diff",
        &[&["FOLDED", "SCRIPT"], &["FOLDED", "SCRIPT", "--json"], &["FOLDED", "SCRIPT", "--flame", "diff.svg"]],
    ),
    ("profile fold", &[&["SCRIPT"], &["BROKEN"]]),
    ("profile zones", &[&["ZONES"], &["ZONES", "--json"], &["BROKEN"]]),
    ("study plan", &[&["STUDY"], &["STUDY", "--cells"], &["STUDY", "--json"], &["BROKEN"]]),
    ("study run", &[&["STUDY", "-o", "again"], &["BROKEN", "-o", "broken"]]),
    ("study status", &[&["RESULTS"], &["RESULTS", "--json"]]),
    ("study resume", &[&["RESULTS", "--retry-failed"]]),
    ("study merge", &[&["RESULTS", "IMPORTED", "-o", "merged"]]),
    (
        "study export",
        &[&["RESULTS", "--csv", "-"], &["IMPORTED", "--csv", "-"], &["RESULTS", "--samples", "HOSTILE.samples"]],
    ),
    ("study work", &[&["RESULTS", "--machine", "HOSTILE"]]),
    ("study collect", &[]),
    (
        "study import",
        &[
            &["TABLE", "-o", "new", "--value", "ms"],
            &["TABLE", "-o", "new", "--force", "--json", "--value", "ms"],
            &["TABLE", "-o", "no", "--value", "HOSTILE"],
            &["BROKEN", "-o", "no"],
        ],
    ),
    ("study effects", &[&["IMPORTED"], &["IMPORTED", "--json"], &["RESULTS"]]),
    ("study diff", &[&["IMPORTED", "IMPORTED"], &["IMPORTED", "IMPORTED", "--json"]]),
    ("study history", &[&["IMPORTED", "IMPORTED", "IMPORTED"], &["IMPORTED", "IMPORTED", "IMPORTED", "--json"]]),
    (
        "study report",
        &[
            &["RESULTS", "-o", "page.html", "--svg", "svg"],
            &["IMPORTED", "-o", "imported.html"],
            &["IMPORTED", "--markdown"],
        ],
    ),
];

/// A directory with everything that others wrote.
struct Sandbox(Scratch);

impl Sandbox {
    fn new() -> Sandbox {
        // Its limits are kept here, and nothing of this machine's is replaced.
        let place = Sandbox(Scratch::new("untrusted").with_variable("XDG_DATA_HOME", ""));
        let demo = demo();
        place.write("CUT", &demo[..demo.len() - 40]);
        place.write("DEMO", &demo);
        place.write("BROKEN", HOSTILE.as_bytes());
        place.write("FAILING", format!("cat >&2 <<'END'\n{HOSTILE}\nEND\nexit 3\n").as_bytes());
        place.write("SAMPLES", &samples(1.0));
        place.write("SAMPLES2", &samples(1.5));
        let name = HOSTILE.replace(['\r', '\n'], "");
        place.write("FOLDED", format!("{name};main;{name} 300\nt;main;FORGED\u{9b} 100\n").as_bytes());
        place.write("SCRIPT", script(&name).as_bytes());
        place.write("ZONES", zones(&name).as_bytes());
        place.write("TABLE", table().as_bytes());
        place.write("STUDY", study().as_bytes());
        place.machine();
        place.program();
        place.repository();
        let imported = place.run("study import", &["TABLE", "-o", "IMPORTED", "--value", "ms"]);
        assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
        // Its cells fail, and say so with what they printed.
        let run = place.run("study run", &["STUDY", "-o", "RESULTS"]);
        assert_eq!(run.status.code(), Some(1), "{}", String::from_utf8_lossy(&run.stderr));
        place
    }

    /// Where a file is; most have hostile names themselves.
    fn path(&self, name: &str) -> PathBuf {
        self.0.file(&named(name))
    }

    fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.path(name), content).expect("the directory is writable");
    }

    /// A machine whose files say more than numbers.
    fn machine(&self) {
        let root = self.path("MACHINE");
        let files = [
            ("proc/cpuinfo", format!("processor\t: 0\nmodel name\t: {SOFT}\u{1b}[2J\u{9b}31m\nflags\t\t: fpu tsc\n")),
            ("proc/cmdline", format!("quiet {SOFT}\u{1b}[2J\n")),
            ("proc/stat", "cpu  1 0 1 100 0 0 0 0 0 0\ncpu0 1 0 1 100 0 0 0 0 0 0\n".to_owned()),
            ("proc/sys/kernel/osrelease", format!("6.1\u{1b}[2J{SOFT}\n")),
            ("sys/devices/system/cpu/online", "0\n".to_owned()),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", format!("{SOFT}\u{1b}[2J\n")),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", format!("{SOFT}\u{1b}[2J\n")),
        ];
        for (name, content) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("it is writable");
            fs::write(path, content).expect("it is writable");
        }
    }

    /// A program, of a hostile name, that spends its time in a function of a hostile name.
    fn program(&self) {
        let source = "__attribute__((noinline)) void work(void) { for (volatile long i = 0; i < 400000000; i++); }\n\
                      int main(void) { work(); return 0; }\n";
        self.write("work.c", source.as_bytes());
        let run = |program: &str, arguments: &[&OsStr]| {
            let ended = Command::new(program).args(arguments).current_dir(self.0.path()).status();
            let ended = ended.unwrap_or_else(|error| panic!("`{program}`: {error}; `scripts/setup test` installs it"));
            assert!(ended.success(), "{program}");
        };
        let (source, object, program) = (self.path("work.c"), self.path("work.o"), self.path("PROGRAM"));
        let flag = OsStr::new;
        run("gcc", &[flag("-O1"), flag("-fno-omit-frame-pointer"), flag("-o"), object.as_ref(), source.as_ref()]);
        let renamed = format!("work={HOSTILE}");
        run("objcopy", &[flag("--redefine-sym"), flag(&renamed), object.as_ref(), program.as_ref()]);
    }

    /// A repository with hostile names of commits. Its own name is a plain one: Git's list of
    /// alternates has a line for each.
    fn repository(&self) {
        let root = self.path("commits");
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=FORGED\u{1b}[2J", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
            let ended = Command::new("git").args(identity).arg("-C").arg(&root).args(arguments).output();
            let ended = ended.unwrap_or_else(|error| panic!("`git`: {error}; `scripts/setup test` installs it"));
            assert!(ended.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
        };
        fs::create_dir(&root).expect("the directory is writable");
        git(&["init", "--quiet"]);
        for _ in 0..2 {
            git(&["commit", "--quiet", "--allow-empty", "-m", HOSTILE]);
        }
    }

    /// Runs a verb of `prony`, whose answer need not be text.
    fn run(&self, verb: &str, arguments: &[&str]) -> Output {
        let arguments = verb.split(' ').map(str::to_owned).chain(arguments.iter().map(|argument| named(argument)));
        self.0.command(&arguments.collect::<Vec<_>>()).output().expect("the command is built")
    }
}

/// An argument of [`ROWS`]: names of files are hostile where the file is one of those.
fn named(argument: &str) -> String {
    const FILES: [&str; 14] = [
        "DEMO", "CUT", "BROKEN", "SAMPLES2", "SAMPLES", "FOLDED", "SCRIPT", "ZONES", "TABLE", "STUDY", "MACHINE",
        "PROGRAM", "IMPORTED", "RESULTS",
    ];
    match FILES.iter().find(|&&file| argument == file || argument == format!("./{file}")) {
        // Names of files may hold all but a slash and zero.
        Some(file) => argument.replace(file, &format!("{file}{HOSTILE}")),
        None => argument.replace("HOSTILE", HOSTILE),
    }
}

fn demo() -> Vec<u8> {
    let bytes = || [HOSTILE.as_bytes(), b"\xff\xfe"].concat();
    let header = Header {
        architecture: HOSTILE.to_owned(),
        executable: bytes(),
        argv: vec![bytes(), bytes()],
        cwd: bytes(),
        environment: vec![(bytes(), bytes())],
        cpu_model: HOSTILE.to_owned(),
        cpu_flags: vec!["\u{1b}[2J".to_owned()],
        kernel_release: HOSTILE.to_owned(),
        prony_version: HOSTILE.to_owned(),
        state_directories: Vec::new(),
        excluded_objects: vec![bytes()],
        properties: vec![(HOSTILE.to_owned(), bytes())],
        ..Header::default()
    };
    let unix: Vec<u8> = [&[1, 0], HOSTILE.as_bytes()].concat();
    let head = |op: Op, fd, ret| Head { size: 0, op: op as u16, thread: 0, order: 0, time: 1_000_000, ret, fd, aux: 0 };
    let records = [
        Record::new(head(Op::Gethostbyname, -1, 3)).with_part(PartKind::Path, &bytes()),
        Record::new(head(Op::Bind, 3, 0)).with_part(PartKind::Addr, &unix),
        Record::new(head(Op::Sendto, 3, 9)).with_part(PartKind::Addr, &unix).with_part(PartKind::Out, &bytes()),
        Record::new(head(Op::Exit, -1, 0)),
    ];
    let mut writer = Writer::new(Vec::new(), &header, WriterOptions::default()).expect("memory takes it");
    for (order, mut record) in records.into_iter().enumerate() {
        record.head.order = order as u64;
        let mut raw = record.as_bytes().to_vec();
        raw[..40].copy_from_slice(&record.head.to_bytes());
        writer.push(0, &raw).expect("the record is whole");
    }
    let file = |role| FileEntry { path: bytes(), size_bytes: 3, hash: [7; 32], role, content: None };
    let trailer = Trailer {
        files: [FileRole::Read, FileRole::Written, FileRole::Executable, FileRole::Missing].map(file).to_vec(),
        objects: vec![ObjectEntry { path: bytes(), build_id: vec![1; 20] }],
        exit: Exit::Code(0),
        notes: vec![HOSTILE.to_owned()],
        unsearched: vec![HOSTILE.into()],
        ..Trailer::default()
    };
    writer.finish(&trailer).expect("memory takes it").0
}

fn samples(factor: f64) -> Vec<u8> {
    let runs: Vec<Value> = (0..8)
        .map(|run| json!({ "values": [factor * (1.0 + 0.01 * f64::from(run))], "metadata": { "loops": 1 } }))
        .collect();
    // The format requires names of one line, and no more.
    let name = HOSTILE.replace(['\r', '\n'], "");
    let metadata =
        |name: String| json!({ "name": name, "unit": "second", "note": name, "hostname": format!("{name}{factor}") });
    let benchmark = |name: String| json!({ "runs": runs, "metadata": metadata(name) });
    json!({ "version": "1.0", "benchmarks": [benchmark(name.clone()), benchmark(format!("{name}2"))] })
        .to_string()
        .into_bytes()
}

fn script(name: &str) -> String {
    let mut script = String::new();
    for sample in 0..200 {
        script += &format!("{name} 7/7 [000] 1.{sample:06}: 1 cpu-clock: \n\t55d0 {name}+0x10 (/usr/{name})\n\n");
    }
    script
}

fn zones(name: &str) -> String {
    format!("prony-zones 1\nclock 2000000000 1000000000\ncost 40\nthread 1\nzone 1 0 1 1800000000 200000000 0 {name}\n")
}

/// Two factors and two machines, every cell with a hostile name.
fn table() -> String {
    let quoted = |text: &str| format!("\"{text}\"");
    let mut table = format!("{},other,machine,ms\n", quoted(&format!("f{HOSTILE}")));
    for machine in ["m1", "m2"] {
        for (level, value) in [("x", 10.0), ("y", 12.0)] {
            for (other, factor) in [("s", 1.0), ("t", 1.3)] {
                let [level, other, machine] = [level, other, machine].map(|name| quoted(&format!("{name}{HOSTILE}")));
                table += &format!("{level},{other},{machine},{}\n", value * factor);
            }
        }
    }
    table
}

fn study() -> String {
    // Escapes of JSON are those of TOML; DEL must be one in TOML only.
    let text = |text: &str| serde_json::to_string(text).expect("text is JSON").replace('\u{7f}', "\\u007f");
    format!(
        "title = {soft}\nrepeats = 2\nseed = 3\nmetric = {{ name = {soft}, unit = {soft}, direction = \"lower\" }}\n[[factor]]\n\
         name = {factor}\nlevels = [{a}, {b}]\n[[workload]]\nname = {soft}\n\
         files = {{ failing = \"FAILING\" }}\ncommand = \"/bin/sh {{failing}}\"\n[[machine]]\nname = {soft}\n",
        soft = text(SOFT),
        factor = text(&format!("f{SOFT}")),
        a = text(&format!("a{SOFT}")),
        b = text(&format!("b{SOFT}")),
    )
}

/// Obeyed by terminals instead of shown, or there without being seen; as the test and not the program says it.
fn is_harmful(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(letter, '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

/// What is wrong with a text, nothing else.
fn harm(bytes: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Some(format!("no text: {error}")),
    };
    if let Some(letter) = text.chars().find(|&letter| is_harmful(letter)) {
        return Some(format!("{letter:?} in {text:?}"));
    }
    // A name that ends a line could speak as prony.
    let forged = text
        .lines()
        .filter(|_| !text.starts_with("<!doctype html>"))
        .find(|line| line.trim_start().starts_with("FORGED"));
    forged.map(|_| format!("a line of its own in {text:?}"))
}

/// The verbs that the help of the command lists, those of verbs among them.
fn verbs(place: &Sandbox, above: &str) -> BTreeSet<String> {
    let help = place.0.prony(&above.split_whitespace().chain(["--help"]).collect::<Vec<_>>()).stdout;
    let mut found = BTreeSet::new();
    // The page of the command has them in groups, before the options.
    let (from, to) = if above.is_empty() { ("Usage:", "Options:") } else { ("Commands:", "") };
    let lines = help.lines().skip_while(|line| !line.starts_with(from)).skip(1).take_while(|line| *line != to);
    for verb in lines.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()) {
        let verb = format!("{above} {verb}").trim().to_owned();
        let below = verbs(place, &verb);
        // `profile`, `limits` and `nic` do something by themselves too.
        if below.is_empty() || ["profile", "limits", "nic"].contains(&verb.as_str()) {
            found.insert(verb);
        }
        found.extend(below);
    }
    found
}

#[test]
fn no_verb_gives_a_terminal_what_others_wrote() {
    let place = Sandbox::new();
    let known: BTreeSet<String> = ROWS.iter().map(|(verb, _)| (*verb).to_owned()).collect();
    let listed: BTreeSet<String> = verbs(&place, "").into_iter().chain(HIDDEN.map(str::to_owned)).collect();
    assert_eq!(known, listed, "each verb has a row in this test");
    let mut wrong = Vec::new();
    let missing: &[&str] = &["missingHOSTILE"];
    let flag: &[&str] = &["--HOSTILE"];
    for (verb, rows) in ROWS {
        for (arguments, shows_names) in rows.iter().map(|row| (*row, true)).chain([(missing, false), (flag, false)]) {
            let output = place.run(verb, arguments);
            let shown = format!("prony {verb} {}", arguments.join(" "));
            for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
                wrong.extend(harm(bytes).map(|harm| format!("{shown}: {name}: {harm}")));
            }
            let all = [output.stdout.as_slice(), &output.stderr].concat();
            // Otherwise nothing of others was shown, and the row tests nothing.
            if shows_names && !String::from_utf8_lossy(&all).contains("FORGED") && !SILENT.contains(&shown.as_str()) {
                wrong.push(format!("{shown}: shows no name: {}", String::from_utf8_lossy(&all)));
            }
            if arguments.contains(&"--json") && !output.stdout.is_empty() {
                let documents = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
                wrong.extend(documents.filter_map(Result::err).map(|error| format!("{shown}: JSON: {error}")));
            }
        }
    }
    wrong.extend(files_of_others(&place));
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs that show no name and need not.
const SILENT: &[&str] = &[
    "prony demo frames DEMO --json",
    "prony demo view DEMO -o view.html",
    "prony demo pcap DEMO -o HOSTILE.pcap",
    "prony study report RESULTS -o page.html --svg svg",
    "prony study report IMPORTED -o imported.html",
];

/// What is wrong with the pictures and pages that the verbs wrote.
fn files_of_others(place: &Sandbox) -> Vec<String> {
    let mut pictures: Vec<PathBuf> = ["taken.svg", "shown.svg", "diff.svg"].map(|name| place.path(name)).to_vec();
    if let Ok(charts) = fs::read_dir(place.path("svg")) {
        pictures.extend(charts.map(|chart| chart.expect("an entry").path()));
    }
    let pages = ["page.html", "imported.html", "view.html", "taken.folded"].map(|name| place.path(name));
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut wrong = Vec::new();
    for path in pictures.iter().chain(&pages) {
        match read(path) {
            Ok(bytes) => wrong.extend(harm(&bytes).map(|harm| format!("{}: {harm:.300}", path.display()))),
            Err(error) => wrong.push(error),
        }
    }
    for page in &pages[..3] {
        let text = fs::read_to_string(page).unwrap_or_default();
        if text.contains("FORGED<b>") || text.contains("\u{7f}<b>") {
            wrong.push(format!("{}: a name is markup", page.display()));
        }
    }
    for picture in &pictures {
        // Expat refuses what XML 1.0 forbids; our own dependencies do not.
        let parsed = Command::new("python3")
            .args(["-c", "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])"])
            .arg(picture)
            .output()
            .expect("`python3`: `scripts/setup test` installs it");
        if !parsed.status.success() {
            wrong.push(format!("{}: {}", picture.display(), String::from_utf8_lossy(&parsed.stderr)));
        }
    }
    wrong
}
