//! The device against a driver in the same process: what a driver of any language must be able to rely on.

use prony_ixgbe_regs as regs;
use prony_softnic::{
    Device, Direction, DmaMemory, Event, FRAME_BYTES_MAX, Generator, Malformed, PagedMemory, Receipt, Sizes, Target,
    Validator,
};

const MAC: [u8; 6] = [0x00, 0x1b, 0x21, 0x82, 0x59, 0x00];
const RECEIVE_RING: u64 = 0x10_0000;
const TRANSMIT_RING: u64 = 0x20_0000;
const BUFFERS: u64 = 0x100_0000;
const BUFFER_BYTES: u64 = 2048;

/// A driver that does what those in `subjects/forwarder` do, without their speed.
struct Driver {
    device: Device,
    memory: PagedMemory,
    entries: u32,
    receive_index: u32,
    transmit_index: u32,
    now_ns: u64,
}

impl Driver {
    /// Sets everything up, with rings whose first used descriptor is `start`.
    fn new(entries: u32, start: u32) -> Driver {
        let mut driver = Driver {
            device: Device::new(MAC, 0),
            memory: PagedMemory::new(),
            entries,
            receive_index: start,
            transmit_index: start,
            now_ns: 0,
        };
        driver.memory.map(RECEIVE_RING, u64::from(entries) * 16);
        driver.memory.map(TRANSMIT_RING, u64::from(entries) * 16);
        driver.memory.map(BUFFERS, u64::from(entries) * BUFFER_BYTES);
        driver.set_up(start);
        driver
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.device.write(self.now_ns, offset, value);
    }

    fn set_bits(&mut self, offset: u32, bits: u32) {
        let value = self.device.value(offset) | bits;
        self.write(offset, value);
    }

    fn wait(&mut self, ns: u64) {
        self.now_ns += ns;
        self.device.handle_timeout(self.now_ns);
    }

    fn set_up(&mut self, start: u32) {
        self.write(regs::CTRL, regs::CTRL_RST | regs::CTRL_LRST);
        assert_eq!(self.device.value(regs::CTRL), 0, "a reset ends");
        assert_ne!(self.device.value(regs::EEC) & regs::EEC_ARD, 0);
        assert_ne!(self.device.value(regs::RDRXCTL) & regs::RDRXCTL_DMAIDONE, 0);
        let mac = self.device.value(regs::ral(0)).to_le_bytes();
        assert_eq!(mac, MAC[..4]);
        self.set_bits(regs::FCTRL, regs::FCTRL_BAM);
        self.write(regs::srrctl(0), regs::SRRCTL_DESCTYPE_ADVANCED | regs::SRRCTL_DROP_EN | 2);
        for (base, [low, high, length]) in [
            (RECEIVE_RING, [regs::rdbal(0), regs::rdbah(0), regs::rdlen(0)]),
            (TRANSMIT_RING, [regs::tdbal(0), regs::tdbah(0), regs::tdlen(0)]),
        ] {
            self.write(low, base as u32);
            self.write(high, (base >> 32) as u32);
            self.write(length, self.entries * 16);
        }
        for index in 0..self.entries {
            self.give_buffer(index);
        }
        self.write(regs::RXCTRL, regs::RXCTRL_RXEN);
        self.write(regs::rdh(0), start);
        self.set_bits(regs::rxdctl(0), regs::RXDCTL_ENABLE);
        self.write(regs::rdt(0), (start + self.entries - 1) % self.entries);
        self.write(regs::DMATXCTL, regs::DMATXCTL_TE);
        self.write(regs::tdh(0), start);
        self.write(regs::tdt(0), start);
        self.set_bits(regs::txdctl(0), regs::TXDCTL_ENABLE);
        self.wait(10_000_000);
        assert!(self.device.is_link_up());
    }

    fn buffer(index: u32) -> u64 {
        BUFFERS + u64::from(index) * BUFFER_BYTES
    }

    fn give_buffer(&mut self, index: u32) {
        let place = RECEIVE_RING + u64::from(index) * 16;
        self.memory.write_descriptor(place, [Driver::buffer(index), 0]).expect("the ring is mapped");
    }

