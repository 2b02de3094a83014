//! A card through VFIO (Documentation/driver-api/vfio.rst): the kernel gives its registers, lets it reach memory of this process
//! and nothing else, and signals its interrupts by eventfds. Used where the card is in an IOMMU group.
#![allow(unsafe_code, reason = "requests of VFIO are made by ioctl(2)")]

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::event::{EventfdFlags, eventfd};

use crate::pci::PciError;

/// Requests of `linux/vfio.h`: `_IO(';', 100 + n)`.
const GET_API_VERSION: u64 = 0x3b64;
const CHECK_EXTENSION: u64 = 0x3b65;
const SET_IOMMU: u64 = 0x3b66;
const GROUP_GET_STATUS: u64 = 0x3b67;
const GROUP_SET_CONTAINER: u64 = 0x3b68;
const GROUP_UNSET_CONTAINER: u64 = 0x3b69;
const GROUP_GET_DEVICE_FD: u64 = 0x3b6a;
const DEVICE_GET_REGION_INFO: u64 = 0x3b6c;
const DEVICE_SET_IRQS: u64 = 0x3b6e;
const IOMMU_MAP_DMA: u64 = 0x3b71;
const IOMMU_UNMAP_DMA: u64 = 0x3b72;

const TYPE1: u64 = 1;
const GROUP_VIABLE: u32 = 1;
const READ_AND_WRITE: u32 = 3;
const BAR0: u32 = 0;
const CONFIG: u32 = 7;
const MSIX: u32 = 2;
/// `VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER`.
const TRIGGER_EVENTFD: u32 = 4 | 32;

