//! Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example tables`.

use crate::table::{Access, Register};

/// Device control: 8.2.3.1.1.
pub const CTRL: u32 = 0x00000;
/// Bits of CTRL.
pub const CTRL_GIO_MASTER_DISABLE: u32 = 0x00000004;
/// Bits of CTRL.
pub const CTRL_LRST: u32 = 0x00000008;
/// Bits of CTRL.
pub const CTRL_RST: u32 = 0x04000000;

/// Device status: 8.2.3.1.2.
pub const STATUS: u32 = 0x00008;
/// Bits of STATUS.
pub const STATUS_LAN_ID_MASK: u32 = 0x0000000c;
/// Lowest bit of the field.
pub const STATUS_LAN_ID_SHIFT: u32 = 2;
/// Bits of STATUS.
pub const STATUS_LINK_UP: u32 = 0x00000080;
/// Bits of STATUS.
pub const STATUS_MASTER_ENABLE: u32 = 0x00080000;

/// Extended device control: 8.2.3.1.3.
pub const CTRL_EXT: u32 = 0x00018;
/// Bits of CTRL.
pub const CTRL_EXT_PFRSTD: u32 = 0x00004000;
/// Bits of CTRL.
pub const CTRL_EXT_NS_DIS: u32 = 0x00010000;
/// Bits of CTRL.
pub const CTRL_EXT_RO_DIS: u32 = 0x00020000;
/// Bits of CTRL.
pub const CTRL_EXT_DRV_LOAD: u32 = 0x10000000;

/// EEPROM control: 8.2.3.2.1.
pub const EEC: u32 = 0x10010;
/// Bits of EEC.
pub const EEC_EE_PRES: u32 = 0x00000100;
/// Bits of EEC.
pub const EEC_ARD: u32 = 0x00000200;

/// EEPROM read: 8.2.3.2.2.
pub const EERD: u32 = 0x10014;
/// Bits of EERD.
pub const EERD_START: u32 = 0x00000001;
/// Bits of EERD.
pub const EERD_DONE: u32 = 0x00000002;
/// Bits of EERD.
pub const EERD_ADDR_MASK: u32 = 0x0000fffc;
/// Lowest bit of the field.
pub const EERD_ADDR_SHIFT: u32 = 2;
/// Bits of EERD.
pub const EERD_DATA_MASK: u32 = 0xffff0000;
/// Lowest bit of the field.
pub const EERD_DATA_SHIFT: u32 = 16;

/// Interrupt cause: 8.2.3.5.1.
pub const EICR: u32 = 0x00800;
/// Bits of EICR.
pub const EICR_RTXQ_MASK: u32 = 0x0000ffff;
/// Lowest bit of the field.
pub const EICR_RTXQ_SHIFT: u32 = 0;
/// Bits of EICR.
pub const EICR_RX_MISS: u32 = 0x00020000;
/// Bits of EICR.
pub const EICR_LSC: u32 = 0x00100000;

/// Interrupt cause set: 8.2.3.5.2.
pub const EICS: u32 = 0x00808;

/// Interrupt mask set: 8.2.3.5.3.
pub const EIMS: u32 = 0x00880;

/// Interrupt mask clear: 8.2.3.5.4.
pub const EIMC: u32 = 0x00888;
/// Bits of EIMC.
pub const EIMC_ALL_MASK: u32 = 0x7fffffff;
/// Lowest bit of the field.
pub const EIMC_ALL_SHIFT: u32 = 0;

/// Interrupt auto clear: 8.2.3.5.5.
pub const EIAC: u32 = 0x00810;

/// Interrupt auto mask: 8.2.3.5.6.
pub const EIAM: u32 = 0x00890;

/// Interrupt throttling: the shortest time between two interrupts of a vector, in units of 2 us: 8.2.3.5.12.
#[inline]
pub const fn eitr(n: u32) -> u32 {
    0x00820 + n * 0x4
}
/// Bits of EITR.
pub const EITR_INTERVAL_MASK: u32 = 0x00000ff8;
/// Lowest bit of the field.
pub const EITR_INTERVAL_SHIFT: u32 = 3;

/// Interrupt vector allocation: a byte each for receive queue 2n, transmit queue 2n, and the same of 2n + 1: 8.2.3.5.16.
#[inline]
pub const fn ivar(n: u32) -> u32 {
    0x00900 + n * 0x4
}
/// Bits of IVAR.
pub const IVAR_ALLOC_MASK: u32 = 0x0000003f;
/// Lowest bit of the field.
pub const IVAR_ALLOC_SHIFT: u32 = 0;
/// Bits of IVAR.
pub const IVAR_VALID: u32 = 0x00000080;

/// Interrupt vector allocation of causes that are of no queue: the second byte, of all but the timer of TCP: 8.2.3.5.17.
pub const IVAR_MISC: u32 = 0x00a00;
/// Bits of IVAR.
pub const IVAR_MISC_OTHER_MASK: u32 = 0x00003f00;
/// Lowest bit of the field.
pub const IVAR_MISC_OTHER_SHIFT: u32 = 8;
/// Bits of IVAR.
pub const IVAR_MISC_OTHER_VALID: u32 = 0x00008000;

/// General purpose interrupt enable: 8.2.3.5.18.
pub const GPIE: u32 = 0x00898;
/// Bits of GPIE.
pub const GPIE_MULTIPLE_MSIX: u32 = 0x00000010;
/// Bits of GPIE.
pub const GPIE_EIAME: u32 = 0x40000000;
/// Bits of GPIE.
pub const GPIE_PBA_SUPPORT: u32 = 0x80000000;

