use std::cell::RefCell;

use super::*;

const ARGUMENT: u64 = 0x1000;

/// A process with memory from [`ARGUMENT`] on, and files by descriptor.
struct Process {
    pid: u32,
    memory: RefCell<Vec<u8>>,
    mapped: Vec<(u64, u64, u64)>,
    resets: Vec<usize>,
}

impl Process {
    fn new(pid: u32) -> Process {
        Process { pid, memory: RefCell::new(vec![0; 512]), mapped: Vec::new(), resets: Vec::new() }
    }

    fn place(address: u64, bytes: usize) -> Result<std::ops::Range<usize>, Errno> {
        let from = address.checked_sub(ARGUMENT).ok_or(Errno::FAULT)? as usize;
        (from + bytes <= 512).then_some(from..from + bytes).ok_or(Errno::FAULT)
    }

    /// Makes a request with a structure of these words.
    fn ask(
        &mut self,
        machine: &mut Machine<i32>,
        file: FileKind,
        request: u32,
        words: &[u32],
    ) -> Result<ReturnValue, Errno> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.memory.borrow_mut()[..bytes.len()].copy_from_slice(&bytes);
        machine.handle(file, request, ARGUMENT, self)
    }

    fn word(&self, index: usize) -> u32 {
        u32::from_ne_bytes(self.memory.borrow()[4 * index..4 * index + 4].try_into().expect("four bytes"))
    }

    /// Sets a container up, with the first port.
    fn set_up(&mut self, machine: &mut Machine<i32>) {
        assert_eq!(self.ask(machine, FileKind::Group(0), abi::GROUP_SET_CONTAINER, &[7]), Ok(ReturnValue::Value(0)));
        assert_eq!(machine.handle(FileKind::Container, abi::SET_IOMMU, abi::TYPE1, self), Ok(ReturnValue::Value(0)));
    }
}

impl Caller for Process {
    type Signal = i32;

    fn process(&self) -> u32 {
        self.pid
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        into.copy_from_slice(&self.memory.borrow()[Process::place(address, into.len())?]);
        Ok(())
    }

    fn read_text(&self, address: u64, _bytes_max: usize) -> Result<Vec<u8>, Errno> {
        let memory = self.memory.borrow();
        let bytes = &memory[Process::place(address, 1)?.start..];
        Ok(bytes.iter().copied().take_while(|&byte| byte != 0).collect())
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.memory.borrow_mut()[Process::place(address, bytes.len())?].copy_from_slice(bytes);
        Ok(())
    }

    fn file(&self, descriptor: i32) -> Option<FileKind> {
        [(7, FileKind::Container), (8, FileKind::Group(0))].into_iter().find(|&(n, _)| n == descriptor).map(|(_, k)| k)
    }

    fn eventfd(&self, descriptor: i32) -> Result<i32, Errno> {
        if descriptor >= 100 { Ok(descriptor) } else { Err(Errno::INVAL) }
    }

    fn map(&mut self, iova: u64, address: u64, bytes: u64) -> Result<(), Errno> {
        self.mapped.push((iova, address, bytes));
        Ok(())
    }

    fn unmap(&mut self, _range: Option<(u64, u64)>) -> Result<u64, Errno> {
        Ok(self.mapped.drain(..).map(|(_, _, bytes)| bytes).sum())
    }

    fn reset(&mut self, port: usize) {
        self.resets.push(port);
    }
}

fn machine() -> Machine<i32> {
    Machine::new(&["0000:03:00.0".to_owned(), "0000:03:00.1".to_owned()])
}

#[test]
fn a_device_is_given_out_after_its_group_has_a_container_with_an_iommu() {
    let (mut machine, mut driver) = (machine(), Process::new(1));
    let name: Vec<u32> =
        b"0000:03:00.0\0\0\0\0".chunks(4).map(|part| u32::from_ne_bytes(part.try_into().expect("four"))).collect();
    let group = FileKind::Group(0);
    assert_eq!(machine.handle(FileKind::Container, abi::SET_IOMMU, abi::TYPE1, &mut driver), Err(Errno::INVAL));
    assert_eq!(driver.ask(&mut machine, group, abi::GROUP_GET_DEVICE_FD, &name), Err(Errno::INVAL));
    driver.set_up(&mut machine);
    assert_eq!(driver.ask(&mut machine, group, abi::GROUP_GET_DEVICE_FD, &name), Ok(ReturnValue::Device(0)));
    assert_eq!(driver.ask(&mut machine, FileKind::Group(1), abi::GROUP_GET_DEVICE_FD, &name), Err(Errno::INVAL));
    assert_eq!(driver.ask(&mut machine, group, abi::GROUP_GET_DEVICE_FD, &[0x30]), Err(Errno::NODEV));
    assert_eq!(machine.handle(FileKind::Container, abi::SET_IOMMU, abi::TYPE1, &mut driver), Err(Errno::INVAL));
}

