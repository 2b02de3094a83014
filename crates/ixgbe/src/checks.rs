//! The checks that the feature `unchecked` leaves out, so that their cost can be measured. Nothing else differs.
#![allow(unsafe_code, reason = "with the feature `unchecked`, bounds are those that the driver keeps by itself")]

/// An invariant of the driver: checked, or without checks believed.
#[inline(always)]
#[track_caller]
pub(crate) fn hold(is_so: bool, what: &'static str) {
    if cfg!(feature = "unchecked") {
        debug_assert!(is_so, "{what}");
        // SAFETY: every caller states an invariant that the driver keeps as long as its own code is right; the feature is for
        // measurements of programs that were run with the checks before.
        unsafe { std::hint::assert_unchecked(is_so) };
    } else if !is_so {
        broken(what);
    }
}

/// Not inlined: with the message as an argument of `panic!`, each check stored it on the stack before it compared.
#[cold]
#[inline(never)]
#[track_caller]
fn broken(what: &'static str) -> ! {
    panic!("{what}");
}

/// An element, whose index the driver keeps within bounds.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the line above has compared the index with the length")]
pub(crate) fn at<T>(slice: &[T], index: usize) -> &T {
    hold(index < slice.len(), "indices lie in their table");
    &slice[index]
}

/// As [`at`], to change it.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the line above has compared the index with the length")]
pub(crate) fn at_mut<T>(slice: &mut [T], index: usize) -> &mut T {
    hold(index < slice.len(), "indices lie in their table");
    &mut slice[index]
}
