# Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example generate`.

# CTRL: Device control; 8.2.3.1.1
CTRL = 0x00000
CTRL_GIO_MASTER_DISABLE = 0x00000004
CTRL_LRST = 0x00000008
CTRL_RST = 0x04000000

# STATUS: Device status; 8.2.3.1.2
STATUS = 0x00008
STATUS_LAN_ID_MASK = 0x0000000c
STATUS_LAN_ID_SHIFT = 2
STATUS_LINK_UP = 0x00000080
STATUS_MASTER_ENABLE = 0x00080000

# CTRL_EXT: Extended device control; 8.2.3.1.3
CTRL_EXT = 0x00018
CTRL_EXT_PFRSTD = 0x00004000
CTRL_EXT_NS_DIS = 0x00010000
CTRL_EXT_RO_DIS = 0x00020000
CTRL_EXT_DRV_LOAD = 0x10000000

# EEC: EEPROM control; 8.2.3.2.1
EEC = 0x10010
EEC_EE_PRES = 0x00000100
EEC_ARD = 0x00000200

# EERD: EEPROM read; 8.2.3.2.2
EERD = 0x10014
EERD_START = 0x00000001
EERD_DONE = 0x00000002
EERD_ADDR_MASK = 0x0000fffc
EERD_ADDR_SHIFT = 2
EERD_DATA_MASK = 0xffff0000
EERD_DATA_SHIFT = 16

# EICR: Interrupt cause; 8.2.3.5.1
EICR = 0x00800
EICR_RTXQ_MASK = 0x0000ffff
EICR_RTXQ_SHIFT = 0
EICR_RX_MISS = 0x00020000
EICR_LSC = 0x00100000

# EICS: Interrupt cause set; 8.2.3.5.2
EICS = 0x00808

# EIMS: Interrupt mask set; 8.2.3.5.3
EIMS = 0x00880

# EIMC: Interrupt mask clear; 8.2.3.5.4
EIMC = 0x00888
EIMC_ALL_MASK = 0x7fffffff
EIMC_ALL_SHIFT = 0

# EIAC: Interrupt auto clear; 8.2.3.5.5
EIAC = 0x00810

# EIAM: Interrupt auto mask; 8.2.3.5.6
EIAM = 0x00890

# EITR: Interrupt throttling; 8.2.3.5.12
def eitr(n: int) -> int:
    return 0x00820 + n * 0x4


# IVAR: Interrupt vector allocation; 8.2.3.5.16
def ivar(n: int) -> int:
    return 0x00900 + n * 0x4


# GPIE: General purpose interrupt enable; 8.2.3.5.18
GPIE = 0x00898

# FCTRL: Filter control; 8.2.3.7.1
FCTRL = 0x05080
FCTRL_SBP = 0x00000002
FCTRL_MPE = 0x00000100
FCTRL_UPE = 0x00000200
FCTRL_BAM = 0x00000400

# VLNCTRL: VLAN control; 8.2.3.7.2
VLNCTRL = 0x05088

# MCSTCTRL: Multicast control; 8.2.3.7.3
MCSTCTRL = 0x05090

# RXCSUM: Receive checksum control; 8.2.3.7.5
RXCSUM = 0x05000

# RFCTL: Receive filter control; 8.2.3.7.6
RFCTL = 0x05008

# RAL: Receive address, lower four bytes; 8.2.3.7.8
def ral(n: int) -> int:
    return 0x05400 + n * 0x8


# RAH: Receive address, upper two bytes; 8.2.3.7.9
def rah(n: int) -> int:
    return 0x05404 + n * 0x8

RAH_RAH_MASK = 0x0000ffff
RAH_RAH_SHIFT = 0
RAH_AV = 0x80000000

# MRQC: Multiple receive queues command; 8.2.3.7.12
MRQC = 0x05818

# RDBAL: Receive descriptor ring base address, lower half; 8.2.3.8.1
def rdbal(n: int) -> int:
    return 0x01000 + n * 0x40


# RDBAH: Receive descriptor ring base address, upper half; 8.2.3.8.2
def rdbah(n: int) -> int:
    return 0x01004 + n * 0x40


