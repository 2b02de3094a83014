//! Recovery after a panic: the peer whose data was being handled loses its connection, and no other peer loses anything.
//!
//! It is never the fix. Each panic that is caught is a fault of the host, or of its checksum or compressor, and counts in
//! [`prony_enet::Statistics::panics`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use prony_enet::{Host, Recovered};

use crate::clock;

/// Time between two messages of panics that are caught.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(1);

thread_local! {
    /// A panic on this thread would be caught here.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, and restores the host if that panics: see [`Host::recover`]. `None` if it did not.
///
/// `work` leaves its results with its caller, as it has none where it is interrupted. So a batch is handled with
///
/// ```
/// # use std::time::Duration;
/// # use prony_enet::{Host, Settings};
/// # let mut host = Host::new(1, Settings::default(), &[1; 16]);
/// # let (now, from) = (Duration::ZERO, "10.0.0.1:7777".parse().unwrap());
/// # let batch = [[0; 8]; 3];
/// let mut datagrams = batch.iter();
/// while prony_enet_host::guarded(&mut host, |host| {
///     for datagram in &mut datagrams {
///         host.handle_datagram(now, from, datagram);
///     }
/// })
/// .is_some()
/// {}
/// ```
///
/// which costs nothing unless something panics. Programs that are built to abort on a panic have no such net.
pub fn guarded<T>(host: &mut Host, work: impl FnOnce(&mut Host) -> T) -> Option<Recovered> {
    let was_guarded = IS_GUARDED.replace(true);
    // What a panic leaves half done is in the host, which is checked before it is used again.
    let done = catch_unwind(AssertUnwindSafe(|| work(host)));
    let recovered = done.is_err().then(|| recover(host));
    IS_GUARDED.set(was_guarded);
    recovered
}

#[cold]
fn recover(host: &mut Host) -> Recovered {
    // What the peer left behind may be such that ending its connection panics too.
    let recovered = catch_unwind(AssertUnwindSafe(|| host.recover()));
    recovered.unwrap_or_else(|_| {
        host.drop_all_peers();
        Recovered::AllPeers(None)
    })
}

/// From now on, panics that [`guarded`] catches print one message a second at most, by the hook that is set now. All
/// other panics go to that hook as before.
///
/// A library does not change the panic hook of a program on its own: a program that serves strangers calls this, after it
/// has set a hook of its own, if it has one. Further calls change nothing.
pub fn limit_panic_messages() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() || is_next_message(clock::monotonic()) {
                hook(info);
            }
        }));
    });
}

/// True if there was no message in the second before `now`.
fn is_next_message(now: Duration) -> bool {
    /// Time of the next message, in milliseconds.
    static NEXT_MS: AtomicU64 = AtomicU64::new(0);
    let now_ms = now.as_millis() as u64;
    let next_ms = NEXT_MS.load(Relaxed);
    let later_ms = now_ms.saturating_add(MESSAGE_INTERVAL.as_millis() as u64);
    // Of several threads one prints.
    now_ms >= next_ms && NEXT_MS.compare_exchange(next_ms, later_ms, Relaxed, Relaxed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_message_a_second_at_most() {
        let times_ms = [5000, 5001, 5999, 6000, 6001, 7500, 8499, 8500];
        let shown = times_ms.map(|ms| is_next_message(Duration::from_millis(ms)));
        assert_eq!(shown, [true, false, false, true, false, true, false, true]);
    }
}