/// Filter control: 8.2.3.7.1.
pub const FCTRL: u32 = 0x05080;
/// Bits of FCTRL.
pub const FCTRL_SBP: u32 = 0x00000002;
/// Bits of FCTRL.
pub const FCTRL_MPE: u32 = 0x00000100;
/// Bits of FCTRL.
pub const FCTRL_UPE: u32 = 0x00000200;
/// Bits of FCTRL.
pub const FCTRL_BAM: u32 = 0x00000400;

/// VLAN control: 8.2.3.7.2.
pub const VLNCTRL: u32 = 0x05088;
/// Bits of VLNCTRL.
pub const VLNCTRL_VET_MASK: u32 = 0x0000ffff;
/// Lowest bit of the field.
pub const VLNCTRL_VET_SHIFT: u32 = 0;
/// Bits of VLNCTRL.
pub const VLNCTRL_CFI: u32 = 0x10000000;
/// Bits of VLNCTRL.
pub const VLNCTRL_CFIEN: u32 = 0x20000000;
/// Bits of VLNCTRL.
pub const VLNCTRL_VFE: u32 = 0x40000000;

/// Multicast control: 8.2.3.7.3.
pub const MCSTCTRL: u32 = 0x05090;

/// Receive checksum control: PCSD has descriptors show the RSS hash in place of the IP identification: 8.2.3.7.5.
pub const RXCSUM: u32 = 0x05000;
/// Bits of RXCSUM.
pub const RXCSUM_IPPCSE: u32 = 0x00001000;
/// Bits of RXCSUM.
pub const RXCSUM_PCSD: u32 = 0x00002000;

/// Receive filter control: 8.2.3.7.6.
pub const RFCTL: u32 = 0x05008;

/// Receive address, lower four bytes: 8.2.3.7.8.
#[inline]
pub const fn ral(n: u32) -> u32 {
    0x05400 + n * 0x8
}

/// Receive address, upper two bytes: 8.2.3.7.9.
#[inline]
pub const fn rah(n: u32) -> u32 {
    0x05404 + n * 0x8
}
/// Bits of RAH.
pub const RAH_RAH_MASK: u32 = 0x0000ffff;
/// Lowest bit of the field.
pub const RAH_RAH_SHIFT: u32 = 0;
/// Bits of RAH.
pub const RAH_AV: u32 = 0x80000000;

/// VLAN filter table: a bit for each VLAN: 8.2.3.7.11.
#[inline]
pub const fn vfta(n: u32) -> u32 {
    0x0a000 + n * 0x4
}

/// Multiple receive queues command: mode, and the fields that are hashed: 8.2.3.7.12.
pub const MRQC: u32 = 0x05818;
/// Bits of MRQC.
pub const MRQC_MRQE_MASK: u32 = 0x0000000f;
/// Lowest bit of the field.
pub const MRQC_MRQE_SHIFT: u32 = 0;
/// Bits of MRQC.
pub const MRQC_TCP_IPV4: u32 = 0x00010000;
/// Bits of MRQC.
pub const MRQC_IPV4: u32 = 0x00020000;
/// Bits of MRQC.
pub const MRQC_IPV6: u32 = 0x00100000;
/// Bits of MRQC.
pub const MRQC_TCP_IPV6: u32 = 0x00200000;
/// Bits of MRQC.
pub const MRQC_UDP_IPV4: u32 = 0x00400000;
/// Bits of MRQC.
pub const MRQC_UDP_IPV6: u32 = 0x00800000;

/// RSS random key, four bytes each, the first in the lowest bits: 8.2.3.7.14.
#[inline]
pub const fn rssrk(n: u32) -> u32 {
    0x05c80 + n * 0x4
}

/// RSS redirection table: queues of four values of the hash each, 8 bits apart: 8.2.3.7.15.
#[inline]
pub const fn reta(n: u32) -> u32 {
    0x05c00 + n * 0x4
}
/// Bits of RETA.
pub const RETA_QUEUE_MASK: u32 = 0x0000000f;
/// Lowest bit of the field.
pub const RETA_QUEUE_SHIFT: u32 = 0;

/// Receive descriptor ring base address, lower half: 8.2.3.8.1.
#[inline]
pub const fn rdbal(n: u32) -> u32 {
    0x01000 + n * 0x40
}

/// Receive descriptor ring base address, upper half: 8.2.3.8.2.
#[inline]
pub const fn rdbah(n: u32) -> u32 {
    0x01004 + n * 0x40
}

/// Receive descriptor ring length in bytes: 8.2.3.8.3.
#[inline]
pub const fn rdlen(n: u32) -> u32 {
    0x01008 + n * 0x40
}

/// Receive descriptor head: the first that the device owns: 8.2.3.8.4.
#[inline]
pub const fn rdh(n: u32) -> u32 {
    0x01010 + n * 0x40
}

/// Receive descriptor tail: the first that the device does not own: 8.2.3.8.5.
#[inline]
pub const fn rdt(n: u32) -> u32 {
    0x01018 + n * 0x40
}

/// Receive descriptor control: 8.2.3.8.6.
#[inline]
pub const fn rxdctl(n: u32) -> u32 {
    0x01028 + n * 0x40
}
/// Bits of RXDCTL.
pub const RXDCTL_ENABLE: u32 = 0x02000000;
/// Bits of RXDCTL.
pub const RXDCTL_SWFLSH: u32 = 0x04000000;
/// Bits of RXDCTL.
pub const RXDCTL_VME: u32 = 0x40000000;