    /// Takes one filled buffer: its bytes, and whether the frame ends in it.
    fn take(&mut self) -> Option<(Vec<u8>, bool)> {
        let place = RECEIVE_RING + u64::from(self.receive_index) * 16;
        let [_, status] = self.memory.read_descriptor(place).expect("the ring is mapped");
        if status as u32 & regs::RXD_DD == 0 {
            return None;
        }
        let mut bytes = vec![0; (status >> 32) as usize & 0xffff];
        self.memory.read(Driver::buffer(self.receive_index), &mut bytes).expect("buffers are mapped");
        self.give_buffer(self.receive_index);
        self.write(regs::rdt(0), self.receive_index);
        self.receive_index = (self.receive_index + 1) % self.entries;
        Some((bytes, status as u32 & regs::RXD_EOP != 0))
    }

    fn descriptor(&mut self, address: u64, bytes: u32, flags: u32) {
        let command = regs::TXD_DEXT | regs::TXD_DTYP_DATA | regs::TXD_RS | regs::TXD_IFCS | flags | bytes;
        let words = [address, u64::from(command) | u64::from(bytes << regs::TXD_OLINFO_PAYLEN_SHIFT) << 32];
        let place = TRANSMIT_RING + u64::from(self.transmit_index) * 16;
        self.memory.write_descriptor(place, words).expect("the ring is mapped");
        self.transmit_index = (self.transmit_index + 1) % self.entries;
    }

    /// Has the device send everything; the frames that it sent.
    fn send(&mut self) -> Vec<Vec<u8>> {
        self.write(regs::tdt(0), self.transmit_index);
        let mut sent = Vec::new();
        self.device.transmit(&mut self.memory, 0, u32::MAX, |frame| sent.push(frame.to_vec()));
        sent
    }

    fn is_done(&mut self, index: u32) -> bool {
        let [_, status] = self.memory.read_descriptor(TRANSMIT_RING + u64::from(index) * 16).expect("it is mapped");
        (status >> 32) as u32 & regs::TXD_WB_DD != 0
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.device.poll_event()).collect()
    }

    fn has_event(&mut self, of: impl Fn(&Event) -> bool) -> bool {
        self.events().iter().any(of)
    }
}

fn generator(text: &str) -> Generator {
    Generator::new(0, MAC, text.parse::<Sizes>().expect("sizes"))
}

#[test]
fn frames_go_round_rings_that_start_at_every_offset() {
    for start in 0..16 {
        let mut driver = Driver::new(16, start);
        let (mut generator, mut validator) = (generator("60..300"), Validator::new(0, MAC));
        for round in 0..40 {
            for _ in 0..round % 9 + 1 {
                let frame = generator.next_frame(driver.now_ns).to_vec();
                assert_eq!(driver.device.receive(&mut driver.memory, &frame), Receipt::Delivered { queue: 0 });
            }
            while let Some((bytes, end)) = driver.take() {
                assert!(end);
                let index = driver.transmit_index;
                driver.memory.write(Driver::buffer(index), &bytes).expect("buffers are mapped");
                driver.descriptor(Driver::buffer(index), bytes.len() as u32, regs::TXD_EOP);
                for frame in driver.send() {
                    validator.handle_frame(driver.now_ns, &frame);
                }
                assert!(driver.is_done(index));
            }
        }
        let counts = *validator.counts();
        assert_eq!(
            (counts.received, counts.corrupted + counts.reordered + counts.duplicates),
            (generator.sequence(), 0)
        );
        assert_eq!(u64::from(driver.device.value(regs::GPRC)), generator.sequence());
        assert_eq!(driver.device.read(regs::GPTC), driver.device.value(regs::GPRC));
        assert_eq!(driver.device.value(regs::GPTC), 0, "a read clears it");
    }
}

#[test]
fn a_full_ring_loses_frames_that_are_counted_and_nothing_else() {
    let mut driver = Driver::new(16, 5);
    let mut generator = generator("60");
    let receipts: Vec<Receipt> =
        (0..20).map(|n| driver.device.receive(&mut driver.memory, generator.next_frame(n))).collect();
    let missed = receipts.iter().filter(|&&receipt| receipt == Receipt::Missed).count();
    assert_eq!((missed, driver.device.read(regs::qprdc(0)), driver.device.read(regs::qprdc(0))), (5, 5, 0));
    // A queue that does not drop leaves frames in the packet buffer, where later ones find no room.
    assert_eq!(driver.device.read(regs::rxmpc(0)), 0);
    driver.write(regs::srrctl(0), regs::SRRCTL_DESCTYPE_ADVANCED | 2);
    let receipts = (0..5).map(|n| driver.device.receive(&mut driver.memory, generator.next_frame(n)));
    assert_eq!(receipts.filter(|&receipt| receipt == Receipt::Missed).count(), 5);
    assert_eq!((driver.device.read(regs::rxmpc(0)), driver.device.read(regs::rxmpc(0))), (5, 0));
    driver.write(regs::srrctl(0), regs::SRRCTL_DESCTYPE_ADVANCED | regs::SRRCTL_DROP_EN | 2);
    // One descriptor that is given back is one frame that has room.
    driver.take().expect("the first frame");
    assert_eq!(driver.device.receive(&mut driver.memory, generator.next_frame(0)), Receipt::Delivered { queue: 0 });
    assert_eq!(driver.device.receive(&mut driver.memory, generator.next_frame(0)), Receipt::Missed);
    assert_eq!(std::iter::from_fn(|| driver.take()).count(), 15);
}

