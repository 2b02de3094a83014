//! Reads arbitrary bytes as a datagram, and writes what was read:
//! `cargo +nightly fuzz run enet_datagram fuzz/corpus/enet_datagram fuzz/seeds/enet_datagram`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_enet::RangeCoder;
use prony_enet::wire::{Command, Header};

/// Longest datagram that is looked at.
const LONGEST: usize = 4096;

fuzz_target!(|bytes: &[u8]| {
    let Some((header, body)) = Header::decode(bytes) else { return };
    let mut again = Vec::new();
    header.encode(&mut again);
    assert_eq!(again, bytes[..header.length()]);

    let mut coder = RangeCoder::new();
    let mut plain = Vec::new();
    if header.compressed {
        let Some(length) = coder.expand(body, LONGEST, &mut plain) else { return };
        assert!(length == plain.len() && length <= LONGEST);
        let mut packed = Vec::new();
        coder.compress(&plain, 2 * LONGEST, &mut packed).expect("there is room");
        let mut twice = Vec::new();
        // The end is not coded: what the coder makes of nothing is nothing.
        if !packed.is_empty() {
            coder.expand(&packed, LONGEST, &mut twice).expect("what was compressed expands");
        }
        assert!(twice == plain);
    } else {
        plain.extend_from_slice(body);
    }

    let mut rest = plain.as_slice();
    while let Some((command, behind)) = Command::decode(rest) {
        let mut again = Vec::new();
        command.encode(&mut again);
        assert_eq!(again, rest[..rest.len() - behind.len()], "{command:?}");
        rest = behind;
    }
});
