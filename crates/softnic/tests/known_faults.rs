//! Faults that other models of network cards had, as cases: reports on QEMU's e1000, e1000e, igb, eepro100, pcnet, tulip and vmxnet3, on
//! DPDK's vhost and on the kernel's VFIO. None of them may make this one run without end, reach beyond a frame, or call itself.

use prony_ixgbe_regs as regs;
use prony_softnic::{Device, DmaMemory, Event, FRAME_BYTES_MAX, Malformed, PagedMemory, Receipt};

const MEMORY: u64 = 0x4000_0000;
const RECEIVE: u64 = MEMORY;
const TRANSMIT: u64 = MEMORY + 0x1000;
const BUFFERS: u64 = MEMORY + 0x2000;
const MAC: [u8; 6] = [0, 1, 2, 3, 4, 5];
const DATA: u32 = regs::TXD_DEXT | regs::TXD_DTYP_DATA | regs::TXD_IFCS;
const DESCRIPTORS: u32 = 256;

struct Port {
    memory: PagedMemory,
    device: Device,
    sent: Vec<Vec<u8>>,
}

impl Port {
    fn new() -> Port {
        let mut memory = PagedMemory::new();
        memory.map(MEMORY, 64 << 10);
        let mut port = Port { memory, device: Device::new(MAC, 0), sent: Vec::new() };
        for (offset, value) in [
            (regs::FCTRL, regs::FCTRL_UPE | regs::FCTRL_BAM),
            (regs::RXCTRL, regs::RXCTRL_RXEN),
            (regs::DMATXCTL, regs::DMATXCTL_TE),
            (regs::HLREG0, regs::HLREG0_JUMBOEN),
            (regs::MAXFRS, 9018 << regs::MAXFRS_MFS_SHIFT),
            (regs::srrctl(0), regs::SRRCTL_DESCTYPE_ADVANCED | 2),
            (regs::rdbal(0), RECEIVE as u32),
            (regs::rdlen(0), DESCRIPTORS * 16),
            (regs::rxdctl(0), regs::RXDCTL_ENABLE),
            (regs::tdbal(0), TRANSMIT as u32),
            (regs::tdlen(0), DESCRIPTORS * 16),
            (regs::txdctl(0), regs::TXDCTL_ENABLE),
        ] {
            port.device.write(0, offset, value);
        }
        port.device.handle_timeout(10_000_000);
        while port.device.poll_event().is_some() {}
        port
    }

    fn put(&mut self, ring: u64, index: u64, words: [u64; 2]) {
        self.memory.write_descriptor(ring + 16 * index, words).expect("the ring is in memory");
    }

    /// Puts descriptors behind each other from the first one on, and sends them.
    fn send(&mut self, descriptors: &[[u64; 2]]) -> u32 {
        for (index, &words) in (0..).zip(descriptors) {
            self.put(TRANSMIT, index, words);
        }
        self.device.set_transmit_tail(0, descriptors.len() as u32);
        self.transmit()
    }

    fn transmit(&mut self) -> u32 {
        let Port { memory, device, sent } = self;
        device.transmit(memory, 0, u32::MAX, |frame| sent.push(frame.to_vec()))
    }

    fn malformed(&mut self) -> Vec<Malformed> {
        let events = std::iter::from_fn(|| self.device.poll_event());
        events
            .filter_map(|event| if let Event::Malformed { problem, .. } = event { Some(problem) } else { None })
            .collect()
    }
}

fn data(address: u64, bytes: u32, flags: u32, options: u32) -> [u64; 2] {
    [address, u64::from(DATA | flags | bytes) | u64::from(options) << 32]
}

fn context(mac_bytes: u64, ip_bytes: u64, flags: u32, mss: u64) -> [u64; 2] {
    let command = regs::TXD_DEXT | regs::TXD_DTYP_CONTEXT | flags;
    [ip_bytes | mac_bytes << regs::TXC_LENGTHS_MACLEN_SHIFT, u64::from(command) | mss << 48]
}

