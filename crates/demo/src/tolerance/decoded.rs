//! Fields that a decoder names: which rule allows a difference, and how the differences grow.

use super::drift::{Growth, Location, growth, median_of, raise};
use super::number::{float_distance, ordinal_double, ordinal_single};
use super::{Ports, Rules};
use prony_decoder::Value;
use serde::Serialize;
use std::collections::BTreeMap;

/// One `[[decoded]]` of a tolerance file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DecodedRule {
    pub(super) port: Option<u16>,
    pub(super) fields: Vec<FieldPattern>,
}

/// Names of fields that may differ.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FieldPattern {
    /// A name, in which `*` stands for any characters but a full stop.
    pub(super) pattern: String,
    /// `None`: masked, any difference will do, also that the field is not there.
    pub(super) limit: Option<ValueLimit>,
    /// Largest distance in an output that is early or late; infinite: any difference, also that the field is not there.
    pub(super) moved: Option<f64>,
}

/// Largest permitted distance of two values; it is enough that one limit is met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ValueLimit {
    pub(super) within: f64,
    pub(super) relative: f64,
    pub(super) ulps: u64,
}

/// How two values of a field compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldComparison {
    /// A rule allows the difference; its size, of two numbers.
    Allowed {
        /// Place of the rule among those of decoded fields, and of the field in it, from 0.
        rule: (usize, usize),
        /// |replayed − recorded|; `None` for a masked field.
        apart: Option<f64>,
    },
    /// A rule allows less, or no number at all.
    Beyond {
        /// Place of the rule among those of decoded fields, and of the field in it, from 0.
        rule: (usize, usize),
        /// |replayed − recorded|; `None` if there is no such distance, because a value is missing for example.
        apart: Option<f64>,
    },
    /// No rule names the field, so it has to be equal.
    Discrete,
}

/// True if `pattern` stands for the name.
///
/// `*` matches any characters but a full stop; everything else matches itself.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // The last star, and how far it reaches: if what follows does not fit, it reaches one byte further.
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    loop {
        match (pattern.get(p), name.get(n)) {
            (Some(b'*'), _) => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            (Some(a), Some(b)) if a == b => {
                (p, n) = (p + 1, n + 1);
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match star {
            Some((at, reached)) if name.get(reached).is_some_and(|&byte| byte != b'.') => {
                star = Some((at, reached + 1));
                (p, n) = (at + 1, reached + 1);
            }
            _ => return false,
        }
    }
}

impl ValueLimit {
    fn allows(&self, recorded: &Value, replayed: &Value) -> (bool, Option<f64>) {
        let (apart, steps) = match (recorded, replayed) {
            (Value::Integer(was), Value::Integer(is)) => {
                let apart = was.abs_diff(*is) as f64;
                let size = was.unsigned_abs().max(is.unsigned_abs()) as f64;
                return (apart <= self.within || apart <= self.relative * size, Some(apart));
            }
            (Value::Single(was), Value::Single(is)) => {
                (float_distance(f64::from(*was), f64::from(*is)), ordinal_single(*was).abs_diff(ordinal_single(*is)))
            }
            (Value::Double(was), Value::Double(is)) => {
                (float_distance(*was, *is), ordinal_double(*was).abs_diff(ordinal_double(*is)))
            }
            _ => return (false, None),
        };
        let number = |value: &Value| match value {
            Value::Single(value) => f64::from(*value).abs(),
            Value::Double(value) => value.abs(),
            _ => 0.0,
        };
        let size = number(recorded).max(number(replayed));
        let allowed = apart.is_some_and(|apart| {
            apart <= self.within || apart <= self.relative * size || (self.ulps > 0 && steps <= self.ulps)
        });
        (allowed, apart)
    }
}

/// True if two values of a field are equal. Two NaN are equal whatever their payload, and so are both zeros.
pub fn is_same(recorded: &Value, replayed: &Value) -> bool {
    match (recorded, replayed) {
        (Value::Single(was), Value::Single(is)) => was == is || (was.is_nan() && is.is_nan()),
        (Value::Double(was), Value::Double(is)) => was == is || (was.is_nan() && is.is_nan()),
        (was, is) => was == is,
    }
}

impl Rules {
    /// Compares the values of a field that differ; `None` for a side that does not have it. The first rule that names the
    /// field applies.
    pub fn compare_field(
        &self,
        ports: Ports,
        name: &str,
        recorded: Option<&Value>,
        replayed: Option<&Value>,
    ) -> FieldComparison {
        let Some((rule, found)) = self.rule_of(ports, name) else { return FieldComparison::Discrete };
        let Some(limit) = &found.limit else { return FieldComparison::Allowed { rule, apart: None } };
        match (recorded, replayed) {
            (Some(was), Some(is)) => match limit.allows(was, is) {
                (true, apart) => FieldComparison::Allowed { rule, apart },
                (false, apart) => FieldComparison::Beyond { rule, apart },
            },
            _ => FieldComparison::Beyond { rule, apart: None },
        }
    }

    /// True if a rule allows that the values of a field differ so in an output that is early or late; `None` for a side that does
    /// not have it.
    pub fn allows_moved(&self, ports: Ports, name: &str, recorded: Option<&Value>, replayed: Option<&Value>) -> bool {
        let moved = self.rule_of(ports, name).and_then(|(_, found)| found.moved);
        moved.is_some_and(|within| {
            let limit = ValueLimit { within, relative: 0.0, ulps: 0 };
            within.is_infinite() || recorded.zip(replayed).is_some_and(|(was, is)| limit.allows(was, is).0)
        })
    }

    /// The first rule that names a field, and its place.
    fn rule_of(&self, ports: Ports, name: &str) -> Option<((usize, usize), &FieldPattern)> {
        let fits =
            |rule: &DecodedRule| rule.port.is_none_or(|port| ports.local == Some(port) || ports.peer == Some(port));
        let rules = self.decoded.iter().enumerate().filter(|(_, rule)| fits(rule));
        let mut fields =
            rules.flat_map(|(at, rule)| rule.fields.iter().enumerate().map(move |(field, it)| ((at, field), it)));
        fields.find(|(_, field)| matches(field.pattern.as_bytes(), name.as_bytes()))
    }

    /// True if the file has rules for decoded fields.
    pub fn has_decoded(&self) -> bool {
        !self.decoded.is_empty()
    }

    /// The names that a field of a rule stands for, as the file has them.
    fn pattern(&self, (rule, field): (usize, usize)) -> &str {
        self.decoded.get(rule).and_then(|rule| rule.fields.get(field)).map_or("", |field| &field.pattern)
    }

    /// The largest distance that a rule allows; `None` for a mask.
    fn within(&self, (rule, field): (usize, usize)) -> Option<f64> {
        self.decoded.get(rule)?.fields.get(field)?.limit.map(|limit| limit.within)
    }
}

/// Place of a difference, and both values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DifferenceAt {
    /// Frame of the server's main loop.
    pub frame: u64,
    /// Record of the output, in its process.
    pub record: u64,
    /// Process.
    pub process: u16,
    /// Address that it was sent to.
    pub peer: String,
    /// Name of the field.
    pub field: String,
    /// Recorded value; `None` where the recording does not have the field.
    pub recorded: Option<String>,
    /// Replayed value; `None` where the build did not send the field.
    pub replayed: Option<String>,
    /// The largest distance that the rule allows, if a rule names the field.
    pub within: Option<f64>,
}

