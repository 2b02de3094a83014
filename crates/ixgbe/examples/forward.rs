//! Forwards frames between two ports, both ways: `forward ADDRESS ADDRESS`. An address is that of a card on the PCI bus, or one
//! of `xdp:INTERFACE`, `vhost-user:SOCKET` and `vhost-user-server:SOCKET`. subjects/forwarder/README.md describes the options, which are the same in every language.
#![forbid(unsafe_code)]

use std::env;
use std::error::Error;
use std::process::ExitCode;

use prony_ixgbe::{Address, AnyPort, Device, Options, Packet, Pool, PoolKind, Port, wait_for_frames};

/// Rounds after which ports are checked: some milliseconds.
const ROUNDS: u32 = 1 << 16;
/// Rounds without a frame after which a forwarder with interrupts waits for one.
const IDLE: u32 = 64;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let addresses: Vec<String> = env::args().skip(1).collect();
    let [first, second] = &addresses[..] else { return Err("usage: forward ADDRESS ADDRESS".into()) };
    let batch = number("FORWARDER_BATCH", 32, 1..=512)?;
    let touch = match env::var("FORWARDER_TOUCH").as_deref() {
        Ok("none") => None,
        _ => Some(number("FORWARDER_TOUCH", 1, 0..=59)?),
    };
    let kind: PoolKind = match env::var("FORWARDER_POOL") {
        Ok(kind) => kind.parse().map_err(|error| format!("FORWARDER_POOL: {error}"))?,
        Err(_) => PoolKind::default(),
    };
    let buffers = number("FORWARDER_BUFFERS", 8192, 2112..=65_536)?;
    let options = Options {
        clean_batch: number("FORWARDER_CLEAN", 32, 1..=256)?,
        prefetch: number("FORWARDER_PREFETCH", 1, 0..=1)? == 1,
        interrupt: number("FORWARDER_INTERRUPT", 0, 0..=1)? == 1,
        ..Options::default()
    };
    let [first, second]: [Address; 2] = [first.parse()?, second.parse()?];
    let mut pool = first.pool(kind, buffers)?;
    match (&first, &second) {
        // Cards are a type of their own, without a choice at every batch.
        (Address::Card(first), Address::Card(second)) => {
            let first = Device::open(first, &mut pool, options)?;
            let second = Device::open(second, &mut pool, options)?;
            forward_all(first, second, pool, batch, touch)
        }
        _ if first.is_card() || second.is_card() => Err("expected two cards or two sockets, found one of each".into()),
        _ => {
            let first = AnyPort::open(&first, &mut pool, options)?;
            let second = AnyPort::open(&second, &mut pool, options)?;
            forward_all(first, second, pool, batch, touch)
        }
    }
}

/// Returns when a port does not work any more.
fn forward_all<P: Port>(
    mut first: P,
    mut second: P,
    mut pool: Pool,
    batch: usize,
    touch: Option<usize>,
) -> Result<(), Box<dyn Error>> {
    let mut packets = Vec::with_capacity(batch);
    let waits = first.interrupt().is_some() && second.interrupt().is_some();
    loop {
        let mut idle = 0;
        for _ in 0..ROUNDS {
            let moved = forward(&mut first, &mut second, &mut pool, &mut packets, batch, touch)
                | forward(&mut second, &mut first, &mut pool, &mut packets, batch, touch);
            idle = if moved { 0 } else { idle + 1 };
            if idle == IDLE && waits {
                wait_for_frames(&mut [&mut first, &mut second], None)?;
                idle = 0;
            }
        }
        first.check()?;
        second.check()?;
    }
}

/// True if there were frames.
fn forward<P: Port>(
    from: &mut P,
    to: &mut P,
    pool: &mut Pool,
    packets: &mut Vec<Packet>,
    batch: usize,
    touch: Option<usize>,
) -> bool {
    if from.rx_batch(pool, packets, batch) == 0 {
        // Buffers that were sent are all that an empty pool can get.
        if pool.free() == 0 {
            to.clean_up(pool);
        }
        return false;
    }
    if let Some(touch) = touch {
        for packet in packets.iter_mut() {
            if let Some(byte) = pool.bytes_mut(packet).get_mut(touch) {
                *byte = byte.wrapping_add(1);
            }
        }
    }
    to.tx_batch(pool, packets);
    // What finds no room is dropped, as waiting would only delay what comes next.
    for packet in packets.drain(..) {
        pool.give(packet);
    }
    true
}

fn number(name: &str, otherwise: usize, range: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    let Ok(text) = env::var(name) else { return Ok(otherwise) };
    let expected = || format!("{name}: expected {} to {}, found {text}", range.start(), range.end());
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(expected)
}