# RDLEN: Receive descriptor ring length in bytes; 8.2.3.8.3
def rdlen(n: int) -> int:
    return 0x01008 + n * 0x40


# RDH: Receive descriptor head: the first that the device owns; 8.2.3.8.4
def rdh(n: int) -> int:
    return 0x01010 + n * 0x40


# RDT: Receive descriptor tail: the first that the device does not own; 8.2.3.8.5
def rdt(n: int) -> int:
    return 0x01018 + n * 0x40


# RXDCTL: Receive descriptor control; 8.2.3.8.6
def rxdctl(n: int) -> int:
    return 0x01028 + n * 0x40

RXDCTL_ENABLE = 0x02000000
RXDCTL_SWFLSH = 0x04000000
RXDCTL_VME = 0x40000000

# SRRCTL: Split receive control: buffer size and descriptor type; 8.2.3.8.7
def srrctl(n: int) -> int:
    return 0x02100 + n * 0x4

SRRCTL_BSIZEPACKET_MASK = 0x0000001f
SRRCTL_BSIZEPACKET_SHIFT = 0
SRRCTL_BSIZEHEADER_MASK = 0x00003f00
SRRCTL_BSIZEHEADER_SHIFT = 8
SRRCTL_DESCTYPE_MASK = 0x0e000000
SRRCTL_DESCTYPE_SHIFT = 25
SRRCTL_DROP_EN = 0x10000000

# RDRXCTL: Receive DMA control; 8.2.3.8.8
RDRXCTL = 0x02f00
RDRXCTL_CRCSTRIP = 0x00000002
RDRXCTL_DMAIDONE = 0x00000008

# RXPBSIZE: Receive packet buffer size; 8.2.3.8.9
def rxpbsize(n: int) -> int:
    return 0x03c00 + n * 0x4

RXPBSIZE_SIZE_MASK = 0x000ffc00
RXPBSIZE_SIZE_SHIFT = 10

# RXCTRL: Receive control; 8.2.3.8.10
RXCTRL = 0x03000
RXCTRL_RXEN = 0x00000001

# DTXMXSZRQ: DMA transmit maximum outstanding bytes; 8.2.3.9.1
DTXMXSZRQ = 0x08100

# DMATXCTL: DMA transmit control; 8.2.3.9.2
DMATXCTL = 0x04a80
DMATXCTL_TE = 0x00000001

# TDBAL: Transmit descriptor ring base address, lower half; 8.2.3.9.5
def tdbal(n: int) -> int:
    return 0x06000 + n * 0x40


# TDBAH: Transmit descriptor ring base address, upper half; 8.2.3.9.6
def tdbah(n: int) -> int:
    return 0x06004 + n * 0x40


# TDLEN: Transmit descriptor ring length in bytes; 8.2.3.9.7
def tdlen(n: int) -> int:
    return 0x06008 + n * 0x40


# TDH: Transmit descriptor head: the first that the device has not sent; 8.2.3.9.8
def tdh(n: int) -> int:
    return 0x06010 + n * 0x40


# TDT: Transmit descriptor tail: the first that the device must not send yet; 8.2.3.9.9
def tdt(n: int) -> int:
    return 0x06018 + n * 0x40


# TXDCTL: Transmit descriptor control; 8.2.3.9.10
def txdctl(n: int) -> int:
    return 0x06028 + n * 0x40

TXDCTL_PTHRESH_MASK = 0x0000007f
TXDCTL_PTHRESH_SHIFT = 0
TXDCTL_HTHRESH_MASK = 0x00007f00
TXDCTL_HTHRESH_SHIFT = 8
TXDCTL_WTHRESH_MASK = 0x007f0000
TXDCTL_WTHRESH_SHIFT = 16
TXDCTL_ENABLE = 0x02000000
TXDCTL_SWFLSH = 0x04000000

# TXPBSIZE: Transmit packet buffer size; 8.2.3.9.13
def txpbsize(n: int) -> int:
    return 0x0cc00 + n * 0x4

TXPBSIZE_SIZE_MASK = 0x000ffc00
TXPBSIZE_SIZE_SHIFT = 10

# RTTDCS: DCB transmit descriptor plane control; 8.2.3.10.2
RTTDCS = 0x04900
RTTDCS_ARBDIS = 0x00000040

