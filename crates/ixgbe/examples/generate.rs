//! Sends frames through a port as fast as it takes them, and says once a second how many: `generate ADDRESS [BYTES]`,
//! with an address as that of `forward`.
#![forbid(unsafe_code)]

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use prony_ixgbe::{Address, AnyPort, Options, PoolKind, Port};

const BUFFERS: usize = 4096;
const BATCH: usize = 64;
/// Broadcast, from a locally administered address, of the type for local experiments (IEEE 802).
const HEADER: [u8; 14] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb6];

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
    let mut arguments = env::args().skip(1);
    let address = arguments.next().ok_or("usage: generate ADDRESS [BYTES]")?;
    let bytes: usize = arguments.next().map_or(Ok(60), |bytes| bytes.parse())?;
    if !(HEADER.len() + 8..=1518).contains(&bytes) {
        return Err("expected frames of 22 to 1518 bytes".into());
    }
    let address: Address = address.parse()?;
    let mut pool = address.pool(PoolKind::default(), BUFFERS)?;
    let mut port = AnyPort::open(&address, &mut pool, Options::default())?;
    let (mut packets, mut sequence) = (Vec::with_capacity(BATCH), 0u64);
    let (mut reported, mut sent) = (Instant::now(), 0u64);
    loop {
        while packets.len() < BATCH {
            let Some(mut packet) = pool.take(bytes) else { break };
            let frame = pool.bytes_mut(&mut packet);
            frame[..HEADER.len()].copy_from_slice(&HEADER);
            frame[HEADER.len()..HEADER.len() + 8].copy_from_slice(&sequence.to_be_bytes());
            sequence += 1;
            packets.push(packet);
        }
        sent += port.tx_batch(&mut pool, &mut packets) as u64;
        if reported.elapsed() >= Duration::from_secs(1) {
            port.check()?;
            println!("{:.3} Mpps", sent as f64 / reported.elapsed().as_secs_f64() / 1e6);
            (reported, sent) = (Instant::now(), 0);
        }
    }
}