#[test]
fn a_group_is_that_of_one_process_until_it_ends() {
    let (mut machine, mut one, mut other) = (machine(), Process::new(1), Process::new(2));
    one.set_up(&mut machine);
    assert_eq!(other.ask(&mut machine, FileKind::Group(0), abi::GROUP_SET_CONTAINER, &[7]), Err(Errno::BUSY));
    assert_eq!(other.ask(&mut machine, FileKind::Device(0), abi::DEVICE_RESET, &[]), Err(Errno::NODEV));
    assert_eq!(one.ask(&mut machine, FileKind::Group(0), abi::GROUP_SET_CONTAINER, &[7]), Err(Errno::INVAL));
    assert_eq!(one.ask(&mut machine, FileKind::Group(1), abi::GROUP_SET_CONTAINER, &[8]), Err(Errno::INVAL));
    assert_eq!(one.ask(&mut machine, FileKind::Group(1), abi::GROUP_SET_CONTAINER, &[9]), Err(Errno::BADF));
    machine.release(1);
    other.set_up(&mut machine);
}

#[test]
fn a_group_that_leaves_its_container_resets_its_device_and_takes_its_memory_away() {
    let (mut machine, mut driver) = (machine(), Process::new(1));
    driver.set_up(&mut machine);
    driver
        .ask(&mut machine, FileKind::Container, abi::IOMMU_MAP_DMA, &[32, 3, 0x1000, 0, 0x2000, 0, 0x1000, 0])
        .expect("valid");
    assert_eq!(driver.mapped, [(0x2000, 0x1000, 0x1000)]);
    assert_eq!(
        driver.ask(&mut machine, FileKind::Group(0), abi::GROUP_UNSET_CONTAINER, &[]),
        Ok(ReturnValue::Value(0))
    );
    assert_eq!((driver.resets.len(), driver.mapped.len()), (1, 0));
    assert_eq!(driver.ask(&mut machine, FileKind::Group(0), abi::GROUP_UNSET_CONTAINER, &[]), Err(Errno::INVAL));
    driver.set_up(&mut machine);
}

#[test]
fn memory_is_of_whole_pages_and_of_no_more_than_there_are_addresses() {
    let (mut machine, mut driver) = (machine(), Process::new(1));
    let container = FileKind::Container;
    let good = [32, 3, 0x1000, 0, 0x1000, 0, 0x1000, 0];
    assert_eq!(driver.ask(&mut machine, container, abi::IOMMU_MAP_DMA, &good), Err(Errno::INVAL), "there is no IOMMU");
    driver.set_up(&mut machine);
    for (place, value) in [(0, 31), (1, 0), (1, 4), (2, 1), (4, 0x10), (6, 0x1001), (6, 0)] {
        let mut words = good;
        words[place] = value;
        assert_eq!(driver.ask(&mut machine, container, abi::IOMMU_MAP_DMA, &words), Err(Errno::INVAL), "{place}");
    }
    for at in [2, 4] {
        let mut words = good;
        words[at..at + 2].copy_from_slice(&[0xffff_f000, 0xffff_ffff]);
        assert_eq!(driver.ask(&mut machine, container, abi::IOMMU_MAP_DMA, &words), Err(Errno::INVAL), "{at}");
    }
    assert_eq!(driver.mapped, []);
    assert_eq!(driver.ask(&mut machine, container, abi::IOMMU_MAP_DMA, &good), Ok(ReturnValue::Value(0)));
    let all = [24, 0, 0, 0, 0xffff_f000, 0xffff_ffff];
    assert_eq!(driver.ask(&mut machine, container, abi::IOMMU_UNMAP_DMA, &all), Ok(ReturnValue::Value(0)));
    assert_eq!(driver.word(4), 0x1000, "the bytes that were unmapped");
}

#[test]
fn regions_and_interrupts_are_those_of_the_card() {
    let (mut machine, mut driver) = (machine(), Process::new(1));
    let device = FileKind::Device(0);
    driver.ask(&mut machine, device, abi::DEVICE_GET_INFO, &[16]).expect("valid");
    assert_eq!([1, 2, 3].map(|word| driver.word(word)), [3, 9, 5]);
    let mut sizes = Vec::new();
    for index in 0..8 {
        driver.ask(&mut machine, device, abi::DEVICE_GET_REGION_INFO, &[32, 0, index]).expect("valid");
        assert_eq!(driver.word(7), index << 8, "regions are 1 TiB apart");
        sizes.push(driver.word(4));
    }
    assert_eq!(sizes, [BAR_BYTES as u32, 0, 0, 0, 16 << 10, 0, 0, 4096]);
    assert_eq!(driver.ask(&mut machine, device, abi::DEVICE_GET_REGION_INFO, &[32, 0, 8]), Err(Errno::INVAL));
    let mut counts = Vec::new();
    for index in 0..5 {
        driver.ask(&mut machine, device, abi::DEVICE_GET_IRQ_INFO, &[16, 0, index]).expect("valid");
        assert_eq!(driver.word(1) & abi::IRQ_EVENTFD, abi::IRQ_EVENTFD);
        counts.push(driver.word(3));
    }
    assert_eq!(counts, [1, 1, 64, 1, 1]);
    assert_eq!(driver.ask(&mut machine, device, abi::DEVICE_GET_IRQ_INFO, &[16, 0, 5]), Err(Errno::INVAL));
}

