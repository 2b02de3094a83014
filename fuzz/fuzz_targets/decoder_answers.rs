//! Reads arbitrary bytes as a frame for a decoder and as a line of one: `cargo +nightly fuzz run decoder_answers`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_decoder::{Datagram, Reply, read_hello};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(datagram) = Datagram::read(bytes) {
        let mut frame = Vec::new();
        datagram.write(&mut frame).expect("it came from a frame of this length");
        assert_eq!(&frame[4..], bytes);
    }
    let _ = read_hello(bytes);
    if let Ok(reply) = Reply::from_line(bytes) {
        let line = reply.to_line();
        // As lines, since a NaN is not equal to itself.
        let again = Reply::from_line(line.trim_end().as_bytes()).expect("a line of ours is read");
        assert_eq!(again.to_line(), line);
    }
});