/// Differences of the fields that one rule names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecodedDrift {
    /// The names as the file has them.
    pub field: String,
    /// Place of the rule among the `[[decoded]]` of the file, from 0.
    pub rule: usize,
    /// Values that differed.
    pub differing: u64,
    /// Of these, values that are further apart than the rule allows.
    pub beyond: u64,
    /// The largest difference that the rule allows; `None` for a mask.
    pub within: Option<f64>,
    /// Largest difference; 0 for a mask.
    pub largest: f64,
    /// Where the largest difference was: its field, frame and record.
    pub largest_field: String,
    /// Frame of the largest difference.
    pub largest_frame: u64,
    /// Record of the largest difference.
    pub largest_record: u64,
    /// Median of all differences.
    pub median: f64,
    /// The largest difference of each frame; `None` for a mask.
    pub growth: Option<Growth>,
}

/// Fields that have to be equal and were not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiscreteField {
    /// The name, with `[*]` for indices.
    pub field: String,
    /// How often it differed.
    pub differing: u64,
    /// The first of these differences.
    pub first: DifferenceAt,
}

/// What a decoder found in the outputs of a replay.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct DecodedSummary {
    /// Name of the decoder, as it says it itself.
    pub decoder: String,
    /// Recorded outputs on sockets.
    pub outputs: u64,
    /// Of these, outputs that the build sent with other bytes.
    pub outputs_differing: u64,
    /// Recorded outputs in which the decoder found nothing, whose bytes were compared.
    pub outputs_opaque: u64,
    /// Outputs that differ in bytes and in no field.
    pub outputs_differing_unseen: u64,
    /// Values that were compared.
    pub values: u64,
    /// Values that differ.
    pub values_differing: u64,
    /// Other values that differ because their output went out in another frame, as the outputs before and behind it show.
    pub values_shifted: u64,
    /// Differences of fields that a rule names, in the order of the file.
    pub fields: Vec<DecodedDrift>,
    /// Fields that no rule names and that differ, the first to differ first.
    pub discrete: Vec<DiscreteField>,
    /// The first difference of a field that no rule names: a discrete event such as a hit or a death.
    pub first_discrete: Option<DifferenceAt>,
    /// The first difference that is larger than its rule allows.
    pub first_beyond: Option<DifferenceAt>,
}