const TRIGGER: u32 = abi::SET_EVENTFD | abi::SET_TRIGGER;

#[test]
fn a_vector_signals_what_was_set_for_it() {
    let (mut machine, mut driver) = (machine(), Process::new(1));
    driver.set_up(&mut machine);
    let device = FileKind::Device(0);
    let mut set = |words: &[u32]| driver.ask(&mut machine, device, abi::DEVICE_SET_IRQS, words);
    set(&[32, TRIGGER, abi::IRQ_MSIX, 1, 3, 101, u32::MAX, 103]).expect("valid");
    // More room than descriptors, as ixy gives.
    set(&[152, TRIGGER, abi::IRQ_MSI, 0, 1, 200]).expect("valid");
    assert_eq!(
        [0, 1, 2, 3, 64].map(|vector| machine.signal(0, vector).copied()),
        [None, Some(101), None, Some(103), None]
    );
    let none = abi::SET_NONE | abi::SET_TRIGGER;
    driver.ask(&mut machine, device, abi::DEVICE_SET_IRQS, &[20, none, abi::IRQ_MSIX, 0, 0]).expect("valid");
    assert_eq!(machine.signal(0, 5), Some(&200), "MSI has one for all vectors");
    assert!(machine.has_signals(0) && !machine.has_signals(1));
}

#[test]
fn an_intx_is_masked_until_its_driver_unmasks_it() {
    let (mut machine, mut driver) = (machine(), Process::new(1));
    driver.set_up(&mut machine);
    let device = FileKind::Device(0);
    driver.ask(&mut machine, device, abi::DEVICE_SET_IRQS, &[24, TRIGGER, 0, 0, 1, 100]).expect("valid");
    assert_eq!(machine.signal(0, 0), Some(&100));
    assert_eq!(machine.signal(0, 0), None);
    assert!(!machine.take_unmasked(0));
    let unmask = abi::SET_NONE | abi::SET_UNMASK;
    driver.ask(&mut machine, device, abi::DEVICE_SET_IRQS, &[20, unmask, 0, 0, 1]).expect("valid");
    assert_eq!((machine.take_unmasked(0), machine.take_unmasked(0)), (true, false));
}

#[test]
fn interrupts_that_cannot_be_set_change_none() {
    let (mut machine, mut driver) = (machine(), Process::new(1));
    driver.set_up(&mut machine);
    for (words, error) in [
        (&[28, TRIGGER, abi::IRQ_MSIX, 0, 2, 100, 3][..], Errno::INVAL),
        (&[27, TRIGGER, abi::IRQ_MSIX, 0, 2, 100, 101], Errno::INVAL),
        (&[24, TRIGGER, abi::IRQ_MSIX, 64, 1, 100], Errno::INVAL),
        (&[24, TRIGGER, abi::IRQ_MSIX, 1, u32::MAX, 100], Errno::INVAL),
        (&[24, TRIGGER, 5, 0, 1, 100], Errno::INVAL),
        (&[24, TRIGGER | 3, abi::IRQ_MSIX, 0, 1, 100], Errno::INVAL),
        (&[24, TRIGGER, abi::IRQ_MSIX, 0, 0, 100], Errno::INVAL),
        (&[20, abi::SET_NONE | abi::SET_MASK, abi::IRQ_MSIX, 0, 1], Errno::NOTTY),
        (&[19, TRIGGER, abi::IRQ_MSIX, 0, 1, 100], Errno::INVAL),
    ] {
        let result = driver.ask(&mut machine, FileKind::Device(0), abi::DEVICE_SET_IRQS, words);
        assert_eq!(result, Err(error), "{words:?}");
        assert!(!machine.has_signals(0));
    }
}

#[test]
fn pointers_to_nothing_and_requests_of_other_files_are_errors() {
    let (mut machine, mut driver) = (machine(), Process::new(1));
    driver.set_up(&mut machine);
    for file in [FileKind::Container, FileKind::Group(1), FileKind::Device(0)] {
        for request in abi::GET_API_VERSION..0x3c00 {
            for argument in [0, ARGUMENT + 510, u64::MAX, u64::MAX - 8] {
                let answer = machine.handle(file, request, argument, &mut driver);
                let is_number = [abi::GET_API_VERSION, abi::CHECK_EXTENSION, abi::DEVICE_RESET].contains(&request);
                assert!(answer.is_err() || is_number, "{file:?} {request:#x} {argument:#x}: {answer:?}");
            }
        }
    }
}
