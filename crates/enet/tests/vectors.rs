//! Against what stock hosts were seen to send: datagrams of whole sessions, and vectors of the
//! range coder and the checksum.

use prony_enet::wire::{Command, Header, NO_PEER};
use prony_enet::{RangeCoder, crc32};
use serde_json::Value;

const LONGEST: usize = 4096;

fn lines() -> Vec<Value> {
    include_str!("vectors.jsonl").lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().expect("hex is text").as_bytes();
    hex.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn the_range_coder_compresses_and_expands_as_recorded() {
    let mut coder = RangeCoder::new();
    let mut vectors = 0;
    for line in lines().iter().filter(|line| line.get("range_coder").is_some()) {
        let (plain, packed) = (bytes(&line["range_coder"]["plain"]), bytes(&line["range_coder"]["packed"]));
        let mut out = Vec::new();
        assert_eq!(coder.compress(&plain, 2 * LONGEST, &mut out), Some(packed.len()));
        assert_eq!(out, packed);
        out.clear();
        assert_eq!(coder.expand(&packed, LONGEST, &mut out), Some(plain.len()));
        assert_eq!(out, plain);
        vectors += 1;
    }
    assert_eq!(vectors, 65);
}

#[test]
fn checksums_are_as_recorded() {
    for line in lines().iter().filter(|line| line.get("crc32_wire").is_some()) {
        let plain = bytes(&line["range_coder"]["plain"]);
        assert_eq!(crc32(&plain).to_be_bytes().as_slice(), bytes(&line["crc32_wire"]));
    }
}

#[test]
fn every_datagram_of_the_transcripts_is_decoded_and_encoded_again_byte_for_byte() {
    let mut coder = RangeCoder::new();
    let mut datagrams = 0;
    for line in lines().iter().filter(|line| line.get("scenario").is_some()) {
        let scenario = line["scenario"].as_str().unwrap();
        let (with_checksum, with_coder) = (scenario.contains("crc32"), scenario.contains("range-coder"));
        let mut connect_id = None;
        for entry in line["datagrams"].as_array().unwrap().iter().filter(|entry| entry[0] != "--") {
            let recorded = bytes(&entry[1]);
            let (header, mut rest) = Header::decode(&recorded).expect("the header is whole");
            assert!(with_coder || !header.compressed);
            if with_checksum {
                rest = &rest[4..];
            }
            let mut body = Vec::new();
            if header.compressed {
                coder.expand(rest, LONGEST, &mut body).expect("a recorded body expands");
            } else {
                body.extend_from_slice(rest);
            }
            let mut again = Vec::new();
            let mut rest = body.as_slice();
            while let Some((command, behind)) = Command::decode(rest) {
                if let prony_enet::wire::Body::Connect(parameters, _) = command.body {
                    connect_id = Some(parameters.connect_id);
                }
                command.encode(&mut again);
                rest = behind;
            }
            assert!(rest.is_empty(), "every byte belongs to a command");
            assert_eq!(again, body);

            let mut datagram = Vec::new();
            header.encode(&mut datagram);
            let checksum_at = datagram.len();
            if with_checksum {
                let seed = if header.peer == NO_PEER { [0; 4] } else { connect_id.expect("connected before") };
                let mut plain = datagram.clone();
                plain.extend_from_slice(&seed);
                plain.extend_from_slice(&again);
                datagram.extend_from_slice(&crc32(&plain).to_be_bytes());
            }
            if with_coder {
                let compressed = coder.compress(&again, again.len() - 1, &mut datagram).is_some();
                assert_eq!(compressed, header.compressed);
            }
            if !header.compressed {
                datagram.extend_from_slice(&again);
            }
            assert_eq!(datagram, recorded, "{scenario}, checksum at {checksum_at}");
            datagrams += 1;
        }
    }
    assert_eq!(datagrams, 4 * 29);
}
