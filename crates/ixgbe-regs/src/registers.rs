//! Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example generate`.

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

/// Interrupt throttling: 8.2.3.5.12.
#[inline]
pub const fn eitr(n: u32) -> u32 {
    0x00820 + n * 0x4
}

/// Interrupt vector allocation: 8.2.3.5.16.
#[inline]
pub const fn ivar(n: u32) -> u32 {
    0x00900 + n * 0x4
}

/// General purpose interrupt enable: 8.2.3.5.18.
pub const GPIE: u32 = 0x00898;

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

/// Multicast control: 8.2.3.7.3.
pub const MCSTCTRL: u32 = 0x05090;

/// Receive checksum control: 8.2.3.7.5.
pub const RXCSUM: u32 = 0x05000;

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

/// Multiple receive queues command: 8.2.3.7.12.
pub const MRQC: u32 = 0x05818;

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

/// Missed frames: no room in the packet buffer, or no descriptor where SRRCTL.DROP_EN is set: 8.2.3.23.4.
#[inline]
pub const fn rxmpc(n: u32) -> u32 {
    0x03fa0 + n * 0x4
}

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

/// Frames received by the queue: 8.2.3.23.69.
#[inline]
pub const fn qprc(n: u32) -> u32 {
    0x01030 + n * 0x40
}

/// Frames transmitted by the queue: 8.2.3.23.72.
#[inline]
pub const fn qptc(n: u32) -> u32 {
    0x06030 + n * 0x40
}

/// Advanced receive descriptor as the device writes it back: 32-bit word of the descriptor in which these bits lie; 7.1.6.2.
pub const RXD_WORD: u32 = 2;
/// Bits of RXD.
pub const RXD_DD: u32 = 0x00000001;
/// Bits of RXD.
pub const RXD_EOP: u32 = 0x00000002;

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

/// Advanced transmit data descriptor, total payload length: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.4.
pub const TXD_OLINFO_WORD: u32 = 3;
/// Bits of TXD.
pub const TXD_OLINFO_PAYLEN_MASK: u32 = 0xffffc000;
/// Lowest bit of the field.
pub const TXD_OLINFO_PAYLEN_SHIFT: u32 = 14;

/// Advanced transmit descriptor as the device writes it back: 32-bit word of the descriptor in which these bits lie; 7.2.3.2.4.
pub const TXD_WB_WORD: u32 = 3;
/// Bits of TXD.
pub const TXD_WB_DD: u32 = 0x00000001;

/// SRRCTL.DESCTYPE: advanced descriptors, one buffer.
pub const SRRCTL_DESCTYPE_ADVANCED: u32 = 0x02000000;

/// AUTOC.LMS: 10 Gbit/s serial link.
pub const AUTOC_LMS_10G_SERIAL: u32 = 0x00006000;

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
        name: "MRQC",
        offset: 0x05818,
        stride: 0x4,
        count: 1,
        alias: None,
        reset: 0x00000000,
        access: Access::ReadWrite,
        is_array: false,
        section: "8.2.3.7.12",
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
        alias: None,
        reset: 0x00000000,
        access: Access::ReadClear,
        is_array: true,
        section: "8.2.3.23.72",
    },
];
