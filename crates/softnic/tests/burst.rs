//! Many frames at a time come to the same as one after the other, whatever is among them.

use prony_ixgbe_regs::{self as regs, REGISTERS};
use prony_softnic::{Device, DmaMemory, Event, FRAME_BYTES_MAX, PagedMemory, Receipt, Receipts};

const MAC: [u8; 6] = [0x00, 0x1b, 0x21, 0x82, 0x59, 0x00];
const ENTRIES: u32 = 64;
const RECEIVE_RING: u64 = 0x1_0000;
const TRANSMIT_RING: u64 = 0x2_0000;
const BUFFERS: u64 = 0x10_0000;
const BUFFERS_BYTES: u64 = 0x4_0000;

/// Random numbers (Marsaglia 2003, "Xorshift RNGs", 64 bits).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

#[derive(Clone)]
struct Side {
    memory: PagedMemory,
    sent: Vec<Vec<u8>>,
    receipts: Receipts,
}

fn set_up(random: &mut Random) -> (Device, PagedMemory) {
    let (mut device, mut memory) = (Device::new(MAC, 0), PagedMemory::new());
    memory.map(RECEIVE_RING, u64::from(ENTRIES) * 16);
    memory.map(TRANSMIT_RING, u64::from(ENTRIES) * 16);
    memory.map(BUFFERS, BUFFERS_BYTES);
    let start = random.below(ENTRIES.into()) as u32;
    let threshold = random.one_of(&[0, 0, 1, 4, 40, 100]);
    let kind = random.one_of(&[regs::SRRCTL_DESCTYPE_ADVANCED, regs::SRRCTL_DESCTYPE_ADVANCED, 0]);
    for (offset, value) in [
        (regs::HLREG0, regs::HLREG0_TXPADEN),
        (regs::RXCTRL, regs::RXCTRL_RXEN),
        (regs::DMATXCTL, regs::DMATXCTL_TE),
        (regs::FCTRL, random.one_of(&[0, regs::FCTRL_BAM, regs::FCTRL_UPE | regs::FCTRL_MPE])),
        (regs::srrctl(0), kind | random.one_of(&[1, 2])),
        (regs::rdbal(0), RECEIVE_RING as u32),
        (regs::rdlen(0), ENTRIES * 16),
        (regs::rxdctl(0), regs::RXDCTL_ENABLE),
        (regs::rdh(0), start),
        (regs::rdt(0), (start + random.below(ENTRIES.into()) as u32) % ENTRIES),
        (regs::tdbal(0), TRANSMIT_RING as u32),
        (regs::tdlen(0), ENTRIES * 16),
        (regs::txdctl(0), regs::TXDCTL_ENABLE | threshold << regs::TXDCTL_WTHRESH_SHIFT),
        (regs::tdh(0), start),
        (regs::tdt(0), (start + random.below(ENTRIES.into()) as u32) % ENTRIES),
    ] {
        device.write(0, offset, value);
    }
    device.handle_timeout(10_000_000);
    if random.below(8) == 0 {
        device.set_cable(0, false);
    }
    device.set_tracing(random.below(8) == 0);
    for index in 0..u64::from(ENTRIES) {
        let address = BUFFERS + 64 * random.below(BUFFERS_BYTES / 64 - 64);
        let received = if random.below(200) == 0 { BUFFERS - 64 } else { address };
        memory.write_descriptor(RECEIVE_RING + index * 16, [received, 0]).expect("it is mapped");
        let bytes = match random.below(24) {
            0 => 0,
            1 => 13,
            2 => 1518,
            3 => 2049,
            _ => 14 + random.below(90),
        };
        let address = if random.below(200) == 0 { BUFFERS + BUFFERS_BYTES - 10 } else { address };
        let report = if random.below(16) == 0 { 0 } else { regs::TXD_RS };
        let end = if random.below(16) == 0 { 0 } else { regs::TXD_EOP };
        let kind = match random.below(24) {
            0 => regs::TXD_DTYP_CONTEXT,
            1 => regs::TXD_DTYP_DATA | regs::TXD_VLE,
            _ => regs::TXD_DTYP_DATA,
        };
        let command = regs::TXD_DEXT | kind | report | end | bytes as u32;
        memory.write_descriptor(TRANSMIT_RING + index * 16, [address, command.into()]).expect("it is mapped");
    }
    (device, memory)
}

