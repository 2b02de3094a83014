//! A device: reset, set-up, statistics.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use prony_ixgbe_regs as regs;

use crate::dma::{Dma, DmaError};
use crate::mmio::Bar;
use crate::pci::{self, PciError};
use crate::pool::{BUFFER_BYTES, Packet, Pool};
use crate::port::Port;
use crate::receive::ReceiveQueue;
use crate::transmit::TransmitQueue;
use crate::vfio::{self, Interrupt, VfioDevice};

/// The longest that a step of the set-up takes on a real card: its link.
const PATIENCE: Duration = Duration::from_secs(10);
/// Datasheet 4.2.1.6.1: time after a reset before registers are accessed.
const RESET: Duration = Duration::from_millis(10);
/// The cause of the receive queue's vector, in EICR and its kin.
const CAUSE: u32 = 1;

/// How a device is used.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Descriptors of each ring, a power of two.
    pub ring_entries: usize,
    /// Sent descriptors that are cleaned up at once.
    pub clean_batch: usize,
    /// The first line of each received frame is prefetched.
    pub prefetch: bool,
    /// Frames that arrive can be waited for: of cards that are reached by VFIO, and of interfaces of the kernel.
    pub interrupt: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { ring_entries: 1024, clean_batch: 32, prefetch: true, interrupt: false }
    }
}