/// Split receive control: buffer size and descriptor type: 8.2.3.8.7.
#[inline]
pub const fn srrctl(n: u32) -> u32 {
    0x02100 + n * 0x4
}
/// Bits of SRRCTL.
pub const SRRCTL_BSIZEPACKET_MASK: u32 = 0x0000001f;
/// Lowest bit of the field.
pub const SRRCTL_BSIZEPACKET_SHIFT: u32 = 0;
/// Bits of SRRCTL.
pub const SRRCTL_BSIZEHEADER_MASK: u32 = 0x00003f00;
/// Lowest bit of the field.
pub const SRRCTL_BSIZEHEADER_SHIFT: u32 = 8;
/// Bits of SRRCTL.
pub const SRRCTL_DESCTYPE_MASK: u32 = 0x0e000000;
/// Lowest bit of the field.
pub const SRRCTL_DESCTYPE_SHIFT: u32 = 25;
/// Bits of SRRCTL.
pub const SRRCTL_DROP_EN: u32 = 0x10000000;

/// Receive DMA control: 8.2.3.8.8.
pub const RDRXCTL: u32 = 0x02f00;
/// Bits of RDRXCTL.
pub const RDRXCTL_CRCSTRIP: u32 = 0x00000002;
/// Bits of RDRXCTL.
pub const RDRXCTL_DMAIDONE: u32 = 0x00000008;

/// Receive packet buffer size: 8.2.3.8.9.
#[inline]
pub const fn rxpbsize(n: u32) -> u32 {
    0x03c00 + n * 0x4
}
/// Bits of RXPBSIZE.
pub const RXPBSIZE_SIZE_MASK: u32 = 0x000ffc00;
/// Lowest bit of the field.
pub const RXPBSIZE_SIZE_SHIFT: u32 = 10;

/// Receive control: 8.2.3.8.10.
pub const RXCTRL: u32 = 0x03000;
/// Bits of RXCTRL.
pub const RXCTRL_RXEN: u32 = 0x00000001;

/// DMA transmit maximum outstanding bytes: 8.2.3.9.1.
pub const DTXMXSZRQ: u32 = 0x08100;

/// DMA transmit control: 8.2.3.9.2.
pub const DMATXCTL: u32 = 0x04a80;
/// Bits of DMATXCTL.
pub const DMATXCTL_TE: u32 = 0x00000001;
/// Bits of DMATXCTL.
pub const DMATXCTL_VT_MASK: u32 = 0xffff0000;
/// Lowest bit of the field.
pub const DMATXCTL_VT_SHIFT: u32 = 16;

/// Transmit descriptor ring base address, lower half: 8.2.3.9.5.
#[inline]
pub const fn tdbal(n: u32) -> u32 {
    0x06000 + n * 0x40
}

/// Transmit descriptor ring base address, upper half: 8.2.3.9.6.
#[inline]
pub const fn tdbah(n: u32) -> u32 {
    0x06004 + n * 0x40
}

/// Transmit descriptor ring length in bytes: 8.2.3.9.7.
#[inline]
pub const fn tdlen(n: u32) -> u32 {
    0x06008 + n * 0x40
}

/// Transmit descriptor head: the first that the device has not sent: 8.2.3.9.8.
#[inline]
pub const fn tdh(n: u32) -> u32 {
    0x06010 + n * 0x40
}

/// Transmit descriptor tail: the first that the device must not send yet: 8.2.3.9.9.
#[inline]
pub const fn tdt(n: u32) -> u32 {
    0x06018 + n * 0x40
}

/// Transmit descriptor control: 8.2.3.9.10.
#[inline]
pub const fn txdctl(n: u32) -> u32 {
    0x06028 + n * 0x40
}
/// Bits of TXDCTL.
pub const TXDCTL_PTHRESH_MASK: u32 = 0x0000007f;
/// Lowest bit of the field.
pub const TXDCTL_PTHRESH_SHIFT: u32 = 0;
/// Bits of TXDCTL.
pub const TXDCTL_HTHRESH_MASK: u32 = 0x00007f00;
/// Lowest bit of the field.
pub const TXDCTL_HTHRESH_SHIFT: u32 = 8;
/// Bits of TXDCTL.
pub const TXDCTL_WTHRESH_MASK: u32 = 0x007f0000;
/// Lowest bit of the field.
pub const TXDCTL_WTHRESH_SHIFT: u32 = 16;
/// Bits of TXDCTL.
pub const TXDCTL_ENABLE: u32 = 0x02000000;
/// Bits of TXDCTL.
pub const TXDCTL_SWFLSH: u32 = 0x04000000;

/// Transmit packet buffer size: 8.2.3.9.13.
#[inline]
pub const fn txpbsize(n: u32) -> u32 {
    0x0cc00 + n * 0x4
}
/// Bits of TXPBSIZE.
pub const TXPBSIZE_SIZE_MASK: u32 = 0x000ffc00;
/// Lowest bit of the field.
pub const TXPBSIZE_SIZE_SHIFT: u32 = 10;

/// DCB transmit descriptor plane control: 8.2.3.10.2.
pub const RTTDCS: u32 = 0x04900;
/// Bits of RTTDCS.
pub const RTTDCS_ARBDIS: u32 = 0x00000040;

/// Receive direct cache access control; bit 12 is reserved, set by a reset, and must be cleared (4.6.7): 8.2.3.11.1.
#[inline]
pub const fn dca_rxctrl(n: u32) -> u32 {
    0x02200 + n * 0x4
}
/// Bits of DCA.
pub const DCA_RXCTRL_RESERVED_12: u32 = 0x00001000;

/// MAC core control: 8.2.3.22.8.
pub const HLREG0: u32 = 0x04240;
/// Bits of HLREG0.
pub const HLREG0_TXCRCEN: u32 = 0x00000001;
/// Bits of HLREG0.
pub const HLREG0_RXCRCSTRP: u32 = 0x00000002;
/// Bits of HLREG0.
pub const HLREG0_JUMBOEN: u32 = 0x00000004;
/// Bits of HLREG0.
pub const HLREG0_TXPADEN: u32 = 0x00000400;
/// Bits of HLREG0.
pub const HLREG0_LPBK: u32 = 0x00008000;

