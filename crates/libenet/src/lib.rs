//! [`prony_enet`] behind the functions and structs of the stock library, as a drop-in `libenet.so.7`.
//!
//! Programs that were built for the stock library 1.3.17 run on it unchanged: it has the same symbols and the same
//! layout. What they read of hosts and peers is written where it changed, before the call that changed it returns;
//! nothing walks over slots. What they may write is read again when it is next used.
//!
//! **What differs.** A host may have 65,535 peers. What is read from the socket is taken in by batches; its events are
//! delivered one a call, as ever. Peers that have not proven their address have no slot. The queues and channels of the
//! stock library do not exist: `channels` is null, the lists in hosts and peers are empty, and the functions that take
//! these apart, which no public header explains, do nothing.
//!
//! **What callers uphold**, as with the stock library: pointers are null where that is allowed, or lead to what the
//! header says; a host and its peers are used by one thread at a time.
//!
//! A panic while a peer's data is handled costs that peer its connection, which the program sees as a disconnect, and prints a
//! message, one a second at most. No other crosses into C: the call fails.
#![allow(clippy::missing_safety_doc)]
#![deny(clippy::indexing_slicing)]

mod address;
mod clock;
mod coding;
mod host;
mod layout;
mod list;
mod memory;
mod mirror;
mod packet;
mod peer;
mod socket;
mod stock_only;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `call`; `failed` is what the caller gets when it panics.
fn guard<T>(failed: T, call: impl FnOnce() -> T) -> T {
    // What a panic leaves half done is inside of hosts, whose state is checked at each use.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(failed)
}

/// Exports functions under their C names; `else` is what the caller gets when one panics.
macro_rules! exported {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty, else $failed:expr, $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        // Some do nothing that could be unsafe.
        #[allow(unused_unsafe)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: what the caller upholds; see the crate's documentation.
            $crate::guard($failed, || unsafe { $body })
        }
    )*};
}
use exported;

#[cfg(test)]
mod tests {
    exported! {
        fn enet_test_panics(number: i32) -> i32, else -1, {
            assert_ne!(number, 0, "as the test wants it");
            number
        }
    }

    #[test]
    fn a_panic_becomes_the_value_that_says_that_the_call_failed() {
        // SAFETY: it takes a number.
        unsafe { assert_eq!((enet_test_panics(3), enet_test_panics(0)), (3, -1)) };
    }
}