/// Reasons why a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// sysfs does not give it.
    #[error(transparent)]
    Pci(#[from] PciError),
    /// Its IOMMU does not let it reach memory.
    #[error("{address}: cannot map DMA memory: {error}")]
    Iommu {
        /// PCI address of the device.
        address: String,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// Interrupts come by VFIO only, and the device is in no IOMMU group.
    #[error("{address}: no interrupts: the device has no iommu_group in sysfs")]
    NoInterrupts {
        /// PCI address of the device.
        address: String,
    },
    /// There is no memory for its rings.
    #[error(transparent)]
    Dma(#[from] DmaError),
    /// The pool has too few buffers for its receive ring.
    #[error("expected {expected} free buffers in the pool, found {found}")]
    Pool {
        /// Number of descriptors in the ring.
        expected: usize,
        /// Number of free buffers in the pool.
        found: usize,
    },
    /// It does not answer as it should.
    #[error("{address}: {step} did not happen within {} s", PATIENCE.as_secs())]
    TimedOut {
        /// PCI address of the device.
        address: String,
        /// Step of the initialisation that did not complete.
        step: &'static str,
    },
}

/// Frames and bytes since the statistics were read last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of good frames received.
    pub received: u64,
    /// Number of good frames sent.
    pub transmitted: u64,
    /// Their bytes with frame check sequences.
    pub received_bytes: u64,
    /// Their bytes with frame check sequences.
    pub transmitted_bytes: u64,
    /// Frames that found no descriptor or no room in the card.
    pub missed: u64,
}

/// An 82599 with one receive and one transmit queue.
#[derive(Debug)]
pub struct Device {
    bar: Bar,
    receive: ReceiveQueue,
    transmit: TransmitQueue,
    /// Buffers that the device writes to until it is dropped.
    _buffers: Dma,
    interrupt: Option<Interrupt>,
    /// Closed after all memory was taken from the device.
    _vfio: Option<VfioDevice>,
}

impl Device {
    /// Takes the device at a PCI address, resets it and sets it up, in promiscuous mode; waits for its link.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(address: &str, pool: &mut Pool, options: Options) -> Result<Device, OpenError> {
        let vfio = vfio::group(address).map(|group| VfioDevice::open(address, group)).transpose()?;
        let path = format!("/sys/bus/pci/devices/{address}/resource0").into();
        let bar = match &vfio {
            Some(vfio) => {
                let (file, offset, bytes) = vfio.registers()?;
                Bar::map_part(file, offset, bytes)
            }
            None => Bar::map(&pci::open_registers(address)?),
        };
        let bar = bar.map_err(|error| PciError { what: "map", path, error })?;
        let interrupt = match (&vfio, options.interrupt) {
            (_, false) => None,
            (Some(vfio), true) => Some(vfio.interrupt()?),
            (None, true) => return Err(OpenError::NoInterrupts { address: address.to_owned() }),
        };
        let free = pool.free();
        let receive = ReceiveQueue::new(pool, options.ring_entries, options.prefetch)?;
        let receive = receive.ok_or(OpenError::Pool { expected: options.ring_entries, found: free })?;
        let addressing = pool.memory().addressing();
        let transmit = TransmitQueue::new(options.ring_entries, options.clean_batch, addressing)?;
        if let Some(vfio) = &vfio {
            let shared = [&pool.memory(), receive.ring().memory(), transmit.ring().memory()];
            shared
                .into_iter()
                .try_for_each(|memory| memory.share_with(&vfio.container))
                .map_err(|error| OpenError::Iommu { address: address.to_owned(), error })?;
        }
        // From here on, a device that is dropped stops first.
        let device = Device { bar, receive, transmit, _buffers: pool.memory(), interrupt, _vfio: vfio };
        device.set_up(address)?;
        Ok(device)
    }

    /// As [`Port::rx_batch`].
    #[inline]
    pub fn rx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>, max: usize) -> usize {
        self.receive.batch(&self.bar, pool, packets, max)
    }

    /// As [`Port::tx_batch`].
    #[inline]
    pub fn tx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        self.transmit.batch(&self.bar, pool, packets)
    }

    /// As [`Port::clean_up`].
    #[inline]
    pub fn clean_up(&mut self, pool: &mut Pool) {
        self.transmit.clean_up(pool);
    }

    /// The address of the port.
    pub fn mac(&self) -> [u8; 6] {
        let [a, b, c, d] = self.bar.read32(regs::ral(0)).to_le_bytes();
        let [e, f, ..] = self.bar.read32(regs::rah(0)).to_le_bytes();
        [a, b, c, d, e, f]
    }

    /// Link speed in Mbit/s; `None` while the link is down.
    pub fn link_mbit_per_s(&self) -> Option<u32> {
        let links = self.bar.read32(regs::LINKS);
        if links & regs::LINKS_UP == 0 {
            return None;
        }
        match links & regs::LINKS_SPEED_MASK {
            regs::LINKS_SPEED_10G => Some(10_000),
            regs::LINKS_SPEED_1G => Some(1000),
            regs::LINKS_SPEED_100M => Some(100),
            _ => None,
        }
    }

    /// Reads the statistics, which a card clears by that (8.2.3.23).
    pub fn statistics(&self) -> Statistics {
        let read = |offset| u64::from(self.bar.read32(offset));
        Statistics {
            received: read(regs::GPRC),
            transmitted: read(regs::GPTC),
            received_bytes: read(regs::GORCL) | read(regs::GORCH) << 32,
            transmitted_bytes: read(regs::GOTCL) | read(regs::GOTCH) << 32,
            // A queue with SRRCTL.DROP_EN counts what it drops by itself.
            missed: (0..8).map(|buffer| read(regs::rxmpc(buffer))).sum::<u64>() + read(regs::qprdc(0)),
        }
    }

    fn set_up(&self, address: &str) -> Result<(), OpenError> {
        let bar = &self.bar;
        let wait = |offset, mask, value, step| {
            let until = Instant::now() + PATIENCE;
            while bar.read32(offset) & mask != value {
                if Instant::now() >= until {
                    return Err(OpenError::TimedOut { address: address.to_owned(), step });
                }
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        };
        // 4.6.3: interrupts off, reset, interrupts off again; the EEPROM is read and DMA initialised.
        bar.write32(regs::EIMC, regs::EIMC_ALL_MASK);
        let reset = regs::CTRL_RST | regs::CTRL_LRST;
        bar.write32(regs::CTRL, reset);
        wait(regs::CTRL, reset, 0, "the end of the reset")?;
        thread::sleep(RESET);
        bar.write32(regs::EIMC, regs::EIMC_ALL_MASK);
        wait(regs::EEC, regs::EEC_ARD, regs::EEC_ARD, "reading the EEPROM")?;
        wait(regs::RDRXCTL, regs::RDRXCTL_DMAIDONE, regs::RDRXCTL_DMAIDONE, "DMA initialisation")?;
        // 4.6.4
        let autoc = bar.read32(regs::AUTOC) & !(regs::AUTOC_LMS_MASK | regs::AUTOC_PMA_PMD_10G_MASK);
        bar.write32(regs::AUTOC, autoc | regs::AUTOC_LMS_10G_SERIAL | regs::AUTOC_RESTART_AN);
        // 4.6.5: a read clears them.
        let _ = self.statistics();
        self.set_up_receive();
        self.set_up_transmit();
        bar.set(regs::rxdctl(0), regs::RXDCTL_ENABLE);
        wait(regs::rxdctl(0), regs::RXDCTL_ENABLE, regs::RXDCTL_ENABLE, "the start of the receive queue")?;
        // All descriptors but one: with all of them the ring would look empty.
        bar.write32(regs::rdt(0), self.receive.ring().entries() as u32 - 1);
        bar.set(regs::txdctl(0), regs::TXDCTL_ENABLE);
        wait(regs::txdctl(0), regs::TXDCTL_ENABLE, regs::TXDCTL_ENABLE, "the start of the transmit queue")?;
        bar.set(regs::FCTRL, regs::FCTRL_UPE | regs::FCTRL_MPE);
        if self.interrupt.is_some() {
            self.set_up_interrupt();
        }
        wait(regs::LINKS, regs::LINKS_UP, regs::LINKS_UP, "the link")
    }

    /// Sets up the receive unit; datasheet 4.6.7.
    fn set_up_receive(&self) {
        let bar = &self.bar;
        bar.clear(regs::RXCTRL, regs::RXCTRL_RXEN);
        bar.write32(regs::rxpbsize(0), regs::RXPBSIZE_128KB);
        for buffer in 1..8 {
            bar.write32(regs::rxpbsize(buffer), 0);
        }
        bar.set(regs::HLREG0, regs::HLREG0_RXCRCSTRP);
        bar.set(regs::RDRXCTL, regs::RDRXCTL_CRCSTRIP);
        bar.set(regs::FCTRL, regs::FCTRL_BAM);
        let split = bar.read32(regs::srrctl(0)) & !(regs::SRRCTL_DESCTYPE_MASK | regs::SRRCTL_BSIZEPACKET_MASK);
        let kib = (BUFFER_BYTES >> 10) as u32;
        bar.write32(regs::srrctl(0), split | regs::SRRCTL_DESCTYPE_ADVANCED | regs::SRRCTL_DROP_EN | kib);
        let ring = self.receive.ring();
        bar.write32(regs::rdbal(0), ring.address() as u32);
        bar.write32(regs::rdbah(0), (ring.address() >> 32) as u32);
        bar.write32(regs::rdlen(0), (ring.entries() * 16) as u32);
        bar.write32(regs::rdh(0), 0);
        bar.write32(regs::rdt(0), 0);
        bar.set(regs::CTRL_EXT, regs::CTRL_EXT_NS_DIS);
        bar.clear(regs::dca_rxctrl(0), regs::DCA_RXCTRL_RESERVED_12);
        bar.set(regs::RXCTRL, regs::RXCTRL_RXEN);
    }

    /// Maps the receive queue to the first vector, whose cause clears and masks itself when it interrupts; 4.6.6, 7.3.1.
    fn set_up_interrupt(&self) {
        let bar = &self.bar;
        bar.write32(regs::GPIE, regs::GPIE_MULTIPLE_MSIX | regs::GPIE_EIAME | regs::GPIE_PBA_SUPPORT);
        bar.write32(regs::ivar(0), regs::IVAR_VALID);
        bar.write32(regs::EIAC, CAUSE);
        bar.write32(regs::EIAM, CAUSE);
    }

    /// Sets up the transmit unit; datasheet 4.6.8.
    fn set_up_transmit(&self) {
        let bar = &self.bar;
        bar.set(regs::HLREG0, regs::HLREG0_TXCRCEN | regs::HLREG0_TXPADEN);
        bar.write32(regs::txpbsize(0), regs::TXPBSIZE_40KB);
        for buffer in 1..8 {
            bar.write32(regs::txpbsize(buffer), 0);
        }
        bar.write32(regs::DTXMXSZRQ, 0xffff);
        bar.clear(regs::RTTDCS, regs::RTTDCS_ARBDIS);
        let ring = self.transmit.ring();
        bar.write32(regs::tdbal(0), ring.address() as u32);
        bar.write32(regs::tdbah(0), (ring.address() >> 32) as u32);
        bar.write32(regs::tdlen(0), (ring.entries() * 16) as u32);
        bar.write32(regs::tdh(0), 0);
        bar.write32(regs::tdt(0), 0);
        // Thresholds as DPDK has them (7.2.3.4.1).
        let thresholds =
            36 << regs::TXDCTL_PTHRESH_SHIFT | 8 << regs::TXDCTL_HTHRESH_SHIFT | 4 << regs::TXDCTL_WTHRESH_SHIFT;
        bar.write32(regs::txdctl(0), thresholds);
        bar.set(regs::DMATXCTL, regs::DMATXCTL_TE);
    }
}

