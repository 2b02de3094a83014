//! A driver that writes anything anywhere: the device stays within its memory, and goes on.

mod conversation;

use prony_ixgbe_regs::{self as regs, BAR_BYTES, REGISTERS};
use prony_softnic::{Device, DmaMemory, FRAME_BYTES_MAX, PagedMemory};

const MEMORY: u64 = 0x4000_0000;
const MEMORY_BYTES: u64 = 64 << 10;

/// Queues that are set up, of 16.
const QUEUES: u64 = 6;

/// Steps of the test; `PRONY_SOFTNIC_STEPS` has it take more.
const STEPS: u64 = 300_000;

fn steps() -> u64 {
    std::env::var("PRONY_SOFTNIC_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(STEPS)
}

/// Random numbers of the first of the tests.
struct Random(conversation::Random);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Values that something may go wrong with: small ones, ends of memory, all bits.
    fn value(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => MEMORY + self.below(MEMORY_BYTES),
            3 => MEMORY + MEMORY_BYTES - self.below(64),
            4 => self.below(600),
            5 => 1 << self.below(64),
            6 => 128 * self.below(40),
            _ => self.next(),
        }
    }
}

#[test]
fn no_register_and_no_descriptor_makes_the_device_panic_or_run_without_end() {
    let steps = steps();
    let mut random = Random(conversation::Random(82_599));
    let mut memory = PagedMemory::new();
    memory.map(MEMORY, MEMORY_BYTES);
    let mut device = Device::new([0, 1, 2, 3, 4, 5], 0);
    let (mut now_ns, mut sent, mut delivered) = (0, 0u64, 0u64);
    let mut frame: Vec<u8> = (0..FRAME_BYTES_MAX).map(|place| place as u8).collect();
    for step in 0..steps {
        now_ns += random.below(100_000);
        device.handle_timeout(now_ns);
        // A device that is never set up has nothing to do: most of the time it is in a useful state.
        if step % 128 == 0 {
            set_up(&mut device, &mut memory, now_ns, &mut random);
        }
        match random.below(16) {
            0 => {
                let register = &REGISTERS[random.below(REGISTERS.len() as u64) as usize];
                let offset = register.offset + random.below(register.count.into()) as u32 * register.stride;
                let value = random.value() as u32;
                device.write(now_ns, offset, value);
                assert!(device.read(offset) == device.value(offset) || register.access != regs::Access::ReadWrite);
            }
            1 => device.write(now_ns, random.below(2 * BAR_BYTES as u64) as u32, random.next() as u32),
            2..=4 => device.set_receive_tail(random.below(QUEUES) as usize, random.below(80) as u32),
            5..=7 => device.set_transmit_tail(random.below(QUEUES) as usize, random.below(80) as u32),
            8..=10 => {
                let place = MEMORY + 16 * random.below(MEMORY_BYTES / 16);
                memory.write_descriptor(place, descriptor(&mut random)).expect("the place lies in the memory");
            }
            11..=12 => {
                let bytes = random.below(1600) as usize;
                disturb(&mut frame, &mut random);
                let receipt = device.receive(&mut memory, &frame[..bytes]);
                delivered += u64::from(matches!(receipt, prony_softnic::Receipt::Delivered { .. }));
            }
            13 => {
                let bytes = random.below(FRAME_BYTES_MAX as u64 + 1) as usize;
                let number = random.below(80) as usize;
                device.receive_burst(&mut memory, std::iter::repeat_n(&frame[..bytes], number));
            }
            _ => {
                let limit = random.below(100) as u32;
                let used = device.transmit(&mut memory, random.below(16) as usize, limit, |frame| {
                    assert!((14..=FRAME_BYTES_MAX).contains(&frame.len()));
                    sent += 1;
                });
                assert!(used <= limit);
            }
        }
        device.take_interrupts(now_ns);
        while device.poll_event().is_some() {}
    }
    // Otherwise nothing was tried that matters.
    assert!(sent > steps / 10_000 && delivered > steps / 10_000, "{sent} sent, {delivered} delivered");
    // Memory that is not mapped was never made: PagedMemory has the pages that were mapped, and no others.
    let mut byte = [0];
    assert!(memory.read(MEMORY - 1, &mut byte).is_err() && memory.read(MEMORY + MEMORY_BYTES, &mut byte).is_err());
}

