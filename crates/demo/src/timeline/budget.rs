//! Of which units the calls are kept.

use std::collections::BTreeSet;

use super::{Interest, Timeline, UnitKind};

/// Calls that are kept of all units together.
const CALLS_MAX: u64 = 150_000;
/// Lines of calls that are kept of one unit.
pub(super) const CALLS_OF_UNIT_MAX: usize = 5_000;
/// Frames before and after the one that diverged.
const AROUND: u64 = 3;
/// Slowest units that are kept before others.
const SLOWEST: usize = 100;
/// Units at each end that are kept before those between.
const ENDS: usize = 50;

/// The units of which the calls are kept: around a divergence, those requested, the slowest, both ends, and of the others
/// once in this many, until there are as many calls as may be.
pub(super) fn chosen(timeline: &Timeline, interest: &Interest) -> BTreeSet<u32> {
    let units = timeline.units.len() as u64;
    let each = match timeline.kind {
        UnitKind::Frames(each) => each.max(1),
        UnitKind::Slices(_) => 1,
    };
    let mut chosen = BTreeSet::new();
    let mut left = CALLS_MAX;
    let mut take = |unit: u64| {
        let Some(calls) = timeline.units.get(unit as usize).map(|unit| unit.calls.min(CALLS_OF_UNIT_MAX as u64)) else {
            return;
        };
        if calls <= left && chosen.insert(unit as u32) {
            left -= calls;
        }
    };
    if let Some(frame) = interest.diverged {
        let unit = frame / each;
        (unit.saturating_sub(AROUND)..=unit.saturating_add(AROUND).min(units)).for_each(&mut take);
    }
    if let Some(frames) = &interest.frames {
        (frames.start / each..frames.end.div_ceil(each).min(units)).for_each(&mut take);
    }
    slowest(timeline, interest, each).into_iter().take(SLOWEST).for_each(&mut take);
    let ends = (0..units.min(ENDS as u64)).chain(units.saturating_sub(ENDS as u64)..units);
    ends.for_each(&mut take);
    // Every 64th first, then those between, so that what remains is spread over all of the time.
    let mut step = 64;
    while step >= 1 {
        (0..units).step_by(step).for_each(&mut take);
        step /= 2;
    }
    chosen
}

/// Units by their time in the replay, or while recording, the slowest first.
fn slowest(timeline: &Timeline, interest: &Interest, each: u64) -> Vec<u64> {
    let of_replay = |unit: usize| {
        let first = unit * each as usize;
        interest
            .frame_ns
            .get(first..(first + each as usize).min(interest.frame_ns.len()))
            .unwrap_or_default()
            .iter()
            .sum()
    };
    let units = timeline.units.iter().enumerate();
    let time = |(number, unit): (usize, &crate::timeline::Unit)| match interest.frame_ns.is_empty() {
        true => (unit.busy_ns, number as u64),
        false => (of_replay(number), number as u64),
    };
    let mut order: Vec<(u64, u64)> = units.map(time).collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, unit)| unit).collect()
}
