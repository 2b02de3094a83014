//! What one peer was sent, on both sides: outputs are aligned before anything in them is compared.
//!
//! A build that reads its clock once more may send an output a frame earlier than recorded, and everything behind it too.
//! Within a frame nothing has to be aligned: all that is sent in it is compared at once, as a build whose packets have other
//! lengths may need more of them for the same content, or fewer.

use super::align::{Step, align};
use prony_decoder::Field;
use prony_demo::tolerance::Ports;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::mem::take;

/// Frames whose outputs are aligned at once, beyond those that an output may be early or late.
const HORIZON: u64 = 64;

/// Outputs of one peer and side that wait at most.
const WAITING: usize = 512;

/// An output of one side, with those before it that it completes.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) frame: u64,
    pub(super) record: u64,
    pub(super) thread: u16,
    pub(super) op: u16,
    /// All bytes, those of held outputs first.
    pub(super) bytes: Vec<u8>,
    /// Outputs that they were sent in.
    pub(super) parts: u64,
    /// What the decoder found; `None` where only bytes can be compared.
    pub(super) fields: Option<Vec<Field>>,
}

/// Outputs that belong together: those of a frame on each side, which may be neighbouring frames.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Recorded and replayed ones.
    pub(super) sides: [Vec<Output>; 2],
    /// Places of outputs that correspond to each other.
    pub(super) pairs: Vec<(usize, usize)>,
}

impl Group {
    /// Places of the outputs of a side without a counterpart.
    pub(super) fn alone(&self, side: usize) -> Vec<usize> {
        let mut is_alone = vec![true; self.sides.get(side).map_or(0, Vec::len)];
        for &(was, is) in &self.pairs {
            if let Some(paired) = [was, is].get(side).and_then(|&place| is_alone.get_mut(place)) {
                *paired = false;
            }
        }
        is_alone.into_iter().enumerate().filter_map(|(place, is_alone)| is_alone.then_some(place)).collect()
    }

    /// The pairs, recorded and replayed.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&Output, &Output)> {
        let [recorded, replayed] = &self.sides;
        self.pairs.iter().filter_map(|&(was, is)| Some((recorded.get(was)?, replayed.get(is)?)))
    }

    /// Whether the build sent the pairs of this group earlier than recorded (`Less`), in their frame, or later.
    pub(super) fn shift(&self) -> Ordering {
        self.pairs().next().map_or(Ordering::Equal, |(was, is)| is.frame.cmp(&was.frame))
    }

    fn add(&mut self, was: Option<Output>, is: Option<Output>) {
        let places = (self.sides[0].len(), self.sides[1].len());
        if was.is_some() && is.is_some() {
            self.pairs.push(places);
        }
        self.sides[0].extend(was);
        self.sides[1].extend(is);
    }
}

/// The outputs to one peer that are not yet compared.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) ports: Ports,
    sides: [VecDeque<Output>; 2],
    /// The first frame differs by more than is allowed within it.
    is_uneven: bool,
    /// Outputs before those that wait, which are compared once it is known what follows them.
    pub(super) held: Option<Group>,
}

