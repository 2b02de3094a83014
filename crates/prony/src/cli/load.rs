//! Command-line flags of `prony load`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use prony_load::{ClientRange, Condition, Reply, STAMP_BYTES};

use super::nic::LoadNicArgs;
use crate::numbers::duration;

/// Generate load on a server and measure its answers.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct LoadArgs {
    #[command(subcommand)]
    pub verb: LoadVerb,
}

#[derive(Debug, Subcommand)]
pub enum LoadVerb {
    /// Load an ENet server with many clients that send on a fixed schedule
    Enet(Box<EnetArgs>),
    /// Load a user-space network driver through an Intel 82599 in software
    Nic(Box<LoadNicArgs>),
}

const ENET_EXAMPLES: &str = "\
Examples:
  prony load enet --connect 127.0.0.1:7777 --clients 1000 --server-pid $(pidof server)
  prony load enet --connect [::1]:7777 --clients 8000 --threads 2 --batch 500
  prony load enet --connect game.lan:7777 --clients 200 --rate 20 --payload 64 --reply 400 --reliable 20%
  prony load enet --connect 127.0.0.1:7777 --clients 500 --rate 0 --server-pid 4711    connections only
  prony load enet --connect 127.0.0.1:7777 --clients 100..5000 --until 'p99<50ms' --until 'loss<0.1%' --duration 3s

The server must answer each packet with one that begins with the same first 16 bytes, as subjects/enet-echo does.
Clients send on a fixed schedule, and latency is measured from the time at which a packet should have been sent, so a
server that stalls is charged with every packet of the stall (no coordinated omission).

Exit codes:
  0  all clients connected, none was lost, and all but --loss-max of the packets were answered in time;
     with --until: a number of clients was found, or the whole range holds
  1  clients failed to connect or were lost, or too few packets were answered; with --until: no number of the range holds
  2  could not run, or no client connected
  3  the generator was the bottleneck, or it was interrupted; with --until also: the interval is wider than --precision";

/// Load an ENet server with many clients that send on a fixed schedule.
#[derive(Debug, Args)]
#[command(after_help = ENET_EXAMPLES)]
pub struct EnetArgs {
    /// Address of the server
    #[arg(long, value_name = "HOST:PORT")]
    pub connect: String,
    /// Number of clients; with --until the range to search
    #[arg(long, value_name = "N|LOW..HIGH", default_value = "100", value_parser = clients)]
    pub clients: ClientRange,
    /// Duration of the measurement, after all clients have connected or failed; with --until of each step
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub duration: Duration,

    #[command(flatten)]
    pub traffic: TrafficArgs,
    #[command(flatten)]
    pub connections: ConnectionArgs,
    #[command(flatten)]
    pub measurement: MeasurementArgs,
    #[command(flatten)]
    pub capacity: CapacityArgs,

    /// Number of threads over which clients are distributed
    #[arg(long, alias = "multi-process", value_name = "N", default_value_t = 1, value_parser = count, help_heading = "Execution")]
    pub threads: usize,
    /// Random seed for the send times of clients
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub seed: Option<u64>,

    /// Write samples to FILE in pyperf's format
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long, requires = "output", help_heading = "Output")]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Packets of each client, and how they are sent.
#[derive(Debug, Args)]
pub struct TrafficArgs {
    /// Packets per second of each client; 0 sends only the protocol's own traffic
    #[arg(long, value_name = "N", default_value = "10", value_parser = rate, help_heading = "Traffic")]
    pub rate: f64,
    /// Packet size in bytes, 16 or more
    #[arg(long, value_name = "BYTES", default_value = "16", value_parser = packet_bytes, help_heading = "Traffic")]
    pub payload: usize,
    /// Answer requested from the server: the same size, a number of bytes, or none
    #[arg(long, value_name = "echo|BYTES|none", default_value = "echo", value_parser = reply, help_heading = "Traffic")]
    pub reply: Reply,
    /// Number of channels, used round-robin
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..), help_heading = "Traffic")]
    pub channels: u8,
    /// Share of reliable packets [default without PERCENT: all]
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_value = "0%", default_missing_value = "100%", value_parser = share, help_heading = "Traffic")]
    pub reliable: f64,
    /// Leave ENet's packet throttle on, which drops unreliable packets before they are sent when round-trip times vary;
    /// by default it is disabled at both ends
    #[arg(long, help_heading = "Traffic")]
    pub throttle: bool,
    /// Add a CRC-32 to each datagram; the server must do the same
    #[arg(long, help_heading = "Traffic")]
    pub checksum: bool,
    /// Compress datagrams; the server must do the same
    #[arg(long, value_name = "HOW", value_parser = ["range"], help_heading = "Traffic")]
    pub compress: Option<String>,
}

/// Connections of the clients: their order, time limit and sockets.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("who").args(["own_sockets", "shared_socket"]))]
pub struct ConnectionArgs {
    /// Connect clients in batches of this size; the next batch starts when the last has connected or failed
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = count, help_heading = "Connections")]
    pub batch: usize,
    /// Let N of the clients connect at once while the others are measured, after a quarter of --duration
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = burst, help_heading = "Connections")]
    pub burst: usize,
    /// Timeout of a connection attempt
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration, help_heading = "Connections")]
    pub connect_timeout: Duration,
    /// Give each client its own socket, as on separate machines (the default)
    #[arg(long, help_heading = "Connections")]
    pub own_sockets: bool,
    /// Let up to 2,048 clients share a socket and thus an address
    #[arg(long, help_heading = "Connections")]
    pub shared_socket: bool,
}

