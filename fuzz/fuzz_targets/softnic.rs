//! A driver that writes registers, descriptors and frames as the input says: `cargo +nightly fuzz run softnic`.
//!
//! The device neither panics nor reaches beyond the driver's memory, uses no more descriptors than it was allowed, and sends
//! only what can be a frame.
//!
//! At its end the process says how many steps it made: one is a register write, a descriptor, a frame, or a moment.
#![no_main]

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use libfuzzer_sys::fuzz_target;
use prony_ixgbe_regs::{BAR_BYTES, REGISTERS};
use prony_softnic::{Device, DmaMemory, FRAME_BYTES_MAX, PagedMemory, Receipt, Validator};

const MEMORY: u64 = 0x4000_0000;
const MEMORY_BYTES: u64 = 32 << 10;
/// Descriptors that one call may use.
const LIMIT: u32 = 64;

static STEPS: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn tell_steps() {
    eprintln!("{} steps", STEPS.load(Ordering::Relaxed));
}

/// Has the number of steps told when the process ends.
fn count_steps() {
    static REGISTERED: Once = Once::new();
    // SAFETY: `atexit` is C's own; the function that it is given lives as long as the program and does not unwind.
    REGISTERED.call_once(|| {
        unsafe { atexit(tell_steps) };
    });
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// A number of so many bytes; what is missing is 0.
    fn number(&mut self, bytes: usize) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte().unwrap_or(0)))
    }

    /// An address in the driver's memory most of the time.
    fn address(&mut self) -> u64 {
        match self.number(2) {
            0xff00.. => self.number(8),
            place => MEMORY + place % MEMORY_BYTES,
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    count_steps();
    let mut input = Input(bytes);
    let mut memory = PagedMemory::new();
    memory.map(MEMORY, MEMORY_BYTES);
    let mut device = Device::new([0, 1, 2, 3, 4, 5], 0);
    let mut validator = Validator::new(0, device.mac());
    let mut frame = vec![0; FRAME_BYTES_MAX + 1];
    let mut now_ns = 0;
    while let Some(step) = input.byte() {
        STEPS.fetch_add(1, Ordering::Relaxed);
        match step % 11 {
            0 | 1 => {
                let register = &REGISTERS[input.number(1) as usize % REGISTERS.len()];
                let index = input.number(1) as u32 % register.count;
                device.write(now_ns, register.offset + index * register.stride, input.number(4) as u32);
            }
            // The base of a ring, in the driver's memory.
            2 => {
                let register =
                    REGISTERS.iter().find(|register| register.name == ["RDBAL", "TDBAL"][usize::from(step > 99)]);
                let register = register.expect("both are in the table");
                device.write(now_ns, register.offset, input.address() as u32);
            }
            3 => device.write(now_ns, input.number(3) as u32 % (2 * BAR_BYTES as u32), input.number(4) as u32),
            4 => device.set_receive_tail(input.number(1) as usize % 16, input.number(2) as u32),
            5 => device.set_transmit_tail(input.number(1) as usize % 16, input.number(2) as u32),
            6 => {
                let place = MEMORY + input.number(2) % (MEMORY_BYTES / 16) * 16;
                let words = [input.address(), input.number(8)];
                memory.write_descriptor(place, words).expect("it lies in the driver's memory");
            }
            7 => {
                let length = input.number(2) as usize % (frame.len() + 1);
                if step > 199 {
                    device.receive_raw(&mut memory, &frame[..length], input.number(2) as u16, step > 219);
                    continue;
                }
                if step > 160 {
                    let number = input.number(1) as usize % 70;
                    let receipts = device.receive_burst(&mut memory, std::iter::repeat_n(&frame[..length], number));
                    assert_eq!(receipts.delivered + receipts.missed + receipts.refused, number as u64);
                    continue;
                }
                if let Receipt::Delivered { queue } = device.receive(&mut memory, &frame[..length]) {
                    assert!(queue < 16);
                }
            }
            8 => {
                let queue = input.number(1) as usize % 16;
                let used = device.transmit(&mut memory, queue, LIMIT, |frame| {
                    assert!((14..=FRAME_BYTES_MAX).contains(&frame.len()));
                    validator.handle_frame(now_ns, frame);
                });
                assert!(used <= LIMIT);
            }
            // Headers that the device looks into.
            9 => {
                let from = input.number(1) as usize % 64;
                for byte in &mut frame[from..from + usize::from(step / 11)] {
                    *byte = input.byte().unwrap_or(0);
                }
            }
            _ => {
                now_ns += input.number(3);
                device.handle_timeout(now_ns);
                device.set_cable(now_ns, step < 200);
                device.set_tracing(step % 3 == 0);
                for register in REGISTERS {
                    device.read(register.offset);
                }
            }
        }
        while device.poll_event().is_some() {}
    }
});
