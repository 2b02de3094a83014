//! Containers, groups and devices of VFIO: what each request answers, and in which state it may be made. Everything that reaches
//! outside goes through [`Caller`], so that the machine itself is tried without a process.
//!
//! A container is that of a process, however often it opens `/dev/vfio/vfio`; a group has one device, a port.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fmt::Debug;

use prony_ixgbe_regs::BAR_BYTES;
use rustix::io::Errno;

use super::abi::{self, Fields};
use super::config::{CONFIG_BYTES, MSIX_BYTES, MSIX_VECTORS};

/// Files that requests are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// `/dev/vfio/vfio`.
    Container,
    /// `/dev/vfio/N`, by the number of the port.
    Group(usize),
    /// What `VFIO_GROUP_GET_DEVICE_FD` returned.
    Device(usize),
}

/// What a successful call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReturnValue {
    /// The call returns this.
    Value(i64),
    /// The call returns a new descriptor for the device of a port.
    Device(usize),
}

/// The process that makes a request.
pub(crate) trait Caller {
    /// What interrupts are signalled with.
    type Signal: Debug;

    /// Its PID.
    fn process(&self) -> u32;
    /// Reads its memory.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Errno>;
    /// Reads a string of its memory.
    fn read_text(&self, address: u64, bytes_max: usize) -> Result<Vec<u8>, Errno>;
    /// Writes its memory.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Errno>;
    /// The file of one of its descriptors, if it is one of these.
    fn file(&self, descriptor: i32) -> Option<FileKind>;
    /// One of its eventfds.
    fn eventfd(&self, descriptor: i32) -> Result<Self::Signal, Errno>;
    /// Gives the device access to memory.
    fn map(&mut self, iova: u64, address: u64, bytes: u64) -> Result<(), Errno>;
    /// Takes memory away, whole mappings that lie in a range; `None` for all. Returns the number of bytes.
    fn unmap(&mut self, range: Option<(u64, u64)>) -> Result<u64, Errno>;
    /// Resets the device of a port.
    fn reset(&mut self, port: usize);
}

/// Everything about one port.
#[derive(Debug)]
struct Port<S> {
    address: String,
    /// The process in whose container its group is.
    owner: Option<u32>,
    signals: Signals<S>,
}

/// Interrupts of a port that a driver has requested.
#[derive(Debug)]
pub(crate) struct Signals<S> {
    intx: Option<S>,
    /// An INTx is masked once it has been signalled, until the driver unmasks it.
    is_intx_masked: bool,
    is_intx_pending: bool,
    msi: Option<S>,
    msix: Vec<Option<S>>,
    /// Errors and requests, which never come.
    others: [Option<S>; 2],
}

impl<S> Default for Signals<S> {
    fn default() -> Signals<S> {
        Signals {
            intx: None,
            is_intx_masked: false,
            is_intx_pending: false,
            msi: None,
            msix: Vec::new(),
            others: [None, None],
        }
    }
}

impl<S> Signals<S> {
    /// What is to be signalled for a vector: that of MSI-X if the driver has any, else the only one of MSI or INTx.
    pub(crate) fn of(&mut self, vector: u32) -> Option<&S> {
        if !self.msix.is_empty() {
            return self.msix.get(vector as usize)?.as_ref();
        }
        if self.msi.is_some() {
            return self.msi.as_ref();
        }
        if self.is_intx_masked {
            self.is_intx_pending = true;
            return None;
        }
        self.is_intx_masked = self.intx.is_some();
        self.intx.as_ref()
    }

    fn has_any(&self) -> bool {
        self.intx.is_some() || self.msi.is_some() || self.msix.iter().any(Option::is_some)
    }