/// MDI single command and address: of a PHY at an address of the management bus: 8.2.3.22.
pub const MSCA: u32 = 0x0425c;
/// Bits of MSCA.
pub const MSCA_READ: u32 = 0x08000000;
/// Bits of MSCA.
pub const MSCA_MDICMD: u32 = 0x40000000;

/// MDI single read and write data: 8.2.3.22.
pub const MSRWD: u32 = 0x04260;
/// Bits of MSRWD.
pub const MSRWD_WRITE_DATA_MASK: u32 = 0x0000ffff;
/// Lowest bit of the field.
pub const MSRWD_WRITE_DATA_SHIFT: u32 = 0;
/// Bits of MSRWD.
pub const MSRWD_READ_DATA_MASK: u32 = 0xffff0000;
/// Lowest bit of the field.
pub const MSRWD_READ_DATA_SHIFT: u32 = 16;

/// Maximum frame size: 8.2.3.22.13.
pub const MAXFRS: u32 = 0x04268;
/// Bits of MAXFRS.
pub const MAXFRS_MFS_MASK: u32 = 0xffff0000;
/// Lowest bit of the field.
pub const MAXFRS_MFS_SHIFT: u32 = 16;

/// Auto negotiation control: 8.2.3.22.19.
pub const AUTOC: u32 = 0x042a0;
/// Bits of AUTOC.
pub const AUTOC_PMA_PMD_10G_MASK: u32 = 0x00000180;
/// Lowest bit of the field.
pub const AUTOC_PMA_PMD_10G_SHIFT: u32 = 7;
/// Bits of AUTOC.
pub const AUTOC_RESTART_AN: u32 = 0x00001000;
/// Bits of AUTOC.
pub const AUTOC_LMS_MASK: u32 = 0x0000e000;
/// Lowest bit of the field.
pub const AUTOC_LMS_SHIFT: u32 = 13;

/// Link status: 8.2.3.22.20.
pub const LINKS: u32 = 0x042a4;
/// Bits of LINKS.
pub const LINKS_SPEED_MASK: u32 = 0x30000000;
/// Lowest bit of the field.
pub const LINKS_SPEED_SHIFT: u32 = 28;
/// Bits of LINKS.
pub const LINKS_UP: u32 = 0x40000000;

/// Auto negotiation link partner: state of the negotiation over a backplane, 0 before it has begun: 8.2.3.22.
pub const ANLP1: u32 = 0x042b0;
/// Bits of ANLP1.
pub const ANLP1_STATE_MASK: u32 = 0x000f0000;
/// Lowest bit of the field.
pub const ANLP1_STATE_SHIFT: u32 = 16;

/// Missed frames: no room in the packet buffer, as no descriptor is free and SRRCTL.DROP_EN is not set: 8.2.3.23.4.
#[inline]
pub const fn rxmpc(n: u32) -> u32 {
    0x03fa0 + n * 0x4
}

/// Good frames received of 64 bytes: 8.2.3.23.
pub const PRC64: u32 = 0x0405c;

/// Good frames received of 65 to 127 bytes: 8.2.3.23.
pub const PRC127: u32 = 0x04060;

/// Good frames received of 128 to 255 bytes: 8.2.3.23.
pub const PRC255: u32 = 0x04064;

/// Good frames received of 256 to 511 bytes: 8.2.3.23.
pub const PRC511: u32 = 0x04068;

/// Good frames received of 512 to 1023 bytes: 8.2.3.23.
pub const PRC1023: u32 = 0x0406c;

/// Good frames received of 1024 bytes and more: 8.2.3.23.
pub const PRC1522: u32 = 0x04070;

/// Good broadcast frames received: 8.2.3.23.
pub const BPRC: u32 = 0x04078;

/// Good multicast frames received, without broadcasts: 8.2.3.23.
pub const MPRC: u32 = 0x0407c;

/// Good frames received: 8.2.3.23.18.
pub const GPRC: u32 = 0x04074;

/// Good frames transmitted: 8.2.3.23.21.
pub const GPTC: u32 = 0x04080;

/// Good bytes received, lower half: 8.2.3.23.22.
pub const GORCL: u32 = 0x04088;

/// Good bytes received, upper 4 bits: 8.2.3.23.23.
pub const GORCH: u32 = 0x0408c;

/// Good bytes transmitted, lower half: 8.2.3.23.24.
pub const GOTCL: u32 = 0x04090;

/// Good bytes transmitted, upper 4 bits: 8.2.3.23.25.
pub const GOTCH: u32 = 0x04094;

/// Bytes of all frames received, lower half: 8.2.3.23.
pub const TORL: u32 = 0x040c0;

/// Bytes of all frames received, upper 4 bits: 8.2.3.23.
pub const TORH: u32 = 0x040c4;

/// All frames received, also those that no filter takes: 8.2.3.23.
pub const TPR: u32 = 0x040d0;

/// All frames transmitted: 8.2.3.23.
pub const TPT: u32 = 0x040d4;

/// Frames transmitted of 64 bytes: 8.2.3.23.
pub const PTC64: u32 = 0x040d8;

/// Frames transmitted of 65 to 127 bytes: 8.2.3.23.
pub const PTC127: u32 = 0x040dc;

/// Frames transmitted of 128 to 255 bytes: 8.2.3.23.
pub const PTC255: u32 = 0x040e0;

/// Frames transmitted of 256 to 511 bytes: 8.2.3.23.
pub const PTC511: u32 = 0x040e4;

