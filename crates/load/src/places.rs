//! Places of a thread's clients: their order in memory, in the kernel's too.
//!
//! Clients are visited in the order in which they send. In that order they lie beside each other, as do their sockets: with
//! thousands of them, none is left in a cache since it sent last, and neighbours are what a processor fetches ahead.

use crate::options::Options;
use crate::schedule::Schedule;

/// Places of the clients of thread `part`, from 0.
pub(crate) struct Places {
    /// Number of each place's client, among those of all threads.
    numbers: Vec<u32>,
    /// Places in the order in which clients connect: batch by batch, and those of a batch by their places.
    connecting: Vec<u32>,
    /// Place of the client in each slot of the host.
    slots: Vec<u32>,
}

impl Places {
    /// Clients without a schedule have places in the order of their numbers.
    pub fn new(options: &Options, part: usize, schedule: Option<&Schedule>) -> Places {
        let numbers: Vec<u32> = match schedule {
            Some(schedule) => schedule.clients().map(|client| client as u32).collect(),
            None => (part..options.clients).step_by(options.threads).map(|client| client as u32).collect(),
        };
        let mut connecting: Vec<u32> = (0..numbers.len() as u32).collect();
        connecting.sort_by_key(|&place| options.batch_of(numbers[place as usize] as usize));
        let slots = vec![0; numbers.len()];
        Places { numbers, connecting, slots }
    }

    /// Batch in which the client at `place` connects.
    pub fn batch_of(&self, options: &Options, place: usize) -> usize {
        options.batch_of(self.numbers[place] as usize)
    }

    /// Place of the client that has `slot` of the host, or had it last.
    pub fn of_slot(&self, slot: usize) -> u32 {
        self.slots[slot]
    }

    /// The client at `place` connects, and has `slot` of the host from now on.
    pub fn connects(&mut self, place: usize, slot: usize) {
        self.slots[slot] = place as u32;
    }

    /// Place of the client that connects after `connected` others of this thread.
    pub fn connecting(&self, connected: usize) -> Option<usize> {
        self.connecting.get(connected).map(|&place| place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::options;

    #[test]
    fn all_clients_of_a_thread_connect_batch_by_batch_in_the_order_of_sending() {
        let options = Options { threads: 2, ..options(50, 20, 7) };
        for part in 0..2 {
            let schedule = Schedule::new(5, 50, 1_000_000, |client| client % 2 == part);
            let order: Vec<usize> = schedule.clients().collect();
            for schedule in [Some(&schedule), None] {
                let mut places = Places::new(&options, part, schedule);
                assert_eq!(places.numbers.len(), 25);
                let connecting: Vec<usize> = (0..25).map_while(|connected| places.connecting(connected)).collect();
                let key = |&place: &usize| (places.batch_of(&options, place), place);
                assert!(connecting.is_sorted_by_key(key) && places.connecting(25).is_none());
                places.connects(7, 3);
                assert_eq!((places.of_slot(3), places.of_slot(4)), (7, 0));
                let mut numbers: Vec<usize> = places.numbers.iter().map(|&number| number as usize).collect();
                assert!(schedule.is_none() || numbers == order);
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq((part..50).step_by(2)));
            }
        }
    }
}