    /// Puts what it is given in place of an interrupt; no caller passes a vector that is not there.
    fn set(&mut self, index: u32, vector: usize, signal: Option<S>) {
        match index {
            abi::IRQ_INTX => {
                self.intx = signal;
                (self.is_intx_masked, self.is_intx_pending) = (false, false);
            }
            abi::IRQ_MSI => self.msi = signal,
            abi::IRQ_MSIX => {
                if self.msix.len() <= vector {
                    self.msix.resize_with(vector.saturating_add(1), || None);
                }
                if let Some(place) = self.msix.get_mut(vector) {
                    *place = signal;
                }
                while matches!(self.msix.last(), Some(None)) {
                    self.msix.pop();
                }
            }
            _ => {
                let [errors, requests] = &mut self.others;
                *if index == abi::IRQ_ERROR { errors } else { requests } = signal;
            }
        }
    }

    fn clear(&mut self, index: u32) {
        match index {
            abi::IRQ_MSIX => self.msix.clear(),
            _ => self.set(index, 0, None),
        }
    }
}

/// The state of all files.
#[derive(Debug)]
pub(crate) struct Machine<S> {
    ports: Vec<Port<S>>,
    /// Processes with a container, and whether it has an IOMMU.
    containers: BTreeMap<u32, bool>,
}

impl<S> Machine<S> {
    /// The files of the ports at these PCI addresses.
    pub(crate) fn new(addresses: &[String]) -> Machine<S> {
        let port = |address: &String| Port { address: address.clone(), owner: None, signals: Signals::default() };
        Machine { ports: addresses.iter().map(port).collect(), containers: BTreeMap::new() }
    }

    /// True if an interrupt of a port would reach a driver.
    pub(crate) fn has_signals(&self, port: usize) -> bool {
        self.ports.get(port).is_some_and(|port| port.signals.has_any())
    }

    /// What is to be signalled for a vector of a port.
    pub(crate) fn signal(&mut self, port: usize, vector: u32) -> Option<&S> {
        self.ports.get_mut(port)?.signals.of(vector)
    }

    /// The port of a group or of a device. Their numbers are those that this machine was made with.
    fn port(&mut self, port: usize) -> Result<&mut Port<S>, Errno> {
        self.ports.get_mut(port).ok_or(Errno::NODEV)
    }

    /// A port of a process; the first one if it has none.
    pub(crate) fn port_of(&self, process: u32) -> usize {
        self.ports.iter().position(|port| port.owner == Some(process)).unwrap_or(0)
    }

    /// A process has ended, and its descriptors are closed.
    pub(crate) fn release(&mut self, process: u32) {
        self.containers.remove(&process);
        for port in self.ports.iter_mut().filter(|port| port.owner == Some(process)) {
            port.owner = None;
            port.signals = Signals::default();
        }
    }

    /// Answers a request.
    pub(crate) fn handle<C: Caller<Signal = S>>(
        &mut self,
        file: FileKind,
        request: u32,
        argument: u64,
        caller: &mut C,
    ) -> Result<ReturnValue, Errno> {
        let value = match (file, request) {
            (FileKind::Container, abi::GET_API_VERSION) => abi::API_VERSION,
            (FileKind::Container, abi::CHECK_EXTENSION) => i64::from([abi::TYPE1, abi::TYPE1V2].contains(&argument)),
            (FileKind::Container, abi::SET_IOMMU) => self.set_iommu(argument, caller)?,
            (FileKind::Container, abi::IOMMU_GET_INFO) => self.iommu_info(argument, caller)?,
            (FileKind::Container, abi::IOMMU_MAP_DMA) => self.map(argument, caller)?,
            (FileKind::Container, abi::IOMMU_UNMAP_DMA) => self.unmap(argument, caller)?,
            (FileKind::Group(port), abi::GROUP_GET_STATUS) => self.group_status(port, argument, caller)?,
            (FileKind::Group(port), abi::GROUP_SET_CONTAINER) => self.set_container(port, argument, caller)?,
            (FileKind::Group(port), abi::GROUP_UNSET_CONTAINER) => self.unset_container(port, caller)?,
            (FileKind::Group(port), abi::GROUP_GET_DEVICE_FD) => {
                let name = caller.read_text(argument, 64)?;
                if !self.is_usable(port, caller) {
                    return Err(Errno::INVAL);
                }
                let is_it = name == self.port(port)?.address.as_bytes();
                return if is_it { Ok(ReturnValue::Device(port)) } else { Err(Errno::NODEV) };
            }
            (FileKind::Device(_), abi::DEVICE_GET_INFO) => device_info(argument, caller)?,
            (FileKind::Device(_), abi::DEVICE_GET_REGION_INFO) => region_info(argument, caller)?,
            (FileKind::Device(_), abi::DEVICE_GET_IRQ_INFO) => irq_info(argument, caller)?,
            (FileKind::Device(port), abi::DEVICE_SET_IRQS) if self.is_usable(port, caller) => {
                self.set_irqs(port, argument, caller)?
            }
            (FileKind::Device(port), abi::DEVICE_RESET) if self.is_usable(port, caller) => {
                caller.reset(port);
                0
            }
            (FileKind::Device(_), abi::DEVICE_SET_IRQS | abi::DEVICE_RESET) => return Err(Errno::NODEV),
            _ => return Err(Errno::NOTTY),
        };
        Ok(ReturnValue::Value(value))
    }

