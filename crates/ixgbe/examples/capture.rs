//! Writes the frames that a port receives into a pcap file: `capture ADDRESS FILE [FRAMES]`, with an
//! address as that of `forward`.
#![forbid(unsafe_code)]

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use prony_ixgbe::{Address, AnyPort, Options, PoolKind, Port};

const BUFFERS: usize = 4096;
const BATCH: usize = 32;
/// libpcap, pcap-savefile(5): magic with times in nanoseconds, version 2.4, no time zone, whole frames, Ethernet.
const HEADER: [u32; 6] = [0xa1b2_3c4d, 2 | 4 << 16, 0, 0, 65_535, 1];

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
    let (address, path) = arguments.next().zip(arguments.next()).ok_or("usage: capture ADDRESS FILE [FRAMES]")?;
    let mut left: u64 = arguments.next().map_or(Ok(u64::MAX), |frames| frames.parse())?;
    let mut file = BufWriter::new(File::create(path)?);
    for word in HEADER {
        file.write_all(&word.to_le_bytes())?;
    }
    let address: Address = address.parse()?;
    let mut pool = address.pool(PoolKind::default(), BUFFERS)?;
    let mut port = AnyPort::open(&address, &mut pool, Options::default())?;
    let mut packets = Vec::with_capacity(BATCH);
    while left > 0 {
        if port.rx_batch(&mut pool, &mut packets, BATCH) == 0 {
            port.check()?;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        for packet in packets.drain(..) {
            if left > 0 {
                let length = packet.len() as u32;
                for word in [now.as_secs() as u32, now.subsec_nanos(), length, length] {
                    file.write_all(&word.to_le_bytes())?;
                }
                file.write_all(pool.bytes(&packet))?;
                left -= 1;
            }
            pool.give(packet);
        }
    }
    file.flush()?;
    Ok(())
}
