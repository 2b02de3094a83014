//! What an output that is early or late may hold: the state of the frame in which it goes out.
//!
//! An update that goes out a frame earlier than recorded has the values of that frame, and what happened in between is in the
//! next update. So a value of it may lie between those of the recorded outputs on either side of the frame, and a field that one
//! side lacks may be in the output before or behind it.

use super::lane::{Group, Output};
use prony_decoder::Value;
use std::cmp::Ordering;
use std::collections::HashMap;

type Fields<'a> = HashMap<&'a str, Vec<&'a Value>>;

/// The outputs to the same peer before and behind a group.
pub(super) struct Around<'a> {
    /// In which frame the group is, compared with the recorded one.
    shift: Ordering,
    is_moved_before: bool,
    /// It is the last output to this peer.
    is_last: bool,
    /// Recorded and replayed fields.
    before: [Fields<'a>; 2],
    behind: [Fields<'a>; 2],
}

impl<'a> Around<'a> {
    pub(super) fn new(before: Option<&'a Group>, group: &Group, behind: Option<&'a Group>) -> Around<'a> {
        let sides = |group: Option<&'a Group>| {
            [0, 1].map(|side| fields(group.and_then(|group| group.sides.get(side)).map_or(&[][..], Vec::as_slice)))
        };
        Around {
            shift: group.shift(),
            is_moved_before: before.is_some_and(|before| before.shift().is_ne()),
            is_last: behind.is_none(),
            before: sides(before),
            behind: sides(behind),
        }
    }

    /// True for outputs that are early or late.
    pub(super) fn is_moved(&self) -> bool {
        self.shift.is_ne()
    }

    /// True if the frame in which an output went out explains that a value differs, or that one side does not have it.
    /// `is_alike`: whether two values of the field are equal or within their rule, the recorded one first.
    pub(super) fn explains(
        &self,
        name: &str,
        recorded: Option<&Value>,
        replayed: Option<&Value>,
        is_alike: &dyn Fn(&Value, &Value) -> bool,
    ) -> bool {
        let is_moved = self.is_moved();
        // The recording ends before the frame in which the last output of a late build goes out: nothing limits what is in it.
        let is_beyond_end = self.is_last && self.shift.is_gt() && replayed.is_some();
        let has_recorded = |fields: &Fields, is: &Value| any(fields, name, |was| is_alike(was, is));
        let has_replayed = |fields: &Fields, was: &Value| any(fields, name, |is| is_alike(was, is));
        match (recorded, replayed) {
            _ if is_beyond_end => true,
            (Some(was), Some(is)) => {
                let near = match self.shift {
                    Ordering::Less => Some(&self.before[0]),
                    Ordering::Greater => Some(&self.behind[0]),
                    Ordering::Equal => None,
                };
                near.is_some_and(|near| any(near, name, |near| is_alike(near, is) || is_between(is, near, was)))
                    // Two events of one name, each of which is in another output on the other side.
                    || self.explains(name, Some(was), None, is_alike) && self.explains(name, None, Some(is), is_alike)
            }
            // It is recorded in the next output; or it is recorded in the one before, which was early or shows what has ended since.
            (None, Some(is)) => {
                is_moved && has_recorded(&self.behind[0], is)
                    || (self.is_moved_before || self.shift.is_lt()) && has_recorded(&self.before[0], is)
            }
            // It is in the next output, or was in the one before, which was late; or it has ended since.
            (Some(was), None) => {
                is_moved && has_replayed(&self.behind[1], was)
                    || self.is_moved_before && has_replayed(&self.before[1], was)
                    || self.shift.is_gt() && has_recorded(&self.before[0], was) && !any(&self.behind[0], name, |_| true)
            }
            (None, None) => false,
        }
    }
}

fn fields(outputs: &[Output]) -> Fields<'_> {
    let mut found = Fields::new();
    for field in outputs.iter().filter_map(|output| output.fields.as_ref()).flatten() {
        found.entry(&field.name).or_default().push(&field.value);
    }
    found
}

fn any(fields: &Fields, name: &str, is_it: impl Fn(&Value) -> bool) -> bool {
    fields.get(name).is_some_and(|values| values.iter().any(|value| is_it(value)))
}