#[test]
fn a_head_or_tail_outside_of_the_ring_moves_nothing() {
    // e1000, e1000e: CVE-2016-1981, CVE-2017-9310, CVE-2021-20257. The head never met the tail.
    let mut port = Port::new();
    for value in [DESCRIPTORS, DESCRIPTORS + 1, 0xffff, u32::MAX] {
        for (offset, tail) in [(regs::tdh(0), regs::tdt(0)), (regs::rdh(0), regs::rdt(0))] {
            port.device.write(0, offset, value);
            port.device.write(0, tail, value);
            assert_eq!(port.device.value(offset), 0, "{value}");
        }
        assert_eq!((port.transmit(), port.device.receive_room(0)), (0, 0));
    }
}

#[test]
fn a_ring_that_shrinks_while_it_works_stays_as_it_was() {
    // e1000: the length is read again with each descriptor, and the head lies behind it.
    let mut port = Port::new();
    port.device.write(0, regs::tdh(0), DESCRIPTORS - 1);
    port.device.write(0, regs::tdlen(0), 128);
    port.put(TRANSMIT, u64::from(DESCRIPTORS) - 1, data(BUFFERS, 60, regs::TXD_EOP, 0));
    port.device.set_transmit_tail(0, 0);
    assert_eq!((port.transmit(), port.transmit(), port.sent.len()), (1, 0, 1));
}

#[test]
fn segmentation_without_a_size_of_segments_sends_one_frame_and_ends() {
    // e1000: CVE-2015-6815; headers longer than a segment and its payload made no progress.
    for (mac_bytes, ip_bytes, mss) in [(14, 20, 0), (127, 511, 0), (127, 511, 1), (0, 0, 0)] {
        let mut port = Port::new();
        let context = context(mac_bytes, ip_bytes, regs::TXC_IPV4 | regs::TXC_L4T_TCP, mss);
        let frame = data(BUFFERS, 60, regs::TXD_EOP | regs::TXD_TSE, 0);
        assert_eq!(port.send(&[context, frame]), 2);
        assert_eq!(port.sent.len(), 1);
    }
}

#[test]
fn a_checksum_behind_the_end_of_a_frame_is_refused() {
    // e1000e: CVE-2024-3567, an assertion on SCTP in a frame without its header; vhost of DPDK: CVE-2024-11614.
    for l4 in [regs::TXC_L4T_SCTP, regs::TXC_L4T_TCP, regs::TXC_L4T_UDP, regs::TXC_L4T_MASK] {
        for (mac_bytes, ip_bytes, bytes) in [(14, 46, 60), (14, 45, 60), (127, 511, 60), (127, 511, 638), (14, 20, 34)]
        {
            let mut port = Port::new();
            let options = regs::TXD_OLINFO_TXSM;
            port.send(&[context(mac_bytes, ip_bytes, l4, 0), data(BUFFERS, bytes, regs::TXD_EOP, options)]);
            assert_eq!(port.malformed(), [Malformed::BadOffload], "{mac_bytes} {ip_bytes} {bytes}");
            assert!(port.sent.is_empty());
        }
    }
}

#[test]
fn a_header_checksum_over_no_header_or_half_of_one_is_refused() {
    for (mac_bytes, ip_bytes) in [(14, 0), (14, 19), (60, 20), (41, 20), (127, 20)] {
        let mut port = Port::new();
        let frame = data(BUFFERS, 60, regs::TXD_EOP, regs::TXD_OLINFO_IXSM);
        port.send(&[context(mac_bytes, ip_bytes, regs::TXC_IPV4, 0), frame]);
        assert_eq!(port.malformed(), [Malformed::BadOffload], "{mac_bytes} {ip_bytes}");
    }
}

