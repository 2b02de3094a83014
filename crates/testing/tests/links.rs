//! Links between the pages of the project lead somewhere: to a file that is there, and to a heading that it has.

use prony_testing::sources::{files_below, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The lines of a page that are no code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    })
}

/// Targets of the links of a page.
fn links(page: &str) -> Vec<String> {
    let text: Vec<&str> = prose(page).collect();
    let text = text.join("\n");
    let targets = text.match_indices("](").map(|(at, mark)| &text[at + mark.len()..]);
    let targets =
        targets.filter_map(|rest| rest.split(')').next()).filter(|target| !target.contains(char::is_whitespace));
    targets.map(str::to_owned).collect()
}

/// The name by which a heading is linked to, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
}

fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).filter_map(|line| line.strip_prefix('#'));
    headings.filter_map(|rest| rest.trim_start_matches('#').strip_prefix(' ')).map(anchor).collect()
}

/// A path without its `..`, which need not lead through directories that are there.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut so_far, part| {
        if part == Component::ParentDir {
            so_far.pop();
        } else {
            so_far.push(part);
        }
        so_far
    })
}

#[test]
fn links_lead_somewhere() {
    let root = root();
    let mut pages: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
        .map(|name| root.join(name))
        .to_vec();
    let is_page = |path: &Path| path.is_dir() || path.extension().is_some_and(|extension| extension == "md");
    pages.extend(["docs", "studies", "subjects"].iter().flat_map(|folder| files_below(&root.join(folder), &is_page)));
    let (mut tried, mut broken) = (0, Vec::new());
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page is text");
        for link in links(&text) {
            let (path, heading) = link.split_once('#').map_or((link.as_str(), ""), |(path, heading)| (path, heading));
            if path.contains(':') {
                continue;
            }
            tried += 1;
            let target = match path {
                "" => page.clone(),
                path => plain(&page.parent().expect("a file has a folder").join(path)),
            };
            let is_there = target.exists();
            let has_heading =
                heading.is_empty() || fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(heading));
            if !is_there || !has_heading {
                broken.push(format!("{}: {link}", page.strip_prefix(&root).unwrap_or(page).display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    assert!(tried > 200, "{tried} links in {} pages", pages.len());
}

#[test]
fn each_page_has_a_place_in_the_book() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("a page is text");
    let placed: BTreeSet<PathBuf> = links(&summary).iter().map(|link| docs.join(link)).collect();
    let is_page = |path: &Path| path.is_dir() || path.extension().is_some_and(|extension| extension == "md");
    let pages = files_below(&docs, &is_page).into_iter().filter(|page| !page.ends_with("SUMMARY.md"));
    let missing: Vec<PathBuf> = pages.filter(|page| !placed.contains(page)).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

#[test]
fn links_and_headings_are_found() {
    let page =
        "# One `two`, three\n\nSee [this](a/b.md#c-d) and\n[that](e.md).\n\n```\n[not](this.md)\n# nor this\n```\n";
    assert_eq!(links(page), ["a/b.md#c-d", "e.md"]);
    assert_eq!(anchors(page), BTreeSet::from(["one-two-three".to_owned()]));
}
