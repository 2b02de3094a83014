//! Reads what the zones of a program left: the file of `prony_zones.h` and of the crate `prony-zones`, which
//! `docs/formats/profile.md` draws.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

/// Zones below each other, of all threads together.
#[derive(Debug, Clone, PartialEq)]
pub struct Zones {
    /// Wall time from the first zone to the report, in seconds.
    pub wall_s: f64,
    /// Ticks of the counter in a second.
    pub ticks_per_s: f64,
    /// Cost of a zone, in seconds; most of it is counted in the surrounding zone.
    pub cost_s: f64,
    /// Number of threads that had zones.
    pub threads: u64,
    /// Callers before callees; among equals, the longest first.
    pub zones: Vec<Zone>,
}

/// A zone that takes less than this many times its own cost measures mostly itself.
const COSTLY: f64 = 5.0;

impl Zones {
    /// Zones whose time is mostly the overhead of the zones themselves.
    pub fn costly(&self) -> impl Iterator<Item = &Zone> {
        let is_costly = |zone: &&Zone| zone.hits > 0 && zone.inclusive_s / (zone.hits as f64) < COSTLY * self.cost_s;
        self.zones.iter().filter(is_costly)
    }
}

/// Zone with its position below another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    /// Name of the zone, as the program gives it.
    pub name: String,
    /// Depth of nesting, from 0.
    pub depth: usize,
    /// Number of ends of the zone.
    pub hits: u64,
    /// Seconds with what ran inside it.
    pub inclusive_s: f64,
    /// Seconds in the zone without those in zones below it.
    pub exclusive_s: f64,
    /// Bytes it worked on; 0 where it says nothing of them.
    pub bytes: u64,
}

impl Zone {
    /// Gigabytes (10⁹) a second of inclusive time; `None` without bytes or time.
    pub fn gb_per_s(&self) -> Option<f64> {
        (self.bytes > 0 && self.inclusive_s > 0.0).then(|| self.bytes as f64 / self.inclusive_s / 1e9)
    }
}

/// Errors of a zones file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ZonesError {
    /// The file does not begin as a zones file.
    #[error("expected `prony-zones 1` in line 1, found {0}")]
    NoZones(String),
    /// A line is not what the format has there.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// Expected content of the line, for the message.
        expected: &'static str,
        /// Content that the line has.
        found: String,
    },
}

/// A zone as the file has it.
#[derive(Debug, Default)]
struct Node {
    hits: u64,
    inclusive: u64,
    exclusive: i64,
    bytes: u64,
    children: BTreeMap<String, Node>,
}

/// Deeper zones are cut: a zone is never inside itself, so real ones are as deep as a program has names.
const DEPTH_MAX: usize = 200;

/// Parses the text of a zones file.
///
/// # Errors
/// [`ZonesError`], with the line that is wrong.
pub fn read_zones(text: &str) -> Result<Zones, ZonesError> {
    let mut lines = text.lines().zip(1..);
    let first = lines.next().map_or("", |(line, _)| line);
    if first != "prony-zones 1" {
        let found = if first.is_empty() { "nothing".to_owned() } else { format!("`{}`", shortened(first)) };
        return Err(ZonesError::NoZones(found));
    }
    let (mut took, mut took_ns, mut cost, mut threads) = (0u64, 0u64, 0u64, 0u64);
    let mut root = Node::default();
    // The path of each zone of the thread; number 0 is the thread.
    let mut paths: BTreeMap<u64, Vec<String>> = BTreeMap::from([(0, Vec::new())]);
    for (text, line) in lines {
        let wrong = |expected| ZonesError::Line { line, expected, found: shortened(text) };
        let (kind, rest) = text.split_once(' ').ok_or_else(|| wrong("a kind of line and its fields"))?;
        match kind {
            "clock" => (took, took_ns) = two(rest).ok_or_else(|| wrong("`clock TICKS NANOSECONDS`"))?,
            "cost" => cost = rest.parse().map_err(|_| wrong("`cost TICKS`"))?,
            "thread" => {
                threads += 1;
                paths.retain(|&number, _| number == 0);
            }
            "zone" => {
                let expected = "`zone NUMBER PARENT HITS INCLUSIVE EXCLUSIVE BYTES NAME`";
                let line = ZoneLine::read(rest).ok_or_else(|| wrong(expected))?;
                let above = paths.get(&line.parent).ok_or_else(|| wrong("a zone whose parent came before it"))?;
                if above.len() >= DEPTH_MAX {
                    return Err(wrong("a zone in no more than 200 others"));
                }
                let path: Vec<String> = above.iter().cloned().chain([line.name.to_owned()]).collect();
                let node = path.iter().fold(&mut root, |node, name| node.children.entry(name.clone()).or_default());
                node.hits = node.hits.saturating_add(line.hits);
                node.inclusive = node.inclusive.saturating_add(line.inclusive);
                node.exclusive = node.exclusive.saturating_add(line.exclusive);
                node.bytes = node.bytes.saturating_add(line.bytes);
                paths.insert(line.number, path);
            }
            // A newer version may add kinds.
            _ => {}
        }
    }
    if took == 0 || took_ns == 0 {
        return Err(ZonesError::Line { line: 2, expected: "`clock TICKS NANOSECONDS` above 0", found: String::new() });
    }
    let ticks_per_s = took as f64 / took_ns as f64 * 1e9;
    let mut zones = Vec::new();
    flatten(&root, 0, ticks_per_s, &mut zones);
    Ok(Zones { wall_s: took_ns as f64 / 1e9, ticks_per_s, cost_s: cost as f64 / ticks_per_s, threads, zones })
}

