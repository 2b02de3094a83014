//! Words that sources and pages do without: old-fashioned ones, and names of types that say nothing to who reads them first.

use prony_testing::sources::{files_below, root};
use std::fs;
use std::path::Path;

/// Each with what is written instead.
const WORDS: [(&str, &str); 11] = [
    ("in the place of", "in place of, instead of"),
    ("for want of", "for lack of"),
    ("anew", "again"),
    ("told apart", "distinguished"),
    ("whoever", "the caller, the user, a process that"),
    ("Whoever", "the caller, the user, a process that"),
    ("Deed", "an action, by its name"),
    ("Happening", "an event, by its name"),
    ("Whose", "an owner"),
    ("Likeness", "a comparison"),
    ("Doings", "activity"),
];

/// True where the word stands by itself.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    line.match_indices(word)
        .any(|(at, _)| !is_part(line[..at].chars().next_back()) && !is_part(line[at + word.len()..].chars().next()))
}

#[test]
fn sources_and_pages_are_plain_english() {
    let root = root();
    let is_text = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_wanted = path.extension().is_some_and(|extension| extension == "rs" || extension == "md");
        name != "target" && name != "words.rs" && (path.is_dir() || is_wanted)
    };
    let folders = ["crates", "docs", "studies", "subjects", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let mut found = Vec::new();
    for file in folders.iter().flat_map(|folder| files_below(&root.join(folder), &is_text)) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for (number, line) in text.lines().enumerate() {
            for (word, instead) in WORDS.iter().filter(|(word, _)| has_word(line, word)) {
                let place = file.strip_prefix(&root).unwrap_or(&file).display();
                found.push(format!("{place}:{}: `{word}`, better {instead}", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_word_is_none_within_another() {
    assert!(has_word("made anew.", "anew") && has_word("anew", "anew"));
    assert!(!has_word("canewood", "anew") && !has_word("Whosever", "Whose") && !has_word("x_anew", "anew"));
}
