//! What a driver finds: PCI devices in sysfs and a file system of huge pages, in a mount namespace of its own.
//!
//! Nothing of the machine's own `/sys` or `/mnt` is touched: the mounts are seen by the driver alone, and are gone when the
//! last process in the namespace is, whatever ended it.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Where drivers look for huge pages.
pub const HUGE_PAGES: &str = "/mnt/huge";
/// Where drivers look for PCI devices; the first that exists is replaced.
const PCI_PLACES: [&str; 3] = ["/sys/bus/pci/devices", "/sys/bus/pci", "/sys/bus"];
const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// 82599ES 10-Gigabit SFI/SFP+ Network Connection.
const VENDOR: u16 = 0x8086;
const DEVICE: u16 = 0x10fb;
/// PCI class of Ethernet controllers.
const CLASS: [u8; 2] = [0x00, 0x02];
const CONFIG_BYTES: usize = 4096;

/// Reasons why there is no namespace for a driver.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// This user may not make one.
    #[error("cannot create a mount namespace: {0}")]
    NotPermitted(io::Error),
    /// Something could not be mounted or written.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        /// Attempted action as a verb phrase.
        what: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// There is no place for it.
    #[error("{}: no such directory", path.display())]
    NoPlace {
        /// Path of the directory.
        path: PathBuf,
    },
}

fn failed<'a>(what: &'static str, path: &'a Path) -> impl Fn(io::Error) -> NamespaceError + 'a {
    move |error| NamespaceError::Io { what, path: path.to_owned(), error }
}

/// Moves the calling thread into a mount namespace with these PCI devices in it, and returns the file of each BAR 0.
///
/// Processes that this thread starts are in it, too.
///
/// # Errors
/// [`NamespaceError`].
pub(crate) fn enter(addresses: &[String]) -> Result<Vec<File>, NamespaceError> {
    separate().map_err(NamespaceError::NotPermitted)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| NamespaceError::NotPermitted(error.into()))?;
    mount_huge_pages()?;
    let place = PCI_PLACES.iter().map(Path::new).find(|place| place.is_dir());
    let place = place.ok_or_else(|| NamespaceError::NoPlace { path: PathBuf::from(PCI_PLACES[2]) })?;
    mount_tmpfs(place)?;
    let devices = Path::new(PCI_DEVICES);
    fs::create_dir_all(devices).map_err(failed("create", devices))?;
    addresses.iter().map(|address| make_device(&devices.join(address))).collect()
}

#[allow(unsafe_code, reason = "unshare(2)")]
fn separate() -> io::Result<()> {
    // SAFETY: no descriptor table is given up, which is all that the call is unsafe for.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?)
}

fn mount_tmpfs(place: &Path) -> Result<(), NamespaceError> {
    mount("tmpfs", place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=755")
        .map_err(|error| failed("mount a tmpfs over", place)(error.into()))
}

/// Mounts a file system of huge pages. A directory for it that is missing is seen in the namespace only: a copy of the one
/// above it is mounted there, with everything that it holds.
fn mount_huge_pages() -> Result<(), NamespaceError> {
    let place = Path::new(HUGE_PAGES);
    if !place.is_dir() {
        let above = Path::new("/mnt");
        let entries = fs::read_dir(above).map_err(|_| NamespaceError::NoPlace { path: above.to_owned() })?;
        let names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        let original = File::open(above).map_err(failed("open", above))?;
        mount_tmpfs(above)?;
        for name in names {
            let (from, to) =
                (PathBuf::from(format!("/proc/self/fd/{}", original.as_raw_fd())).join(&name), above.join(&name));
            let made = if from.is_dir() { fs::create_dir(&to) } else { File::create(&to).map(drop) };
            made.map_err(failed("create", &to))?;
            // What cannot be shown there is a link, which nobody follows for huge pages.
            let _ = mount_bind_recursive(&from, &to);
        }
        fs::create_dir(place).map_err(failed("create", place))?;
    }
    let options = CString::new("pagesize=2M,mode=700").expect("no byte of it is 0");
    mount("hugetlbfs", place, "hugetlbfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .map_err(|error| failed("mount huge pages at", place)(error.into()))
}

/// Makes the files of one PCI device.
fn make_device(directory: &Path) -> Result<File, NamespaceError> {
    fs::create_dir(directory).map_err(failed("create", directory))?;
    let texts = [
        ("vendor", format!("0x{VENDOR:04x}\n")),
        ("device", format!("0x{DEVICE:04x}\n")),
        ("class", "0x020000\n".to_owned()),
        ("numa_node", "-1\n".to_owned()),
        ("enable", "1\n".to_owned()),
    ];
    let files = texts.into_iter().map(|(name, text)| (name, text.into_bytes())).chain([("config", config_space())]);
    for (name, content) in files {
        let path = directory.join(name);
        File::create(&path).and_then(|mut file| file.write_all(&content)).map_err(failed("write", &path))?;
    }
    let path = directory.join("resource0");
    OpenOptions::new().read(true).write(true).create_new(true).open(&path).map_err(failed("create", &path))
}

/// The configuration space of the port (PCI Local Bus Specification 3.0, 6.1): a header of type 0 with one 64-bit BAR.
fn config_space() -> Vec<u8> {
    let mut space = vec![0; CONFIG_BYTES];
    space[0x00..0x02].copy_from_slice(&VENDOR.to_le_bytes());
    space[0x02..0x04].copy_from_slice(&DEVICE.to_le_bytes());
    // Command: memory space. Drivers set bit 2, bus master.
    space[0x04] = 0x02;
    space[0x08] = 0x01;
    space[0x0a..0x0c].copy_from_slice(&CLASS);
    // BAR 0: memory, 64 bits, at 3 GiB.
    space[0x10..0x14].copy_from_slice(&0xc000_0004_u32.to_le_bytes());
    space
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_find_a_network_controller_of_intel() {
        let space = config_space();
        assert_eq!((space[0x0b], &space[..4]), (2, &[0x86, 0x80, 0xfb, 0x10][..]));
        assert_eq!(u32::from_le_bytes(space[8..12].try_into().expect("four bytes")) >> 24, 2);
    }
}
