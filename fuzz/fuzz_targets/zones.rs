//! Reads arbitrary bytes as what zones left:
//! `cargo +nightly fuzz run zones fuzz/corpus/zones fuzz/seeds/zones`.
//!
//! Zones that were read have finite times.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_profile::read_zones;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(zones) = read_zones(text)
    {
        assert!(zones.zones.iter().all(|zone| zone.inclusive_s.is_finite() && zone.exclusive_s.is_finite()));
    }
});