#[test]
fn a_checksum_of_a_legacy_descriptor_lies_in_its_frame_or_nowhere() {
    // e1000: `css` and `cso` behind the frame.
    for (start, place, is_sent) in
        [(0u32, 58u32, true), (0, 59, false), (60, 0, true), (61, 0, false), (255, 255, false)]
    {
        let mut port = Port::new();
        let command = regs::TXD_EOP | regs::TXL_IC | place << regs::TXL_CSO_SHIFT | 60;
        port.send(&[[BUFFERS, u64::from(command) | u64::from(start << regs::TXL_TAG_CSS_SHIFT) << 32]]);
        assert_eq!(port.sent.len(), usize::from(is_sent), "{start} {place}");
        assert_eq!(port.malformed().len(), usize::from(!is_sent));
    }
}

#[test]
fn a_tag_does_not_make_the_longest_frame_longer() {
    // pcnet: CVE-2015-7504, four bytes behind a full buffer.
    let mut port = Port::new();
    let bytes = FRAME_BYTES_MAX as u32;
    port.send(&[data(BUFFERS, bytes, regs::TXD_EOP | regs::TXD_VLE, 0)]);
    assert_eq!(port.malformed(), [Malformed::TooLong]);
    let mut port = Port::new();
    port.send(&[data(BUFFERS, bytes - 4, regs::TXD_EOP | regs::TXD_VLE, 0)]);
    assert_eq!(port.sent.iter().map(Vec::len).collect::<Vec<_>>(), [FRAME_BYTES_MAX]);
}

#[test]
fn a_tag_needs_a_place_behind_the_addresses() {
    for bytes in [1, 11] {
        let mut port = Port::new();
        port.send(&[data(BUFFERS, bytes, regs::TXD_EOP | regs::TXD_VLE, 0)]);
        assert_eq!(port.malformed(), [Malformed::TooShort]);
    }
}

#[test]
fn a_frame_of_more_pieces_than_any_other_ends_at_the_longest_frame() {
    // vmxnet3, e1000e: CVE-2020-16092, an assertion on the number of fragments.
    let mut port = Port::new();
    let pieces: Vec<_> = (0..DESCRIPTORS as u64 - 1).map(|_| data(BUFFERS, 1, 0, 0)).collect();
    let mut used = 0;
    for _ in 0..FRAME_BYTES_MAX as u32 / (DESCRIPTORS - 1) + 2 {
        port.device.write(0, regs::tdh(0), 0);
        used += port.send(&pieces);
    }
    assert!(used > FRAME_BYTES_MAX as u32);
    assert_eq!(port.malformed(), [Malformed::TooLong]);
    port.device.write(0, regs::tdh(0), 0);
    assert_eq!(port.send(&[data(BUFFERS, 1, regs::TXD_EOP, 0), data(BUFFERS, 60, regs::TXD_EOP, 0)]), 2);
    assert_eq!(port.sent.len(), 1, "the next frame is a frame again");
}

#[test]
fn empty_descriptors_are_used_up() {
    // e1000, ne2000, virtio: CVE-2021-20257, CVE-2016-2841, CVE-2016-6490. A length of 0 made no progress.
    let mut port = Port::new();
    let number = DESCRIPTORS - 1;
    let empty: Vec<_> = (0..number).map(|n| data(BUFFERS, 0, if n % 2 == 0 { 0 } else { regs::TXD_EOP }, 0)).collect();
    assert_eq!((port.send(&empty), port.transmit(), port.sent.len()), (number, 0, 0));
    let contexts: Vec<_> = (0..number).map(|_| context(14, 20, regs::TXC_IPV4, 0)).collect();
    port.device.write(0, regs::tdh(0), 0);
    assert_eq!((port.send(&contexts), port.sent.len()), (number, 0));
}

#[test]
fn a_receive_buffer_without_a_size_takes_the_default() {
    // e1000e, igb: a size of 0 in SRRCTL, which frames were divided by or cut into without end.
    for kind in [0, regs::SRRCTL_DESCTYPE_ADVANCED, regs::SRRCTL_DESCTYPE_MASK] {
        let mut port = Port::new();
        port.device.write(0, regs::srrctl(0), kind);
        (0..255).for_each(|index| port.put(RECEIVE, index, [BUFFERS + 2048 * (index % 16), 0]));
        port.device.set_receive_tail(0, 255);
        assert_eq!(port.device.receive(&mut port.memory, &[0xff; 9014]), Receipt::Delivered { queue: 0 });
        assert_eq!(port.device.value(regs::rdh(0)), 5);
    }
}

