// Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example generate`. DO NOT EDIT.

package main

// CTRL: Device control; 8.2.3.1.1
const regCtrl uint32 = 0x00000
const regCtrlGioMasterDisable uint32 = 0x00000004
const regCtrlLrst uint32 = 0x00000008
const regCtrlRst uint32 = 0x04000000

// STATUS: Device status; 8.2.3.1.2
const regStatus uint32 = 0x00008
const regStatusLanIdMask uint32 = 0x0000000c
const regStatusLanIdShift uint32 = 2
const regStatusLinkUp uint32 = 0x00000080
const regStatusMasterEnable uint32 = 0x00080000

// CTRL_EXT: Extended device control; 8.2.3.1.3
const regCtrlExt uint32 = 0x00018
const regCtrlExtPfrstd uint32 = 0x00004000
const regCtrlExtNsDis uint32 = 0x00010000
const regCtrlExtRoDis uint32 = 0x00020000
const regCtrlExtDrvLoad uint32 = 0x10000000

// EEC: EEPROM control; 8.2.3.2.1
const regEec uint32 = 0x10010
const regEecEePres uint32 = 0x00000100
const regEecArd uint32 = 0x00000200

// EICR: Interrupt cause; 8.2.3.5.1
const regEicr uint32 = 0x00800
const regEicrRtxqMask uint32 = 0x0000ffff
const regEicrRtxqShift uint32 = 0
const regEicrRxMiss uint32 = 0x00020000
const regEicrLsc uint32 = 0x00100000

// EICS: Interrupt cause set; 8.2.3.5.2
const regEics uint32 = 0x00808

// EIMS: Interrupt mask set; 8.2.3.5.3
const regEims uint32 = 0x00880

// EIMC: Interrupt mask clear; 8.2.3.5.4
const regEimc uint32 = 0x00888
const regEimcAllMask uint32 = 0x7fffffff
const regEimcAllShift uint32 = 0

// EIAC: Interrupt auto clear; 8.2.3.5.5
const regEiac uint32 = 0x00810

// EIAM: Interrupt auto mask; 8.2.3.5.6
const regEiam uint32 = 0x00890

// EITR: Interrupt throttling; 8.2.3.5.12
func regEitr(n uint32) uint32 { return 0x00820 + n*0x4 }

// IVAR: Interrupt vector allocation; 8.2.3.5.16
func regIvar(n uint32) uint32 { return 0x00900 + n*0x4 }

// GPIE: General purpose interrupt enable; 8.2.3.5.18
const regGpie uint32 = 0x00898

// FCTRL: Filter control; 8.2.3.7.1
const regFctrl uint32 = 0x05080
const regFctrlSbp uint32 = 0x00000002
const regFctrlMpe uint32 = 0x00000100
const regFctrlUpe uint32 = 0x00000200
const regFctrlBam uint32 = 0x00000400

// VLNCTRL: VLAN control; 8.2.3.7.2
const regVlnctrl uint32 = 0x05088

// MCSTCTRL: Multicast control; 8.2.3.7.3
const regMcstctrl uint32 = 0x05090

// RXCSUM: Receive checksum control; 8.2.3.7.5
const regRxcsum uint32 = 0x05000

// RFCTL: Receive filter control; 8.2.3.7.6
const regRfctl uint32 = 0x05008

// RAL: Receive address, lower four bytes; 8.2.3.7.8
func regRal(n uint32) uint32 { return 0x05400 + n*0x8 }

// RAH: Receive address, upper two bytes; 8.2.3.7.9
func regRah(n uint32) uint32 { return 0x05404 + n*0x8 }
const regRahRahMask uint32 = 0x0000ffff
const regRahRahShift uint32 = 0
const regRahAv uint32 = 0x80000000

// MRQC: Multiple receive queues command; 8.2.3.7.12
const regMrqc uint32 = 0x05818

// RDBAL: Receive descriptor ring base address, lower half; 8.2.3.8.1
func regRdbal(n uint32) uint32 { return 0x01000 + n*0x40 }

// RDBAH: Receive descriptor ring base address, upper half; 8.2.3.8.2
func regRdbah(n uint32) uint32 { return 0x01004 + n*0x40 }

// RDLEN: Receive descriptor ring length in bytes; 8.2.3.8.3
func regRdlen(n uint32) uint32 { return 0x01008 + n*0x40 }