/// Gathers what differs in decoded fields.
#[derive(Debug, Default)]
pub struct DecodedDrifts {
    /// Counts and places that are reported as they are.
    pub summary: DecodedSummary,
    ruled: BTreeMap<(usize, usize), Ruled>,
    discrete: BTreeMap<String, DiscreteField>,
}

#[derive(Debug, Default)]
struct Ruled {
    beyond: u64,
    differing: u64,
    all: Vec<f64>,
    frame_max: Vec<(u64, f64)>,
    worst: Option<(f64, String, Location)>,
}

/// Most kinds of discrete fields that are distinguished: their names come from a decoder.
const MOST_DISCRETE: usize = 1000;

impl DecodedDrifts {
    /// Adds a difference at this place. Returns the largest distance that its rule allows.
    pub fn add(&mut self, found: FieldComparison, at: &DifferenceAt, rules: &Rules) -> Option<f64> {
        self.summary.values_differing += 1;
        let place = Location { frame: at.frame, record: at.record };
        match found {
            FieldComparison::Allowed { rule, apart } => self.add_ruled(rule, apart, &at.field, place, false),
            FieldComparison::Beyond { rule, apart } => self.add_ruled(rule, apart, &at.field, place, true),
            FieldComparison::Discrete => {
                let name = without_indices(&at.field);
                if let Some(field) = self.discrete.get_mut(&name) {
                    field.differing += 1;
                    set_earlier(&mut field.first, at);
                } else if self.discrete.len() < MOST_DISCRETE {
                    let field = DiscreteField { field: name.clone(), differing: 1, first: at.clone() };
                    self.discrete.insert(name, field);
                }
            }
        }
        self.add_first(found, at, rules)
    }

    /// Keeps a difference that is not counted, if it is the first of its kind. Returns the largest distance that its rule allows.
    pub fn add_first(&mut self, found: FieldComparison, at: &DifferenceAt, rules: &Rules) -> Option<f64> {
        let (first, within) = match found {
            FieldComparison::Allowed { rule, .. } => return rules.within(rule),
            FieldComparison::Beyond { rule, .. } => (&mut self.summary.first_beyond, rules.within(rule)),
            FieldComparison::Discrete => (&mut self.summary.first_discrete, None),
        };
        let at = DifferenceAt { within, ..at.clone() };
        match first {
            Some(first) => set_earlier(first, &at),
            None => *first = Some(at),
        }
        within
    }

    fn add_ruled(&mut self, rule: (usize, usize), apart: Option<f64>, field: &str, place: Location, beyond: bool) {
        let ruled = self.ruled.entry(rule).or_default();
        ruled.differing += 1;
        ruled.beyond += u64::from(beyond);
        let Some(apart) = apart else { return };
        ruled.all.push(apart);
        if ruled.worst.as_ref().is_none_or(|(worst, ..)| apart > *worst) {
            ruled.worst = Some((apart, field.to_owned(), place));
        }
        // Processes take turns, so a frame may come up again after a later one.
        raise(&mut ruled.frame_max, place.frame, apart);
    }

    /// The findings; `rules` are those that judged.
    pub fn finish(self, rules: &Rules) -> DecodedSummary {
        let fields = self.ruled.into_iter().map(|(rule, ruled)| {
            let (largest, largest_field, place) = ruled.worst.unwrap_or_default();
            DecodedDrift {
                field: rules.pattern(rule).to_owned(),
                rule: rule.0,
                differing: ruled.differing,
                beyond: ruled.beyond,
                within: rules.within(rule),
                largest,
                largest_field,
                largest_frame: place.frame,
                largest_record: place.record,
                median: median_of(ruled.all),
                growth: growth(&ruled.frame_max),
            }
        });
        let mut discrete: Vec<DiscreteField> = self.discrete.into_values().collect();
        discrete.sort_by_key(|field| (field.first.frame, field.first.record));
        DecodedSummary { fields: fields.collect(), discrete, ..self.summary }
    }
}

fn set_earlier(first: &mut DifferenceAt, at: &DifferenceAt) {
    if (at.frame, at.record) < (first.frame, first.record) {
        first.clone_from(at);
    }
}

