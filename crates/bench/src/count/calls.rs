//! Hooked calls of builds on a demo, by name.

use std::collections::BTreeSet;

use prony_replay::CallCount;

use super::{CountRange, CountedBuild};

/// Where the bytes of a call go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the server.
    Read,
    /// From the server.
    Written,
}

/// A hooked call in two builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallChange {
    /// Name of the function in C.
    pub name: String,
    /// Calls in A and in B.
    pub calls: [CountRange; 2],
    /// Bytes that they moved; 0 for calls that move none.
    pub bytes: [CountRange; 2],
}

/// All hooked calls of two builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTotals {
    /// Calls.
    pub calls: [CountRange; 2],
    /// Bytes that the server got.
    pub read: [CountRange; 2],
    /// Bytes that it sent and wrote.
    pub written: [CountRange; 2],
}

/// Hooked calls of two builds beside each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallComparison {
    /// Sums over all names.
    pub totals: CallTotals,
    /// Calls that differ in number or bytes by more than the spread of their replays, the largest difference of numbers first.
    pub differing: Vec<CallChange>,
}

impl Direction {
    /// Where the bytes go that this function returns the number of.
    pub fn of(name: &str) -> Option<Direction> {
        // `recv` and its kin are all that begin so, `readlink` reads no descriptor.
        let reads =
            ["read", "readv", "pread", "pread64", "preadv", "preadv2"].contains(&name) || name.starts_with("recv");
        let writes =
            ["write", "pwrite", "send", "splice", "tee", "vmsplice"].iter().any(|start| name.starts_with(start));
        match (reads, writes) {
            (true, _) => Some(Direction::Read),
            (_, true) => Some(Direction::Written),
            _ => None,
        }
    }
}

impl CallChange {
    /// Calls and bytes that B has more, where both have their least.
    pub fn differences(&self) -> [i64; 2] {
        [self.calls, self.bytes].map(super::difference)
    }

    fn differs(&self) -> bool {
        [self.calls, self.bytes]
            .into_iter()
            .any(|counts| super::difference(counts).unsigned_abs() > super::widest(counts))
    }
}

impl CallComparison {
    /// Compares two builds.
    pub fn of(a: &CountedBuild, b: &CountedBuild) -> CallComparison {
        let all = [a, b].into_iter().flat_map(|build| &build.calls).flatten();
        let names: BTreeSet<&str> = all.map(|call| call.name.as_str()).collect();
        let over = |count: fn(&CallCount) -> u64, takes: &dyn Fn(&CallCount) -> bool| {
            [a, b].map(|build| {
                let sum = |calls: &Vec<CallCount>| calls.iter().filter(|call| takes(call)).map(count).sum();
                CountRange::over(build.calls.iter().map(sum))
            })
        };
        let moved = |direction| over(|call| call.bytes, &|call| Direction::of(&call.name) == Some(direction));
        let totals = CallTotals {
            calls: over(|call| call.calls, &|_| true),
            read: moved(Direction::Read),
            written: moved(Direction::Written),
        };
        let changes = names.into_iter().map(|name| CallChange {
            name: name.to_owned(),
            calls: over(|call| call.calls, &|call| call.name == name),
            bytes: over(|call| call.bytes, &|call| call.name == name && Direction::of(name).is_some()),
        });
        let mut differing: Vec<CallChange> = changes.filter(CallChange::differs).collect();
        differing.sort_by_key(|change| std::cmp::Reverse(change.differences().map(i64::unsigned_abs)));
        CallComparison { totals, differing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(replays: &[&[(&str, u64, u64)]]) -> CountedBuild {
        let calls = |calls: &&[(&str, u64, u64)]| {
            let calls = calls.iter().map(|&(name, calls, bytes)| CallCount { name: name.to_owned(), calls, bytes });
            calls.collect()
        };
        CountedBuild {
            name: "s".to_owned(),
            replays: Vec::new(),
            not_counted: 0,
            calls: replays.iter().map(calls).collect(),
            frames: None,
            simulated: Vec::new(),
            inclusive: Vec::new(),
            stack_moves: false,
        }
    }

    #[test]
    fn calls_that_differ_in_number_or_bytes_are_named() {
        let a = build(&[
            &[("recvmsg", 10, 200), ("write", 4, 40), ("poll", 7, 0)],
            &[("recvmsg", 10, 200), ("write", 4, 40), ("poll", 9, 0)],
        ]);
        let b = build(&[&[("recvmsg", 10, 200), ("write", 4, 44), ("poll", 8, 0), ("getrandom", 2, 16)]]);
        let compared = CallComparison::of(&a, &b);
        let names: Vec<(&str, [i64; 2])> =
            compared.differing.iter().map(|change| (change.name.as_str(), change.differences())).collect();
        // Within the spread of its own replays, `poll` does not differ.
        assert_eq!(names, [("getrandom", [2, 0]), ("write", [0, 4])]);
        let least = |counts: [CountRange; 2]| counts.map(|range| range.min);
        assert_eq!(least(compared.totals.calls), [21, 24]);
        assert_eq!((least(compared.totals.read), least(compared.totals.written)), ([200, 200], [40, 44]));
        assert_eq!(CallComparison::of(&a, &a).differing, []);
    }

    #[test]
    fn bytes_have_a_direction_where_the_function_says_how_many_it_moved() {
        let of = ["recvmmsg", "preadv", "sendfile", "writev"].map(Direction::of);
        assert_eq!(of, [Direction::Read, Direction::Read, Direction::Written, Direction::Written].map(Some));
        assert_eq!(["readlink", "getrandom", "readdir", "epoll_wait"].map(Direction::of), [None; 4]);
    }
}
