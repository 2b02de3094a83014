//! Words of shared memory: states with names, flags, and bytes.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// Named states, each with the number that stands for it in shared memory.
pub trait State: Copy + PartialEq {
    /// The number of this state.
    fn number(self) -> u32;
    /// The state with this number, if there is one.
    fn from_number(number: u32) -> Option<Self>;
}

/// Declares an enum whose variants are the [`State`]s of a word.
macro_rules! states {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$of:meta])* $state:ident = $number:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $name { $($(#[$of])* $state = $number,)* }

        impl $crate::State for $name {
            fn number(self) -> u32 {
                self as u32
            }

            fn from_number(number: u32) -> Option<$name> {
                match number {
                    $($number => Some($name::$state),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use states;

/// Asserts the size of a shared type and the offset of each of its fields, all in bytes.
macro_rules! layout {
    ($type:ty, $bytes:literal, { $($field:ident: $offset:literal,)* }) => {
        const _: () = {
            assert!(size_of::<$type>() == $bytes);
            $(assert!(std::mem::offset_of!($type, $field) == $offset);)*
        };
    };
}
pub(crate) use layout;

/// A word that holds the number of one of the states `S`, or, if the other side wrote nonsense, something else.
#[repr(transparent)]
pub struct StateWord<S> {
    word: AtomicU32,
    states: PhantomData<S>,
}

impl<S: State> StateWord<S> {
    /// The state; `None` for a number that no state has.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> Option<S> {
        S::from_number(self.word.load(order))
    }

    /// True if the word holds this state.
    #[inline(always)]
    pub fn is(&self, state: S, order: Ordering) -> bool {
        self.word.load(order) == state.number()
    }

    /// Stores a state with this memory ordering.
    #[inline(always)]
    pub fn store(&self, state: S, order: Ordering) {
        self.word.store(state.number(), order);
    }

    /// Changes the state; returns the one before, `None` for a number that no state has.
    #[inline(always)]
    pub fn swap(&self, state: S, order: Ordering) -> Option<S> {
        S::from_number(self.word.swap(state.number(), order))
    }

    /// Changes the state from one to another: [`Ordering::SeqCst`] where that happens. False if it was a third one.
    pub fn acquire(&self, from: S, to: S) -> bool {
        self.word.compare_exchange(from.number(), to.number(), Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// The word itself, to wait for a change of it.
    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }
}

/// A word that is 0 for no and anything else for yes.
#[repr(transparent)]
pub struct Flag(AtomicU32);

impl Flag {
    /// Loads the flag with this memory ordering.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> bool {
        self.0.load(order) != 0
    }

    /// Stores the flag with this memory ordering.
    #[inline(always)]
    pub fn store(&self, yes: bool, order: Ordering) {
        self.0.store(yes.into(), order);
    }

    /// Changes it; returns what it was.
    #[inline(always)]
    pub fn swap(&self, yes: bool, order: Ordering) -> bool {
        self.0.swap(yes.into(), order) != 0
    }

    /// The word itself, to wait for a change of it.
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }
}

/// Bytes that one side writes and the other copies. Who reads them while they are written gets some of both.
#[repr(transparent)]
pub struct SharedBytes<const N: usize>([AtomicU8; N]);

impl<const N: usize> SharedBytes<N> {
    /// A copy of all of them.
    pub fn read(&self) -> [u8; N] {
        std::array::from_fn(|at| self.0[at].load(Ordering::Relaxed))
    }

    /// Writes them from the first on, as many as there is room for, and leaves the rest as it is. Returns how many.
    pub fn write(&self, bytes: &[u8]) -> u32 {
        for (place, &byte) in self.0.iter().zip(bytes) {
            place.store(byte, Ordering::Relaxed);
        }
        bytes.len().min(N) as u32
    }

    /// Writes a text and a zero byte behind it; the text is cut where there is no room for both.
    pub fn write_text(&self, text: &[u8]) {
        let length = self.write(&text[..text.len().min(N - 1)]) as usize;
        self.0[length].store(0, Ordering::Relaxed);
    }
}

/// A value that has a cache line to itself.
#[repr(C, align(64))]
pub struct Line<T>(pub T);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScanState;

    fn bytes<const N: usize>() -> SharedBytes<N> {
        SharedBytes([const { AtomicU8::new(0xff) }; N])
    }

    #[test]
    fn a_number_that_no_state_has_is_none() {
        let word = StateWord::<ScanState> { word: AtomicU32::new(0), states: PhantomData };
        assert_eq!(word.load(Ordering::Relaxed), Some(ScanState::Free));
        assert!(
            word.acquire(ScanState::Free, ScanState::Claimed) && !word.acquire(ScanState::Free, ScanState::Claimed)
        );
        assert_eq!(word.swap(ScanState::Closed, Ordering::Relaxed), Some(ScanState::Claimed));
        word.word().store(6, Ordering::Relaxed);
        assert_eq!(word.load(Ordering::Relaxed), None);
        assert!(!word.is(ScanState::Closed, Ordering::Relaxed));
        for number in 0..6 {
            assert_eq!(ScanState::from_number(number).map(State::number), Some(number));
        }
    }

    #[test]
    fn bytes_and_texts_are_cut_where_the_room_ends() {
        let room = bytes::<4>();
        assert_eq!((room.write(b"ab"), room.read()), (2, [b'a', b'b', 0xff, 0xff]));
        assert_eq!((room.write(b"abcdef"), room.read()), (4, *b"abcd"));
        room.write_text(b"wxyz");
        assert_eq!(room.read(), *b"wxy\0");
        room.write_text(b"");
        assert_eq!(room.read(), *b"\0xy\0");
    }
}
