//! The files of VFIO, of which drivers get the registers, the memory and the interrupts of a device, without any module of the
//! kernel: `/dev/vfio/vfio`, `/dev/vfio/N` and the file of a device are plain files, and their `ioctl`s are answered here.
//!
//! The file of a device is a file in memory with the registers at 0 and the configuration space at 7 << 40, as the kernel has its
//! regions; a driver reads, writes and maps it without any help of the device.

pub(crate) mod abi;
pub(crate) mod config;
#[cfg(test)]
mod conversation;
mod eventfd;
mod machine;
mod process;
pub(crate) mod seccomp;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::io::Errno;

use crate::dma_map::DmaMap;
use crate::iommu::Refusal;
use eventfd::Signaller;
use machine::{Caller, FileKind, Machine, ReturnValue};
use seccomp::{Call, Waiting, next_call};

/// Processes that hand their calls over, or are about to.
const LISTENERS_MAX: usize = 64;
/// Calls that are answered before the device does something else.
const CALLS_MAX: u32 = 64;

/// All files and who uses them.
#[derive(Debug)]
pub(crate) struct Vfio {
    socket: UnixListener,
    /// Processes that have connected and not sent their listener yet.
    joining: Vec<UnixStream>,
    listeners: Vec<OwnedFd>,
    files: Vec<((u64, u64), FileKind)>,
    devices: Vec<File>,
    machine: Machine<OwnedFd>,
    signaller: Signaller,
    /// Handles of the processes that have made calls.
    processes: BTreeMap<u32, OwnedFd>,
}

/// What a driver did that others must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DriverAction {
    /// It reset the device of a port.
    Reset(usize),
    /// It gave memory that is not shared: port, address, bytes.
    NotShared(usize, u64, u64),
}

impl Vfio {
    /// Answers for these files: that of containers, and for each port those of its group and its device.
    pub(crate) fn new(addresses: &[String], container: &File, groups: &[File], devices: Vec<File>) -> io::Result<Vfio> {
        let identity = |file: &File| file.metadata().map(|facts| (facts.dev(), facts.ino()));
        let mut files = vec![(identity(container)?, FileKind::Container)];
        for (port, (group, device)) in groups.iter().zip(&devices).enumerate() {
            files.push((identity(group)?, FileKind::Group(port)));
            files.push((identity(device)?, FileKind::Device(port)));
        }
        let socket = UnixListener::bind(seccomp::SOCKET)?;
        socket.set_nonblocking(true)?;
        Ok(Vfio {
            socket,
            joining: Vec::new(),
            listeners: Vec::new(),
            files,
            devices,
            machine: Machine::new(addresses),
            signaller: Signaller::new()?,
            processes: BTreeMap::new(),
        })
    }

    /// True if an interrupt of a port would reach a driver.
    pub(crate) fn has_signals(&self, port: usize) -> bool {
        self.machine.has_signals(port)
    }

    /// Signals the vector of a port, if a driver waits for it.
    pub(crate) fn signal(&mut self, port: usize, vector: u32) {
        if let Some(eventfd) = self.machine.signal(port, vector) {
            self.signaller.signal(eventfd);
        }
    }

    /// Answers the calls that wait, without waiting for any. True if there was one, or a process has ended.
    pub(crate) fn poll(&mut self, memory: &mut DmaMap, mut done: impl FnMut(DriverAction)) -> bool {
        self.accept();
        let mut is_changed = self.release_ended(memory);
        for place in (0..self.listeners.len()).rev() {
            for _ in 0..CALLS_MAX {
                match next_call(self.listeners[place].as_fd()) {
                    Waiting::Nothing => break,
                    Waiting::Ended => {
                        self.listeners.swap_remove(place);
                        break;
                    }
                    Waiting::Call(call) => {
                        is_changed = true;
                        self.answer(place, &call, memory, &mut done);
                    }
                }
            }
        }
        for port in 0..self.devices.len() {
            if self.machine.take_unmasked(port) {
                self.signal(port, 0);
            }
        }
        is_changed
    }

    /// Releases what belonged to processes that have ended; true if there was one.
    pub(crate) fn release_ended(&mut self, memory: &mut DmaMap) -> bool {
        let ended: Vec<u32> = self
            .processes
            .iter()
            .filter(|(_, handle)| process::has_ended(handle))
            .map(|(&process, _)| process)
            .collect();
        for &process in &ended {
            self.processes.remove(&process);
            self.machine.release(process);
            let _ = memory.unmap(process, None);
        }
        !ended.is_empty()
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.socket.accept() {
            if self.joining.len() + self.listeners.len() < LISTENERS_MAX {
                self.joining.push(stream);
            }
        }
        let listeners = &mut self.listeners;
        self.joining.retain(|stream| match seccomp::receive_listener(stream.as_fd()) {
            Ok(Some(listener)) => {
                listeners.push(listener);
                false
            }
            Ok(None) => true,
            Err(_) => false,
        });
    }