# DCA_RXCTRL: Receive direct cache access control; bit 12 is reserved, set by a reset, and must be cleared (4.6.7); 8.2.3.11.1
def dca_rxctrl(n: int) -> int:
    return 0x02200 + n * 0x4

DCA_RXCTRL_RESERVED_12 = 0x00001000

# HLREG0: MAC core control; 8.2.3.22.8
HLREG0 = 0x04240
HLREG0_TXCRCEN = 0x00000001
HLREG0_RXCRCSTRP = 0x00000002
HLREG0_JUMBOEN = 0x00000004
HLREG0_TXPADEN = 0x00000400
HLREG0_LPBK = 0x00008000

# MAXFRS: Maximum frame size; 8.2.3.22.13
MAXFRS = 0x04268
MAXFRS_MFS_MASK = 0xffff0000
MAXFRS_MFS_SHIFT = 16

# AUTOC: Auto negotiation control; 8.2.3.22.19
AUTOC = 0x042a0
AUTOC_PMA_PMD_10G_MASK = 0x00000180
AUTOC_PMA_PMD_10G_SHIFT = 7
AUTOC_RESTART_AN = 0x00001000
AUTOC_LMS_MASK = 0x0000e000
AUTOC_LMS_SHIFT = 13

# LINKS: Link status; 8.2.3.22.20
LINKS = 0x042a4
LINKS_SPEED_MASK = 0x30000000
LINKS_SPEED_SHIFT = 28
LINKS_UP = 0x40000000

# RXMPC: Missed frames: no room in the packet buffer, or no descriptor where SRRCTL.DROP_EN is set; 8.2.3.23.4
def rxmpc(n: int) -> int:
    return 0x03fa0 + n * 0x4


# GPRC: Good frames received; 8.2.3.23.18
GPRC = 0x04074

# GPTC: Good frames transmitted; 8.2.3.23.21
GPTC = 0x04080

# GORCL: Good bytes received, lower half; 8.2.3.23.22
GORCL = 0x04088

# GORCH: Good bytes received, upper 4 bits; 8.2.3.23.23
GORCH = 0x0408c

# GOTCL: Good bytes transmitted, lower half; 8.2.3.23.24
GOTCL = 0x04090

# GOTCH: Good bytes transmitted, upper 4 bits; 8.2.3.23.25
GOTCH = 0x04094

# QPRC: Frames received by the queue; 8.2.3.23.69
def qprc(n: int) -> int:
    return 0x01030 + n * 0x40


# QPTC: Frames transmitted by the queue; 8.2.3.23.72
def qptc(n: int) -> int:
    return 0x06030 + n * 0x40


# RXD: Advanced receive descriptor as the device writes it back, 32-bit word 2; 7.1.6.2
RXD_DD = 0x00000001
RXD_EOP = 0x00000002

# TXD: Advanced transmit data descriptor, command and length, 32-bit word 2; 7.2.3.2.4
TXD_DTALEN_MASK = 0x0000ffff
TXD_DTALEN_SHIFT = 0
TXD_DTYP_MASK = 0x00f00000
TXD_DTYP_SHIFT = 20
TXD_EOP = 0x01000000
TXD_IFCS = 0x02000000
TXD_RS = 0x08000000
TXD_DEXT = 0x20000000

# TXD_OLINFO: Advanced transmit data descriptor, total payload length, 32-bit word 3; 7.2.3.2.4
TXD_OLINFO_PAYLEN_MASK = 0xffffc000
TXD_OLINFO_PAYLEN_SHIFT = 14

# TXD_WB: Advanced transmit descriptor as the device writes it back, 32-bit word 3; 7.2.3.2.4
TXD_WB_DD = 0x00000001

# Values of fields
SRRCTL_DESCTYPE_ADVANCED = 0x02000000
AUTOC_LMS_10G_SERIAL = 0x00006000
LINKS_SPEED_10G = 0x30000000
LINKS_SPEED_1G = 0x20000000
LINKS_SPEED_100M = 0x10000000
RXPBSIZE_128KB = 0x00020000
TXPBSIZE_40KB = 0x0000a000
TXD_DTYP_DATA = 0x00300000
TXD_DTYP_CONTEXT = 0x00200000