// RDH: Receive descriptor head: the first that the device owns; 8.2.3.8.4
func regRdh(n uint32) uint32 { return 0x01010 + n*0x40 }

// RDT: Receive descriptor tail: the first that the device does not own; 8.2.3.8.5
func regRdt(n uint32) uint32 { return 0x01018 + n*0x40 }

// RXDCTL: Receive descriptor control; 8.2.3.8.6
func regRxdctl(n uint32) uint32 { return 0x01028 + n*0x40 }
const regRxdctlEnable uint32 = 0x02000000
const regRxdctlSwflsh uint32 = 0x04000000
const regRxdctlVme uint32 = 0x40000000

// SRRCTL: Split receive control: buffer size and descriptor type; 8.2.3.8.7
func regSrrctl(n uint32) uint32 { return 0x02100 + n*0x4 }
const regSrrctlBsizepacketMask uint32 = 0x0000001f
const regSrrctlBsizepacketShift uint32 = 0
const regSrrctlBsizeheaderMask uint32 = 0x00003f00
const regSrrctlBsizeheaderShift uint32 = 8
const regSrrctlDesctypeMask uint32 = 0x0e000000
const regSrrctlDesctypeShift uint32 = 25
const regSrrctlDropEn uint32 = 0x10000000

// RDRXCTL: Receive DMA control; 8.2.3.8.8
const regRdrxctl uint32 = 0x02f00
const regRdrxctlCrcstrip uint32 = 0x00000002
const regRdrxctlDmaidone uint32 = 0x00000008

// RXPBSIZE: Receive packet buffer size; 8.2.3.8.9
func regRxpbsize(n uint32) uint32 { return 0x03c00 + n*0x4 }
const regRxpbsizeSizeMask uint32 = 0x000ffc00
const regRxpbsizeSizeShift uint32 = 10

// RXCTRL: Receive control; 8.2.3.8.10
const regRxctrl uint32 = 0x03000
const regRxctrlRxen uint32 = 0x00000001

// DTXMXSZRQ: DMA transmit maximum outstanding bytes; 8.2.3.9.1
const regDtxmxszrq uint32 = 0x08100

// DMATXCTL: DMA transmit control; 8.2.3.9.2
const regDmatxctl uint32 = 0x04a80
const regDmatxctlTe uint32 = 0x00000001

// TDBAL: Transmit descriptor ring base address, lower half; 8.2.3.9.5
func regTdbal(n uint32) uint32 { return 0x06000 + n*0x40 }

// TDBAH: Transmit descriptor ring base address, upper half; 8.2.3.9.6
func regTdbah(n uint32) uint32 { return 0x06004 + n*0x40 }

// TDLEN: Transmit descriptor ring length in bytes; 8.2.3.9.7
func regTdlen(n uint32) uint32 { return 0x06008 + n*0x40 }

// TDH: Transmit descriptor head: the first that the device has not sent; 8.2.3.9.8
func regTdh(n uint32) uint32 { return 0x06010 + n*0x40 }

// TDT: Transmit descriptor tail: the first that the device must not send yet; 8.2.3.9.9
func regTdt(n uint32) uint32 { return 0x06018 + n*0x40 }

// TXDCTL: Transmit descriptor control; 8.2.3.9.10
func regTxdctl(n uint32) uint32 { return 0x06028 + n*0x40 }
const regTxdctlPthreshMask uint32 = 0x0000007f
const regTxdctlPthreshShift uint32 = 0
const regTxdctlHthreshMask uint32 = 0x00007f00
const regTxdctlHthreshShift uint32 = 8
const regTxdctlWthreshMask uint32 = 0x007f0000
const regTxdctlWthreshShift uint32 = 16
const regTxdctlEnable uint32 = 0x02000000
const regTxdctlSwflsh uint32 = 0x04000000

// TXPBSIZE: Transmit packet buffer size; 8.2.3.9.13
func regTxpbsize(n uint32) uint32 { return 0x0cc00 + n*0x4 }
const regTxpbsizeSizeMask uint32 = 0x000ffc00
const regTxpbsizeSizeShift uint32 = 10

// RTTDCS: DCB transmit descriptor plane control; 8.2.3.10.2
const regRttdcs uint32 = 0x04900
const regRttdcsArbdis uint32 = 0x00000040

