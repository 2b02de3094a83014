//! Filters: `engine == "stock" and clients <= 64`.
//!
//! ```text
//! filter     = and { "or" and }
//! and        = not { "and" not }
//! not        = "not" not | "(" filter ")" | comparison
//! comparison = name ("==" | "!=" | "<" | "<=" | ">" | ">=") value
//!            | name ["not"] "in" "[" value { "," value } "]"
//! name       = letter or "_", then letters, digits, "_", "-", "."; any other name in `backticks`
//! value      = "text" | 'text' | number
//! ```
#![deny(clippy::indexing_slicing)]

/// The deepest nesting that is read: no recursion of ours may end the process.
const DEEPEST: usize = 64;

/// A condition on the levels of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Disjunction: at least one of these filters matches.
    Or(Vec<Filter>),
    /// Conjunction: all of these filters match.
    And(Vec<Filter>),
    /// Negation: this filter does not match.
    Not(Box<Filter>),
    /// A name compared with a value.
    Compare(Name, Comparison, Value),
    /// A name that has one of these values.
    In(Name, Vec<Value>),
}

/// A name in a filter, and where in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Name of a factor, axis or machine property.
    pub name: String,
    /// Offset of its first byte in the text of the filter.
    pub at: usize,
}

/// Comparison operator of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`: both values are equal.
    Equal,
    /// `!=`: the values are not equal.
    NotEqual,
    /// `<`: the level is numerically less.
    Below,
    /// `<=`: the level is numerically less or equal.
    AtMost,
    /// `>`: the level is numerically greater.
    Above,
    /// `>=`: the level is numerically greater or equal.
    AtLeast,
}

impl Comparison {
    /// Longest first, as they are looked for.
    const ALL: [(&'static str, Comparison); 6] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Below),
        (">", Comparison::Above),
    ];

    /// Reads the comparison that `text` begins with; gives what follows it.
    pub fn strip(text: &str) -> Option<(Comparison, &str)> {
        Comparison::ALL.into_iter().find_map(|(sign, comparison)| Some((comparison, text.strip_prefix(sign)?)))
    }

    /// Operator as it is written in a filter.
    pub fn sign(self) -> &'static str {
        Comparison::ALL.into_iter().find(|(_, comparison)| *comparison == self).map_or("==", |(sign, _)| sign)
    }

    /// True when it needs more than equality.
    pub fn is_ordering(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::NotEqual)
    }

    /// True when `ordering`, of the left side to the right, satisfies it.
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Below => ordering.is_lt(),
            Comparison::AtMost => ordering.is_le(),
            Comparison::Above => ordering.is_gt(),
            Comparison::AtLeast => ordering.is_ge(),
        }
    }
}

/// A value in a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Text as written, without quotes.
    pub text: String,
    /// Numeric value, if it is a number.
    pub number: Option<f64>,
    /// Offset of its first byte in the text of the filter.
    pub at: usize,
}

/// Value of a name in one configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound<'a> {
    /// The level's name, or the axis's value.
    pub text: &'a str,
    /// The number, where it is one.
    pub number: Option<f64>,
}