impl Port for Device {
    #[inline]
    fn rx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>, max: usize) -> usize {
        Device::rx_batch(self, pool, packets, max)
    }

    #[inline]
    fn tx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        Device::tx_batch(self, pool, packets)
    }

    #[inline]
    fn clean_up(&mut self, pool: &mut Pool) {
        Device::clean_up(self, pool);
    }

    fn interrupt(&self) -> Option<BorrowedFd<'_>> {
        self.interrupt.as_ref().map(Interrupt::as_fd)
    }

    fn enable_interrupt(&mut self) -> bool {
        let Some(interrupt) = &self.interrupt else { return true };
        interrupt.clear();
        self.bar.write32(regs::EIMS, CAUSE);
        // The card must have it before the ring is looked at: a frame between the two interrupts.
        self.bar.read32(regs::STATUS);
        self.receive.has_frames()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // The rings are unmapped next: a device that goes on would write to the next owner of their memory.
        self.bar.clear(regs::RXCTRL, regs::RXCTRL_RXEN);
        self.bar.clear(regs::DMATXCTL, regs::DMATXCTL_TE);
        self.bar.write32(regs::CTRL, regs::CTRL_RST | regs::CTRL_LRST);
        let until = Instant::now() + PATIENCE;
        while self.bar.read32(regs::CTRL) & regs::CTRL_RST != 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
