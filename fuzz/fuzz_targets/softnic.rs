//! A driver that says to the device what the input says, field by field: `cargo +nightly fuzz run softnic`.
//!
//! The device neither panics nor reaches beyond the driver's memory, uses no more descriptors than it was allowed, sends only what can be
//! a frame, and counts each frame once. Every byte of the input chooses near a number that mattered before: see the conversation.
//!
//! At its end the process prints how many steps it made: one is a queue that is set up, a frame, a descriptor, a setting, or a moment.
#![no_main]

#[allow(dead_code, unused_imports, reason = "a part is for the tests of the crate that it belongs to")]
#[path = "../../crates/softnic/tests/conversation/mod.rs"]
mod conversation;

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use conversation::{Conversation, Source};
use libfuzzer_sys::fuzz_target;

static STEPS: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn print_steps() {
    eprintln!("{} steps", STEPS.load(Ordering::Relaxed));
}

/// Prints the number of steps when the process ends.
fn count_steps() {
    static REGISTERED: Once = Once::new();
    // SAFETY: `atexit` is C's own; the function that it is given lives as long as the program and does not unwind.
    REGISTERED.call_once(|| {
        unsafe { atexit(print_steps) };
    });
}

struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }
}

fuzz_target!(|bytes: &[u8]| {
    count_steps();
    let mut conversation = Conversation::new(Bytes(bytes));
    while conversation.step() {
        STEPS.fetch_add(1, Ordering::Relaxed);
    }
});
