//! Threads that sleep for a baton, in the order in which they began to.

use crate::word::layout;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

/// Lists of sleepers: each baton has one, which it may share with others.
pub const SLEEPER_LISTS: usize = 16;
/// Sleepers that a list has room for; a power of two.
pub const SLEEPERS: usize = 32;

/// List of threads that sleep for a baton. It is a guess at whom the kernel wakes next: one that finds it full is not in it, and one
/// that has been woken by a timer still is.
#[repr(C, align(64))]
pub struct Sleepers {
    /// Threads that were added so far.
    added: AtomicU32,
    /// Threads that were taken so far.
    taken: AtomicU32,
    /// Their slots, from 1, each at its number modulo [`SLEEPERS`]; 0 for none.
    names: [AtomicU16; SLEEPERS],
}

layout!(Sleepers, 128, { added: 0, taken: 4, names: 8, });

impl Sleepers {
    /// Adds a thread that is about to sleep, if there is room. `name`: its slot, from 1.
    pub fn add(&self, name: u32) {
        let place = self.added.load(Ordering::Relaxed);
        let has_room = place.wrapping_sub(self.taken.load(Ordering::Relaxed)) < SLEEPERS as u32;
        if has_room && advance(&self.added, place) {
            self.names[place as usize % SLEEPERS].store(name as u16, Ordering::Release);
        }
    }

    /// Takes the thread that was added first; `None` if there is none, or if another one takes it at the same time.
    pub fn take(&self) -> Option<u32> {
        let place = self.taken.load(Ordering::Relaxed);
        if place == self.added.load(Ordering::Relaxed) {
            return None;
        }
        let name = self.names[place as usize % SLEEPERS].load(Ordering::Acquire);
        advance(&self.taken, place).then_some(name.into())
    }
}

fn advance(count: &AtomicU32, from: u32) -> bool {
    count.compare_exchange(from, from.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleepers_are_taken_in_their_order_and_those_without_room_are_left_out() {
        let list = Sleepers {
            // The counts wrap.
            added: AtomicU32::new(u32::MAX - 5),
            taken: AtomicU32::new(u32::MAX - 5),
            names: [const { AtomicU16::new(0) }; SLEEPERS],
        };
        assert_eq!(list.take(), None);
        for round in 0..3 {
            for name in 1..=SLEEPERS as u32 + 3 {
                list.add(100 * round + name);
            }
            let taken: Vec<u32> = std::iter::from_fn(|| list.take()).collect();
            assert_eq!(taken, (1..=SLEEPERS as u32).map(|name| 100 * round + name).collect::<Vec<u32>>());
        }
    }
}
