//! The interrupt of a port as the kernel's user-space I/O shows it (Documentation/driver-api/uio-howto.rst): a read of
//! `/dev/uioN` waits for the next interrupt and returns how many there were, and a write of 1 or 0 enables or disables it.
//!
//! A pseudo-terminal without any processing of lines is such a file without a module in the kernel: the driver has the one end,
//! which it reads, writes and waits for with `poll` or `epoll`, and the device has the other.
//!
//! A read of EICR, which clears it, is not seen. Drivers read it before they enable the interrupt again, so that is when it is
//! cleared; and between an interrupt and that write, there is no other one. EIMC is not read: of a mask that is cleared
//! and set again within moments, a device that looks now and then sees nothing, or only that it was cleared.
#![deny(clippy::indexing_slicing)]
#![allow(unsafe_code, reason = "pseudo-terminals")]

use std::ffi::{CStr, OsStr};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use prony_ixgbe_regs as regs;
use prony_softnic::Device;

/// The device's end of the file of an interrupt.
#[derive(Debug)]
pub(crate) struct Uio {
    device: File,
    /// The driver's end, so that it stays open whether a driver has it or not.
    driver: File,
    path: PathBuf,
    /// Bytes of a number that has not come whole.
    begun: Vec<u8>,
    /// Causes that the driver has set in EIMS since the last reset.
    armed: u32,
    is_enabled: bool,
    /// There was an interrupt since it was enabled last.
    is_raised: bool,
    interrupts: u32,
}