/// Frames transmitted of 512 to 1023 bytes: 8.2.3.23.
pub const PTC1023: u32 = 0x040e8;

/// Frames transmitted of 1024 bytes and more: 8.2.3.23.
pub const PTC1522: u32 = 0x040ec;

/// Multicast frames transmitted, without broadcasts: 8.2.3.23.
pub const MPTC: u32 = 0x040f0;

/// Broadcast frames transmitted: 8.2.3.23.
pub const BPTC: u32 = 0x040f4;

/// Frames received with a wrong IPv4, TCP, UDP or SCTP checksum: 8.2.3.23.
pub const XEC: u32 = 0x04120;

/// Receive queue statistics mapping: counters of four queues each, 8 bits apart: 8.2.3.23.
#[inline]
pub const fn rqsmr(n: u32) -> u32 {
    0x02300 + n * 0x4
}
/// Bits of RQSMR.
pub const RQSMR_COUNTER_MASK: u32 = 0x0000000f;
/// Lowest bit of the field.
pub const RQSMR_COUNTER_SHIFT: u32 = 0;

/// Transmit queue statistics mapping: counters of four queues each, 8 bits apart: 8.2.3.23.
#[inline]
pub const fn tqsm(n: u32) -> u32 {
    0x08600 + n * 0x4
}
/// Bits of TQSM.
pub const TQSM_COUNTER_MASK: u32 = 0x0000000f;
/// Lowest bit of the field.
pub const TQSM_COUNTER_SHIFT: u32 = 0;

/// Frames received by the queues of this counter: 8.2.3.23.69.
#[inline]
pub const fn qprc(n: u32) -> u32 {
    0x01030 + n * 0x40
}

/// Frames transmitted by the queues of this counter: 8.2.3.23.72.
#[inline]
pub const fn qptc(n: u32) -> u32 {
    0x06030 + n * 0x40
}

/// Frames that the queues of this counter dropped: no descriptor with SRRCTL.DROP_EN, or the queue is disabled: 8.2.3.23.
#[inline]
pub const fn qprdc(n: u32) -> u32 {
    0x01430 + n * 0x40
}

/// Bytes received by the queues of this counter, lower half: 8.2.3.23.
#[inline]
pub const fn qbrc_l(n: u32) -> u32 {
    0x01034 + n * 0x40
}

/// Bytes received by the queues of this counter, upper 4 bits: 8.2.3.23.
#[inline]
pub const fn qbrc_h(n: u32) -> u32 {
    0x01038 + n * 0x40
}

/// Bytes transmitted by the queues of this counter, lower half: 8.2.3.23.
#[inline]
pub const fn qbtc_l(n: u32) -> u32 {
    0x08700 + n * 0x8
}

/// Bytes transmitted by the queues of this counter, upper 4 bits: 8.2.3.23.
#[inline]
pub const fn qbtc_h(n: u32) -> u32 {
    0x08704 + n * 0x8
}

/// Advanced receive descriptor as the device writes it back: what was hashed, type of the packet: 32-bit word of the descriptor in which these bits lie; 7.1.6.2.
pub const RXD_INFO_WORD: u32 = 0;
/// Bits of RXD.
pub const RXD_INFO_RSS_TYPE_MASK: u32 = 0x0000000f;
/// Lowest bit of the field.
pub const RXD_INFO_RSS_TYPE_SHIFT: u32 = 0;
/// Bits of RXD.
pub const RXD_INFO_IPV4: u32 = 0x00000010;
/// Bits of RXD.
pub const RXD_INFO_IPV4E: u32 = 0x00000020;
/// Bits of RXD.
pub const RXD_INFO_IPV6: u32 = 0x00000040;
/// Bits of RXD.
pub const RXD_INFO_IPV6E: u32 = 0x00000080;
/// Bits of RXD.
pub const RXD_INFO_TCP: u32 = 0x00000100;
/// Bits of RXD.
pub const RXD_INFO_UDP: u32 = 0x00000200;
/// Bits of RXD.
pub const RXD_INFO_SCTP: u32 = 0x00000400;

/// Advanced receive descriptor as the device writes it back: status and errors: 32-bit word of the descriptor in which these bits lie; 7.1.6.2.
pub const RXD_WORD: u32 = 2;
/// Bits of RXD.
pub const RXD_DD: u32 = 0x00000001;
/// Bits of RXD.
pub const RXD_EOP: u32 = 0x00000002;
/// Bits of RXD.
pub const RXD_VP: u32 = 0x00000008;
/// Bits of RXD.
pub const RXD_L4CS: u32 = 0x00000020;
/// Bits of RXD.
pub const RXD_IPCS: u32 = 0x00000040;
/// Bits of RXD.
pub const RXD_L4E: u32 = 0x40000000;
/// Bits of RXD.
pub const RXD_IPE: u32 = 0x80000000;

/// Advanced receive descriptor as the device writes it back: length and stripped VLAN tag: 32-bit word of the descriptor in which these bits lie; 7.1.6.2.
pub const RXD_LENGTH_WORD: u32 = 3;
/// Bits of RXD.
pub const RXD_LENGTH_BYTES_MASK: u32 = 0x0000ffff;
/// Lowest bit of the field.
pub const RXD_LENGTH_BYTES_SHIFT: u32 = 0;
/// Bits of RXD.
pub const RXD_LENGTH_VLAN_MASK: u32 = 0xffff0000;
/// Lowest bit of the field.
pub const RXD_LENGTH_VLAN_SHIFT: u32 = 16;