    /// The group is in the container of the caller, which has an IOMMU.
    fn is_usable<C: Caller<Signal = S>>(&self, port: usize, caller: &C) -> bool {
        let is_owner = self.ports.get(port).is_some_and(|port| port.owner == Some(caller.process()));
        is_owner && self.containers.get(&caller.process()) == Some(&true)
    }

    fn set_iommu<C: Caller<Signal = S>>(&mut self, kind: u64, caller: &C) -> Result<i64, Errno> {
        // A container without a group has no IOMMU, and one with an IOMMU keeps it.
        let has_iommu = self.containers.get_mut(&caller.process()).ok_or(Errno::INVAL)?;
        if *has_iommu {
            return Err(Errno::INVAL);
        }
        if ![abi::TYPE1, abi::TYPE1V2].contains(&kind) {
            return Err(Errno::NODEV);
        }
        *has_iommu = true;
        Ok(0)
    }

    fn needs_iommu<C: Caller<Signal = S>>(&self, caller: &C) -> Result<(), Errno> {
        match self.containers.get(&caller.process()) {
            Some(true) => Ok(()),
            _ => Err(Errno::INVAL),
        }
    }

    fn iommu_info<C: Caller<Signal = S>>(&self, argument: u64, caller: &C) -> Result<i64, Errno> {
        self.needs_iommu(caller)?;
        let mut info = structure::<{ abi::IOMMU_INFO_BYTES }, C>(argument, caller)?;
        info.set_u32(4, abi::IOMMU_PGSIZES);
        // Any multiple of 4 KiB.
        info.set_u64(8, !4095);
        caller.write(argument, &info.0)?;
        Ok(0)
    }

    fn map<C: Caller<Signal = S>>(&self, argument: u64, caller: &mut C) -> Result<i64, Errno> {
        self.needs_iommu(caller)?;
        let map = structure::<{ abi::MAP_BYTES }, C>(argument, caller)?;
        let (flags, address, iova, bytes) = (map.u32(4), map.u64(8), map.u64(16), map.u64(24));
        let access = abi::MAP_READ | abi::MAP_WRITE;
        if flags & !access != 0 || flags & access == 0 {
            return Err(Errno::INVAL);
        }
        let is_aligned = (address | iova | bytes).is_multiple_of(4096);
        if !is_aligned || bytes == 0 || iova.checked_add(bytes).is_none() || address.checked_add(bytes).is_none() {
            return Err(Errno::INVAL);
        }
        caller.map(iova, address, bytes)?;
        Ok(0)
    }

    fn unmap<C: Caller<Signal = S>>(&self, argument: u64, caller: &mut C) -> Result<i64, Errno> {
        self.needs_iommu(caller)?;
        let mut unmap = structure::<{ abi::UNMAP_BYTES }, C>(argument, caller)?;
        let (flags, iova, bytes) = (unmap.u32(4), unmap.u64(8), unmap.u64(16));
        let range = match flags {
            0 if (iova | bytes).is_multiple_of(4096) && bytes > 0 => {
                Some((iova, iova.checked_add(bytes).ok_or(Errno::INVAL)?))
            }
            abi::UNMAP_ALL if (iova, bytes) == (0, 0) => None,
            _ => return Err(Errno::INVAL),
        };
        unmap.set_u64(16, caller.unmap(range)?);
        caller.write(argument, &unmap.0)?;
        Ok(0)
    }

