//! Texts of many configurations, as commands, that differ only by what each level puts into them: shown once, and a line a level.

use std::collections::BTreeMap;

use crate::study::matrix::Matrix;

/// A text in which each factor changes a place of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByLevel {
    /// Text with the name of the factor in braces in place of the part that levels change; empty if there is nothing
    /// else in the text.
    pub template: String,
    /// Text of each level in place of the braces: `allocator = jemalloc` and `LD_PRELOAD=…`.
    pub parts: Vec<(String, String)>,
}

/// The words of a text that one factor changes.
struct Slot {
    factor: usize,
    /// First word of the range, in the first text.
    from: usize,
    to: usize,
    /// Words that stand there, by level.
    parts: BTreeMap<usize, Vec<String>>,
}

impl ByLevel {
    /// Finds the words that follow each factor from configurations that differ from the first in it alone, and checks them
    /// against all others: `None` where that does not make every text. `values`: a text a configuration.
    pub fn of(matrix: &Matrix<'_>, values: &BTreeMap<usize, &str>) -> Option<ByLevel> {
        let (&first, base) = values.iter().next()?;
        let levels = &matrix.configurations[first].levels;
        let base = words(base);
        let text_of = |levels: &[usize]| Some(words(values.get(&matrix.configuration(levels)?)?));
        let slot = |factor: usize| {
            let with = |level: usize| {
                let mut other = levels.clone();
                other[factor] = level;
                Some((level, text_of(&other)?))
            };
            let texts: BTreeMap<usize, Vec<String>> =
                (0..matrix.results.factors[factor].levels.len()).filter_map(with).collect();
            Slot::of(factor, &base, texts)
        };
        let mut slots: Vec<Slot> = (0..levels.len()).filter_map(slot).collect();
        slots.sort_by_key(|slot| (slot.from, slot.to));
        for (&configuration, value) in values {
            let levels = &matrix.configurations[configuration].levels;
            let text = filled(&base, &slots, |slot| slot.parts.get(&levels[slot.factor]).cloned())?;
            if text.join(" ") != *value {
                return None;
            }
        }
        let factor = |slot: &Slot| &matrix.results.factors[slot.factor];
        let template = filled(&base, &slots, |slot| Some(vec![format!("{{{}}}", factor(slot).name)]))?;
        let is_all = slots.len() == 1 && template.len() == 1;
        let parts = slots.iter().flat_map(|slot| {
            let named = |(&level, part): (&usize, &Vec<String>)| {
                (format!("{} = {}", factor(slot).name, factor(slot).levels[level]), part.join(" "))
            };
            slot.parts.iter().map(named).collect::<Vec<_>>()
        });
        Some(ByLevel { template: if is_all { String::new() } else { template.join(" ") }, parts: parts.collect() })
    }
}

impl Slot {
    /// What is between the words with which all texts begin and those with which all end; `None` where they are one text.
    fn of(factor: usize, base: &[String], texts: BTreeMap<usize, Vec<String>>) -> Option<Slot> {
        let least = |count: &dyn Fn(&[String]) -> usize| texts.values().map(|text| count(text)).min();
        let shortest = least(&|text| text.len())?;
        let before = least(&|text| text.iter().zip(base).take_while(|(a, b)| a == b).count())?;
        let after = least(&|text| text.iter().rev().zip(base.iter().rev()).take_while(|(a, b)| a == b).count())?;
        let after = after.min(shortest - before);
        let parts = texts.into_iter().map(|(level, text)| (level, text[before..text.len() - after].to_vec()));
        let parts: BTreeMap<usize, Vec<String>> = parts.collect();
        let is_same = parts.values().all(|part| part.is_empty());
        (!is_same).then_some(Slot { factor, from: before, to: base.len() - after, parts })
    }
}

/// Split at each space, so that a level that puts nothing between two of them is an empty word.
fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// The first text with something else in each slot; `None` where slots overlap, or there is nothing for one.
fn filled(base: &[String], slots: &[Slot], part: impl Fn(&Slot) -> Option<Vec<String>>) -> Option<Vec<String>> {
    let (mut text, mut from) = (Vec::new(), 0);
    for slot in slots {
        text.extend_from_slice(base.get(from..slot.from)?);
        text.extend(part(slot)?);
        from = slot.to;
    }
    text.extend_from_slice(base.get(from..)?);
    Some(text)
}

#[cfg(test)]
mod tests {
    use prony_study::Results;
    use serde_json::json;

    use super::*;

    /// ASLR on and off, and a neighbour that is quiet or spins, with these commands in this order.
    fn by_level(commands: &[&str]) -> Option<ByLevel> {
        let cell = |levels: [usize; 2]| {
            json!({"key": format!("{levels:?}"), "machine": 0, "workload": 0, "repeat": 0, "levels": levels,
                   "role": "measured", "state": "done", "attempt": 1, "value": 1.0, "origin": {}})
        };
        let results: Results = serde_json::from_value(json!({
            "title": "", "seed": 1, "metric": {"name": "cpu", "unit": "second", "direction": "lower"},
            "factors": [{"name": "ASLR", "levels": ["on", "off"]}, {"name": "neighbour", "levels": ["quiet", "spinning"]}],
            "workloads": [{"name": "burn", "axes": {}}], "machines": [{"name": "here", "facts": null, "disturbances": []}],
            "cells": [cell([0, 0]), cell([0, 1]), cell([1, 0]), cell([1, 1])],
        }))
        .expect("it is a study");
        ByLevel::of(&Matrix::of(&results), &commands.iter().copied().enumerate().collect())
    }

    #[test]
    fn commands_that_differ_by_placeholders_are_one_with_a_line_a_level() {
        let found = by_level(&[
            "beside quiet setarch  burn -m 1",
            "beside spinning setarch  burn -m 1",
            "beside quiet setarch -R burn -m 1",
            "beside spinning setarch -R burn -m 1",
        ])
        .expect("each factor has a place of its own");
        assert_eq!(found.template, "beside {neighbour} setarch {ASLR} burn -m 1");
        let lines: Vec<String> = found.parts.iter().map(|(level, part)| format!("{level}: {part}")).collect();
        assert_eq!(
            lines,
            ["neighbour = quiet: quiet", "neighbour = spinning: spinning", "ASLR = on: ", "ASLR = off: -R"]
        );
    }

    #[test]
    fn a_level_may_put_several_words_or_all_of_the_text() {
        let found =
            by_level(&["burn", "burn", "taskset -c 1 burn", "taskset -c 1 burn"]).expect("one factor changes it");
        assert_eq!(found.template, "{ASLR} burn");
        assert_eq!(found.parts[1], ("ASLR = off".to_owned(), "taskset -c 1".to_owned()));
        let found = by_level(&["", "SPIN=1", "", "SPIN=1"]).expect("one factor changes it");
        assert_eq!(found.template, "");
        assert_eq!(found.parts[1], ("neighbour = spinning".to_owned(), "SPIN=1".to_owned()));
    }

    #[test]
    fn a_command_that_only_two_levels_together_make_is_not_made_up() {
        assert_eq!(by_level(&["burn", "burn", "burn", "burn --both"]), None);
    }
}