/// Advanced transmit data descriptor, command and length: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.4.
pub const TXD_WORD: u32 = 2;
/// Bits of TXD.
pub const TXD_DTALEN_MASK: u32 = 0x0000ffff;
/// Lowest bit of the field.
pub const TXD_DTALEN_SHIFT: u32 = 0;
/// Bits of TXD.
pub const TXD_DTYP_MASK: u32 = 0x00f00000;
/// Lowest bit of the field.
pub const TXD_DTYP_SHIFT: u32 = 20;
/// Bits of TXD.
pub const TXD_EOP: u32 = 0x01000000;
/// Bits of TXD.
pub const TXD_IFCS: u32 = 0x02000000;
/// Bits of TXD.
pub const TXD_RS: u32 = 0x08000000;
/// Bits of TXD.
pub const TXD_DEXT: u32 = 0x20000000;
/// Bits of TXD.
pub const TXD_VLE: u32 = 0x40000000;
/// Bits of TXD.
pub const TXD_TSE: u32 = 0x80000000;

/// Advanced transmit data descriptor: context, checksums to insert, total payload length: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.4.
pub const TXD_OLINFO_WORD: u32 = 3;
/// Bits of TXD.
pub const TXD_OLINFO_IDX: u32 = 0x00000010;
/// Bits of TXD.
pub const TXD_OLINFO_CC: u32 = 0x00000080;
/// Bits of TXD.
pub const TXD_OLINFO_IXSM: u32 = 0x00000100;
/// Bits of TXD.
pub const TXD_OLINFO_TXSM: u32 = 0x00000200;
/// Bits of TXD.
pub const TXD_OLINFO_PAYLEN_MASK: u32 = 0xffffc000;
/// Lowest bit of the field.
pub const TXD_OLINFO_PAYLEN_SHIFT: u32 = 14;

/// Advanced transmit context descriptor: lengths of headers, and the VLAN tag: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.3.
pub const TXC_LENGTHS_WORD: u32 = 0;
/// Bits of TXC.
pub const TXC_LENGTHS_IPLEN_MASK: u32 = 0x000001ff;
/// Lowest bit of the field.
pub const TXC_LENGTHS_IPLEN_SHIFT: u32 = 0;
/// Bits of TXC.
pub const TXC_LENGTHS_MACLEN_MASK: u32 = 0x0000fe00;
/// Lowest bit of the field.
pub const TXC_LENGTHS_MACLEN_SHIFT: u32 = 9;
/// Bits of TXC.
pub const TXC_LENGTHS_VLAN_MASK: u32 = 0xffff0000;
/// Lowest bit of the field.
pub const TXC_LENGTHS_VLAN_SHIFT: u32 = 16;

/// Advanced transmit context descriptor: command: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.3.
pub const TXC_WORD: u32 = 2;
/// Bits of TXC.
pub const TXC_IPV4: u32 = 0x00000400;
/// Bits of TXC.
pub const TXC_L4T_MASK: u32 = 0x00001800;
/// Lowest bit of the field.
pub const TXC_L4T_SHIFT: u32 = 11;

/// Advanced transmit context descriptor: which of the two contexts of the queue it is: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.3.
pub const TXC_IDX_WORD: u32 = 3;
/// Bits of TXC.
pub const TXC_IDX_IDX: u32 = 0x00000010;
/// Bits of TXC.
pub const TXC_IDX_L4LEN_MASK: u32 = 0x0000ff00;
/// Lowest bit of the field.
pub const TXC_IDX_L4LEN_SHIFT: u32 = 8;
/// Bits of TXC.
pub const TXC_IDX_MSS_MASK: u32 = 0xffff0000;
/// Lowest bit of the field.
pub const TXC_IDX_MSS_SHIFT: u32 = 16;

/// Legacy transmit descriptor: place of the checksum to insert, command: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.2.
pub const TXL_WORD: u32 = 2;
/// Bits of TXL.
pub const TXL_CSO_MASK: u32 = 0x00ff0000;
/// Lowest bit of the field.
pub const TXL_CSO_SHIFT: u32 = 16;
/// Bits of TXL.
pub const TXL_IC: u32 = 0x04000000;

/// Legacy transmit descriptor: where the checksum begins, VLAN tag: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.2.
pub const TXL_TAG_WORD: u32 = 3;
/// Bits of TXL.
pub const TXL_TAG_CSS_MASK: u32 = 0x0000ff00;
/// Lowest bit of the field.
pub const TXL_TAG_CSS_SHIFT: u32 = 8;
/// Bits of TXL.
pub const TXL_TAG_VLAN_MASK: u32 = 0xffff0000;
/// Lowest bit of the field.
pub const TXL_TAG_VLAN_SHIFT: u32 = 16;

/// Advanced transmit descriptor as the device writes it back: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.4.
pub const TXD_WB_WORD: u32 = 3;
/// Bits of TXD.
pub const TXD_WB_DD: u32 = 0x00000001;

/// SRRCTL.DESCTYPE: advanced descriptors, one buffer.
pub const SRRCTL_DESCTYPE_ADVANCED: u32 = 0x02000000;

/// AUTOC.LMS: 10 Gbit/s serial link.
pub const AUTOC_LMS_10G_SERIAL: u32 = 0x00006000;

/// AUTOC.LMS: this bit of it has KX, KX4 and KR negotiate.
pub const AUTOC_LMS_NEGOTIATES: u32 = 0x00008000;

/// LINKS.SPEED: 10 Gbit/s.
pub const LINKS_SPEED_10G: u32 = 0x30000000;

/// LINKS.SPEED: 1 Gbit/s.
pub const LINKS_SPEED_1G: u32 = 0x20000000;

/// LINKS.SPEED: 100 Mbit/s.
pub const LINKS_SPEED_100M: u32 = 0x10000000;

/// RXPBSIZE: 128 KiB.
pub const RXPBSIZE_128KB: u32 = 0x00020000;