#[test]
fn a_device_that_writes_over_its_own_descriptors_goes_on() {
    // eepro100, e1000e, tulip: CVE-2021-20255, CVE-2020-15859, CVE-2022-2962. DMA to the device's own memory called it again.
    let mut port = Port::new();
    for index in 0..255 {
        port.put(RECEIVE, index, [if index % 2 == 0 { RECEIVE } else { TRANSMIT } + 16 * index, 0]);
    }
    port.device.set_receive_tail(0, 255);
    let mut moved = 0;
    for _ in 0..1000 {
        moved += u32::from(matches!(port.device.receive(&mut port.memory, &[0xff; 1500]), Receipt::Delivered { .. }));
        port.device.set_transmit_tail(0, 255);
        port.transmit();
    }
    assert!(moved > 0);
}

#[test]
fn loopback_calls_nothing_again() {
    // e1000, e1000e and others: CVE-2021-3416. A frame that went back in was sent again within its own transmission.
    let mut port = Port::new();
    port.device.write(0, regs::HLREG0, regs::HLREG0_LPBK);
    port.put(RECEIVE, 0, [BUFFERS, 0]);
    port.device.set_receive_tail(0, 1);
    assert_eq!(port.send(&[data(BUFFERS, 60, regs::TXD_EOP, 0)]), 1);
    assert_eq!((port.sent.len(), port.device.received()), (1, 0));
}

#[test]
fn a_reset_between_two_pieces_of_a_frame_forgets_the_first() {
    // e1000e: CVE-2023-3019 and igb: what was collected of a frame outlived the reset.
    let mut port = Port::new();
    assert_eq!(port.send(&[data(BUFFERS, 1000, 0, 0)]), 1);
    port.device.write(0, regs::CTRL, regs::CTRL_RST);
    assert_eq!((port.device.value(regs::tdh(0)), port.device.value(regs::tdt(0))), (0, 0));
    for (offset, value) in [
        (regs::DMATXCTL, regs::DMATXCTL_TE),
        (regs::tdbal(0), TRANSMIT as u32),
        (regs::tdlen(0), DESCRIPTORS * 16),
        (regs::txdctl(0), regs::TXDCTL_ENABLE),
    ] {
        port.device.write(0, offset, value);
    }
    port.device.handle_timeout(20_000_000);
    assert_eq!(port.send(&[data(BUFFERS, 60, regs::TXD_EOP, 0)]), 1);
    assert_eq!(port.sent.iter().map(Vec::len).collect::<Vec<_>>(), [60]);
}

#[test]
fn the_last_addresses_that_there_are_hold_no_ring_and_no_buffer_beyond_them() {
    let mut port = Port::new();
    port.memory.map(u64::MAX - 0xfff, 0x1000);
    for (address, bytes) in [(u64::MAX, 1), (u64::MAX - 1, 60), (u64::MAX - 59, 60), (u64::MAX - 58, 60)] {
        let mut port = Port { memory: port.memory.clone(), ..Port::new() };
        port.send(&[data(address, bytes, regs::TXD_EOP, 0)]);
        assert!(port.sent.is_empty(), "{address:#x}");
    }
    let (low, high) = (!127, u32::MAX);
    for (offset, value) in [(regs::txdctl(0), 0), (regs::tdbal(0), low), (regs::tdbah(0), high), (regs::tdlen(0), 128)]
    {
        port.device.write(0, offset, value);
    }
    port.device.write(0, regs::txdctl(0), regs::TXDCTL_ENABLE);
    let events: Vec<Event> = std::iter::from_fn(|| port.device.poll_event()).collect();
    assert!(events.iter().any(|event| matches!(event, Event::BadRing { .. })), "{events:?}");
}