impl Uio {
    pub(crate) fn open() -> io::Result<Uio> {
        // SAFETY: a plain system call, whose descriptor is checked before it is owned.
        let descriptor =
            unsafe { libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC | libc::O_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened, and nothing else has it.
        let device = unsafe { File::from_raw_fd(descriptor) };
        let mut name = [0; 128];
        // SAFETY: the descriptor is open, and `name` has the size that is given.
        let named = unsafe {
            match libc::unlockpt(descriptor) {
                0 => libc::ptsname_r(descriptor, name.as_mut_ptr(), name.len()),
                _ => return Err(io::Error::last_os_error()),
            }
        };
        if named != 0 {
            return Err(io::Error::from_raw_os_error(named));
        }
        // SAFETY: ptsname_r(3) has written a string that ends with 0.
        let path = PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(name.as_ptr()) }.to_bytes()));
        let options = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(&path);
        let uio = Uio {
            device,
            driver: options?,
            path,
            begun: Vec::new(),
            armed: 0,
            is_enabled: false,
            is_raised: false,
            interrupts: 0,
        };
        uio.make_raw()?;
        Ok(uio)
    }

    /// The file of the driver's end.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes pass as they are.
    fn make_raw(&self) -> io::Result<()> {
        let descriptor = self.driver.as_raw_fd();
        // SAFETY: all zeros is a valid value of the structure, which lives through the calls.
        let done = unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            if libc::tcgetattr(descriptor, &raw mut settings) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::cfmakeraw(&raw mut settings);
            libc::tcsetattr(descriptor, libc::TCSANOW, &raw const settings)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The driver has written EIMS.
    pub(crate) fn arm(&mut self, causes: u32) {
        self.armed |= causes;
    }

    /// The driver has reset the device.
    pub(crate) fn handle_reset(&mut self) {
        self.armed = 0;
    }

    /// There is another driver, or none.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        (self.armed, self.is_enabled, self.is_raised, self.interrupts) = (0, false, false, 0);
        self.begun.clear();
        // SAFETY: a plain system call on a descriptor that is open.
        unsafe { libc::tcflush(self.driver.as_raw_fd(), libc::TCIOFLUSH) };
        self.make_raw()
    }

    /// Takes what the driver wrote, and interrupts it if there is a cause.
    pub(crate) fn poll(&mut self, device: &mut Device) {
        let mut bytes = [0; 64];
        // Nothing to read is an error, too.
        let read = (&self.device).read(&mut bytes).unwrap_or(0);
        for &byte in bytes.iter().take(read) {
            self.begun.push(byte);
            if let Ok(number) = <[u8; 4]>::try_from(&self.begun[..]) {
                self.begun.clear();
                self.enable(device, i32::from_ne_bytes(number) != 0);
            }
        }
        if self.is_enabled && !self.is_raised && device.value(regs::EICR) & self.armed != 0 {
            self.is_raised = true;
            self.interrupts = self.interrupts.wrapping_add(1);
            // A driver that reads nothing for thousands of interrupts gets no more.
            let _ = (&self.device).write(&self.interrupts.to_ne_bytes());
        }
    }

    fn enable(&mut self, device: &mut Device, is_enabled: bool) {
        if is_enabled && std::mem::take(&mut self.is_raised) {
            device.read(regs::EICR);
        }
        self.is_enabled = is_enabled;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end that a driver opens, which does not wait here.
    fn driver(uio: &Uio) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK);
        options.open(uio.path()).expect("it is there while the device has it")
    }

    fn count(driver: &mut File) -> Option<u32> {
        let mut number = [0; 4];
        match driver.read(&mut number) {
            Ok(read) => {
                assert_eq!(read, 4);
                Some(u32::from_ne_bytes(number))
            }
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                None
            }
        }
    }

    #[test]
    fn a_link_that_changes_interrupts_a_driver_that_enabled_it_once_each() {
        let mut uio = Uio::open().expect("there are pseudo-terminals");
        let mut driver = driver(&uio);
        let mut device = Device::new([0; 6], 0);
        device.handle_timeout(10_000_000);
        uio.arm(regs::EICR_LSC);
        uio.poll(&mut device);
        assert_eq!(count(&mut driver), None, "it is not enabled");
        for (round, is_plugged) in [false, true, false].into_iter().enumerate() {
            driver.write_all(&1_i32.to_ne_bytes()).expect("the device reads it");
            uio.poll(&mut device);
            assert_eq!(count(&mut driver), Some(round as u32 + 1));
            assert_ne!(device.value(regs::EICR) & regs::EICR_LSC, 0, "the driver reads it now");
            uio.poll(&mut device);
            assert_eq!(count(&mut driver), None);
            driver.write_all(&1_i32.to_ne_bytes()).expect("the device reads it");
            uio.poll(&mut device);
            assert_eq!((count(&mut driver), device.value(regs::EICR)), (None, 0));
            device.set_cable(20_000_000, is_plugged);
            device.handle_timeout(30_000_000);
        }
    }

    #[test]
    fn a_cause_that_is_not_armed_or_disabled_interrupts_no_driver() {
        let mut uio = Uio::open().expect("there are pseudo-terminals");
        let mut driver = driver(&uio);
        let mut device = Device::new([0; 6], 0);
        device.handle_timeout(10_000_000);
        // In two parts, as a number may come.
        driver.write_all(&1_i32.to_ne_bytes()[..3]).expect("the device reads it");
        uio.poll(&mut device);
        driver.write_all(&1_i32.to_ne_bytes()[3..]).expect("the device reads it");
        uio.poll(&mut device);
        assert_eq!(count(&mut driver), None, "EIMS was not written");
        driver.write_all(&0_i32.to_ne_bytes()).expect("the device reads it");
        uio.arm(regs::EICR_LSC);
        uio.poll(&mut device);
        assert_eq!(count(&mut driver), None, "it was disabled");
        driver.write_all(&1_i32.to_ne_bytes()).expect("the device reads it");
        uio.handle_reset();
        uio.poll(&mut device);
        assert_eq!(count(&mut driver), None, "a reset masks all causes");
    }

    #[test]
    fn the_next_driver_reads_nothing_of_the_one_before() {
        let mut uio = Uio::open().expect("there are pseudo-terminals");
        let mut driver = driver(&uio);
        let mut device = Device::new([0; 6], 0);
        device.handle_timeout(10_000_000);
        uio.arm(regs::EICR_LSC);
        driver.write_all(&1_i32.to_ne_bytes()).expect("the device reads it");
        uio.poll(&mut device);
        uio.restart().expect("it is there");
        assert_eq!(count(&mut driver), None);
    }
}
