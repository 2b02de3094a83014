//! What the device does with what is in frames: queues by hash, VLAN tags, checksums; and when it says that it has sent them.

use prony_ixgbe_regs as regs;
use prony_softnic::{Device, DmaMemory, Event, Malformed, PagedMemory, Receipt};

const MAC: [u8; 6] = [0x00, 0x1b, 0x21, 0x82, 0x59, 0x00];
const ENTRIES: u32 = 32;
const BUFFER_BYTES: u64 = 2048;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A driver with four receive queues and one transmit queue.
struct Driver {
    device: Device,
    memory: PagedMemory,
    /// By receive queue: the next descriptor.
    taken: [u32; 4],
    transmit_index: u32,
    now_ns: u64,
}

impl Driver {
    fn new() -> Driver {
        let (device, memory) = (Device::new(MAC, 0), PagedMemory::new());
        let mut driver = Driver { device, memory, taken: [0; 4], transmit_index: 0, now_ns: 0 };
        driver.write(regs::RXCTRL, regs::RXCTRL_RXEN);
        driver.write(regs::DMATXCTL, regs::DMATXCTL_TE | 0x8100 << regs::DMATXCTL_VT_SHIFT);
        for queue in 0..4 {
            driver.memory.map(ring(queue), u64::from(ENTRIES) * 16);
            driver.memory.map(buffer(queue, 0), u64::from(ENTRIES) * BUFFER_BYTES);
            for index in 0..ENTRIES {
                let place = ring(queue) + u64::from(index) * 16;
                driver.memory.write_descriptor(place, [buffer(queue, index), 0]).expect("the ring is mapped");
            }
            driver.write(regs::srrctl(queue), regs::SRRCTL_DESCTYPE_ADVANCED | regs::SRRCTL_DROP_EN | 2);
            driver.write(regs::rdbal(queue), ring(queue) as u32);
            driver.write(regs::rdlen(queue), ENTRIES * 16);
            driver.write(regs::rxdctl(queue), regs::RXDCTL_ENABLE);
            driver.write(regs::rdt(queue), ENTRIES - 1);
        }
        driver.memory.map(ring(9), u64::from(ENTRIES) * 16);
        driver.memory.map(buffer(9, 0), u64::from(ENTRIES) * BUFFER_BYTES);
        driver.write(regs::tdbal(0), ring(9) as u32);
        driver.write(regs::tdlen(0), ENTRIES * 16);
        driver.write(regs::txdctl(0), regs::TXDCTL_ENABLE);
        driver.device.handle_timeout(10_000_000);
        assert!(driver.device.is_link_up());
        driver
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.device.write(self.now_ns, offset, value);
    }

    fn receive(&mut self, frame: &[u8]) -> Receipt {
        self.device.receive(&mut self.memory, frame)
    }

    /// The frame at the front of a queue, and the four words of its descriptor.
    fn take(&mut self, queue: u32) -> (Vec<u8>, [u32; 4]) {
        let index = self.taken[queue as usize];
        self.taken[queue as usize] = (index + 1) % ENTRIES;
        let words = self.memory.read_descriptor(ring(queue) + u64::from(index) * 16).expect("the ring is mapped");
        let words = [words[0] as u32, (words[0] >> 32) as u32, words[1] as u32, (words[1] >> 32) as u32];
        assert_eq!(words[2] & 3, regs::RXD_DD | regs::RXD_EOP);
        let mut frame = vec![0; (words[3] & regs::RXD_LENGTH_BYTES_MASK) as usize];
        self.memory.read(buffer(queue, index), &mut frame).expect("buffers are mapped");
        let place = ring(queue) + u64::from(index) * 16;
        self.memory.write_descriptor(place, [buffer(queue, index), 0]).expect("the ring is mapped");
        self.write(regs::rdt(queue), index);
        (frame, words)
    }