    fn group_status<C: Caller<Signal = S>>(&mut self, port: usize, argument: u64, caller: &C) -> Result<i64, Errno> {
        let mut status = structure::<{ abi::GROUP_STATUS_BYTES }, C>(argument, caller)?;
        let set = if self.port(port)?.owner.is_some() { abi::GROUP_CONTAINER_SET } else { 0 };
        status.set_u32(4, abi::GROUP_VIABLE | set);
        caller.write(argument, &status.0)?;
        Ok(0)
    }

    fn set_container<C: Caller<Signal = S>>(&mut self, port: usize, argument: u64, caller: &C) -> Result<i64, Errno> {
        let mut descriptor = [0; 4];
        caller.read(argument, &mut descriptor)?;
        let port = self.port(port)?;
        match port.owner {
            Some(owner) if owner != caller.process() => return Err(Errno::BUSY),
            Some(_) => return Err(Errno::INVAL),
            None => {}
        }
        match caller.file(i32::from_ne_bytes(descriptor)) {
            Some(FileKind::Container) => {}
            Some(_) => return Err(Errno::INVAL),
            None => return Err(Errno::BADF),
        }
        port.owner = Some(caller.process());
        self.containers.entry(caller.process()).or_insert(false);
        Ok(0)
    }

    fn unset_container<C: Caller<Signal = S>>(&mut self, port: usize, caller: &mut C) -> Result<i64, Errno> {
        let process = caller.process();
        let left = self.port(port)?;
        if left.owner != Some(process) {
            return Err(Errno::INVAL);
        }
        (left.owner, left.signals) = (None, Signals::default());
        // The device can no longer reach memory, so it must not go on.
        caller.reset(port);
        if self.ports.iter().all(|port| port.owner != Some(process)) {
            // With the last group, a container loses its IOMMU.
            self.containers.remove(&process);
            caller.unmap(None)?;
        }
        Ok(0)
    }

    fn set_irqs<C: Caller<Signal = S>>(&mut self, port: usize, argument: u64, caller: &C) -> Result<i64, Errno> {
        let set = structure::<{ abi::IRQ_SET_BYTES }, C>(argument, caller)?;
        let (bytes, flags, index, start, count) = (set.u32(0), set.u32(4), set.u32(8), set.u32(12), set.u32(16));
        let (data, action) = (flags & 7, flags & 0x38);
        let all = vectors(index).ok_or(Errno::INVAL)?;
        if flags & !0x3f != 0 || start >= all || count > all.saturating_sub(start) {
            return Err(Errno::INVAL);
        }
        let unit = match data {
            abi::SET_NONE => 0,
            abi::SET_BOOL => 1,
            abi::SET_EVENTFD => 4,
            _ => return Err(Errno::INVAL),
        };
        let room = (bytes as usize).saturating_sub(abi::IRQ_SET_BYTES);
        let mut values = vec![0; (count as usize).saturating_mul(unit)];
        if values.len() > room || (count == 0 && (data, action) != (abi::SET_NONE, abi::SET_TRIGGER)) {
            return Err(Errno::INVAL);
        }
        caller.read(argument.checked_add(abi::IRQ_SET_BYTES as u64).ok_or(Errno::FAULT)?, &mut values)?;
        let signals = &mut self.port(port)?.signals;
        // A single flag, or none: then all are meant.
        let is_meant = values.first().is_none_or(|&flag| flag != 0);
        match (action, data) {
            (abi::SET_TRIGGER, abi::SET_NONE) if count == 0 => signals.clear(index),
            (abi::SET_TRIGGER, abi::SET_EVENTFD) => {
                // All of them or none.
                let take = |value: &[u8]| match value.first_chunk().copied().map_or(-1, i32::from_ne_bytes) {
                    -1 => Ok(None),
                    descriptor => caller.eventfd(descriptor).map(Some),
                };
                let taken: Vec<Option<S>> = values.chunks_exact(4).map(take).collect::<Result<_, _>>()?;
                for (vector, signal) in (start as usize..).zip(taken) {
                    signals.set(index, vector, signal);
                }
            }
            (abi::SET_MASK, abi::SET_NONE | abi::SET_BOOL) if index == abi::IRQ_INTX => {
                signals.is_intx_masked |= is_meant;
            }
            (abi::SET_UNMASK, abi::SET_NONE | abi::SET_BOOL) if index == abi::IRQ_INTX => {
                signals.is_intx_masked &= !is_meant;
            }
            // The kernel has no more for messages either.
            _ => return Err(Errno::NOTTY),
        }
        Ok(0)
    }

