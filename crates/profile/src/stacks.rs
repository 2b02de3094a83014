//! Stacks with names, counted: what every way of reading samples leads to, and every answer starts from.
//!
//! Written as text they are Brendan Gregg's folded stacks, a line each: `thread;main;tick;send 42`.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write;

use prony_text::printable_line;
use rustc_hash::FxHashMap;

use crate::recording::WeightUnit;

/// Index of a name among those of the stacks.
pub type NameId = u32;

/// Different stacks and how often each was seen.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    names: Vec<String>,
    known_names: FxHashMap<String, NameId>,
    stacks: Vec<(Box<[NameId]>, u64)>,
    known_stacks: FxHashMap<Box<[NameId]>, usize>,
    total: u64,
    observations: u64,
    /// Sum of the squared weights of the observations.
    squares: f64,
    weight_unit: WeightUnit,
}

impl Stacks {
    /// No stacks yet; `weight_unit`: what their numbers will count.
    pub fn new(weight_unit: WeightUnit) -> Stacks {
        Stacks { weight_unit, ..Stacks::default() }
    }

    /// Unit of the weights of all stacks.
    pub fn weight_unit(&self) -> WeightUnit {
        self.weight_unit
    }

    /// Sum of the weights of all stacks.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of stack samples, or of waits.
    pub fn observations(&self) -> u64 {
        self.observations
    }

    /// Observations of equal weight that would tell as much of a share: Kish 1965, 11.7, (Σw)²/Σw². The number of
    /// samples itself where each counts 1.
    pub fn effective_observations(&self) -> f64 {
        let total = self.total as f64;
        if self.squares > 0.0 { total * total / self.squares } else { 0.0 }
    }

    /// The number of a name. A separator of the folded form in it becomes another, and what is no text, visible text: a
    /// symbol table may hold any bytes, and a name goes on into terminals, XML and the files of other tools.
    pub fn name(&mut self, name: &str) -> NameId {
        if let Some(&known) = self.known_names.get(name) {
            return known;
        }
        // The line ends with a blank and a number, so blanks within are no trouble.
        let plain = printable_line(&name.replace(';', ":")).into_owned();
        let number = match self.known_names.get(&plain) {
            Some(&known) => known,
            None => {
                self.names.push(plain.clone());
                self.known_names.insert(plain, (self.names.len() - 1) as NameId);
                (self.names.len() - 1) as NameId
            }
        };
        self.known_names.insert(name.to_owned(), number);
        number
    }

    /// The number of a name that is kept as it is, unlike any that [`Stacks::name`] makes if it has a line break.
    pub(crate) fn unnameable(&mut self, name: &str) -> NameId {
        self.names.push(name.to_owned());
        (self.names.len() - 1) as NameId
    }