    fn answer(&mut self, place: usize, call: &Call, memory: &mut DmaMap, done: &mut impl FnMut(DriverAction)) {
        let listener = &self.listeners[place];
        let kind = |identity| self.files.iter().find(|(file, _)| *file == identity).map(|&(_, kind)| kind);
        let file = process::file_of(call.thread, call.descriptor).and_then(kind);
        let Some((file, process)) = file.zip(process::process_of(call.thread)) else {
            // Of another file, which the kernel has, or not.
            return seccomp::answer(listener.as_fd(), call, seccomp::Outcome::Continue);
        };
        if let std::collections::btree_map::Entry::Vacant(vacant) = self.processes.entry(process) {
            match process::open(process) {
                Ok(handle) => vacant.insert(handle),
                Err(_) => return seccomp::answer(listener.as_fd(), call, seccomp::Outcome::Error(Errno::SRCH)),
            };
        }
        if !seccomp::is_waiting(listener.as_fd(), call) {
            return;
        }
        let mut deeds = Vec::new();
        let mut driver = Driver {
            process,
            thread: call.thread,
            handle: &self.processes[&process],
            files: &self.files,
            is_waiting: &|| seccomp::is_waiting(listener.as_fd(), call),
            memory,
            port: self.machine.port_of(process),
            deeds: &mut deeds,
        };
        let answer = self.machine.handle(file, call.request, call.argument, &mut driver);
        deeds.into_iter().for_each(done);
        let reopened;
        let answer = match answer {
            Ok(ReturnValue::Value(value)) => seccomp::Outcome::Value(value),
            Ok(ReturnValue::Device(port)) => match process::reopen(&self.devices[port]) {
                Ok(file) => {
                    reopened = file;
                    seccomp::Outcome::Descriptor(reopened.as_fd())
                }
                Err(_) => seccomp::Outcome::Error(Errno::MFILE),
            },
            Err(error) => seccomp::Outcome::Error(error),
        };
        seccomp::answer(listener.as_fd(), call, answer);
    }
}

/// The process whose call is answered.
struct Driver<'a> {
    process: u32,
    thread: u32,
    handle: &'a OwnedFd,
    files: &'a [((u64, u64), FileKind)],
    /// Its PID is its own.
    is_waiting: &'a dyn Fn() -> bool,
    memory: &'a mut DmaMap,
    port: usize,
    deeds: &'a mut Vec<DriverAction>,
}

impl Driver<'_> {
    fn if_waiting<T>(&self, value: T) -> Result<T, Errno> {
        if (self.is_waiting)() { Ok(value) } else { Err(Errno::SRCH) }
    }
}

impl Caller for Driver<'_> {
    type Signal = OwnedFd;

    fn process(&self) -> u32 {
        self.process
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        process::read(self.process, address, into)?;
        self.if_waiting(())
    }

    fn read_text(&self, address: u64, bytes_max: usize) -> Result<Vec<u8>, Errno> {
        let text = process::read_text(self.process, address, bytes_max)?;
        self.if_waiting(text)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.if_waiting(())?;
        process::write(self.process, address, bytes)
    }

    fn file(&self, descriptor: i32) -> Option<FileKind> {
        let identity = process::file_of(self.thread, descriptor)?;
        self.files.iter().find(|(file, _)| *file == identity).map(|&(_, kind)| kind)
    }

    fn eventfd(&self, descriptor: i32) -> Result<OwnedFd, Errno> {
        process::take_eventfd(self.handle, descriptor)
    }

    fn map(&mut self, iova: u64, address: u64, bytes: u64) -> Result<(), Errno> {
        match self.memory.map(self.process, iova, address, bytes) {
            // Until here, the PID may have become that of another process, or of another program.
            Ok(()) => self.if_waiting(()).inspect_err(|_| {
                let _ = self.memory.unmap(self.process, Some((iova, iova.saturating_add(bytes))));
            }),
            Err(Refusal::Errno(error)) => Err(error),
            Err(Refusal::NotShared) => {
                self.deeds.push(DriverAction::NotShared(self.port, address, bytes));
                Err(Errno::OPNOTSUPP)
            }
        }
    }

    fn unmap(&mut self, range: Option<(u64, u64)>) -> Result<u64, Errno> {
        self.memory.unmap(self.process, range)
    }

    fn reset(&mut self, port: usize) {
        self.deeds.push(DriverAction::Reset(port));
    }
}
