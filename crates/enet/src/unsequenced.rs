//! Set of unsequenced packets that were already received.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

/// Groups that are distinguished.
const WINDOW: u32 = 1024;
/// Windows ahead that are followed; what is farther is older than the base.
const AHEAD: u32 = 32;

/// The groups of one peer: a base, and a bit for each of the 1024 behind it.
#[derive(Debug, Clone)]
pub(crate) struct Unsequenced {
    base: u16,
    seen: [u64; (WINDOW / 64) as usize],
}

impl Unsequenced {
    pub const fn new() -> Unsequenced {
        Unsequenced { base: 0, seen: [0; (WINDOW / 64) as usize] }
    }

    /// True for a group that is new; it is not from then on.
    pub fn admits(&mut self, group: u16) -> bool {
        let index = u32::from(group) % WINDOW;
        let ahead = u32::from(group).wrapping_add(if group < self.base { 1 << 16 } else { 0 });
        if ahead >= u32::from(self.base).wrapping_add(AHEAD * WINDOW) {
            return false;
        }
        let base = group.wrapping_sub(index as u16);
        if base != self.base {
            *self = Unsequenced { base, ..Unsequenced::new() };
        }
        let Some(seen) = self.seen.get_mut(index as usize / 64) else { return false };
        let bit = 1 << (index % 64);
        let is_new = *seen & bit == 0;
        *seen |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_new_once_within_its_window_and_across_the_wrap() {
        let mut groups = Unsequenced::new();
        assert!(groups.admits(1) && !groups.admits(1));
        assert!(groups.admits(1023) && groups.admits(1024) && !groups.admits(1024));
        assert!(!groups.admits(1), "behind the base is 65,537 ahead");
        for group in (2000u32..70_000).step_by(500) {
            assert!(groups.admits(group as u16), "{group}");
            assert!(!groups.admits(group as u16), "{group}");
        }
    }
}