impl Filter {
    /// Parses the text of a filter; an error has the offset in bytes and the problem.
    ///
    /// # Errors
    /// The byte of `text`, and what was expected and found there.
    pub fn parse(text: &str) -> Result<Filter, (usize, String)> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let filter = reader.filter()?;
        reader.space();
        match reader.rest().is_empty() {
            true => Ok(filter),
            false => reader.expected("`and`, `or` or the end"),
        }
    }

    /// True when the configuration that `bound` knows is meant; a name it does not know equals nothing.
    pub fn holds<'a>(&self, bound: &impl Fn(&str) -> Option<Bound<'a>>) -> bool {
        match self {
            Filter::Or(parts) => parts.iter().any(|part| part.holds(bound)),
            Filter::And(parts) => parts.iter().all(|part| part.holds(bound)),
            Filter::Not(part) => !part.holds(bound),
            Filter::Compare(name, comparison, value) => bound(&name.name).is_some_and(|left| match comparison {
                Comparison::Equal => value.equals(left),
                Comparison::NotEqual => !value.equals(left),
                ordering => left
                    .number
                    .zip(value.number)
                    .and_then(|(left, right)| left.partial_cmp(&right))
                    .is_some_and(|found| ordering.holds(found)),
            }),
            Filter::In(name, values) => {
                bound(&name.name).is_some_and(|left| values.iter().any(|value| value.equals(left)))
            }
        }
    }

    /// Every comparison in it, for checks: the name, the comparison (none for `in`) and the value.
    pub fn comparisons(&self) -> Vec<(&Name, Option<Comparison>, &Value)> {
        match self {
            Filter::Or(parts) | Filter::And(parts) => parts.iter().flat_map(Filter::comparisons).collect(),
            Filter::Not(part) => part.comparisons(),
            Filter::Compare(name, comparison, value) => vec![(name, Some(*comparison), value)],
            Filter::In(name, values) => values.iter().map(|value| (name, None, value)).collect(),
        }
    }
}