/// The name with every index replaced by `*`.
fn without_indices(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('[') {
        let Some((_, after)) = behind.split_once(']') else { break };
        out.push_str(before);
        out.push_str("[*]");
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
[[decoded]]
port = 8303
fields = [
    { field = "snapshot.player[*].x", within = 2 },
    { field = "snapshot.player[*].angle", within = 0.5, ulps = 4 },
    { field = "packet.*", mask = true },
]
"#;
    const GAME: Ports = Ports { local: Some(8303), peer: Some(40000) };

    fn compare(name: &str, recorded: Value, replayed: Value) -> FieldComparison {
        Rules::parse(RULES).expect("the rules are valid").compare_field(GAME, name, Some(&recorded), Some(&replayed))
    }

    #[test]
    fn a_star_stands_for_anything_within_one_part_of_a_name() {
        let cases = [
            ("a.b", "a.b", true),
            ("a[*].x", "a[12].x", true),
            ("a[*].x", "a[12].y", false),
            ("a[*].x", "a[1].b[2].x", false),
            ("*.x", "player.x", true),
            ("*.x", "a.player.x", false),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcd", false),
            ("a*", "a", true),
            ("*", "", true),
            ("", "a", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_first_rule_that_names_a_field_applies() {
        let apart = Some(2.0);
        let (was, is) = (Value::Integer(100), Value::Integer(98));
        assert_eq!(compare("snapshot.player[3].x", was, is), FieldComparison::Allowed { rule: (0, 0), apart });
        let (was, is) = (Value::Integer(100), Value::Integer(97));
        assert_eq!(
            compare("snapshot.player[3].x", was, is),
            FieldComparison::Beyond { rule: (0, 0), apart: Some(3.0) }
        );
        assert_eq!(compare("snapshot.player[3].y", Value::Integer(1), Value::Integer(2)), FieldComparison::Discrete);
        let (was, is) = (Value::Single(1000.0), Value::Single(1000.0_f32.next_up()));
        let FieldComparison::Allowed { rule: (0, 1), .. } = compare("snapshot.player[0].angle", was, is) else {
            panic!()
        };
        // Another type is no distance.
        let (was, is) = (Value::Integer(1), Value::Text("1".to_owned()));
        assert_eq!(compare("snapshot.player[0].x", was, is), FieldComparison::Beyond { rule: (0, 0), apart: None });
    }

    #[test]
    fn a_missing_field_is_excused_by_a_mask_alone() {
        let rules = Rules::parse(RULES).expect("the rules are valid");
        let one = Value::Integer(1);
        let without = |name| rules.compare_field(GAME, name, Some(&one), None);
        assert_eq!(without("packet.ack"), FieldComparison::Allowed { rule: (0, 2), apart: None });
        assert_eq!(without("snapshot.player[0].x"), FieldComparison::Beyond { rule: (0, 0), apart: None });
        assert_eq!(without("kill.victim"), FieldComparison::Discrete);
        let elsewhere = Ports { local: Some(1), peer: None };
        assert_eq!(rules.compare_field(elsewhere, "packet.ack", Some(&one), None), FieldComparison::Discrete);
    }

    #[test]
    fn drifts_have_their_largest_their_median_and_the_first_event() {
        let rules = Rules::parse(RULES).expect("the rules are valid");
        let mut drifts = DecodedDrifts::default();
        let at = |frame, field: &str| DifferenceAt {
            frame,
            record: frame * 10,
            process: 0,
            peer: "127.0.0.1:40000".to_owned(),
            field: field.to_owned(),
            recorded: Some("1".to_owned()),
            replayed: None,
            within: None,
        };
        for frame in 1..=3 {
            let found = FieldComparison::Allowed { rule: (0, 0), apart: Some(frame as f64) };
            drifts.add(found, &at(frame, "snapshot.player[1].x"), &rules);
        }
        drifts.add(FieldComparison::Beyond { rule: (0, 0), apart: Some(9.0) }, &at(4, "snapshot.player[2].x"), &rules);
        drifts.add(FieldComparison::Discrete, &at(5, "kill[7].victim"), &rules);
        drifts.add(FieldComparison::Discrete, &at(6, "kill[8].victim"), &rules);
        let summary = drifts.finish(&rules);
        assert_eq!(summary.values_differing, 6);
        let [field] = &summary.fields[..] else { panic!("one rule was needed") };
        assert_eq!((field.field.as_str(), field.differing, field.beyond), ("snapshot.player[*].x", 4, 1));
        assert_eq!((field.largest, field.largest_frame, field.median), (9.0, 4, 2.5));
        assert_eq!(field.largest_field, "snapshot.player[2].x");
        assert_eq!(field.growth.as_ref().map(|growth| growth.frame_max.len()), Some(4));
        assert_eq!(summary.first_beyond.map(|at| (at.frame, at.within)), Some((4, Some(2.0))));
        assert_eq!(summary.first_discrete.map(|at| at.frame), Some(5));
        let [kills] = &summary.discrete[..] else { panic!("one kind of event") };
        assert_eq!((kills.field.as_str(), kills.differing, kills.first.frame), ("kill[*].victim", 2, 5));
    }
}