/// True for a number that is not outside of two others of its type.
fn is_between(value: &Value, one: &Value, other: &Value) -> bool {
    match (value, one, other) {
        (Value::Integer(value), Value::Integer(one), Value::Integer(other)) => {
            (one.min(other)..=one.max(other)).contains(&value)
        }
        (Value::Single(value), Value::Single(one), Value::Single(other)) => {
            (one.min(*other)..=one.max(*other)).contains(value)
        }
        (Value::Double(value), Value::Double(one), Value::Double(other)) => {
            (one.min(*other)..=one.max(*other)).contains(value)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_decoder::Field;

    /// An output of each side with these integers, in these frames.
    fn group(was: (u64, &[(&str, i128)]), is: (u64, &[(&str, i128)])) -> Group {
        let sides = [was, is].map(|(frame, fields)| {
            let fields =
                fields.iter().map(|(name, value)| Field { name: (*name).to_owned(), value: Value::Integer(*value) });
            let fields = Some(fields.collect());
            vec![Output { frame, record: frame, thread: 0, op: 0, bytes: Vec::new(), parts: 1, fields }]
        });
        Group { sides, pairs: vec![(0, 0)] }
    }

    fn explains(around: &Around, name: &str, recorded: Option<i128>, replayed: Option<i128>) -> bool {
        let [was, is] = [recorded, replayed].map(|value| value.map(Value::Integer));
        around.explains(name, was.as_ref(), is.as_ref(), &|was, is| was == is)
    }

    #[test]
    fn an_early_output_has_values_between_the_recorded_ones() {
        let before = group((10, &[("time", 10), ("health", 100)]), (10, &[("time", 10), ("health", 100)]));
        let early = group((20, &[("time", 20), ("health", 80)]), (19, &[("time", 19), ("health", 100)]));
        let behind = group((30, &[("time", 30), ("health", 80)]), (30, &[("time", 30), ("health", 80)]));
        let around = Around::new(Some(&before), &early, Some(&behind));
        assert!(explains(&around, "time", Some(20), Some(19)) && explains(&around, "health", Some(80), Some(100)));
        assert!(!explains(&around, "time", Some(20), Some(21)) && !explains(&around, "health", Some(80), Some(70)));
        let late = group((20, &[("time", 20)]), (21, &[("time", 21)]));
        let around = Around::new(Some(&before), &late, Some(&behind));
        assert!(explains(&around, "time", Some(20), Some(21)) && !explains(&around, "time", Some(20), Some(19)));
        let around = Around::new(Some(&before), &late, None);
        assert!(
            explains(&around, "time", Some(20), Some(23)),
            "what would be recorded after the last output is not known"
        );
        assert!(!explains(&around, "time", Some(20), None));
        // In its own frame it is compared strictly, and without a neighbour, too.
        let level = group((20, &[("time", 20)]), (20, &[("time", 19)]));
        assert!(!explains(&Around::new(Some(&before), &level, Some(&behind)), "time", Some(20), Some(19)));
        assert!(!explains(&Around::new(None, &early, None), "time", Some(20), Some(19)));
    }

    #[test]
    fn an_event_of_an_early_output_is_in_the_next_one_and_none_is_lost_or_made_up() {
        let before = group((10, &[("time", 10)]), (10, &[("time", 10)]));
        let early = group((20, &[("shot", 7), ("hit", 1)]), (19, &[]));
        let behind = group((30, &[]), (30, &[("shot", 7), ("step", 3)]));
        let around = Around::new(Some(&before), &early, Some(&behind));
        assert!(explains(&around, "shot", Some(7), None));
        assert!(!explains(&around, "hit", Some(1), None), "it is in no output of the build");
        let around = Around::new(Some(&early), &behind, None);
        assert!(explains(&around, "shot", None, Some(7)));
        let more = group((30, &[("shot", 9)]), (30, &[("shot", 7)]));
        assert!(!explains(&Around::new(Some(&early), &more, None), "shot", Some(9), Some(7)), "9 is in no output");
        assert!(!explains(&around, "step", None, Some(3)), "it is in no recorded output");
    }

    #[test]
    fn an_event_of_a_late_output_is_recorded_in_the_next_one() {
        let late = group((20, &[]), (21, &[("shot", 7)]));
        let behind = group((30, &[("shot", 7)]), (30, &[]));
        let around = Around::new(None, &late, Some(&behind));
        assert!(explains(&around, "shot", None, Some(7)) && !explains(&around, "shot", None, Some(8)));
        assert!(explains(&Around::new(Some(&late), &behind, None), "shot", Some(7), None));
        // What has ended since the recorded output is not in the late one.
        let before = group((10, &[("smoke", 2)]), (10, &[("smoke", 2)]));
        let late = group((20, &[("smoke", 2), ("shot", 7)]), (21, &[]));
        let nothing = group((30, &[]), (30, &[]));
        let around = Around::new(Some(&before), &late, Some(&nothing));
        assert!(explains(&around, "smoke", Some(2), None) && !explains(&around, "shot", Some(7), None));
    }
}