    /// An INTx that came while it was masked, if it is not any more.
    pub(crate) fn take_unmasked(&mut self, port: usize) -> bool {
        let Ok(Port { signals, .. }) = self.port(port) else { return false };
        let is_due = signals.is_intx_pending && !signals.is_intx_masked;
        signals.is_intx_pending &= !is_due;
        is_due
    }
}

/// Reads a structure that begins with its size, as the caller knows it.
fn structure<const N: usize, C: Caller>(address: u64, caller: &C) -> Result<Fields<N>, Errno> {
    let mut fields = Fields([0; N]);
    caller.read(address, &mut fields.0)?;
    if (fields.u32(0) as usize) < N || address.checked_add(N as u64).is_none() {
        return Err(Errno::INVAL);
    }
    Ok(fields)
}

fn device_info<C: Caller>(argument: u64, caller: &C) -> Result<i64, Errno> {
    let mut info = structure::<{ abi::DEVICE_INFO_BYTES }, C>(argument, caller)?;
    info.set_u32(4, abi::DEVICE_FLAGS_RESET | abi::DEVICE_FLAGS_PCI);
    info.set_u32(8, abi::REGIONS);
    info.set_u32(12, abi::IRQS);
    caller.write(argument, &info.0)?;
    Ok(0)
}

fn region_info<C: Caller>(argument: u64, caller: &C) -> Result<i64, Errno> {
    let mut info = structure::<{ abi::REGION_INFO_BYTES }, C>(argument, caller)?;
    let index = info.u32(8);
    let access = abi::REGION_READ | abi::REGION_WRITE;
    let (flags, bytes) = match index {
        abi::REGION_BAR0 => (access | abi::REGION_MMAP, BAR_BYTES),
        // Its vectors are set by the kernel alone.
        abi::REGION_MSIX => (access, MSIX_BYTES),
        abi::REGION_CONFIG => (access, CONFIG_BYTES),
        abi::REGION_VGA.. => return Err(Errno::INVAL),
        _ => (0, 0),
    };
    info.set_u32(4, flags);
    info.set_u32(12, 0);
    info.set_u64(16, bytes as u64);
    info.set_u64(24, u64::from(index) << abi::REGION_SHIFT);
    caller.write(argument, &info.0)?;
    Ok(0)
}

/// Number of interrupts of a kind.
fn vectors(index: u32) -> Option<u32> {
    match index {
        abi::IRQ_MSIX => Some(MSIX_VECTORS),
        0..abi::IRQS => Some(1),
        _ => None,
    }
}

fn irq_info<C: Caller>(argument: u64, caller: &C) -> Result<i64, Errno> {
    let mut info = structure::<{ abi::IRQ_INFO_BYTES }, C>(argument, caller)?;
    let index = info.u32(8);
    let count = vectors(index).ok_or(Errno::INVAL)?;
    let kind = if index == abi::IRQ_INTX { abi::IRQ_MASKABLE | abi::IRQ_AUTOMASKED } else { abi::IRQ_NORESIZE };
    info.set_u32(4, abi::IRQ_EVENTFD | kind);
    info.set_u32(12, count);
    caller.write(argument, &info.0)?;
    Ok(0)
}

#[cfg(test)]
mod tests;