/// TXPBSIZE: 40 KiB.
pub const TXPBSIZE_40KB: u32 = 0x0000a000;

/// TXD.DTYP: advanced data descriptor.
pub const TXD_DTYP_DATA: u32 = 0x00300000;

/// TXD.DTYP: advanced context descriptor.
pub const TXD_DTYP_CONTEXT: u32 = 0x00200000;

/// MRQC.MRQE: RSS with 16 queues.
pub const MRQC_MRQE_RSS: u32 = 0x00000001;

/// RXD_INFO.RSS_TYPE: addresses and ports of TCP over IPv4.
pub const RSS_TYPE_TCP_IPV4: u32 = 0x00000001;

/// RXD_INFO.RSS_TYPE: addresses of IPv4.
pub const RSS_TYPE_IPV4: u32 = 0x00000002;

/// RXD_INFO.RSS_TYPE: addresses and ports of TCP over IPv6.
pub const RSS_TYPE_TCP_IPV6: u32 = 0x00000003;

/// RXD_INFO.RSS_TYPE: addresses of IPv6.
pub const RSS_TYPE_IPV6: u32 = 0x00000005;

/// RXD_INFO.RSS_TYPE: addresses and ports of UDP over IPv4.
pub const RSS_TYPE_UDP_IPV4: u32 = 0x00000007;

/// RXD_INFO.RSS_TYPE: addresses and ports of UDP over IPv6.
pub const RSS_TYPE_UDP_IPV6: u32 = 0x00000008;

/// TXC.L4T: UDP.
pub const TXC_L4T_UDP: u32 = 0x00000000;

/// TXC.L4T: TCP.
pub const TXC_L4T_TCP: u32 = 0x00000800;

/// TXC.L4T: SCTP.
pub const TXC_L4T_SCTP: u32 = 0x00001000;