    /// Receives a frame into the first queue; what is in the buffer, and the descriptor.
    fn deliver(&mut self, frame: &[u8]) -> (Vec<u8>, [u32; 4]) {
        assert_eq!(self.receive(frame), Receipt::Delivered { queue: 0 });
        self.take(0)
    }

    fn descriptor(&mut self, words: [u32; 4]) {
        let place = ring(9) + u64::from(self.transmit_index) * 16;
        let words = [u64::from(words[0]) | u64::from(words[1]) << 32, u64::from(words[2]) | u64::from(words[3]) << 32];
        self.memory.write_descriptor(place, words).expect("the ring is mapped");
        self.transmit_index = (self.transmit_index + 1) % ENTRIES;
    }

    /// A context: lengths of Ethernet and IP headers, VLAN tag, transport protocol.
    fn context(&mut self, number: u32, mac_bytes: u32, ip_bytes: u32, tag: u32, command: u32) {
        let lengths = ip_bytes | mac_bytes << regs::TXC_LENGTHS_MACLEN_SHIFT | tag << regs::TXC_LENGTHS_VLAN_SHIFT;
        self.descriptor([lengths, 0, regs::TXD_DEXT | regs::TXD_DTYP_CONTEXT | command, number << 4]);
    }

    /// A frame in one buffer, whose descriptor has these bits beside what it needs.
    fn frame(&mut self, frame: &[u8], command: u32, options: u32) {
        let to = buffer(9, self.transmit_index);
        self.memory.write(to, frame).expect("buffers are mapped");
        let command = command | regs::TXD_DEXT | regs::TXD_DTYP_DATA | regs::TXD_EOP | frame.len() as u32;
        self.descriptor([to as u32, (to >> 32) as u32, command, options]);
    }

    fn send(&mut self) -> Vec<Vec<u8>> {
        self.write(regs::tdt(0), self.transmit_index);
        let mut sent = Vec::new();
        self.device.transmit(&mut self.memory, 0, u32::MAX, |frame| sent.push(frame.to_vec()));
        sent
    }

    /// Descriptors of the transmit ring that have DD set.
    fn done(&mut self) -> Vec<u32> {
        let is_done = |memory: &mut PagedMemory, index: u32| {
            let [_, words] = memory.read_descriptor(ring(9) + u64::from(index) * 16).expect("the ring is mapped");
            (words >> 32) as u32 & regs::TXD_WB_DD != 0 && words as u32 == 0
        };
        (0..ENTRIES).filter(|&index| is_done(&mut self.memory, index)).collect()
    }

    fn value(&mut self, offset: u32) -> u32 {
        self.device.value(offset)
    }
}

fn ring(queue: u32) -> u64 {
    0x10_0000 + u64::from(queue) * 0x1_0000
}

fn buffer(queue: u32, index: u32) -> u64 {
    0x100_0000 + u64::from(queue) * 0x10_0000 + u64::from(index) * BUFFER_BYTES
}

/// A frame of IPv4 with both checksums, to `MAC`, without a VLAN tag.
fn ipv4(protocol: u8, source: [u8; 4], ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let mut transport = [ports[0].to_be_bytes(), ports[1].to_be_bytes()].concat();
    let place = match protocol {
        TCP => {
            transport.extend([0; 8]);
            transport.extend([0x50, 0x10, 1, 0, 0, 0, 0, 0]);
            16
        }
        _ => {
            transport.extend((8 + payload.len() as u16).to_be_bytes());
            transport.extend([0, 0]);
            6
        }
    };
    transport.extend(payload);
    let mut header = vec![0x45, 0];
    header.extend((20 + transport.len() as u16).to_be_bytes());
    header.extend([0xbe, 0xef, 0, 0, 64, protocol, 0, 0]);
    header.extend([source, [10, 0, 0, 2]].concat());
    let sum = complement(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    let pseudo = [&header[12..20], &[0, protocol], &(transport.len() as u16).to_be_bytes(), &transport].concat();
    let sum = complement(&pseudo);
    transport[place..place + 2].copy_from_slice(&sum.to_be_bytes());
    [&MAC[..], &[2, 0, 0, 0, 0, 1, 8, 0], &header, &transport].concat()
}

/// RFC 1071, word by word.
fn complement(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&byte| u32::from(byte));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !sum as u16
}

