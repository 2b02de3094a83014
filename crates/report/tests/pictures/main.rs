//! The pictures of README, guide and studies are what the renderers make of the inputs that are committed in `docs/pictures`.
//!
//! SVGs are compared byte by byte. A PNG is a page as Chromium shows it, whose letters depend on the fonts of a machine: compared is the
//! hash of the page, which `docs/pictures/pages.json` keeps beside it. `scripts/pictures` makes what is out of date.

#[path = "../browser/chromium.rs"]
#[allow(dead_code, reason = "the tests of pages use the rest")]
mod chromium;
mod inputs;
mod screenshot;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use prony_testing::sources::{files_below, root};
use sha2::{Digest, Sha256};

use inputs::{Input, demo_page, study_page};
use screenshot::{Shot, write_png};

const COMMAND: &str = "scripts/pictures";
const HASHES: &str = "docs/pictures/pages.json";

/// Pictures that are no output of the program, and what draws them.
const DRAWN: [(&str, &str); 2] = [
    ("docs/images/record-replay.svg", "by hand"),
    ("studies/ixy-languages/report.svg", "by `studies/ixy-languages/report`, from results that are not committed"),
];

/// SVGs: the picture, and what it is made of.
fn drawings() -> Vec<(&'static str, Input)> {
    let curves = |name| Input::Curves(name);
    let flame = |name, title, how| Input::Flame { name, title, how };
    vec![
        ("docs/guide/images/gzip-levels.svg", Input::Commands("gzip-levels")),
        ("docs/guide/images/limits-alignment.svg", curves("limits-alignment")),
        ("docs/guide/images/limits-bandwidth.svg", curves("limits-bandwidth")),
        ("docs/guide/images/limits-latency.svg", curves("limits-latency")),
        ("docs/guide/images/limits-period.svg", curves("limits-period")),
        ("docs/guide/images/limits-roofline.svg", curves("limits-roofline")),
        ("docs/guide/images/flame-cpp.svg", flame("flame-cpp", "documents", "1,814 stack samples")),
        ("docs/guide/images/flame-go.svg", flame("flame-go", "gofmt", "1,242 stack samples")),
        ("docs/guide/images/flame-java.svg", flame("flame-java", "Orders.java", "6,686 stack samples")),
        ("docs/guide/images/flame-rust.svg", flame("flame-rust", "orders", "2,368 stack samples")),
        (
            "docs/guide/images/flame-teeworlds.svg",
            flame("flame-teeworlds", "Teeworlds, 16 players, replayed", "3,157 stack samples"),
        ),
        ("studies/ixy-languages/flame-c.svg", flame("ixy-languages-flame-c", "Forwarder in C", "2,413 stack samples")),
        (
            "studies/ixy-languages/flame-csharp.svg",
            flame("ixy-languages-flame-csharp", "Forwarder in C#", "3,434 stack samples"),
        ),
        (
            "studies/ixy-languages/flame-go.svg",
            flame("ixy-languages-flame-go", "Forwarder in Go", "2,369 stack samples"),
        ),
        (
            "studies/ixy-languages/flame-java.svg",
            flame("ixy-languages-flame-java", "Forwarder in Java", "4,091 stack samples"),
        ),
        (
            "studies/ixy-languages/flame-javascript.svg",
            flame("ixy-languages-flame-javascript", "Forwarder in JavaScript", "1,774 stack samples"),
        ),
        (
            "studies/ixy-languages/flame-python.svg",
            flame("ixy-languages-flame-python", "Forwarder in Python", "1,000 stack samples"),
        ),
        (
            "studies/ixy-languages/flame-rust.svg",
            flame("ixy-languages-flame-rust", "Forwarder in Rust", "1,274 stack samples"),
        ),
        (
            "studies/ixy-languages/flame-swift.svg",
            flame("ixy-languages-flame-swift", "Forwarder in Swift", "990 stack samples"),
        ),
        (
            "studies/ixy-languages/swift/flame-swift-objects.svg",
            flame("ixy-languages-flame-swift-objects", "Forwarder in Swift, with objects", "1,896 stack samples"),
        ),
        (
            "studies/ixy-languages/swift/flame-swift-objects-debug.svg",
            flame(
                "ixy-languages-flame-swift-objects-debug",
                "Forwarder in Swift, with objects, debug",
                "1,983 stack samples",
            ),
        ),
        (
            "studies/rehlds/flame-stock.svg",
            flame(
                "rehlds-flame-stock",
                "ReHLDS, stock engine, on hall: 24 fighters, HLTV and 7 clients",
                "17,781 stack samples",
            ),
        ),
        (
            "studies/rehlds/flame-optimised.svg",
            flame(
                "rehlds-flame-optimised",
                "ReHLDS, optimised engine, on hall: 24 fighters, HLTV and 7 clients",
                "11,636 stack samples",
            ),
        ),
        (
            "studies/rehlds/flame-difference.svg",
            Input::Difference {
                names: ["rehlds-flame-stock", "rehlds-flame-optimised"],
                title: "ReHLDS on hall: the optimised engine's stacks; red has grown since stock, blue has shrunk",
                how: "17,781 and 11,636 stack samples, of 5 and 5 runs",
            },
        ),
    ]
}