impl Value {
    /// Numbers are equal as numbers (`1e3`, `1000`), all else letter by letter.
    pub fn equals(&self, bound: Bound<'_>) -> bool {
        match self.number.zip(bound.number) {
            Some((number, bound)) => number == bound,
            None => self.text == bound.text,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, (usize, String)>;

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        let word = self.rest().split_whitespace().next();
        let shown = |word: &str| word.chars().filter(|c| !c.is_control()).take(40).collect::<String>();
        let found = word.map_or("the end of the filter".to_owned(), |word| format!("`{}`", shown(word)));
        Err((self.at, format!("expected {what}, found {found}")))
    }

    /// Takes `sign` if it comes next.
    fn sign(&mut self, sign: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    /// Takes `word` if it comes next as a word of its own.
    fn word(&mut self, word: &str) -> bool {
        self.space();
        let follows = self.rest().strip_prefix(word).map(|rest| rest.chars().next());
        let found = follows.is_some_and(|next| !next.is_some_and(in_name));
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn filter(&mut self) -> Parsed<Filter> {
        let mut parts = vec![self.and()?];
        while self.word("or") {
            parts.push(self.and()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Filter::Or(parts) })
    }

    fn and(&mut self) -> Parsed<Filter> {
        let mut parts = vec![self.not()?];
        while self.word("and") {
            parts.push(self.not()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Filter::And(parts) })
    }

    fn not(&mut self) -> Parsed<Filter> {
        if self.depth == DEEPEST {
            return self.expected(&format!("at most {DEEPEST} nested parts"));
        }
        self.depth += 1;
        let read = if self.word("not") {
            Filter::Not(Box::new(self.not()?))
        } else if self.sign("(") {
            let inner = self.filter()?;
            if !self.sign(")") {
                return self.expected("`)`");
            }
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(read)
    }

    fn comparison(&mut self) -> Parsed<Filter> {
        let name = self.name()?;
        let negated = self.word("not");
        if self.word("in") {
            let values = Filter::In(name, self.list()?);
            return Ok(if negated { Filter::Not(Box::new(values)) } else { values });
        }
        if negated {
            return self.expected("`in`");
        }
        self.space();
        let Some((comparison, rest)) = Comparison::strip(self.rest()) else {
            return self.expected("`==`, `!=`, `<`, `<=`, `>`, `>=` or `in`");
        };
        self.at = self.text.len() - rest.len();
        Ok(Filter::Compare(name, comparison, self.value()?))
    }

    fn name(&mut self) -> Parsed<Name> {
        self.space();
        let at = self.at;
        if let Some(quoted) = self.rest().strip_prefix('`') {
            let Some((name, _)) = quoted.split_once('`') else { return self.expected("a name and its closing `") };
            self.at += name.len() + 2;
            return Ok(Name { name: name.to_owned(), at });
        }
        let rest = self.rest();
        let length = rest.find(|letter| !in_name(letter)).unwrap_or(rest.len());
        let name = &rest[..length];
        if !name.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            return self.expected("the name of a factor or an axis");
        }
        self.at += length;
        Ok(Name { name: name.to_owned(), at })
    }

    fn list(&mut self) -> Parsed<Vec<Value>> {
        if !self.sign("[") {
            return self.expected("`[`");
        }
        let mut values = vec![self.value()?];
        while self.sign(",") {
            values.push(self.value()?);
        }
        if self.sign("]") { Ok(values) } else { self.expected("`,` or `]`") }
    }

    fn value(&mut self) -> Parsed<Value> {
        self.space();
        let (at, rest) = (self.at, self.rest());
        for quote in ['"', '\''] {
            if let Some(quoted) = rest.strip_prefix(quote) {
                let Some((text, _)) = quoted.split_once(quote) else {
                    return self.expected("a value and its closing quote");
                };
                self.at += text.len() + 2;
                // A level of a sweep is a number in quotes too.
                return Ok(Value { text: text.to_owned(), number: finite(text), at });
            }
        }
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
        let text = &rest[..length];
        let Some(number) = finite(text) else { return self.expected("a number or a text in quotes") };
        self.at += length;
        Ok(Value { text: text.to_owned(), number: Some(number), at })
    }
}

/// The number that a text is, if it is a finite one.
pub(super) fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn in_name(letter: char) -> bool {
    letter.is_alphanumeric() || "_-.".contains(letter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As in a configuration with the engine `stock` and 16 clients.
    fn holds(filter: &str) -> bool {
        Filter::parse(filter).expect("it is a filter").holds(&|name| match name {
            "engine" => Some(Bound { text: "stock", number: None }),
            "clients" => Some(Bound { text: "16", number: Some(16.0) }),
            "game DLL" => Some(Bound { text: "new one", number: None }),
            _ => None,
        })
    }

    #[test]
    fn and_binds_tighter_than_or_and_not_tighter_than_both() {
        assert!(holds("engine == 'x' and clients == 1 or engine == 'stock'"));
        assert!(!holds("engine == 'x' and (clients == 1 or engine == 'stock')"));
        assert!(holds("not engine == 'x' and clients > 15.5"));
        assert!(!holds("not (engine == 'x' or clients >= 16)"));
    }

    #[test]
    fn values_are_compared_as_what_they_are() {
        assert!(holds("clients == 1.6e1") && holds("clients == \"16\"") && holds("clients in [1, 16]"));
        assert!(holds("`game DLL` == \"new one\"") && holds("engine not in ['opt', 'pedantic']"));
        assert!(!holds("engine < 3") && !holds("unknown != 'x'"));
    }

    #[test]
    fn a_filter_that_is_none_says_where() {
        let error = |filter: &str| {
            let (at, problem) = Filter::parse(filter).expect_err("it is none");
            format!("{at}: {problem}")
        };
        assert_eq!(error(""), "0: expected the name of a factor or an axis, found the end of the filter");
        assert_eq!(error("a = 3"), "2: expected `==`, `!=`, `<`, `<=`, `>`, `>=` or `in`, found `=`");
        assert_eq!(error("a == stock"), "5: expected a number or a text in quotes, found `stock`");
        assert_eq!(error("a == 'b"), "5: expected a value and its closing quote, found `'b`");
        assert_eq!(error("(a == 1"), "7: expected `)`, found the end of the filter");
        assert_eq!(error("a == 1 b"), "7: expected `and`, `or` or the end, found `b`");
        assert_eq!(error("a not 3"), "6: expected `in`, found `3`");
        assert_eq!(error("a in [1, "), "9: expected a number or a text in quotes, found the end of the filter");
        assert!(error(&"(".repeat(1000)).starts_with("64: expected at most 64 nested parts"));
        assert!(error(&"not ".repeat(1000)).contains("expected at most 64 nested parts"));
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_panic(text in "(and |or |not |in |[ab<>=!()\\[\\],'\"`0-9é. -]){0,30}") {
            let _ = Filter::parse(&text);
        }
    }
}