/// Every register of this table.
pub const REGISTERS: &[Register] = &[
    Register {
        name: "CTRL",
        offset: 0x00000,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.1.1",
    },
    Register {
        name: "STATUS",
        offset: 0x00008,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00080000,
        access: Access::ReadOnly,
        is_array: false,
        section: "8.2.3.1.2",
    },
    Register {
        name: "CTRL_EXT",
        offset: 0x00018,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.1.3",
    },
    Register {
        name: "EEC",
        offset: 0x10010,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000300,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.2.1",
    },
    Register {
        name: "EERD",
        offset: 0x10014,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.2.2",
    },
    Register {
        name: "EICR",
        offset: 0x00800,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::WriteClear,
        is_array: false,
        section: "8.2.3.5.1",
    },
    Register {
        name: "EICS",
        offset: 0x00808,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::WriteSet,
        is_array: false,
        section: "8.2.3.5.2",
    },
    Register {
        name: "EIMS",
        offset: 0x00880,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::WriteSet,
        is_array: false,
        section: "8.2.3.5.3",
    },
    Register {
        name: "EIMC",
        offset: 0x00888,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::WriteOnly,
        is_array: false,
        section: "8.2.3.5.4",
    },
    Register {
        name: "EIAC",
        offset: 0x00810,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.5.5",
    },
    Register {
        name: "EIAM",
        offset: 0x00890,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.5.6",
    },
    Register {
        name: "EITR",
        offset: 0x00820,
        stride: 0x4,
        count: 24,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.5.12",
    },
    Register {
        name: "IVAR",
        offset: 0x00900,
        stride: 0x4,
        count: 24,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.5.16",
    },
    Register {
        name: "IVAR_MISC",
        offset: 0x00a00,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.5.17",
    },
    Register {
        name: "GPIE",
        offset: 0x00898,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.5.18",
    },
    Register {
        name: "FCTRL",
        offset: 0x05080,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.7.1",
    },
    Register {
        name: "VLNCTRL",
        offset: 0x05088,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00008100,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.7.2",
    },
    Register {
        name: "MCSTCTRL",
        offset: 0x05090,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.7.3",
    },
    Register {
        name: "RXCSUM",
        offset: 0x05000,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.7.5",
    },
    Register {
        name: "RFCTL",
        offset: 0x05008,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.7.6",
    },
    Register {
        name: "RAL",
        offset: 0x05400,
        stride: 0x8,
        count: 16,
        alias: Some((0x0a200, 0x8)),
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.7.8",
    },
    Register {
        name: "RAH",
        offset: 0x05404,
        stride: 0x8,
        count: 16,
        alias: Some((0x0a204, 0x8)),
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.7.9",
    },
    Register {
        name: "VFTA",
        offset: 0x0a000,
        stride: 0x4,
        count: 128,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.7.11",
    },
    Register {
        name: "MRQC",
        offset: 0x05818,
        stride: 0x4,
        count: 1,
        alias: Some((0x0ec80, 0x4)),
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.7.12",
    },
    Register {
        name: "RSSRK",
        offset: 0x05c80,
        stride: 0x4,
        count: 10,
        alias: Some((0x0eb80, 0x4)),
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.7.14",
    },
    Register {
        name: "RETA",
        offset: 0x05c00,
        stride: 0x4,
        count: 32,
        alias: Some((0x0eb00, 0x4)),
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.7.15",
    },
    Register {
        name: "RDBAL",
        offset: 0x01000,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.8.1",
    },
    Register {
        name: "RDBAH",
        offset: 0x01004,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.8.2",
    },
    Register {
        name: "RDLEN",
        offset: 0x01008,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.8.3",
    },
    Register {
        name: "RDH",
        offset: 0x01010,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.8.4",
    },
    Register {
        name: "RDT",
        offset: 0x01018,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.8.5",
    },
    Register {
        name: "RXDCTL",
        offset: 0x01028,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.8.6",
    },
    Register {
        name: "SRRCTL",
        offset: 0x02100,
        stride: 0x4,
        count: 16,
        alias: Some((0x01014, 0x40)),
        reset: 0x00000402,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.8.7",
    },
    Register {
        name: "RDRXCTL",
        offset: 0x02f00,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x0000880a,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.8.8",
    },
    Register {
        name: "RXPBSIZE",
        offset: 0x03c00,
        stride: 0x4,
        count: 8,
        alias: None,
        reset: 0x00080000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.8.9",
    },
    Register {
        name: "RXCTRL",
        offset: 0x03000,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.8.10",
    },
    Register {
        name: "DTXMXSZRQ",
        offset: 0x08100,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000010,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.9.1",
    },
    Register {
        name: "DMATXCTL",
        offset: 0x04a80,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x81000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.9.2",
    },
    Register {
        name: "TDBAL",
        offset: 0x06000,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.9.5",
    },
    Register {
        name: "TDBAH",
        offset: 0x06004,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.9.6",
    },
    Register {
        name: "TDLEN",
        offset: 0x06008,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.9.7",
    },
    Register {
        name: "TDH",
        offset: 0x06010,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.9.8",
    },
    Register {
        name: "TDT",
        offset: 0x06018,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.9.9",
    },
    Register {
        name: "TXDCTL",
        offset: 0x06028,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.9.10",
    },
    Register {
        name: "TXPBSIZE",
        offset: 0x0cc00,
        stride: 0x4,
        count: 8,
        alias: None,
        reset: 0x00028000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.9.13",
    },
    Register {
        name: "RTTDCS",
        offset: 0x04900,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.10.2",
    },
    Register {
        name: "DCA_RXCTRL",
        offset: 0x02200,
        stride: 0x4,
        count: 16,
        alias: Some((0x0100c, 0x40)),
        reset: 0x00001000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.11.1",
    },
    Register {
        name: "HLREG0",
        offset: 0x04240,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000403,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.22.8",
    },
    Register {
        name: "MSCA",
        offset: 0x0425c,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.22",
    },
    Register {
        name: "MSRWD",
        offset: 0x04260,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.22",
    },
    Register {
        name: "MAXFRS",
        offset: 0x04268,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x05ee0000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.22.13",
    },
    Register {
        name: "AUTOC",
        offset: 0x042a0,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0xc09c6004,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.22.19",
    },
    Register {
        name: "LINKS",
        offset: 0x042a4,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadOnly,
        is_array: false,
        section: "8.2.3.22.20",
    },
    Register {
        name: "ANLP1",
        offset: 0x042b0,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadOnly,
        is_array: false,
        section: "8.2.3.22",
    },
    Register {
        name: "RXMPC",
        offset: 0x03fa0,
        stride: 0x4,
        count: 8,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: true,
        section: "8.2.3.23.4",
    },
    Register {
        name: "PRC64",
        offset: 0x0405c,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PRC127",
        offset: 0x04060,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PRC255",
        offset: 0x04064,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PRC511",
        offset: 0x04068,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PRC1023",
        offset: 0x0406c,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PRC1522",
        offset: 0x04070,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "BPRC",
        offset: 0x04078,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "MPRC",
        offset: 0x0407c,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "GPRC",
        offset: 0x04074,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23.18",
    },
    Register {
        name: "GPTC",
        offset: 0x04080,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23.21",
    },
    Register {
        name: "GORCL",
        offset: 0x04088,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23.22",
    },
    Register {
        name: "GORCH",
        offset: 0x0408c,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23.23",
    },
    Register {
        name: "GOTCL",
        offset: 0x04090,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23.24",
    },
    Register {
        name: "GOTCH",
        offset: 0x04094,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23.25",
    },
    Register {
        name: "TORL",
        offset: 0x040c0,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "TORH",
        offset: 0x040c4,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "TPR",
        offset: 0x040d0,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "TPT",
        offset: 0x040d4,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PTC64",
        offset: 0x040d8,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PTC127",
        offset: 0x040dc,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PTC255",
        offset: 0x040e0,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PTC511",
        offset: 0x040e4,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PTC1023",
        offset: 0x040e8,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "PTC1522",
        offset: 0x040ec,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "MPTC",
        offset: 0x040f0,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "BPTC",
        offset: 0x040f4,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "XEC",
        offset: 0x04120,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: false,
        section: "8.2.3.23",
    },
    Register {
        name: "RQSMR",
        offset: 0x02300,
        stride: 0x4,
        count: 32,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.23",
    },
    Register {
        name: "TQSM",
        offset: 0x08600,
        stride: 0x4,
        count: 32,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: true,
        section: "8.2.3.23",
    },
    Register {
        name: "QPRC",
        offset: 0x01030,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: true,
        section: "8.2.3.23.69",
    },
    Register {
        name: "QPTC",
        offset: 0x06030,
        stride: 0x40,
        count: 16,
        alias: Some((0x08680, 0x4)),
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: true,
        section: "8.2.3.23.72",
    },
    Register {
        name: "QPRDC",
        offset: 0x01430,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: true,
        section: "8.2.3.23",
    },
    Register {
        name: "QBRC_L",
        offset: 0x01034,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: true,
        section: "8.2.3.23",
    },
    Register {
        name: "QBRC_H",
        offset: 0x01038,
        stride: 0x40,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: true,
        section: "8.2.3.23",
    },
    Register {
        name: "QBTC_L",
        offset: 0x08700,
        stride: 0x8,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: true,
        section: "8.2.3.23",
    },
    Register {
        name: "QBTC_H",
        offset: 0x08704,
        stride: 0x8,
        count: 16,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: true,
        section: "8.2.3.23",
    },
];