/// PNGs: the picture, its page, and which part of that is shown.
fn pages() -> Vec<(&'static str, String, Shot)> {
    let whole = |width, height| Shot { width, height, before: "" };
    vec![
        (
            "docs/guide/images/demo-view.png",
            demo_page("match"),
            Shot {
                width: 1100,
                height: 640,
                before: "document.querySelectorAll('button[data-unit]')[2].click(); \
                         for (let times = 0; times < 3; times++) document.getElementById('in').click(); \
                         document.getElementById('match').scrollIntoView()",
            },
        ),
        ("docs/guide/images/study-sorting.png", study_page("study-sorting"), whole(1100, 980)),
        ("studies/enet-scalability/report.png", study_page("study-enet-scalability"), whole(1100, 1400)),
        ("studies/rehlds/report.png", study_page("study-rehlds"), whole(1100, 1000)),
    ]
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_written() -> bool {
    std::env::var_os("PRONY_WRITE_PAGES").is_some()
}

#[test]
fn every_svg_is_what_its_input_makes() {
    let mut stale = Vec::new();
    for (path, input) in drawings() {
        let drawn = input.drawn();
        let file = root().join(path);
        if is_written() {
            fs::write(&file, &drawn).expect("the checkout can be written");
        } else if fs::read(&file).ok().as_ref() != Some(&drawn) {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "out of date: {stale:?}; `{COMMAND}` makes them");
}

#[test]
fn every_png_is_of_the_page_that_its_input_makes() {
    let stored = fs::read_to_string(root().join(HASHES)).unwrap_or_default();
    let stored: BTreeMap<String, String> = serde_json::from_str(&stored).unwrap_or_default();
    let pages = pages();
    let made: BTreeMap<String, String> =
        pages.iter().map(|(path, page, shot)| ((*path).to_owned(), hash(&format!("{shot:?}{page}")))).collect();
    if !is_written() {
        let stale: Vec<&String> = made
            .iter()
            .filter(|(path, hash)| stored.get(*path) != Some(hash) || !root().join(path).is_file())
            .map(|(path, _)| path)
            .collect();
        assert!(stale.is_empty(), "out of date: {stale:?}; `{COMMAND}` makes them");
        assert_eq!(stored.keys().collect::<Vec<_>>(), made.keys().collect::<Vec<_>>(), "`{COMMAND}` makes {HASHES}");
        return;
    }
    for (path, page, shot) in pages {
        let file = root().join(path);
        if stored.get(path) != made.get(path) || !file.is_file() {
            write_png(&file, &page, &shot);
        }
    }
    let json = serde_json::to_string_pretty(&made).expect("text is JSON");
    fs::write(root().join(HASHES), json + "\n").expect("the checkout can be written");
}

/// Pictures of the repository, without what studies write when they run.
fn committed() -> BTreeSet<String> {
    let written = ["results", "builds", "profiles", "demos", "target", "six"];
    let is_wanted = |path: &Path| !path.file_name().is_some_and(|name| written.iter().any(|one| name == *one));
    let is_picture = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "svg" || kind == "png");
    let below = ["docs", "studies"].into_iter().flat_map(|folder| files_below(&root().join(folder), &is_wanted));
    below
        .filter(is_picture)
        .map(|path| path.strip_prefix(root()).expect("it is below").to_string_lossy().into_owned())
        .collect()
}

#[test]
fn pictures_are_made_by_the_program_or_say_what_draws_them() {
    let drawings = drawings();
    let pages = pages();
    let made = drawings.iter().map(|(path, _)| *path).chain(pages.iter().map(|(path, ..)| *path));
    let listed: BTreeSet<String> = made.chain(DRAWN.iter().map(|(path, _)| *path)).map(str::to_owned).collect();
    assert_eq!(committed(), listed);
}

#[test]
fn inputs_are_small_and_used() {
    let drawings = drawings();
    let used: BTreeSet<String> = drawings
        .iter()
        .flat_map(|(_, input)| input.files())
        .chain(inputs::PAGE_FILES.map(str::to_owned))
        .chain(["pages.json".to_owned()])
        .collect();
    let folder = root().join("docs/pictures");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&folder).expect("it is committed") {
        let entry = entry.expect("it can be read");
        let bytes = entry.metadata().expect("it is a file").len();
        assert!(bytes <= 120_000, "{}: {bytes} bytes; reduce it", entry.path().display());
        found.insert(entry.file_name().to_string_lossy().into_owned());
    }
    assert_eq!(found, used);
}