/// The same frame with a VLAN tag.
fn tagged(frame: &[u8], tag: u16) -> Vec<u8> {
    [&frame[..12], &[0x81, 0x00], &tag.to_be_bytes(), &frame[12..]].concat()
}

#[test]
fn packets_go_to_the_queue_of_their_hash_and_flows_stay_together() {
    let mut driver = Driver::new();
    let key = [0xda56_5a6d, 0xc20e_5b25, 0x3d25_6741, 0xb08f_a343, 0xcb2b_cad0, 0xb430_7bae, 0xa32d_cb77, 0x0cf2_3080];
    for (word, index) in key.into_iter().chain([0x3bb7_426a, 0xfa01_acbe]).zip(0..) {
        driver.write(regs::rssrk(index), word);
    }
    for index in 0..32 {
        driver.write(regs::reta(index), 0x0302_0100);
    }
    driver.write(regs::RXCSUM, regs::RXCSUM_PCSD);
    // The first vector of the verification suite has another destination than these frames: any packet without RSS is first.
    let frame = ipv4(TCP, [66, 9, 149, 187], [2794, 1766], b"");
    assert_eq!(driver.deliver(&frame).1[..2], [regs::RXD_INFO_IPV4 | regs::RXD_INFO_TCP, 0]);
    driver.write(regs::MRQC, regs::MRQC_MRQE_RSS | regs::MRQC_TCP_IPV4 | regs::MRQC_IPV4);
    let mut frame = ipv4(TCP, [66, 9, 149, 187], [2794, 1766], b"");
    frame[30..34].copy_from_slice(&[161, 142, 100, 80]);
    let Receipt::Delivered { queue } = driver.receive(&frame) else { panic!("it is not delivered") };
    assert_eq!(queue, 0x51cc_c178 % 4);
    let (_, words) = driver.take(queue);
    assert_eq!(words[..2], [regs::RXD_INFO_IPV4 | regs::RXD_INFO_TCP | regs::RSS_TYPE_TCP_IPV4, 0x51cc_c178]);
    let mut seen = [0; 4];
    for flow in 0..64u16 {
        let frame = ipv4(TCP, [10, 1, 1, 1], [5000 + flow, 80], b"a");
        let Receipt::Delivered { queue } = driver.receive(&frame) else { panic!("it is not delivered") };
        let (_, words) = driver.take(queue);
        assert_eq!((words[0] & regs::RXD_INFO_RSS_TYPE_MASK, words[1] % 4), (regs::RSS_TYPE_TCP_IPV4, queue));
        assert_eq!(driver.receive(&frame), Receipt::Delivered { queue }, "a flow stays in its queue");
        driver.take(queue);
        seen[queue as usize] += 1;
    }
    assert!(seen.iter().all(|&flows| flows > 4), "{seen:?}");
    // A queue that is not set up drops its packets, and the others go on.
    driver.write(regs::rqsmr(0), 0x0302_0100);
    driver.write(regs::rxdctl(2), 0);
    let frames: Vec<_> = (0..64u16).map(|flow| ipv4(TCP, [10, 1, 1, 1], [5000 + flow, 80], b"a")).collect();
    let lost = frames.iter().filter(|frame| driver.receive(frame) == Receipt::Missed).count();
    assert_eq!((lost, driver.value(regs::qprdc(2))), (seen[2], seen[2] as u32));
    assert_eq!(driver.value(regs::qprc(2)), 2 * seen[2] as u32 + u32::from(queue == 2));
    // Frames that are not of IP have no hash, and go to the first queue.
    let frame = [&MAC[..], &[2, 0, 0, 0, 0, 1, 0x88, 0xb5], &[0; 46]].concat();
    driver.take(0);
    assert_eq!(driver.receive(&frame), Receipt::Delivered { queue: 0 });
}

