//! PCI devices through sysfs.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A PCI device that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {error}", path.display())]
pub struct PciError {
    /// Attempted action as a verb phrase.
    pub what: &'static str,
    /// Path of the file in sysfs.
    pub path: PathBuf,
    /// Error that the kernel returned.
    pub error: io::Error,
}

/// Takes a device from its kernel driver, makes it bus master, and opens its registers.
pub(crate) fn open_registers(address: &str) -> Result<File, PciError> {
    let path = |name: &str| PathBuf::from(format!("/sys/bus/pci/devices/{address}/{name}"));
    let failed = |what, name: &str| {
        let path = path(name);
        move |error| PciError { what, path, error }
    };
    match OpenOptions::new().write(true).open(path("driver/unbind")) {
        Ok(mut unbind) => unbind.write_all(address.as_bytes()).map_err(failed("write", "driver/unbind"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("open", "driver/unbind")(error)),
    }
    let config = OpenOptions::new().read(true).write(true).open(path("config")).map_err(failed("open", "config"))?;
    // PCI Local Bus Specification 3.0, 6.2.2: bit 2 of the command register, at 4, is bus master.
    let mut command = [0; 2];
    config.read_exact_at(&mut command, 4).map_err(failed("read", "config"))?;
    command[0] |= 1 << 2;
    config.write_all_at(&command, 4).map_err(failed("write", "config"))?;
    OpenOptions::new().read(true).write(true).open(path("resource0")).map_err(failed("open", "resource0"))
}
