//! Time for a frame that is neither hashed, nor summed, nor tagged, through the device and back: what most runs of `prony load
//! nic` consist of. `cargo bench -p prony-softnic --bench plain`; the least of the rounds is the one with the least disturbance.

use std::time::Instant;

use prony_ixgbe_regs as regs;
use prony_softnic::{Device, DmaFault, DmaMemory, Generator, Sizes};

const ENTRIES: u32 = 512;
const BATCH: u32 = 32;
const BATCHES: u32 = 20_000;
const ROUNDS: usize = 15;
const RECEIVE_RING: u64 = 0;
const TRANSMIT_RING: u64 = 0x1_0000;
const BUFFERS: u64 = 0x2_0000;
const MAC: [u8; 6] = [0x00, 0x1b, 0x21, 0x82, 0x59, 0x00];

/// Memory without pages.
struct Flat(Vec<u8>);

impl Flat {
    fn part(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], DmaFault> {
        let fault = DmaFault { address, bytes: bytes as u64 };
        self.0.get_mut(address as usize..).and_then(|rest| rest.get_mut(..bytes)).ok_or(fault)
    }
}

impl DmaMemory for Flat {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), DmaFault> {
        into.copy_from_slice(self.part(address, into.len())?);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DmaFault> {
        self.part(address, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    fn read_descriptor(&mut self, address: u64) -> Result<[u64; 2], DmaFault> {
        let (words, _) = self.part(address, 16)?.as_chunks::<8>();
        Ok([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])])
    }

    fn write_descriptor(&mut self, address: u64, words: [u64; 2]) -> Result<(), DmaFault> {
        let place = self.part(address, 16)?;
        place[..8].copy_from_slice(&words[0].to_le_bytes());
        place[8..].copy_from_slice(&words[1].to_le_bytes());
        Ok(())
    }
}

fn main() {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    times.sort_by(f64::total_cmp);
    println!("{:.2} ns per frame, both ways, at best of {ROUNDS}; median {:.2}", times[0], times[ROUNDS / 2]);
}

/// Nanoseconds for a frame that goes in and out again.
fn round() -> f64 {
    let mut memory = Flat(vec![0; BUFFERS as usize + ENTRIES as usize * 2048]);
    let mut device = Device::new(MAC, 0);
    for (offset, value) in [
        (regs::RXCTRL, regs::RXCTRL_RXEN),
        (regs::DMATXCTL, regs::DMATXCTL_TE),
        (regs::srrctl(0), regs::SRRCTL_DESCTYPE_ADVANCED | regs::SRRCTL_DROP_EN | 2),
        (regs::rdbal(0), RECEIVE_RING as u32),
        (regs::rdlen(0), ENTRIES * 16),
        (regs::rxdctl(0), regs::RXDCTL_ENABLE),
        (regs::tdbal(0), TRANSMIT_RING as u32),
        (regs::tdlen(0), ENTRIES * 16),
        // As the drivers in `subjects/forwarder` have it.
        (regs::txdctl(0), regs::TXDCTL_ENABLE | 4 << regs::TXDCTL_WTHRESH_SHIFT),
    ] {
        device.write(0, offset, value);
    }
    device.handle_timeout(10_000_000);
    let mut generator = Generator::new(0, MAC, "60".parse::<Sizes>().expect("one size"));
    let command = regs::TXD_DEXT | regs::TXD_DTYP_DATA | regs::TXD_RS | regs::TXD_IFCS | regs::TXD_EOP | 60;
    let (mut index, mut sum) = (0, 0u64);
    let begin = Instant::now();
    for _ in 0..BATCHES {
        for ahead in 0..BATCH {
            let place = u64::from((index + ahead) % ENTRIES);
            let buffer = BUFFERS + place * 2048;
            memory.write_descriptor(RECEIVE_RING + place * 16, [buffer, 0]).expect("the ring is there");
            let words = [buffer, u64::from(command) | (60 << regs::TXD_OLINFO_PAYLEN_SHIFT) << 32];
            memory.write_descriptor(TRANSMIT_RING + place * 16, words).expect("the ring is there");
        }
        let end = (index + BATCH) % ENTRIES;
        device.set_receive_tail(0, end);
        let receipts = device.receive_burst(&mut memory, generator.next_frames(std::iter::repeat_n(0, BATCH as usize)));
        assert_eq!(receipts.delivered, u64::from(BATCH));
        device.set_transmit_tail(0, end);
        assert_eq!(device.transmit(&mut memory, 0, BATCH, |frame| sum += u64::from(frame[16])), BATCH);
        index = end;
    }
    let ns = begin.elapsed().as_nanos() as f64;
    assert_ne!(sum, 0);
    ns / f64::from(BATCHES * BATCH)
}
