//! What a driver finds: PCI devices in sysfs and a file system of huge pages, in a mount namespace of its own.
//!
//! Nothing of the machine's own `/sys` or `/mnt` is touched: the mounts are seen by the driver alone, and are gone when the
//! last process in the namespace is, whatever ended it.

use std::ffi::CString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};

use prony_ixgbe_regs::BAR_BYTES;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::uio::Uio;
use crate::vfio::{Vfio, abi, config};

/// Where drivers look for huge pages.
pub const HUGE_PAGES: &str = "/mnt/huge";
/// Where drivers look for PCI devices; the first that exists is replaced.
const PCI_PLACES: [&str; 3] = ["/sys/bus/pci/devices", "/sys/bus/pci", "/sys/bus"];
const PCI_DEVICES: &str = "/sys/bus/pci/devices";
const PCI_DRIVERS: &str = "/sys/bus/pci/drivers";

const UIO_CLASS: &str = "/sys/class/uio";
const DEVICE_FILES: &str = "/dev";
const VFIO_FILES: &str = "/dev/vfio";
const IOMMU_GROUPS: &str = "/sys/kernel/iommu_groups";
/// Modules of the kernel that drivers look for before they use VFIO.
const VFIO_MODULES: [&str; 2] = ["/sys/module/vfio", "/sys/module/vfio_pci"];

const VENDOR: u16 = 0x8086;
/// 82599ES 10-Gigabit SFI/SFP+ Network Connection.
const SFP: u16 = 0x10fb;
/// 82599 10 Gigabit Dual Port Backplane Connection. A driver that knows modules reads that of an SFP+ card by I²C, setting clock
/// and data bits of I2CCTL one at a time, which a device that looks now and then does not see. Backplanes have no module.
const BACKPLANE: u16 = 0x10f8;
/// PCI class of Ethernet controllers.
const CLASS: [u8; 2] = [0x00, 0x02];
const CONFIG_BYTES: usize = 4096;
/// Bus address of BAR 0, which nothing uses: 3 GiB.
const BAR_AT: u32 = 0xc000_0000;

/// Kernel drivers that a port is bound to, as far as user-space drivers can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// None: the files of sysfs that ixy and the drivers of this project use. The kernel's `ixgbe` is there, and has no device.
    None,
    /// `igb_uio`, which DPDK knows: more files of sysfs, and interrupts by `/dev/uioN`.
    Uio,
    /// `vfio-pci`: the files of VFIO, by which drivers map registers and memory, and get interrupts as eventfds.
    Vfio,
}

impl Binding {
    fn device(self) -> u16 {
        match self {
            Binding::None => SFP,
            Binding::Uio | Binding::Vfio => BACKPLANE,
        }
    }
}

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

/// What there is in a mount namespace.
pub(crate) struct Devices {
    /// The file of BAR 0 of each port, and of its interrupt if it has one.
    pub(crate) ports: Vec<(File, Option<Uio>)>,
    /// The files of VFIO, if there are any.
    pub(crate) vfio: Option<Vfio>,
}

/// Moves the calling thread into a mount namespace with these PCI devices in it.
///
/// Processes that this thread starts are in it, too.
///
/// # Errors
/// [`NamespaceError`].
pub(crate) fn enter(addresses: &[String], binding: Binding) -> Result<Devices, NamespaceError> {
    separate().map_err(NamespaceError::NotPermitted)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| NamespaceError::NotPermitted(error.into()))?;
    mount_huge_pages()?;
    let place = PCI_PLACES.iter().map(Path::new).find(|place| place.is_dir());
    let place = place.ok_or_else(|| NamespaceError::NoPlace { path: PathBuf::from(PCI_PLACES[2]) })?;
    mount_tmpfs(place, MountFlags::NODEV)?;
    let devices = Path::new(PCI_DEVICES);
    fs::create_dir_all(devices).map_err(failed("create", devices))?;
    match binding {
        Binding::None => make_kernel_driver()?,
        Binding::Vfio => {}
        Binding::Uio => {
            mount_copy(Path::new(DEVICE_FILES))?;
            let class = Path::new(UIO_CLASS);
            make_appear(class)?;
            mount_tmpfs(class, MountFlags::NODEV)?;
        }
    }
    let make = |(number, address): (usize, &String)| {
        let directory = devices.join(address);
        let bar = make_device(&directory, binding)?;
        let uio = match binding {
            Binding::None | Binding::Vfio => None,
            Binding::Uio => Some(bind_to_uio(&directory, number)?),
        };
        Ok((bar, uio))
    };
    let ports = addresses.iter().enumerate().map(make).collect::<Result<Vec<_>, _>>()?;
    let vfio = match binding {
        Binding::Vfio => Some(bind_to_vfio(devices, addresses, &ports)?),
        Binding::None | Binding::Uio => None,
    };
    Ok(Devices { ports, vfio })
}

#[allow(unsafe_code, reason = "unshare(2)")]
fn separate() -> io::Result<()> {
    // SAFETY: no descriptor table is given up, which is all that the call is unsafe for.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?)
}