    /// A name by its number.
    #[expect(
        clippy::indexing_slicing,
        reason = "numbers of names are given out by `name` alone, and no name is removed"
    )]
    pub fn text(&self, name: NameId) -> &str {
        &self.names[name as usize]
    }

    /// Names of all functions, by [`NameId`].
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Counts a stack of `count` samples; outermost first. Returns its number.
    pub fn add(&mut self, stack: &[NameId], count: u64) -> usize {
        self.observations = self.observations.saturating_add(count);
        self.squares += count as f64;
        self.insert(stack, count)
    }

    /// Counts one wait of this length.
    pub fn add_wait(&mut self, stack: &[NameId], length: u64) -> usize {
        self.observations += 1;
        self.squares += (length as f64) * (length as f64);
        self.insert(stack, length)
    }

    /// Counts `observations` of a stack, each of this weight.
    pub(crate) fn add_weighted(&mut self, stack: &[NameId], observations: u64, weight: u64) {
        self.observations = self.observations.saturating_add(observations);
        self.squares += observations as f64 * (weight as f64).powi(2);
        self.insert(stack, observations.saturating_mul(weight));
    }

    fn insert(&mut self, stack: &[NameId], weight: u64) -> usize {
        self.total = self.total.saturating_add(weight);
        if let Some(&known) = self.known_stacks.get(stack)
            && let Some((_, counted)) = self.stacks.get_mut(known)
        {
            *counted = counted.saturating_add(weight);
            return known;
        }
        let number = self.stacks.len();
        self.stacks.push((stack.into(), weight));
        self.known_stacks.insert(stack.into(), number);
        number
    }

    /// Every stack, outermost first, and its weight.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[NameId], u64)> {
        self.stacks.iter().map(|(stack, weight)| (&**stack, *weight))
    }

    /// Folded stacks as text, one on each line, sorted.
    pub fn folded(&self) -> String {
        let mut lines: Vec<String> = self
            .iter()
            .filter(|&(stack, weight)| weight > 0 && !stack.is_empty())
            .map(|(stack, weight)| {
                let mut line = String::new();
                for (place, &name) in stack.iter().enumerate() {
                    if place > 0 {
                        line.push(';');
                    }
                    line.push_str(self.text(name));
                }
                let _ = writeln!(line, " {weight}");
                line
            })
            .collect();
        lines.sort_unstable();
        lines.concat()
    }

    /// The stacks counted in samples, if each of them was counted with the sampling period, and that period: the greatest
    /// common divisor of all counts. `stackcollapse-perf.pl` writes such files, for instance 10,101,010 ns for a sample.
    pub fn without_period(self) -> (Stacks, Option<u64>) {
        let period = self.iter().fold(0, |divisor, (_, count)| greatest_common_divisor(divisor, count));
        if period < PERIOD_MIN {
            return (self, None);
        }
        let mut stacks = Stacks::new(self.weight_unit);
        for (stack, count) in self.iter() {
            let stack: Vec<NameId> = stack.iter().map(|&name| stacks.name(self.text(name))).collect();
            stacks.add(&stack, count / period);
        }
        (stacks, Some(period))
    }

    /// Parses folded stacks.
    pub fn from_folded(text: &[u8]) -> Folded {
        let mut read = Folded::default();
        let mut stack = Vec::new();
        // Fractions of large counts may be rounded away.
        let counts = || lines_of(text).filter_map(|(_, line)| split_count(line)).map(|(_, count)| count);
        read.has_fractions = counts().any(|count| count.fract() != 0.0);
        read.scale = if read.has_fractions && counts().any(|count| count < COUNT_ROUNDED) { FRACTIONS } else { 1 };
        for (number, line) in lines_of(text) {
            read.lines += 1;
            let Some((names, count)) = split_count(line) else {
                read.odd.push(number);
                continue;
            };
            let is_name_a_number = split_count(names).is_some();
            read.two_counts += u64::from(is_name_a_number);
            stack.clear();
            let stacks = &mut read.stacks;
            stack.extend(names.split(|&byte| byte == b';').map(|name| stacks.name(&String::from_utf8_lossy(name))));
            stacks.add(&stack, (count * read.scale as f64).round() as u64);
        }
        read
    }
}

/// Result of reading folded stacks.
#[derive(Debug, Default)]
pub struct Folded {
    /// The stacks.
    pub stacks: Stacks,
    /// Numbers of the lines that are none, which are passed over.
    pub odd: Vec<u64>,
    /// Number of lines, without those that are empty or comments.
    pub lines: u64,
    /// Lines with a second number in front of the count, as of a difference.
    pub two_counts: u64,
    /// Counts have fractions, so they are weights.
    pub has_fractions: bool,
    /// What a count of 1 in the text is in the stacks: above 1 where small counts have fractions.
    pub scale: u64,
}

impl Folded {
    /// True where the text is a difference of two profiles: each line has two counts.
    pub fn is_difference(&self) -> bool {
        self.two_counts > 0 && self.two_counts + self.odd.len() as u64 == self.lines
    }
}

/// What small counts with fractions are multiplied by, to become whole.
const FRACTIONS: u64 = 1_000;

/// A count from which on the nearest whole number is as good.
const COUNT_ROUNDED: f64 = 100.0;