impl Lane {
    pub(super) fn push(&mut self, side: usize, output: Output) {
        if let Some(outputs) = self.sides.get_mut(side) {
            outputs.push_back(output);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_none() && self.sides.iter().all(VecDeque::is_empty)
    }

    /// The outputs of the first frame, if both sides have some in it and it is not known that they differ. What differs by more than
    /// is allowed is to be put back with [`Lane::put_back`].
    pub(super) fn first_frame(&mut self, cost: impl Fn(&Output, &Output) -> Option<f64>) -> Option<Group> {
        let [recorded, replayed] = &mut self.sides;
        let frame = recorded.front()?.frame;
        if self.is_uneven || replayed.front()?.frame != frame {
            return None;
        }
        let mut of_frame = [recorded, replayed].map(|side| {
            let number = side.iter().take_while(|output| output.frame == frame).count();
            side.drain(..number).collect::<Vec<_>>()
        });
        let [was, is] = &of_frame;
        let is_equal = was.len() == is.len() && was.iter().zip(is).all(|(was, is)| was.bytes == is.bytes);
        let pairs = match is_equal {
            true => (0..was.len()).map(|place| (place, place)).collect(),
            false => {
                let steps = align(was, is, cost).into_iter();
                steps.filter_map(|step| if let Step::Pair(was, is) = step { Some((was, is)) } else { None }).collect()
            }
        };
        Some(Group { sides: take(&mut of_frame), pairs })
    }

    /// Puts the outputs of the first frame back, to be aligned with their neighbours.
    pub(super) fn put_back(&mut self, group: Group) {
        for (side, outputs) in self.sides.iter_mut().zip(group.sides) {
            outputs.into_iter().rev().for_each(|output| side.push_front(output));
        }
        self.is_uneven = true;
    }

    /// Aligns what waits, and takes what no later output can change. `now`: the frame that has ended; `None` at the end of the
    /// demo. `apart`: frames that an output may be early or late.
    pub(super) fn settle(
        &mut self,
        now: Option<u64>,
        apart: u64,
        cost: impl Fn(&Output, &Output) -> Option<f64>,
    ) -> Vec<Group> {
        let first = self.sides.iter().filter_map(|side| Some(side.front()?.frame)).min();
        let Some(first) = first else { return Vec::new() };
        let is_full = self.sides.iter().any(|side| side.len() >= WAITING);
        if now.is_some_and(|now| now < first + HORIZON + 4 * apart) && !is_full {
            return Vec::new();
        }
        let [recorded, replayed] = &mut self.sides;
        let steps = align(recorded.make_contiguous(), replayed.make_contiguous(), cost);
        let sides = &mut self.sides;
        let until = now.map(|now| now.saturating_sub(2 * apart));
        let settled = match until.map(|until| settled(&steps, sides, until)) {
            Some(0) if !is_full => return Vec::new(),
            None | Some(0) => steps.len(),
            Some(settled) => settled,
        };
        self.is_uneven = false;
        groups(steps.into_iter().take(settled), sides)
    }
}

/// Steps whose outputs are of this frame at most, and with which no frame of a side is cut.
fn settled(steps: &[Step], sides: &[VecDeque<Output>; 2], until: u64) -> usize {
    let is_cut = |side: &VecDeque<Output>, taken: usize| {
        let Some(last) = taken.checked_sub(1).and_then(|last| side.get(last)) else { return false };
        last.frame > until || side.get(taken).is_some_and(|next| next.frame == last.frame)
    };
    let (mut taken, mut whole) = ([0, 0], 0);
    for (number, step) in (1..).zip(steps) {
        taken[0] += usize::from(!matches!(step, Step::Second(_)));
        taken[1] += usize::from(!matches!(step, Step::First(_)));
        if sides.iter().zip(taken).all(|(side, taken)| !is_cut(side, taken)) {
            whole = number;
        }
    }
    whole
}

/// Takes the outputs of these steps, and groups them: pairs of the same frames, and what stands alone with the pairs of its frame.
fn groups(steps: impl Iterator<Item = Step>, sides: &mut [VecDeque<Output>; 2]) -> Vec<Group> {
    let [recorded, replayed] = sides;
    let mut groups: Vec<([Option<u64>; 2], Group)> = Vec::new();
    let mut alone: Vec<(usize, Output)> = Vec::new();
    for step in steps {
        match step {
            Step::Pair(..) => {
                let Some((was, is)) = recorded.pop_front().zip(replayed.pop_front()) else { continue };
                let frames = [Some(was.frame), Some(is.frame)];
                group_of(&mut groups, |known| *known == frames, frames).add(Some(was), Some(is));
            }
            Step::First(_) => alone.extend(recorded.pop_front().map(|output| (0, output))),
            Step::Second(_) => alone.extend(replayed.pop_front().map(|output| (1, output))),
        }
    }
    for (side, output) in alone {
        let frame = Some(output.frame);
        let frames = if side == 0 { [frame, None] } else { [None, frame] };
        let is_of_frame = |known: &[Option<u64>; 2]| known.get(side) == Some(&frame);
        let is_of_loners = |known: &[Option<u64>; 2]| known.get(1 - side) == Some(&frame) && known.contains(&None);
        let place = groups.iter().position(|(known, _)| is_of_frame(known));
        let place = place.or_else(|| groups.iter().position(|(known, _)| is_of_loners(known)));
        let group = match place.and_then(|place| groups.get_mut(place)) {
            Some((known, group)) => {
                if let Some(known) = known.get_mut(side) {
                    *known = frame;
                }
                group
            }
            None => group_of(&mut groups, |_| false, frames),
        };
        if side == 0 { group.add(Some(output), None) } else { group.add(None, Some(output)) }
    }
    groups.sort_by_key(|(frames, _)| frames.iter().flatten().min().copied());
    groups.into_iter().map(|(_, group)| group).collect()
}

fn group_of(
    groups: &mut Vec<([Option<u64>; 2], Group)>,
    is_it: impl Fn(&[Option<u64>; 2]) -> bool,
    frames: [Option<u64>; 2],
) -> &mut Group {
    let place = groups.iter().position(|(known, _)| is_it(known)).unwrap_or(groups.len());
    if place == groups.len() {
        groups.push((frames, Group::default()));
    }
    &mut groups[place].1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(frame: u64, content: &str) -> Output {
        let (record, bytes) = (frame * 10, content.as_bytes().to_vec());
        Output { frame, record, thread: 0, op: 0, bytes, parts: 1, fields: None }
    }

    fn lane(recorded: &[(u64, &str)], replayed: &[(u64, &str)]) -> Lane {
        let mut lane = Lane::default();
        for (side, outputs) in [recorded, replayed].into_iter().enumerate() {
            outputs.iter().for_each(|&(frame, content)| lane.push(side, output(frame, content)));
        }
        lane
    }

    /// At most two frames apart; equal bytes cost nothing, and a common letter half.
    fn cost(was: &Output, is: &Output) -> Option<f64> {
        let apart = was.frame.abs_diff(is.frame);
        let content = match was.bytes.iter().any(|byte| is.bytes.contains(byte)) {
            _ if was.bytes == is.bytes => 0.0,
            true => 0.5,
            false => 1.0,
        };
        (apart <= 2).then_some(content + 1e-4 * apart as f64)
    }

    fn frames(groups: &[Group]) -> Vec<(u64, u64)> {
        groups.iter().flat_map(Group::pairs).map(|(was, is)| (was.frame, is.frame)).collect()
    }

    #[test]
    fn outputs_of_a_frame_that_are_equal_need_no_neighbours() {
        let mut lane = lane(&[(1, "a"), (1, "b"), (2, "c")], &[(1, "a"), (1, "b"), (2, "c")]);
        let first = lane.first_frame(cost).expect("both sides have frame 1");
        assert_eq!((first.sides[0].len(), first.pairs.clone()), (2, vec![(0, 0), (1, 1)]));
        assert!(lane.first_frame(cost).is_some() && lane.is_empty() && lane.first_frame(cost).is_none());
    }

    #[test]
    fn what_goes_out_a_frame_later_is_a_pair_with_its_own() {
        let recorded = [(1, "a"), (2, "b"), (3, "c"), (4, "d")];
        let mut late = lane(&recorded, &[(1, "a"), (3, "b"), (4, "c"), (5, "d")]);
        let level = late.first_frame(cost).expect("frame 1 is on both sides");
        assert_eq!(frames(&[level]), [(1, 1)]);
        assert!(late.settle(Some(5), 2, cost).is_empty(), "later outputs may change what belongs together");
        assert_eq!(frames(&late.settle(None, 2, cost)), [(2, 3), (3, 4), (4, 5)]);
        // One is not sent, and what follows keeps its counterparts.
        let mut lacking = lane(&recorded, &[(1, "a"), (3, "c"), (4, "d")]);
        let groups = lacking.settle(None, 2, cost);
        assert_eq!(frames(&groups), [(1, 1), (3, 3), (4, 4)]);
        assert_eq!(groups.iter().map(|group| group.alone(0).len()).sum::<usize>(), 1);
    }

    #[test]
    fn what_stands_alone_is_compared_with_the_pairs_of_its_frame() {
        let mut lane = lane(&[(1, "ab"), (2, "c")], &[(1, "a"), (1, "b"), (2, "x"), (2, "c")]);
        let groups = lane.settle(None, 2, cost);
        assert_eq!(
            groups.iter().map(|group| (group.sides[0].len(), group.sides[1].len())).collect::<Vec<_>>(),
            [(1, 2), (1, 2)]
        );
    }

    #[test]
    fn a_lane_that_never_agrees_is_settled_all_the_same() {
        let mut lane = Lane::default();
        let mut settled = 0;
        for frame in 0..1000 {
            lane.push(0, output(frame, "a"));
            lane.push(1, output(frame, "b"));
            settled += lane.settle(Some(frame), 2, cost).len();
            assert!(lane.sides.iter().all(|side| side.len() <= WAITING), "it waits for a bounded number");
        }
        assert!(settled > 900, "{settled}");
    }
}