fn frames(random: &mut Random) -> Vec<Vec<u8>> {
    let make = |random: &mut Random| {
        let bytes = random.one_of(&[13, 60, 60, 60, 60, 61, 200, 1024, 1025, 3000, FRAME_BYTES_MAX]);
        let mut frame: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
        let to = random.one_of(&[MAC, MAC, MAC, [0xff; 6], [1, 0, 0x5e, 0, 0, 1], [2; 6]]);
        frame[..6].copy_from_slice(&to);
        if let Some(place) = frame.get_mut(12..14) {
            place.copy_from_slice(&random.one_of(&[
                [0x88, 0xb5],
                [0x88, 0xb5],
                [0x88, 0xb5],
                [0x08, 0x00],
                [0x81, 0x00],
            ]));
        }
        frame
    };
    (0..random.below(100)).map(|_| make(random)).collect()
}

fn count(receipts: &mut Receipts, receipt: Receipt) {
    match receipt {
        Receipt::Delivered { .. } => receipts.delivered += 1,
        Receipt::Missed => receipts.missed += 1,
        Receipt::Down | Receipt::Filtered | Receipt::Faulted => receipts.refused += 1,
    }
}

/// What anybody can see of a device.
fn seen(device: &mut Device) -> (Vec<u32>, Vec<Event>) {
    let registers = REGISTERS.iter().flat_map(|register| (0..register.count).map(move |index| (register, index)));
    let values = registers.map(|(register, index)| device.value_of(register, index)).collect();
    (values, std::iter::from_fn(|| device.poll_event()).collect())
}

fn content(memory: &mut PagedMemory) -> Vec<u8> {
    let ring_bytes = ENTRIES as usize * 16;
    let mut content = vec![0; 2 * ring_bytes + BUFFERS_BYTES as usize];
    let (rings, buffers) = content.split_at_mut(2 * ring_bytes);
    let (receive, transmit) = rings.split_at_mut(ring_bytes);
    for (address, part) in [(RECEIVE_RING, receive), (TRANSMIT_RING, transmit), (BUFFERS, buffers)] {
        memory.read(address, part).expect("it is mapped");
    }
    content
}

#[test]
fn frames_in_bursts_are_frames_one_by_one() {
    let mut random = Random(82599);
    let mut in_bursts = 0;
    for round in 0..300 {
        let (mut one, memory) = set_up(&mut random);
        // The same device again: its making draws the same numbers.
        let frames = frames(&mut random);
        let mut single = Side { memory, sent: Vec::new(), receipts: Receipts::default() };
        let mut burst = single.clone();
        let mut many = one.clone();
        for frame in &frames {
            count(&mut single.receipts, one.receive(&mut single.memory, frame));
        }
        burst.receipts = many.receive_burst(&mut burst.memory, frames.iter().map(|frame| &frame[..]));
        while one.transmit(&mut single.memory, 0, 1, |frame| single.sent.push(frame.to_vec())) > 0 {}
        many.transmit(&mut burst.memory, 0, u32::MAX, |frame| burst.sent.push(frame.to_vec()));
        in_bursts += burst.receipts.delivered;
        assert_eq!(single.receipts, burst.receipts, "round {round}");
        assert_eq!(single.sent, burst.sent, "round {round}");
        assert!(content(&mut single.memory) == content(&mut burst.memory), "round {round}: memory");
        assert_eq!(seen(&mut one), seen(&mut many), "round {round}");
    }
    assert!(in_bursts > 1000, "{in_bursts}");
}