#[test]
fn a_vlan_tag_goes_into_the_descriptor_if_the_queue_strips_it() {
    let mut driver = Driver::new();
    let frame = ipv4(UDP, [10, 0, 0, 1], [1, 2], &[7; 40]);
    let with_tag = tagged(&frame, 0x6123);
    let (found, words) = driver.deliver(&with_tag);
    assert_eq!((found, words[2] & regs::RXD_VP, words[3] >> 16), (with_tag.clone(), 0, 0));
    assert_eq!(words[0], regs::RXD_INFO_IPV4 | regs::RXD_INFO_UDP, "the device looks behind the tag");
    driver.write(regs::rxdctl(0), regs::RXDCTL_ENABLE | regs::RXDCTL_VME);
    let (found, words) = driver.deliver(&with_tag);
    assert_eq!((found, words[2] & regs::RXD_VP, words[3] >> 16), (frame.clone(), regs::RXD_VP, 0x6123));
    let (found, words) = driver.deliver(&frame);
    assert_eq!((found, words[2] & regs::RXD_VP, words[3] >> 16), (frame.clone(), 0, 0));
    assert_eq!(driver.value(regs::GORCL) as usize, 2 * (with_tag.len() + 4) + frame.len() + 4, "bytes of the wire");
    // Another type of tags.
    driver.write(regs::VLNCTRL, 0x88a8);
    assert_eq!(driver.deliver(&with_tag).0, with_tag);
    let cut = [&MAC[..], &[2, 0, 0, 0, 0, 1, 0x88, 0xa8]].concat();
    assert_eq!(driver.deliver(&cut).0, cut, "no room for a tag");
}

#[test]
fn only_the_vlans_of_the_filter_table_are_received() {
    let mut driver = Driver::new();
    let frame = ipv4(UDP, [10, 0, 0, 1], [1, 2], b"");
    driver.write(regs::VLNCTRL, 0x8100 | regs::VLNCTRL_VFE);
    driver.write(regs::vfta(0x123 / 32), 1 << (0x123 % 32));
    assert_eq!(driver.receive(&tagged(&frame, 0x124)), Receipt::Filtered);
    assert_eq!(driver.receive(&tagged(&frame, 0xf123)), Receipt::Delivered { queue: 0 });
    assert_eq!(driver.receive(&frame), Receipt::Delivered { queue: 0 }, "without a tag there is nothing to filter");
    driver.write(regs::VLNCTRL, 0x8100 | regs::VLNCTRL_VFE | regs::VLNCTRL_CFIEN);
    assert_eq!(driver.receive(&tagged(&frame, 0xf123)), Receipt::Filtered);
    assert_eq!(driver.receive(&tagged(&frame, 0xe123)), Receipt::Delivered { queue: 0 });
    assert_eq!([regs::GPRC, regs::TPR].map(|offset| driver.value(offset)), [3, 5]);
}