fn mount_tmpfs(place: &Path, flags: MountFlags) -> Result<(), NamespaceError> {
    mount("tmpfs", place, "tmpfs", MountFlags::NOSUID | flags, c"mode=755")
        .map_err(|error| failed("mount a tmpfs over", place)(error.into()))
}

/// Mounts a file system of huge pages.
fn mount_huge_pages() -> Result<(), NamespaceError> {
    let place = Path::new(HUGE_PAGES);
    make_appear(place)?;
    let options = CString::new("pagesize=2M,mode=700").expect("no byte of it is 0");
    mount("hugetlbfs", place, "hugetlbfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .map_err(|error| failed("mount huge pages at", place)(error.into()))
}

/// Makes a directory that is missing, which is seen in the namespace only.
fn make_appear(place: &Path) -> Result<(), NamespaceError> {
    if place.is_dir() {
        return Ok(());
    }
    let above = place.parent().ok_or_else(|| NamespaceError::NoPlace { path: place.to_owned() })?;
    mount_copy(above)?;
    fs::create_dir(place).map_err(failed("create", place))
}

/// Mounts a copy of a directory over it, with everything that it holds, to which something can be added.
fn mount_copy(directory: &Path) -> Result<(), NamespaceError> {
    let entries = fs::read_dir(directory).map_err(|_| NamespaceError::NoPlace { path: directory.to_owned() })?;
    let names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    let original = File::open(directory).map_err(failed("open", directory))?;
    mount_tmpfs(directory, MountFlags::empty())?;
    for name in names {
        let from = PathBuf::from(format!("/proc/self/fd/{}", original.as_raw_fd())).join(&name);
        let to = directory.join(&name);
        if let Ok(target) = fs::read_link(&from) {
            symlink(target, &to).map_err(failed("create", &to))?;
            continue;
        }
        let made = match fs::symlink_metadata(&from) {
            // A node and not the node bound here: /dev/ptmx looks for pts beside it.
            Ok(facts) if facts.rdev() != 0 => {
                copy_node(&facts, &to).map_err(failed("create", &to))?;
                continue;
            }
            Ok(facts) if facts.is_dir() => fs::create_dir(&to),
            _ => File::create(&to).map(drop),
        };
        made.map_err(failed("create", &to))?;
        // What cannot be shown there is empty.
        let _ = mount_bind_recursive(&from, &to);
    }
    Ok(())
}

/// Makes the kernel's driver for the card, with no device bound to it. Some user-space drivers open the files that bind and unbind one
/// before they look whether they need to.
fn make_kernel_driver() -> Result<(), NamespaceError> {
    let drivers = Path::new(PCI_DRIVERS);
    if drivers.is_dir() {
        mount_tmpfs(drivers, MountFlags::NODEV)?;
    }
    let driver = drivers.join("ixgbe");
    fs::create_dir_all(&driver).map_err(failed("create", &driver))?;
    ["bind", "unbind"].iter().try_for_each(|name| write(&driver.join(name), b""))
}

/// Makes the files of one PCI device.
fn make_device(directory: &Path, binding: Binding) -> Result<File, NamespaceError> {
    let device = binding.device();
    fs::create_dir(directory).map_err(failed("create", directory))?;
    let texts = [
        ("vendor", format!("0x{VENDOR:04x}\n")),
        ("device", format!("0x{device:04x}\n")),
        ("class", "0x020000\n".to_owned()),
        ("numa_node", "-1\n".to_owned()),
        ("enable", "1\n".to_owned()),
    ];
    for (name, text) in texts {
        write(&directory.join(name), text.as_bytes())?;
    }
    write(&directory.join("config"), &config_space(binding))?;
    let path = directory.join("resource0");
    OpenOptions::new().read(true).write(true).create_new(true).open(&path).map_err(failed("create", &path))
}

/// Makes the node of a character or block device.
fn copy_node(facts: &Metadata, to: &Path) -> io::Result<()> {
    let kind = FileType::from_raw_mode(facts.mode());
    mknodat(CWD, to, kind, Mode::from_raw_mode(facts.mode()), facts.rdev())?;
    fs::set_permissions(to, facts.permissions())?;
    chown(to, Some(facts.uid()), Some(facts.gid()))
}

fn write(path: &Path, content: &[u8]) -> Result<(), NamespaceError> {
    File::create(path).and_then(|mut file| file.write_all(content)).map_err(failed("write", path))
}

/// Text of `resource` (Documentation/ABI/testing/sysfs-bus-pci): first and last address and flags of each BAR, and of the ROM.
/// 0x200 is memory, 0x40000 a register of the size of a cache line or more, 0x4 64 bits.
fn resources() -> String {
    let bar = format!("0x{BAR_AT:016x} 0x{:016x} 0x0000000000040204\n", BAR_AT as usize + BAR_BYTES - 1);
    bar + &"0x0000000000000000 0x0000000000000000 0x0000000000000000\n".repeat(6)
}

/// Makes the files of a port that drivers read which know it by the kernel driver that it is bound to.
fn describe(directory: &Path) -> Result<(), NamespaceError> {
    let texts = [
        ("subsystem_vendor", format!("0x{VENDOR:04x}\n")),
        ("subsystem_device", "0x0003\n".to_owned()),
        ("max_vfs", "0\n".to_owned()),
        ("resource", resources()),
    ];
    for (name, text) in texts {
        write(&directory.join(name), text.as_bytes())?;
    }
    Ok(())
}

/// Makes what a driver looks for that uses VFIO.
fn bind_to_vfio(devices: &Path, addresses: &[String], ports: &[(File, Option<Uio>)]) -> Result<Vfio, NamespaceError> {
    let files = Path::new(VFIO_FILES);
    for place in VFIO_MODULES.iter().chain(&[VFIO_FILES, IOMMU_GROUPS]) {
        make_appear(Path::new(place))?;
    }
    mount_tmpfs(files, MountFlags::NODEV)?;
    mount_tmpfs(Path::new(IOMMU_GROUPS), MountFlags::NODEV)?;
    let create = |path: &Path| {
        let options = OpenOptions::new().read(true).write(true).create_new(true).open(path);
        options.map_err(failed("create", path))
    };
    let container = create(&files.join("vfio"))?;
    let (mut groups, mut opened) = (Vec::new(), Vec::new());
    for (number, (address, (bar, _))) in addresses.iter().zip(ports).enumerate() {
        let directory = devices.join(address);
        groups.push(create(&files.join(number.to_string()))?);
        describe(&directory)?;
        let group = Path::new(IOMMU_GROUPS).join(number.to_string());
        let members = group.join("devices");
        fs::create_dir_all(&members).map_err(failed("create", &members))?;
        // Drivers want the names that they end with.
        for (target, link) in [
            (Path::new("../../drivers/vfio-pci"), directory.join("driver")),
            (&group, directory.join("iommu_group")),
            (&directory, members.join(address)),
        ] {
            symlink(target, &link).map_err(failed("create", &link))?;
        }
        // The regions as VFIO has them: the registers are at 0.
        let path = directory.join("resource0");
        let config_at = u64::from(abi::REGION_CONFIG) << abi::REGION_SHIFT;
        bar.set_len(config_at + config::CONFIG_BYTES as u64).map_err(failed("write", &path))?;
        bar.write_all_at(&config_space(Binding::Vfio), config_at).map_err(failed("write", &path))?;
        opened.push(bar.try_clone().map_err(failed("open", &path))?);
    }
    Vfio::new(addresses, &container, &groups, opened).map_err(failed("create", files))
}

/// Makes what a driver looks for that knows ports by the kernel driver that they are bound to.
fn bind_to_uio(directory: &Path, number: usize) -> Result<Uio, NamespaceError> {
    describe(directory)?;
    let name = format!("uio{number}");
    let (inner, class) = (directory.join("uio").join(&name), Path::new(UIO_CLASS).join(&name));
    for directory in [&inner, &class] {
        fs::create_dir_all(directory).map_err(failed("create", directory))?;
    }
    // Drivers want the name that it ends with.
    let links = [(Path::new("../../drivers/igb_uio"), directory.join("driver")), (directory, class.join("device"))];
    for (target, link) in links {
        symlink(target, &link).map_err(failed("create", &link))?;
    }
    let file = Path::new(DEVICE_FILES).join(&name);
    let uio = Uio::open().map_err(failed("open a pseudo-terminal for", &file))?;
    // The machine's own, if it has one, is not in this namespace.
    let _ = fs::remove_file(&file);
    symlink(uio.path(), &file).map_err(failed("create", &file))?;
    Ok(uio)
}

/// The configuration space of the port (PCI Local Bus Specification 3.0, 6.1): a header of type 0 with one 64-bit BAR.
fn config_space(binding: Binding) -> Vec<u8> {
    let device = binding.device();
    let mut space = vec![0; CONFIG_BYTES];
    let mut put = |at: u8, bytes: &[u8]| config::put(&mut space, at, bytes);
    put(0x00, &VENDOR.to_le_bytes());
    put(0x02, &device.to_le_bytes());
    // Command: memory space. Drivers set bit 2, bus master.
    put(0x04, &[0x02]);
    put(0x08, &[0x01]);
    put(0x0a, &CLASS);
    // BAR 0: memory, 64 bits.
    put(0x10, &(BAR_AT | 4).to_le_bytes());
    if binding == Binding::Vfio {
        config::add_capabilities(&mut space);
    }
    space
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_find_a_network_controller_of_intel() {
        let space = config_space(Binding::None);
        assert_eq!((space[0x0b], &space[..4]), (2, &[0x86, 0x80, 0xfb, 0x10][..]));
        assert_eq!(u32::from_le_bytes(space[8..12].try_into().expect("four bytes")) >> 24, 2);
    }

    #[test]
    fn a_driver_that_would_read_a_module_finds_a_card_without_one() {
        assert_eq!(config_space(Binding::Uio)[..4], [0x86, 0x80, 0xf8, 0x10]);
    }
}