#[test]
fn a_pulled_cable_stops_both_directions_until_it_is_back() {
    let mut driver = Driver::new(16, 0);
    let mut generator = generator("60");
    driver.device.set_cable(driver.now_ns, false);
    assert_eq!(driver.device.value(regs::LINKS) & regs::LINKS_UP, 0);
    assert_eq!(driver.device.receive(&mut driver.memory, generator.next_frame(0)), Receipt::Down);
    driver.descriptor(Driver::buffer(0), 60, regs::TXD_EOP);
    assert!(driver.send().is_empty() && driver.is_done(0), "a frame into a dead link is gone, and its buffer free");
    driver.device.set_cable(driver.now_ns, true);
    driver.wait(10_000_000);
    let links = driver.device.value(regs::LINKS);
    assert_eq!(links & (regs::LINKS_UP | regs::LINKS_SPEED_MASK), regs::LINKS_UP | regs::LINKS_SPEED_10G);
    assert_eq!(driver.device.receive(&mut driver.memory, generator.next_frame(0)), Receipt::Delivered { queue: 0 });
}

#[test]
fn a_reset_in_the_middle_of_everything_leaves_a_device_that_works_again() {
    let mut driver = Driver::new(16, 3);
    let mut generator = generator("60");
    for _ in 0..7 {
        driver.device.receive(&mut driver.memory, generator.next_frame(0));
    }
    driver.descriptor(Driver::buffer(1), 60, regs::TXD_EOP);
    driver.write(regs::tdt(0), driver.transmit_index);
    driver.write(regs::CTRL, regs::CTRL_RST);
    assert_eq!(driver.device.enabled_queues(Direction::Receive) | driver.device.enabled_queues(Direction::Transmit), 0);
    assert_eq!(driver.device.receive(&mut driver.memory, generator.next_frame(0)), Receipt::Down);
    assert!(driver.send().is_empty());
    assert!(driver.has_event(|event| *event == Event::Reset));
    (driver.receive_index, driver.transmit_index) = (0, 0);
    driver.set_up(0);
    assert_eq!(driver.device.receive(&mut driver.memory, generator.next_frame(0)), Receipt::Delivered { queue: 0 });
    assert!(driver.take().is_some());
    driver.descriptor(Driver::buffer(0), 60, regs::TXD_EOP);
    assert_eq!(driver.send().len(), 1);
}

#[test]
fn an_address_that_is_no_dma_memory_stops_the_queue_and_writes_nothing() {
    for (address, target) in [(0xdead_0000, Target::Buffer), (u64::MAX - 10, Target::Buffer)] {
        let mut driver = Driver::new(16, 0);
        driver.memory.write_descriptor(RECEIVE_RING, [address, 0]).expect("the ring is mapped");
        let mut generator = generator("60");
        let before = driver.memory.clone();
        assert_eq!(driver.device.receive(&mut driver.memory, generator.next_frame(0)), Receipt::Faulted);
        assert_eq!(format!("{before:?}"), format!("{:?}", driver.memory), "nothing was written");
        assert_eq!(driver.device.receive(&mut driver.memory, generator.next_frame(0)), Receipt::Missed);
        assert!(driver.has_event(|event| matches!(event, Event::Fault { target: found, .. } if *found == target)));
        driver.descriptor(address, 60, regs::TXD_EOP);
        assert!(driver.send().is_empty() && !driver.is_done(0));
        assert!(driver.has_event(|event| matches!(event, Event::Fault { direction: Direction::Transmit, .. })));
    }
}