#[repr(C)]
#[derive(Default)]
struct GroupStatus {
    argsz: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct RegionInfo {
    argsz: u32,
    flags: u32,
    index: u32,
    cap_offset: u32,
    size: u64,
    offset: u64,
}

#[repr(C)]
struct IrqSet {
    argsz: u32,
    flags: u32,
    index: u32,
    start: u32,
    count: u32,
    eventfd: i32,
}

#[repr(C)]
struct DmaMap {
    argsz: u32,
    flags: u32,
    address: u64,
    iova: u64,
    size: u64,
}

#[repr(C)]
struct DmaUnmap {
    argsz: u32,
    flags: u32,
    iova: u64,
    size: u64,
}

/// Makes a request.
///
/// # Safety
/// The argument is what the request takes: a number, or a pointer to its structure.
unsafe fn request(file: &File, number: u64, argument: u64) -> io::Result<i32> {
    // SAFETY: the caller's; the kernel checks every pointer that it is given.
    match unsafe { libc::ioctl(file.as_raw_fd(), number as _, argument) } {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// Makes a request with a structure.
///
/// # Safety
/// The structure is that of the request, and its size is as it says.
unsafe fn request_with<T>(file: &File, number: u64, structure: &mut T) -> io::Result<i32> {
    // SAFETY: the caller's; the structure lives through the call.
    unsafe { request(file, number, (&raw mut *structure) as u64) }
}

fn open(path: &Path) -> Result<File, PciError> {
    OpenOptions::new().read(true).write(true).open(path).map_err(failed("open", path))
}

fn failed<'a>(what: &'static str, path: &'a Path) -> impl Fn(io::Error) -> PciError + 'a {
    move |error| PciError { what, path: path.to_owned(), error }
}

/// The IOMMU group of a device: the file in `/dev/vfio` that it is reached by. `None` where there is no IOMMU.
pub(crate) fn group(address: &str) -> Option<PathBuf> {
    let link = fs::read_link(format!("/sys/bus/pci/devices/{address}/iommu_group")).ok()?;
    Some(Path::new("/dev/vfio").join(link.file_name()?))
}

/// Addresses that all cards of this process have in common. It exists while a card does.
#[derive(Debug)]
pub(crate) struct Container {
    file: File,
    has_iommu: Mutex<bool>,
}

static CONTAINER: Mutex<Weak<Container>> = Mutex::new(Weak::new());

impl Container {
    fn shared() -> Result<Arc<Container>, PciError> {
        let mut shared = CONTAINER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(container) = shared.upgrade() {
            return Ok(container);
        }
        let path = Path::new("/dev/vfio/vfio");
        let file = open(path)?;
        // SAFETY: these requests take numbers.
        let is_known = unsafe {
            request(&file, GET_API_VERSION, 0).is_ok_and(|version| version == 0)
                && request(&file, CHECK_EXTENSION, TYPE1).is_ok_and(|has| has == 1)
        };
        if !is_known {
            return Err(failed("use", path)(io::ErrorKind::Unsupported.into()));
        }
        let container = Arc::new(Container { file, has_iommu: Mutex::new(false) });
        *shared = Arc::downgrade(&container);
        Ok(container)
    }

    /// Lets cards reach memory, at an address of theirs.
    pub(crate) fn map(&self, address: u64, iova: u64, bytes: u64) -> io::Result<()> {
        let argsz = size_of::<DmaMap>() as u32;
        let mut map = DmaMap { argsz, flags: READ_AND_WRITE, address, iova, size: bytes };
        // SAFETY: it is the structure of the request. What cards may reach is DMA memory, of which this process knows.
        unsafe { request_with(&self.file, IOMMU_MAP_DMA, &mut map) }.map(drop)
    }

    /// Cards no longer reach that memory.
    pub(crate) fn unmap(&self, iova: u64, bytes: u64) {
        let mut unmap = DmaUnmap { argsz: size_of::<DmaUnmap>() as u32, flags: 0, iova, size: bytes };
        // SAFETY: it is the structure of the request. If it fails, the memory stays pinned until the process ends.
        let _ = unsafe { request_with(&self.file, IOMMU_UNMAP_DMA, &mut unmap) };
    }
}

/// A card that VFIO gave to this process.
#[derive(Debug)]
pub(crate) struct VfioDevice {
    /// Closed before its group leaves the container.
    file: Option<File>,
    group: File,
    path: PathBuf,
    pub(crate) container: Arc<Container>,
}

impl VfioDevice {
    /// Takes a device, and makes it bus master.
    pub(crate) fn open(address: &str, path: PathBuf) -> Result<VfioDevice, PciError> {
        let container = Container::shared()?;
        let group = open(&path)?;
        let name = CString::new(address).map_err(|_| failed("name", &path)(io::ErrorKind::InvalidInput.into()))?;
        let mut status = GroupStatus { argsz: size_of::<GroupStatus>() as u32, ..GroupStatus::default() };
        // SAFETY: the structure and the descriptor are those of the requests, and live through the calls.
        let joined = unsafe {
            request_with(&group, GROUP_GET_STATUS, &mut status).map_err(failed("read the status of", &path))?;
            if status.flags & GROUP_VIABLE == 0 {
                // Not all devices of the group are bound to vfio-pci.
                return Err(failed("use", &path)(io::ErrorKind::PermissionDenied.into()));
            }
            let mut descriptor = container.file.as_raw_fd();
            request_with(&group, GROUP_SET_CONTAINER, &mut descriptor)
        };
        joined.map_err(failed("take", &path))?;
        let mut device = VfioDevice { file: None, group, path, container };
        let mut has_iommu = device.container.has_iommu.lock().unwrap_or_else(PoisonError::into_inner);
        if !*has_iommu {
            // SAFETY: the request takes a number.
            unsafe { request(&device.container.file, SET_IOMMU, TYPE1) }.map_err(failed("use", &device.path))?;
            *has_iommu = true;
        }
        drop(has_iommu);
        // SAFETY: the name lives through the call; nothing else owns the descriptor that it returns.
        device.file = Some(unsafe {
            use std::os::fd::FromRawFd;
            let descriptor = request(&device.group, GROUP_GET_DEVICE_FD, name.as_ptr() as u64);
            File::from_raw_fd(descriptor.map_err(failed("take a device of", &device.path))?)
        });
        device.become_master()?;
        Ok(device)
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("it is open until the device is dropped")
    }

    fn region(&self, index: u32) -> Result<RegionInfo, PciError> {
        let mut info = RegionInfo { argsz: size_of::<RegionInfo>() as u32, index, ..RegionInfo::default() };
        // SAFETY: it is the structure of the request.
        unsafe { request_with(self.file(), DEVICE_GET_REGION_INFO, &mut info) }
            .map_err(failed("find the regions of a device of", &self.path))?;
        Ok(info)
    }

    /// PCI Local Bus Specification 3.0, 6.2.2: bit 2 of the command register, at 4, is bus master.
    fn become_master(&self) -> Result<(), PciError> {
        let at = self.region(CONFIG)?.offset + 4;
        let mut command = [0; 2];
        self.file().read_exact_at(&mut command, at).map_err(failed("read a device of", &self.path))?;
        command[0] |= 1 << 2;
        self.file().write_all_at(&command, at).map_err(failed("write a device of", &self.path))
    }

    /// The file that the registers are mapped from, where in it, and how many bytes they have.
    pub(crate) fn registers(&self) -> Result<(&File, u64, u64), PciError> {
        let info = self.region(BAR0)?;
        Ok((self.file(), info.offset, info.size))
    }

    /// An interrupt: the first vector of MSI-X.
    pub(crate) fn interrupt(&self) -> Result<Interrupt, PciError> {
        let signal = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let file = File::from(signal.map_err(|error| failed("make an interrupt for", &self.path)(error.into()))?);
        let mut set = IrqSet {
            argsz: size_of::<IrqSet>() as u32,
            flags: TRIGGER_EVENTFD,
            index: MSIX,
            start: 0,
            count: 1,
            eventfd: file.as_raw_fd(),
        };
        // SAFETY: it is the structure of the request, with as many descriptors as it says.
        unsafe { request_with(self.file(), DEVICE_SET_IRQS, &mut set) }
            .map_err(failed("get interrupts of a device of", &self.path))?;
        Ok(Interrupt { file })
    }
}

impl Drop for VfioDevice {
    fn drop(&mut self) {
        drop(self.file.take());
        // SAFETY: the request takes nothing. The kernel does the same when the group is closed.
        let _ = unsafe { request(&self.group, GROUP_UNSET_CONTAINER, 0) };
    }
}

/// An interrupt that can be waited for.
#[derive(Debug)]
pub(crate) struct Interrupt {
    file: File,
}

impl Interrupt {
    /// Readable when the interrupt came.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Forgets interrupts that came.
    pub(crate) fn clear(&self) {
        let mut count = [0; 8];
        // There may have been none.
        let _ = (&self.file).read(&mut count);
    }
}