#[test]
fn descriptors_say_which_checksums_were_checked_and_which_are_wrong() {
    let mut driver = Driver::new();
    let both = regs::RXD_IPCS | regs::RXD_L4CS;
    let status = |driver: &mut Driver, frame: &[u8]| driver.deliver(frame).1[2] & !(regs::RXD_DD | regs::RXD_EOP);
    for protocol in [TCP, UDP] {
        let frame = ipv4(protocol, [10, 0, 0, 1], [1, 2], b"odd");
        assert_eq!(status(&mut driver, &frame), both);
        let padded = [&frame[..], &[0xff; 9]].concat();
        assert_eq!(status(&mut driver, &padded), both, "padding is not of the packet");
        let mut wrong = frame.clone();
        wrong[22] -= 1;
        assert_eq!(status(&mut driver, &wrong), both | regs::RXD_IPE);
        let mut wrong = frame.clone();
        *wrong.last_mut().expect("it is not empty") ^= 1;
        assert_eq!(status(&mut driver, &wrong), both | regs::RXD_L4E);
    }
    assert_eq!(driver.device.read(regs::XEC), 4);
    assert_eq!(driver.value(regs::XEC), 0);
    // Without a hash, its place has the identification.
    assert_eq!(driver.deliver(&ipv4(UDP, [10, 0, 0, 1], [1, 2], b"")).1[1], 0xbeef);
    // The format of legacy descriptors has one byte for each.
    driver.write(regs::srrctl(0), 2);
    let mut wrong = ipv4(UDP, [10, 0, 0, 1], [1, 2], b"abcd");
    wrong[22] -= 1;
    assert_eq!(driver.receive(&wrong), Receipt::Delivered { queue: 0 });
    let place = ring(0) + u64::from(driver.taken[0]) * 16;
    let [_, words] = driver.memory.read_descriptor(place).expect("the ring is mapped");
    assert_eq!(words, 46 | u64::from(both | regs::RXD_DD | regs::RXD_EOP) << 32 | 0x80 << 40);
}

#[test]
fn checksums_and_tags_are_inserted_as_the_context_says() {
    let mut driver = Driver::new();
    let both = regs::TXD_OLINFO_IXSM | regs::TXD_OLINFO_TXSM;
    for (protocol, place, kind) in [(TCP, 50, regs::TXC_L4T_TCP), (UDP, 40, regs::TXC_L4T_UDP)] {
        let right = ipv4(protocol, [10, 0, 0, 1], [1, 2], b"odd");
        let mut frame = right.clone();
        frame[24..26].fill(0);
        // What drivers put there: the sum over the pseudo header.
        let length = (frame.len() - 34) as u16;
        let pseudo = [&frame[26..34], &[0, protocol], &length.to_be_bytes()].concat();
        frame[place..place + 2].copy_from_slice(&(!complement(&pseudo)).to_be_bytes());
        // The second context is another one, and does not matter.
        driver.context(0, 14, 20, 0x2005, kind | regs::TXC_IPV4);
        driver.context(1, 14, 20, 0x3006, kind);
        driver.frame(&frame, 0, both);
        driver.frame(&frame, regs::TXD_VLE, both);
        driver.frame(&right, regs::TXD_VLE, regs::TXD_OLINFO_IDX);
        driver.frame(&right, 0, 0);
        let pad = |frame: &[u8]| [frame, &[0; 60][..60 - frame.len().min(60)]].concat();
        let expected = [right.clone(), tagged(&right, 0x2005), tagged(&right, 0x3006), right.clone()];
        assert_eq!(driver.send(), expected.map(|frame| pad(&frame)));
    }
    // A legacy descriptor has the place of the sum and the tag in itself.
    let mut frame = ipv4(UDP, [10, 0, 0, 1], [1, 2], b"even");
    let right = frame.clone();
    frame[24..26].fill(0);
    let to = buffer(9, driver.transmit_index);
    driver.memory.write(to, &frame[..34]).expect("buffers are mapped");
    let command = regs::TXD_EOP | regs::TXL_IC | regs::TXD_VLE | 24 << regs::TXL_CSO_SHIFT | 34;
    driver.descriptor([to as u32, (to >> 32) as u32, command, 14 << regs::TXL_TAG_CSS_SHIFT | 0x77 << 16]);
    assert_eq!(driver.send()[0][..38], tagged(&right, 0x77)[..38]);
}

