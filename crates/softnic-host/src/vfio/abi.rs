//! Requests and structures of VFIO (`linux/vfio.h`): as bytes, because they come from the memory of another process.
#![deny(clippy::indexing_slicing)]

/// Requests: `_IO(';', 100 + n)`, which has neither size nor direction.
pub(crate) const GET_API_VERSION: u32 = 0x3b64;
pub(crate) const CHECK_EXTENSION: u32 = 0x3b65;
pub(crate) const SET_IOMMU: u32 = 0x3b66;
pub(crate) const GROUP_GET_STATUS: u32 = 0x3b67;
pub(crate) const GROUP_SET_CONTAINER: u32 = 0x3b68;
pub(crate) const GROUP_UNSET_CONTAINER: u32 = 0x3b69;
pub(crate) const GROUP_GET_DEVICE_FD: u32 = 0x3b6a;
pub(crate) const DEVICE_GET_INFO: u32 = 0x3b6b;
pub(crate) const DEVICE_GET_REGION_INFO: u32 = 0x3b6c;
pub(crate) const DEVICE_GET_IRQ_INFO: u32 = 0x3b6d;
pub(crate) const DEVICE_SET_IRQS: u32 = 0x3b6e;
pub(crate) const DEVICE_RESET: u32 = 0x3b6f;
pub(crate) const IOMMU_GET_INFO: u32 = 0x3b70;
pub(crate) const IOMMU_MAP_DMA: u32 = 0x3b71;
pub(crate) const IOMMU_UNMAP_DMA: u32 = 0x3b72;

pub(crate) const API_VERSION: i64 = 0;
/// Kinds of IOMMU that there are: `VFIO_TYPE1_IOMMU`, `VFIO_TYPE1v2_IOMMU`.
pub(crate) const TYPE1: u64 = 1;
pub(crate) const TYPE1V2: u64 = 3;

pub(crate) const GROUP_VIABLE: u32 = 1;
pub(crate) const GROUP_CONTAINER_SET: u32 = 2;

pub(crate) const DEVICE_FLAGS_RESET: u32 = 1;
pub(crate) const DEVICE_FLAGS_PCI: u32 = 2;
/// Regions of a PCI device: six BARs, the ROM, the configuration space, VGA.
pub(crate) const REGIONS: u32 = 9;
pub(crate) const REGION_BAR0: u32 = 0;
pub(crate) const REGION_MSIX: u32 = 4;
pub(crate) const REGION_CONFIG: u32 = 7;
pub(crate) const REGION_VGA: u32 = 8;
pub(crate) const REGION_READ: u32 = 1;
pub(crate) const REGION_WRITE: u32 = 2;
pub(crate) const REGION_MMAP: u32 = 4;
/// Regions lie this far apart in the file of a device, as the kernel has them; some drivers rely on it.
pub(crate) const REGION_SHIFT: u32 = 40;

/// Interrupts of a PCI device: INTx, MSI, MSI-X, errors, requests to give it back.
pub(crate) const IRQ_INTX: u32 = 0;
pub(crate) const IRQ_MSI: u32 = 1;
pub(crate) const IRQ_MSIX: u32 = 2;
pub(crate) const IRQ_ERROR: u32 = 3;
pub(crate) const IRQS: u32 = 5;
pub(crate) const IRQ_EVENTFD: u32 = 1;
pub(crate) const IRQ_MASKABLE: u32 = 2;
pub(crate) const IRQ_AUTOMASKED: u32 = 4;
pub(crate) const IRQ_NORESIZE: u32 = 8;

pub(crate) const SET_NONE: u32 = 1;
pub(crate) const SET_BOOL: u32 = 2;
pub(crate) const SET_EVENTFD: u32 = 4;
pub(crate) const SET_MASK: u32 = 8;
pub(crate) const SET_UNMASK: u32 = 16;
pub(crate) const SET_TRIGGER: u32 = 32;

pub(crate) const MAP_READ: u32 = 1;
pub(crate) const MAP_WRITE: u32 = 2;
pub(crate) const UNMAP_ALL: u32 = 2;
pub(crate) const IOMMU_PGSIZES: u32 = 1;

/// Sizes of structures, as old programs know them: what is behind is optional.
pub(crate) const GROUP_STATUS_BYTES: usize = 8;
pub(crate) const DEVICE_INFO_BYTES: usize = 16;
pub(crate) const REGION_INFO_BYTES: usize = 32;
pub(crate) const IRQ_INFO_BYTES: usize = 16;
pub(crate) const IRQ_SET_BYTES: usize = 20;
pub(crate) const IOMMU_INFO_BYTES: usize = 16;
pub(crate) const MAP_BYTES: usize = 32;
pub(crate) const UNMAP_BYTES: usize = 24;

/// A structure of the caller's memory: fields by their offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> Fields<N> {
    pub(crate) fn u32(&self, at: usize) -> u32 {
        self.field(at).map_or(0, u32::from_ne_bytes)
    }

    pub(crate) fn u64(&self, at: usize) -> u64 {
        self.field(at).map_or(0, u64::from_ne_bytes)
    }

    pub(crate) fn set_u32(&mut self, at: usize, value: u32) {
        self.set(at, value.to_ne_bytes());
    }

    pub(crate) fn set_u64(&mut self, at: usize, value: u64) {
        self.set(at, value.to_ne_bytes());
    }

    fn field<const B: usize>(&self, at: usize) -> Option<[u8; B]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    fn set<const B: usize>(&mut self, at: usize, bytes: [u8; B]) {
        let place = self.0.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
        debug_assert!(place.is_some(), "offsets of fields are constants, and lie in their structures");
        if let Some(place) = place {
            *place = bytes;
        }
    }
}