#[test]
fn a_buffer_that_straddles_the_end_of_dma_memory_is_not_touched_at_all() {
    let mut driver = Driver::new(16, 0);
    let end = BUFFERS + 16 * BUFFER_BYTES;
    driver.memory.write_descriptor(RECEIVE_RING, [end - 30, 0]).expect("the ring is mapped");
    let mut generator = generator("60");
    assert_eq!(driver.device.receive(&mut driver.memory, generator.next_frame(0)), Receipt::Faulted);
    let mut tail = [0xff; 30];
    driver.memory.read(end - 30, &mut tail).expect("it is mapped");
    assert_eq!(tail, [0; 30]);
    // A ring that ends outside: the queue stands still at the first descriptor that is not there.
    let mut driver = Driver::new(512, 0);
    driver.memory.unmap(RECEIVE_RING + 4096, 4096);
    let last = (0..257).map(|n| driver.device.receive(&mut driver.memory, generator.next_frame(n))).last();
    assert_eq!(last, Some(Receipt::Faulted));
    assert!(driver.has_event(|event| matches!(event, Event::Fault { target: Target::Descriptor, index: 256, .. })));
}

#[test]
fn lengths_that_no_wire_takes_are_reported_and_the_queue_goes_on() {
    let mut driver = Driver::new(128, 0);
    driver.memory.map(BUFFERS, 1 << 20);
    let long = FRAME_BYTES_MAX as u32 + 1;
    for (bytes, problem) in [(0, Malformed::ZeroLength), (long, Malformed::TooLong), (0xffff, Malformed::TooLong)] {
        driver.descriptor(BUFFERS, bytes, regs::TXD_EOP);
        assert!(driver.send().is_empty());
        let index = (driver.transmit_index + 127) % 128;
        assert!(driver.is_done(index), "{bytes}");
        assert!(
            driver.has_event(|event| matches!(event, Event::Malformed { problem: found, .. } if *found == problem))
        );
        driver.descriptor(BUFFERS, 60, regs::TXD_EOP);
        assert_eq!(driver.send().len(), 1, "behind {bytes}");
    }
    let mut generator = generator("1518");
    let longest = generator.next_frame(0).to_vec();
    assert_eq!(driver.device.receive(&mut driver.memory, &longest), Receipt::Delivered { queue: 0 });
    let longer = [&longest[..], &[0]].concat();
    assert_eq!(driver.device.receive(&mut driver.memory, &longer), Receipt::Filtered);
    driver.write(regs::HLREG0, 0);
    // Without padding, what is shorter than a header has no address.
    driver.descriptor(BUFFERS, 13, regs::TXD_EOP);
    assert!(driver.send().is_empty());
    assert!(driver.has_event(|event| matches!(event, Event::Malformed { problem: Malformed::TooShort, .. })));
}

#[test]
fn a_frame_without_an_end_is_given_up_and_the_next_one_is_sent() {
    let mut driver = Driver::new(128, 0);
    for _ in 0..100 {
        driver.descriptor(BUFFERS, 2048, 0);
    }
    assert!(driver.send().is_empty());
    assert!(driver.has_event(|event| matches!(event, Event::Malformed { problem: Malformed::TooLong, .. })));
    driver.descriptor(BUFFERS, 60, regs::TXD_EOP);
    assert!(driver.send().is_empty(), "it ends the one that was given up");
    driver.descriptor(BUFFERS, 60, regs::TXD_EOP);
    assert_eq!(driver.send().len(), 1);
}

#[test]
fn frames_of_several_descriptors_are_whole_in_both_directions() {
    let mut driver = Driver::new(16, 14);
    driver.write(regs::srrctl(0), regs::SRRCTL_DESCTYPE_ADVANCED | 1);
    let mut generator = generator("1514");
    let frame = generator.next_frame(0).to_vec();
    assert_eq!(driver.device.receive(&mut driver.memory, &frame), Receipt::Delivered { queue: 0 });
    let (first, is_end) = driver.take().expect("the first KiB");
    let (second, is_end_too) = driver.take().expect("the rest");
    assert_eq!((first.len(), is_end, second.len(), is_end_too), (1024, false, 490, true));
    assert_eq!([first, second].concat(), frame);
    for (part, place) in frame.chunks(500).zip(0..) {
        driver.memory.write(Driver::buffer(place), part).expect("buffers are mapped");
        let end = if place == 3 { regs::TXD_EOP } else { 0 };
        driver.descriptor(Driver::buffer(place), part.len() as u32, end);
        if place == 1 {
            assert!(driver.send().is_empty(), "the frame is not over");
        }
    }
    assert_eq!(driver.send(), [frame]);
}