/// The lines of a text that say something, with their numbers.
fn lines_of(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = text.split(|&byte| byte == b'\n').zip(1..).map(|(line, number)| (number, line.trim_ascii()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#"))
}

/// A stack and its count.
fn split_count(line: &[u8]) -> Option<(&[u8], f64)> {
    let (names, count) = line.split_at_checked(line.iter().rposition(|&byte| byte == b' ')?)?;
    let count = std::str::from_utf8(count).ok()?.trim();
    let is_number = count.starts_with(|first: char| first.is_ascii_digit());
    let count = count.parse::<f64>().ok().filter(|count| is_number && *count < 2_f64.powi(53))?;
    Some((names, count))
}

/// Counts with a smaller common divisor may be counts of samples.
const PERIOD_MIN: u64 = 1_000;

/// Euclid's algorithm; that of 0 and a number is the number.
fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_with_fractions_are_weights_and_a_difference_is_known() {
        for (text, folded, scale) in [
            (&b"a;x 100\na;y 1000.5\n"[..], "a;x 100\na;y 1001\n", 1),
            (b"a;x 3\na;y 0.25\n", "a;x 3000\na;y 250\n", 1000),
        ] {
            let read = Stacks::from_folded(text);
            assert_eq!((read.stacks.folded().as_str(), read.scale, read.odd.len()), (folded, scale, 0));
            assert!(read.has_fractions);
        }
        assert!(Stacks::from_folded(b"a;x 100 90\na 2 0\n").is_difference());
        assert!(!Stacks::from_folded(b"a;f 1 90\na;g 2\n").is_difference());
        assert!(!Stacks::from_folded(b"a;g inf\n").is_difference());
    }

    #[test]
    fn folded_stacks_read_back_as_they_were_written() {
        let mut stacks = Stacks::default();
        let [thread, main, tick] = ["srv", "main", "std::map<int; long>::at"].map(|name| stacks.name(name));
        stacks.add(&[thread, main], 2);
        stacks.add(&[thread, main, tick], 3);
        stacks.add(&[thread, main], 1);
        let text = stacks.folded();
        assert_eq!(text, "srv;main 3\nsrv;main;std::map<int: long>::at 3\n");
        let Folded { stacks: again, odd, .. } = Stacks::from_folded(text.as_bytes());
        assert_eq!((again.folded(), odd, again.total(), again.observations()), (text, vec![], 6, 6));
    }

    #[test]
    fn a_symbol_of_any_bytes_is_one_visible_name_in_every_file() {
        let mut stacks = Stacks::default();
        let stack = ["thread\u{1b}]0;x\u{7}", "a\nb;c\u{9b}", "\u{202e}d"].map(|name| stacks.name(name));
        stacks.add(&stack, 3);
        let text = stacks.folded();
        assert_eq!(text, "thread\\x1b]0:x\\x07;a\\nb:c\\u{9b};\\u{202e}d 3\n");
        assert_eq!(
            Stacks::from_folded(text.as_bytes()).stacks.folded(),
            text,
            "what is visible already stays as it is"
        );
    }

    #[test]
    fn a_sampling_period_in_every_count_is_taken_out_of_it() {
        let read = |text: &[u8]| Stacks::from_folded(text).stacks.without_period();
        let (stacks, period) = read(b"xz;main 444444440\nxz;main;sort 30303030\n");
        assert_eq!((stacks.observations(), stacks.effective_observations(), period), (47, 47.0, Some(10_101_010)));
        assert_eq!(stacks.folded(), "xz;main 44\nxz;main;sort 3\n");
        // Counts of samples, and weights without a common period.
        for text in [&b"a 400\nb 200\n"[..], b"a 123456789\nb 987654321\n", b""] {
            assert_eq!(read(text).1, None);
        }
    }

    #[test]
    fn lines_that_are_no_stacks_are_reported_by_their_numbers() {
        let Folded { stacks, odd, .. } = Stacks::from_folded(b"a;b 3\nno count\n\n# comment\na;b -1\na;c 2\n");
        assert_eq!((stacks.total(), odd), (5, vec![2, 5]));
    }

    #[test]
    fn one_long_wait_counts_less_than_many_short_ones() {
        let mut stacks = Stacks::new(WeightUnit::WaitingUs);
        let name = stacks.name("poll");
        stacks.add_wait(&[name], 1_000_000);
        for _ in 0..99 {
            stacks.add_wait(&[name], 1);
        }
        assert_eq!(stacks.observations(), 100);
        assert!(stacks.effective_observations() < 1.01);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_and_any_names_written(text: Vec<u8>, names in proptest::collection::vec(".*", 1..4)) {
            Stacks::from_folded(&text);
            let mut stacks = Stacks::default();
            let stack: Vec<NameId> = names.iter().map(|name| stacks.name(name)).collect();
            stacks.add(&stack, 7);
            let Folded { stacks: again, odd, .. } = Stacks::from_folded(stacks.folded().as_bytes());
            // A name of blanks alone, or one that begins as a comment does, may vanish at the start of a line.
            if odd.is_empty() && again.observations() > 0 {
                prop_assert_eq!(again.total(), 7);
            }
        }
    }
}
