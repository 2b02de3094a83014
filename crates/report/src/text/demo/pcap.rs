//! `prony demo pcap` in the terminal.

use prony_demo::pcap::PcapSummary;
use prony_text::{bytes, count};

/// What was written and what was skipped, for people.
pub fn text(summary: &PcapSummary) -> String {
    let mut out = format!(
        "{}: {} and {} with {} of payload\n",
        count(summary.packets, "packet"),
        count(summary.datagrams, "datagram"),
        count(summary.connections, "TCP connection"),
        bytes(summary.payload_bytes),
    );
    for (reason, number) in &summary.left_out {
        out += &format!("skipped: {}, {reason}\n", count(*number, "transfer"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_talk_says_what_is_in_the_file_and_what_is_not() {
        let left_out = [("Unix socket", 1), ("not a UDP or TCP socket whose creation was recorded", 1200)].into();
        let summary = PcapSummary { packets: 5213, datagrams: 5213, connections: 0, payload_bytes: 412_881, left_out };
        insta::assert_snapshot!(text(&summary));
    }
}