#[test]
fn frames_for_others_need_promiscuous_mode() {
    let mut driver = Driver::new(16, 0);
    let frame = |to: [u8; 6]| {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&to);
        frame
    };
    let (other, multicast) = (frame([2, 0, 0, 0, 0, 9]), frame([0x33, 0x33, 0, 0, 0, 1]));
    assert_eq!(driver.device.receive(&mut driver.memory, &other), Receipt::Filtered);
    assert_eq!(driver.device.receive(&mut driver.memory, &multicast), Receipt::Filtered);
    assert_eq!(driver.device.receive(&mut driver.memory, &frame([0xff; 6])), Receipt::Delivered { queue: 0 });
    assert_eq!(driver.device.receive(&mut driver.memory, &frame(MAC)), Receipt::Delivered { queue: 0 });
    driver.set_bits(regs::FCTRL, regs::FCTRL_UPE | regs::FCTRL_MPE);
    assert_eq!(driver.device.receive(&mut driver.memory, &other), Receipt::Delivered { queue: 0 });
    assert_eq!(driver.device.receive(&mut driver.memory, &multicast), Receipt::Delivered { queue: 0 });
}

#[test]
fn legacy_descriptors_are_written_back_in_their_own_format() {
    let mut driver = Driver::new(16, 0);
    driver.write(regs::srrctl(0), 2);
    let mut generator = generator("77");
    driver.device.receive(&mut driver.memory, generator.next_frame(0));
    let words = driver.memory.read_descriptor(RECEIVE_RING).expect("it is mapped");
    assert_eq!(words, [Driver::buffer(0), 77 | 3 << 32]);
}

#[test]
fn the_eeprom_has_a_checksum_and_nothing_else() {
    let mut device = Device::new(MAC, 0);
    let mut sum = 0u16;
    for address in 0..=0x3f {
        device.write(0, regs::EERD, address << regs::EERD_ADDR_SHIFT | regs::EERD_START);
        let found = device.value(regs::EERD);
        assert_eq!(found & (regs::EERD_DONE | regs::EERD_START), regs::EERD_DONE, "{address}");
        assert_eq!((found & regs::EERD_ADDR_MASK) >> regs::EERD_ADDR_SHIFT, address);
        sum = sum.wrapping_add((found >> regs::EERD_DATA_SHIFT) as u16);
    }
    assert_eq!(sum, 0xbaba);
}

#[test]
fn a_device_that_is_to_stop_dma_says_that_it_did() {
    let mut device = Device::new(MAC, 0);
    assert_ne!(device.value(regs::STATUS) & regs::STATUS_MASTER_ENABLE, 0);
    device.write(0, regs::CTRL, regs::CTRL_GIO_MASTER_DISABLE);
    assert_eq!(device.value(regs::STATUS) & regs::STATUS_MASTER_ENABLE, 0);
    device.write(0, regs::CTRL, 0);
    assert_ne!(device.value(regs::STATUS) & regs::STATUS_MASTER_ENABLE, 0);
}

#[test]
fn a_search_for_a_phy_ends_at_each_address_without_one() {
    let mut device = Device::new(MAC, 0);
    for phy in 0..32 {
        let command = phy << 21 | regs::MSCA_READ | regs::MSCA_MDICMD;
        device.write(0, regs::MSCA, command);
        assert_eq!(device.value(regs::MSCA), command & !regs::MSCA_MDICMD);
        assert_eq!(device.value(regs::MSRWD) >> regs::MSRWD_READ_DATA_SHIFT, 0xffff);
    }
}

#[test]
fn a_backplane_begins_to_negotiate_where_the_driver_has_it_negotiate() {
    let mut device = Device::new(MAC, 0);
    let serial = device.value(regs::AUTOC) | regs::AUTOC_RESTART_AN;
    device.write(0, regs::AUTOC, serial ^ regs::AUTOC_LMS_NEGOTIATES);
    assert_ne!(device.value(regs::ANLP1) & regs::ANLP1_STATE_MASK, 0);
    device.write(0, regs::AUTOC, serial);
    assert_eq!(device.value(regs::ANLP1) & regs::ANLP1_STATE_MASK, 0);
    assert_eq!(device.value(regs::AUTOC) & regs::AUTOC_RESTART_AN, 0);
}

#[test]
fn a_reset_clears_what_was_written_where_no_register_is() {
    let mut device = Device::new(MAC, 0);
    device.write(0, 0x7_0000, 1);
    assert_eq!(device.value(0x7_0000), 1);
    device.write(0, regs::CTRL, regs::CTRL_RST);
    assert_eq!(device.value(0x7_0000), 0);
}