/// What counts as an answer, and what else is measured.
#[derive(Debug, Args)]
pub struct MeasurementArgs {
    /// Count answers that take longer as late
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration, help_heading = "Measurement")]
    pub deadline: Duration,
    /// Exit with 0 if at most this share of packets is not answered in time
    #[arg(long, value_name = "PERCENT", default_value = "0.1%", value_parser = share, help_heading = "Measurement")]
    pub loss_max: f64,
    /// PID of the server, to measure its CPU time
    #[arg(long, value_name = "PID", help_heading = "Measurement")]
    pub server_pid: Option<u32>,
}

/// Search for the greatest number of clients at which conditions hold.
#[derive(Debug, Args)]
pub struct CapacityArgs {
    /// Search for the greatest number of clients at which QUANTITY stays below VALUE: pNN, median, max, connect (a time) or
    /// loss (a percentage); repeat it for several, which must all hold
    #[arg(long, value_name = "QUANTITY<VALUE", value_parser = condition, conflicts_with = "loss_max", help_heading = "Capacity")]
    pub until: Vec<Condition>,
    /// End the search when the 95 % interval is narrower than this share of the estimate
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share, requires = "until", help_heading = "Capacity")]
    pub precision: f64,
    /// End the search after this number of steps
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = count, requires = "until", help_heading = "Capacity")]
    pub steps_max: usize,
    /// Pause after a step whose clients could not all connect or disconnect, until the server has dropped them
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration, requires = "until", help_heading = "Capacity")]
    pub settle: Duration,
    /// Draw latency by number of clients in FILE
    #[arg(long, value_name = "FILE", requires = "until", help_heading = "Output")]
    pub svg: Option<PathBuf>,
    /// Write a page to FILE: answer, curves of latency and CPU per client, table
    #[arg(long, visible_alias = "html", value_name = "FILE", requires = "until", help_heading = "Output")]
    pub export_html: Option<PathBuf>,
}

/// More clients than anybody's ports suffice for are a slip of the hand.
const COUNT_MAX: usize = 1_000_000;
/// A packet every microsecond: what is more is a slip of the hand too.
const RATE_MAX: f64 = 1e6;
/// The stock library takes no longer packets.
const PACKET_BYTES_MAX: usize = 32 << 20;

fn count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=COUNT_MAX).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {COUNT_MAX}"))
}

/// Reads `500` or `100..5000`.
fn clients(text: &str) -> Result<ClientRange, String> {
    let expected = |_| format!("expected a whole number from 1 to {COUNT_MAX}, or two of them as LOW..HIGH");
    let Some((low, high)) = text.split_once("..") else {
        let clients = count(text).map_err(expected)?;
        return Ok(ClientRange { low: clients, high: clients });
    };
    let (low, high) = (count(low).map_err(expected)?, count(high).map_err(expected)?);
    if low >= high {
        return Err(format!("LOW ({low}) is not below HIGH ({high})"));
    }
    Ok(ClientRange { low, high })
}

fn burst(text: &str) -> Result<usize, String> {
    if text == "0" { Ok(0) } else { count(text) }
}

fn condition(text: &str) -> Result<Condition, String> {
    text.parse().map_err(|error: prony_load::ConditionError| error.to_string())
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number == 0.0 || (1e-3..=RATE_MAX).contains(number));
    number.ok_or_else(|| "expected packets per second: 0, or 0.001 to 1000000".to_owned())
}

fn packet_bytes(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (STAMP_BYTES..=PACKET_BYTES_MAX).contains(number));
    number.ok_or_else(|| format!("expected bytes from {STAMP_BYTES} (the size of the stamp) to {PACKET_BYTES_MAX}"))
}

fn reply(text: &str) -> Result<Reply, String> {
    match text {
        "echo" => Ok(Reply::Echo),
        "none" => Ok(Reply::None),
        bytes => packet_bytes(bytes)
            .map(|bytes| Reply::Bytes(bytes as u32))
            .map_err(|_| format!("expected echo, none, or bytes from {STAMP_BYTES} to {PACKET_BYTES_MAX}")),
    }
}

/// Reads `20%` as a share; none and all are shares too.
fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.map(|number| number / 100.0).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a percentage from 0% to 100%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_a_number_or_a_range() {
        assert_eq!(clients("8000"), Ok(ClientRange { low: 8000, high: 8000 }));
        assert_eq!(clients("100..5000"), Ok(ClientRange { low: 100, high: 5000 }));
        for wrong in ["", "..", "0..5", "5..", "..5", "5..5", "9..5", "1..=5", "1...5", "1-5", "1..1000001"] {
            assert!(clients(wrong).is_err(), "{wrong}");
        }
        assert_eq!((burst("0"), burst("500"), burst("-1").is_err()), (Ok(0), Ok(500), true));
        assert!(condition("p99<50ms").is_ok() && condition("p99").is_err_and(|error| error.contains("p99<50ms")));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!((count("8000"), rate("0"), rate("0.5")), (Ok(8000), Ok(0.0), Ok(0.5)));
        for wrong in ["0", "-1", "x", "1.5", "1000001"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
        for wrong in ["-1", "x", "inf", "NaN", "0.0001", "1e9"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        assert_eq!((packet_bytes("16"), packet_bytes("15").is_err()), (Ok(16), true));
        assert_eq!(
            (reply("echo"), reply("none"), reply("400")),
            (Ok(Reply::Echo), Ok(Reply::None), Ok(Reply::Bytes(400)))
        );
        assert!(reply("15").is_err() && reply("").is_err() && reply("all").is_err());
        assert_eq!((share("0%"), share("20%"), share("100%")), (Ok(0.0), Ok(0.2), Ok(1.0)));
        assert!(["20", "-1%", "101%", "%", "NaN%"].iter().all(|wrong| share(wrong).is_err()));
    }
}