#[test]
fn an_offload_that_does_not_fit_its_frame_is_reported_and_the_queue_goes_on() {
    let mut driver = Driver::new();
    let frame = ipv4(UDP, [10, 0, 0, 1], [1, 2], b"");
    let reserved = regs::TXC_L4T_MASK;
    for (mac_bytes, ip_bytes, command) in [(127, 20, 0), (14, 511, 0), (14, 19, 0), (20, 20, 0), (14, 20, reserved)] {
        driver.context(0, mac_bytes, ip_bytes, 0, command | regs::TXC_IPV4);
        driver.frame(&frame, 0, regs::TXD_OLINFO_IXSM | regs::TXD_OLINFO_TXSM);
        driver.frame(&frame, 0, 0);
        assert_eq!(driver.send().len(), 1, "{mac_bytes} {ip_bytes}");
        let is_reported = std::iter::from_fn(|| driver.device.poll_event())
            .any(|event| matches!(event, Event::Malformed { problem: Malformed::BadOffload, .. }));
        assert!(is_reported, "{mac_bytes} {ip_bytes}");
    }
}

#[test]
fn a_write_back_threshold_collects_descriptors_and_ignores_their_rs() {
    let mut driver = Driver::new();
    let frame = [&MAC[..], &[2, 0, 0, 0, 0, 1, 0x88, 0xb5], &[0; 46]].concat();
    for index in 0..6 {
        driver.frame(&frame, if index % 3 == 2 { regs::TXD_RS } else { 0 }, 0);
    }
    assert_eq!((driver.send().len(), driver.done()), (6, vec![2, 5]), "without a threshold: those with RS");
    driver.write(regs::txdctl(0), regs::TXDCTL_ENABLE | 4 << regs::TXDCTL_WTHRESH_SHIFT);
    for _ in 0..3 {
        driver.frame(&frame, regs::TXD_RS, 0);
    }
    assert_eq!((driver.send().len(), driver.done()), (3, vec![2, 5]));
    driver.frame(&frame, 0, 0);
    driver.frame(&frame, 0, 0);
    assert_eq!((driver.send().len(), driver.done()), (2, vec![2, 5, 6, 7, 8, 9]));
    // SWFLSH has the rest written, once.
    driver.write(regs::txdctl(0), regs::TXDCTL_ENABLE | 4 << regs::TXDCTL_WTHRESH_SHIFT | regs::TXDCTL_SWFLSH);
    assert_eq!(driver.value(regs::txdctl(0)) & regs::TXDCTL_SWFLSH, 0);
    assert_eq!((driver.send().len(), driver.done()), (0, vec![2, 5, 6, 7, 8, 9, 10]));
    // So does the timer of the queue's vector, if there is one.
    driver.frame(&frame, 0, 0);
    driver.send();
    driver.device.handle_timeout(20_000_000);
    assert_eq!((driver.device.poll_timeout(), driver.send().len(), driver.done().len()), (None, 0, 7));
    driver.write(regs::ivar(0), (regs::IVAR_VALID | 3) << 8);
    driver.write(regs::eitr(3), 25 << regs::EITR_INTERVAL_SHIFT);
    driver.device.handle_timeout(20_000_000);
    assert_eq!(driver.device.poll_timeout(), Some(20_050_000));
    driver.device.handle_timeout(20_049_999);
    assert_eq!((driver.send().len(), driver.done().len()), (0, 7));
    driver.device.handle_timeout(20_050_000);
    assert_eq!((driver.send().len(), driver.done().len()), (0, 8));
    driver.device.handle_timeout(30_000_000);
    assert_eq!(driver.device.poll_timeout(), None);
}

#[test]
fn a_threshold_above_the_ring_writes_back_one_ring() {
    let mut driver = Driver::new();
    let frame = [&MAC[..], &[2, 0, 0, 0, 0, 1, 0x88, 0xb5], &[0; 46]].concat();
    driver.write(regs::txdctl(0), regs::TXDCTL_ENABLE | 127 << regs::TXDCTL_WTHRESH_SHIFT);
    // The 127th descriptor is the seventh of the seventh round.
    for round in 1..=7 {
        for _ in 0..20 {
            driver.frame(&frame, regs::TXD_RS, 0);
        }
        assert_eq!(driver.send().len(), 20);
        assert_eq!(driver.done().len(), if round < 7 { 0 } else { 32 }, "{round}");
    }
}