fn flatten(above: &Node, depth: usize, ticks_per_s: f64, zones: &mut Vec<Zone>) {
    let mut children: Vec<(&String, &Node)> = above.children.iter().collect();
    children.sort_by_key(|(_, node)| std::cmp::Reverse(node.inclusive));
    for (name, node) in children {
        zones.push(Zone {
            name: name.clone(),
            depth,
            hits: node.hits,
            inclusive_s: node.inclusive as f64 / ticks_per_s,
            exclusive_s: node.exclusive as f64 / ticks_per_s,
            bytes: node.bytes,
        });
        flatten(node, depth + 1, ticks_per_s, zones);
    }
}

struct ZoneLine<'a> {
    number: u64,
    parent: u64,
    hits: u64,
    inclusive: u64,
    exclusive: i64,
    bytes: u64,
    name: &'a str,
}

impl<'a> ZoneLine<'a> {
    fn read(text: &'a str) -> Option<ZoneLine<'a>> {
        let mut fields = text.splitn(7, ' ');
        let mut next = || fields.next();
        let line = ZoneLine {
            number: next()?.parse().ok().filter(|&number| number > 0)?,
            parent: next()?.parse().ok()?,
            hits: next()?.parse().ok()?,
            inclusive: next()?.parse().ok()?,
            exclusive: next()?.parse().ok()?,
            bytes: next()?.parse().ok()?,
            name: next()?,
        };
        (!line.name.is_empty()).then_some(line)
    }
}

fn two(text: &str) -> Option<(u64, u64)> {
    let (a, b) = text.split_once(' ')?;
    Some((a.parse().ok()?, b.parse().ok()?))
}

fn shortened(text: &str) -> String {
    // Whatever a file holds must not reach the terminal as commands to it.
    text.chars()
        .take(60)
        .map(|character| if character.is_control() { char::REPLACEMENT_CHARACTER } else { character })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_file_holds_is_no_command_to_a_terminal() {
        let wrong = read_zones("\u{1b}]0;owned\u{7}").expect_err("no zones").to_string();
        assert!(!wrong.chars().any(char::is_control) && wrong.contains("]0;owned"), "{wrong}");
    }

    const FILE: &str = "\
prony-zones 1
clock 2000000000 1000000000
cost 40
thread 1
zone 1 0 1 1800000000 200000000 0 main loop
zone 2 1 100 1600000000 1600000000 8000000000 copy
thread 2
zone 1 0 1 200000000 200000000 0 main loop
";

    #[test]
    fn threads_add_up_and_bytes_become_gigabytes_a_second() {
        let zones = read_zones(FILE).expect("zones");
        assert_eq!((zones.wall_s, zones.ticks_per_s, zones.cost_s, zones.threads), (1.0, 2e9, 20e-9, 2));
        let [main, copy] = zones.zones.as_slice() else { panic!("{zones:?}") };
        assert_eq!((main.name.as_str(), main.depth, main.hits), ("main loop", 0, 2));
        assert!((main.inclusive_s - 1.0).abs() < 1e-12 && (main.exclusive_s - 0.2).abs() < 1e-12);
        assert_eq!((copy.depth, copy.gb_per_s()), (1, Some(10.0)));
        assert_eq!(main.gb_per_s(), None);
    }

    #[test]
    fn a_line_that_means_nothing_is_named() {
        let error = |text: &str| read_zones(text).expect_err("no zones").to_string();
        assert_eq!(error(""), "expected `prony-zones 1` in line 1, found nothing");
        assert_eq!(error("\u{7f}ELF"), "expected `prony-zones 1` in line 1, found `\u{fffd}ELF`");
        let cut = FILE.replace("zone 2 1 100", "zone 2 9 100");
        assert_eq!(
            error(&cut),
            "line 6: expected a zone whose parent came before it, found `zone 2 9 100 1600000000 1600000000 8000000000 copy`"
        );
        assert!(error("prony-zones 1\nthread 1\n").contains("clock"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String, at in 0..FILE.len(), with: char) {
            let _ = read_zones(&text);
            let mut changed = FILE.to_owned();
            changed.insert(at, with);
            let _ = read_zones(&changed);
        }
    }
}