/// A header that the device looks into, with or without a tag, as it may be and as it may not be.
fn disturb(frame: &mut [u8], random: &mut Random) {
    let mut at = 12;
    if random.below(4) == 0 {
        frame[at..at + 2].copy_from_slice(&[0x81, 0x00]);
        at += 4;
    }
    let (ethertype, version) =
        [([0x08, 0x00], 0x45), ([0x86, 0xdd], 0x60), ([0x88, 0xb5], 0)][random.below(3) as usize];
    frame[at..at + 2].copy_from_slice(&ethertype);
    frame[at + 2] = version;
    // Protocols at both places, short lengths, and anything anywhere.
    let protocol = [0, 6, 17, 43, 44, 60, 132][random.below(7) as usize];
    (frame[at + 2 + 9], frame[at + 2 + 6]) = (protocol, protocol);
    for _ in 0..random.below(4) {
        frame[at + 2 + random.below(64) as usize] = random.value() as u8;
    }
}

/// Mostly one that a device can use, so that the queues go on; sometimes anything.
fn descriptor(random: &mut Random) -> [u64; 2] {
    if random.below(16) == 0 {
        return [random.value(), random.value() << 32 | random.value() & 0xffff_ffff];
    }
    if random.below(8) == 0 {
        let context = regs::TXD_DEXT | regs::TXD_DTYP_CONTEXT | random.next() as u32 & 0xffff;
        return [random.next(), u64::from(context) | (random.next() & 0x10) << 32];
    }
    let mut command = regs::TXD_DEXT | regs::TXD_DTYP_DATA | regs::TXD_RS | (random.below(2) as u32 * regs::TXD_EOP);
    let mut options = 0;
    if random.below(4) == 0 {
        command ^=
            random.next() as u32 & (regs::TXD_VLE | regs::TXD_DEXT | regs::TXL_IC | regs::TXD_RS | regs::TXL_CSO_MASK);
        options = random.next() & 0xffff_0390;
    }
    [MEMORY + random.below(MEMORY_BYTES - 2048), u64::from(command | random.below(300) as u32) | options << 32]
}

fn set_up(device: &mut Device, memory: &mut PagedMemory, now_ns: u64, random: &mut Random) {
    device.write(now_ns, regs::CTRL, regs::CTRL_RST);
    for place in (MEMORY..MEMORY + MEMORY_BYTES).step_by(16) {
        if random.below(4) == 0 {
            memory.write_descriptor(place, descriptor(random)).expect("the place lies in the memory");
        }
    }
    for (offset, value) in [
        (regs::FCTRL, regs::FCTRL_UPE | regs::FCTRL_MPE | regs::FCTRL_BAM),
        (regs::RXCTRL, regs::RXCTRL_RXEN),
        (regs::DMATXCTL, regs::DMATXCTL_TE),
        (regs::HLREG0, random.next() as u32),
        (regs::srrctl(0), random.value() as u32),
        (regs::MRQC, regs::MRQC_MRQE_RSS | random.next() as u32 & 0xffff_0000),
        (regs::RXCSUM, random.next() as u32),
        (regs::VLNCTRL, 0x8100 | random.next() as u32 & regs::VLNCTRL_CFI),
        (regs::rssrk(random.below(10) as u32), random.next() as u32),
        (regs::reta(random.below(32) as u32), random.next() as u32),
        (regs::ivar(0), random.next() as u32),
        (regs::eitr(random.below(24) as u32), random.next() as u32),
        (regs::IVAR_MISC, random.next() as u32),
        (regs::GPIE, random.next() as u32),
        (regs::EIMS, random.next() as u32),
    ] {
        device.write(now_ns, offset, value);
    }
    for queue in 0..QUEUES as u32 {
        let threshold = if random.below(2) == 0 { random.next() as u32 & regs::TXDCTL_WTHRESH_MASK } else { 0 };
        let [receive, transmit] = [MEMORY + random.below(MEMORY_BYTES), MEMORY + random.below(MEMORY_BYTES)];
        for (offset, value) in [
            (regs::rdbal(queue), receive as u32),
            (regs::rdlen(queue), 128 * random.below(12) as u32),
            (regs::rxdctl(queue), regs::RXDCTL_ENABLE | random.next() as u32 & regs::RXDCTL_VME),
            (regs::tdbal(queue), transmit as u32),
            (regs::tdlen(queue), 128 * random.below(12) as u32),
            (regs::txdctl(queue), regs::TXDCTL_ENABLE | threshold),
        ] {
            device.write(now_ns, offset, value);
        }
    }
    device.handle_timeout(now_ns + 10_000_000);
}

#[test]
fn no_conversation_of_numbers_near_earlier_ones_makes_the_device_panic_or_run_without_end() {
    let (mut sent, mut delivered) = (0, 0);
    for seed in 0..20 {
        let mut conversation = conversation::Conversation::new(conversation::Random(seed));
        for _ in 0..steps() / 20 {
            conversation.step();
        }
        let moved = conversation.moved();
        sent += moved.sent;
        delivered += moved.delivered;
    }
    // Otherwise nothing was tried that matters.
    assert!(sent > steps() / 100 && delivered > steps() / 100, "{sent} sent, {delivered} delivered");
}
