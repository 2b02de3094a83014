//! Reads datagrams and writes what was read: arbitrary bytes, and those that an attacker makes field by field of them:
//! `cargo +nightly fuzz run enet_datagram fuzz/corpus/enet_datagram fuzz/seeds/enet_datagram`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_enet::RangeCoder;
use prony_enet::wire::{Command, Header};
use prony_testing::enet::attacker::{Attacker, Bytes, Coding, Role};
use prony_testing::enet::raw::RawPeer;

/// Longest datagram that is looked at.
const LONGEST: usize = 4096;

/// Datagrams of an attacker that are looked at.
const DATAGRAMS: u64 = 4;

fuzz_target!(|bytes: &[u8]| {
    let mut coder = RangeCoder::new();
    look(bytes, &mut coder);
    let mut attacker = Attacker::new(Bytes(bytes), Role::Client, Coding { checksum: false, range_coder: true });
    for now_ms in (0..DATAGRAMS).map(|number| 1000 * number) {
        let Some(datagram) = attacker.next(now_ms).filter(|_| attacker.draw().is_left()) else { break };
        look(&datagram, &mut coder);
        // A CONNECT is granted.
        if let Some((_, grant)) = RawPeer::granting(&datagram) {
            attacker.hear(&grant);
        }
    }
});

fn look(bytes: &[u8], coder: &mut RangeCoder) {
    let Some((header, body)) = Header::decode(bytes) else { return };
    let mut again = Vec::new();
    header.encode(&mut again);
    assert_eq!(again, bytes[..header.length()]);

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
}