// DCA_RXCTRL: Receive direct cache access control; bit 12 is reserved, set by a reset, and must be cleared (4.6.7); 8.2.3.11.1
func regDcaRxctrl(n uint32) uint32 { return 0x02200 + n*0x4 }
const regDcaRxctrlReserved12 uint32 = 0x00001000

// HLREG0: MAC core control; 8.2.3.22.8
const regHlreg0 uint32 = 0x04240
const regHlreg0Txcrcen uint32 = 0x00000001
const regHlreg0Rxcrcstrp uint32 = 0x00000002
const regHlreg0Jumboen uint32 = 0x00000004
const regHlreg0Txpaden uint32 = 0x00000400
const regHlreg0Lpbk uint32 = 0x00008000

// MAXFRS: Maximum frame size; 8.2.3.22.13
const regMaxfrs uint32 = 0x04268
const regMaxfrsMfsMask uint32 = 0xffff0000
const regMaxfrsMfsShift uint32 = 16

// AUTOC: Auto negotiation control; 8.2.3.22.19
const regAutoc uint32 = 0x042a0
const regAutocPmaPmd10gMask uint32 = 0x00000180
const regAutocPmaPmd10gShift uint32 = 7
const regAutocRestartAn uint32 = 0x00001000
const regAutocLmsMask uint32 = 0x0000e000
const regAutocLmsShift uint32 = 13

// LINKS: Link status; 8.2.3.22.20
const regLinks uint32 = 0x042a4
const regLinksSpeedMask uint32 = 0x30000000
const regLinksSpeedShift uint32 = 28
const regLinksUp uint32 = 0x40000000

// RXMPC: Missed frames: no room in the packet buffer, or no descriptor where SRRCTL.DROP_EN is set; 8.2.3.23.4
func regRxmpc(n uint32) uint32 { return 0x03fa0 + n*0x4 }

// GPRC: Good frames received; 8.2.3.23.18
const regGprc uint32 = 0x04074

// GPTC: Good frames transmitted; 8.2.3.23.21
const regGptc uint32 = 0x04080

// GORCL: Good bytes received, lower half; 8.2.3.23.22
const regGorcl uint32 = 0x04088

// GORCH: Good bytes received, upper 4 bits; 8.2.3.23.23
const regGorch uint32 = 0x0408c

// GOTCL: Good bytes transmitted, lower half; 8.2.3.23.24
const regGotcl uint32 = 0x04090

// GOTCH: Good bytes transmitted, upper 4 bits; 8.2.3.23.25
const regGotch uint32 = 0x04094

// QPRC: Frames received by the queue; 8.2.3.23.69
func regQprc(n uint32) uint32 { return 0x01030 + n*0x40 }

// QPTC: Frames transmitted by the queue; 8.2.3.23.72
func regQptc(n uint32) uint32 { return 0x06030 + n*0x40 }

// RXD: Advanced receive descriptor as the device writes it back, 32-bit word 2; 7.1.6.2
const regRxdDd uint32 = 0x00000001
const regRxdEop uint32 = 0x00000002

// TXD: Advanced transmit data descriptor, command and length, 32-bit word 2; 7.2.3.2.4
const regTxdDtalenMask uint32 = 0x0000ffff
const regTxdDtalenShift uint32 = 0
const regTxdDtypMask uint32 = 0x00f00000
const regTxdDtypShift uint32 = 20
const regTxdEop uint32 = 0x01000000
const regTxdIfcs uint32 = 0x02000000
const regTxdRs uint32 = 0x08000000
const regTxdDext uint32 = 0x20000000

// TXD_OLINFO: Advanced transmit data descriptor, total payload length, 32-bit word 3; 7.2.3.2.4
const regTxdOlinfoPaylenMask uint32 = 0xffffc000
const regTxdOlinfoPaylenShift uint32 = 14

// TXD_WB: Advanced transmit descriptor as the device writes it back, 32-bit word 3; 7.2.3.2.4
const regTxdWbDd uint32 = 0x00000001

// Values of fields
const regSrrctlDesctypeAdvanced uint32 = 0x02000000
const regAutocLms10gSerial uint32 = 0x00006000
const regLinksSpeed10g uint32 = 0x30000000
const regLinksSpeed1g uint32 = 0x20000000
const regLinksSpeed100m uint32 = 0x10000000
const regRxpbsize128kb uint32 = 0x00020000
const regTxpbsize40kb uint32 = 0x0000a000
const regTxdDtypData uint32 = 0x00300000
const regTxdDtypContext uint32 = 0x00200000
