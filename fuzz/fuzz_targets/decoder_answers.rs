//! Reads what a decoder says: `cargo +nightly fuzz run decoder_answers`.
//!
//! An input whose first byte is even is bytes: a frame for a decoder, and a line of one. Another one is a row of choices, behind which random ones follow; they make
//! two conversations of a decoder, the recorded and the replayed one: answers whose numbers, kinds, names, indices and values are
//! drawn near those of earlier answers, each as a line, judged by rules as a replay does.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use prony_decoder::{Datagram, Decoded, Field, Reply, read_hello};
use prony_demo::tolerance::{DecodedDrifts, DifferenceAt, Ports, Rules, is_same};
use prony_testing::random::SplitMix64;

fuzz_target!(|bytes: &[u8]| match bytes.split_first() {
    Some((first, rest)) if first % 2 == 1 => conversations(rest),
    _ => of_bytes(bytes),
});

fn of_bytes(bytes: &[u8]) {
    if let Ok(datagram) = Datagram::read(bytes) {
        let mut frame = Vec::new();
        datagram.write(&mut frame).expect("it came from a frame of this length");
        assert_eq!(&frame[4..], bytes);
    }
    let _ = read_hello(bytes);
    if let Ok(reply) = Reply::from_line(bytes) {
        read_again(&reply);
    }
}

/// A line that was read is written, and is read again as the same.
fn read_again(reply: &Reply) {
    let line = reply.to_line();
    // As lines, since a NaN is not equal to itself.
    let again = Reply::from_line(line.trim_end().as_bytes()).expect("a line of ours is read");
    assert_eq!(again.to_line(), line);
}

fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    const TEXT: &str = r#"
        [[decoded]]
        port = 8303
        fields = [
            { field = "s.character[*].x", within = 2 },
            { field = "s.character[*].vel_*", within = 40, within_relative = 0.01 },
            { field = "s.*[1].y", ulps = 4 },
        ]

        [[decoded]]
        fields = [{ field = "s.ack", mask = true }, { field = "*.x", within = 1e300 }]
    "#;
    RULES.get_or_init(|| Rules::parse(TEXT).expect("they are right"))
}

/// Choices that the input makes, and random ones that follow from it when it is over.
struct Choices<'a>(&'a [u8], SplitMix64);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return self.1.next_number() as u8 };
        self.0 = rest;
        first
    }

    fn of<'b>(&mut self, all: &[&'b str]) -> &'b str {
        all[usize::from(self.byte()) % all.len()]
    }
}

/// Values as their JSON, each beside its neighbours.
const VALUES: [&str; 30] = [
    "0",
    "1",
    "2",
    "-1",
    "-0",
    "-0.0",
    "0.5",
    "1e-320",
    "1e308",
    "-1e308",
    "1e400",
    "9007199254740993",
    "2147483647",
    "-2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "\"170141183460469231731687303715884105727\"",
    "\"-170141183460469231731687303715884105728\"",
    "\"nan\"",
    "\"inf\"",
    "\"-inf\"",
    "\"\"",
    "true",
    "false",
    "null",
    "[]",
    "3.4028236e38",
];
const KINDS: [&str; 7] = ["int", "f32", "f64", "text", "bool", "f16", ""];

/// A line of a decoder, and the number that it chose.
fn line(choices: &mut Choices<'_>, number: u64) -> String {
    let number = match choices.byte() {
        0..=199 => number.to_string(),
        byte @ 200..=230 => number.wrapping_add(u64::from(byte % 3)).wrapping_sub(1).to_string(),
        byte => VALUES[usize::from(byte) % VALUES.len()].to_owned(),
    };
    let mut fields = Vec::new();
    for _ in 0..choices.byte() % 6 {
        let index = choices.of(&["0", "1", "01", "18446744073709551616", "*", "-1", ""]);
        let part = choices.of(&["x", "y", "vel_x", "vel_", "ack", "x.x", ""]);
        let name = match choices.byte() % 4 {
            0 => "s.ack".to_owned(),
            1 => format!("s.{part}"),
            _ => format!("s.character[{index}].{part}"),
        };
        let (kind, value) = (choices.of(&KINDS), choices.of(&VALUES));
        fields.push(match choices.byte() {
            0 => format!("[{name:?},{kind:?}]"),
            1 => format!("[{name:?},{kind:?},{value},0]"),
            _ => format!("[{name:?},{kind:?},{value}]"),
        });
    }
    let fields = fields.join(",");
    match choices.byte() % 16 {
        0 => format!("{{\"n\":{number}}}"),
        1 => format!("{{\"n\":{number},\"held\":{}}}", choices.of(&["true", "false", "1"])),
        2 => format!("{{\"n\":{number},\"note\":{}}}", choices.of(&["\"\"", "\"x\"", "0"])),
        3 => format!("{{\"n\":{number},\"held\":true,\"fields\":[{fields}]}}"),
        4 => format!("{{\"n\":{number},\"fields\":[{fields}],\"n\":{number}}}"),
        _ => format!("{{\"n\":{number},\"fields\":[{fields}]}}"),
    }
}

fn conversations(bytes: &[u8]) {
    let mut choices = Choices(bytes, SplitMix64(u64::from(crc32c::crc32c(bytes))));
    let ports = Ports { local: Some(if choices.byte() % 2 == 0 { 8303 } else { 1 }), peer: None };
    let mut drifts = DecodedDrifts::default();
    let mut frame = 0;
    for number in 0..u64::from(choices.byte() % 64) {
        let mut sides = [Vec::new(), Vec::new()];
        // The replayed answer often begins as the recorded one did.
        let begun = (choices.0, choices.1.0);
        for side in &mut sides {
            if choices.byte() < 96 {
                (choices.0, choices.1.0) = begun;
            }
            let Ok(reply) = Reply::from_line(line(&mut choices, number).as_bytes()) else { continue };
            read_again(&reply);
            if let Decoded::Fields(fields) = reply.answer {
                side.extend(fields);
            }
        }
        frame = u64::from(choices.byte() % 8).wrapping_add(frame).wrapping_sub(2);
        judge(&sides, ports, (frame, number), &mut drifts);
    }
    let summary = drifts.finish(rules());
    assert!(summary.first_discrete.is_none() || summary.values_differing > 0);
}

fn judge(
    [recorded, replayed]: &[Vec<Field>; 2],
    ports: Ports,
    (frame, record): (u64, u64),
    drifts: &mut DecodedDrifts,
) {
    for at in 0..recorded.len().max(replayed.len()) {
        let (was, is) = (recorded.get(at), replayed.get(at));
        let same_name = was.zip(is).is_none_or(|(was, is)| was.name == is.name);
        let is = is.filter(|_| same_name || was.is_none());
        if was.zip(is).is_some_and(|(was, is)| is_same(&was.value, &is.value)) {
            continue;
        }
        let Some(name) = was.or(is).map(|field| field.name.clone()) else { continue };
        let (was, is) = (was.map(|field| &field.value), is.map(|field| &field.value));
        let found = rules().compare_field(ports, &name, was, is);
        let text = |value: Option<&prony_decoder::Value>| value.map(ToString::to_string);
        let (recorded, replayed) = (text(was), text(is));
        let place = DifferenceAt {
            frame,
            record,
            process: 0,
            peer: String::new(),
            field: name,
            recorded,
            replayed,
            within: None,
        };
        drifts.add(found, &place, rules());
    }
}
