// Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example tables`.
'use strict';

// CTRL: Device control; 8.2.3.1.1
exports.CTRL = 0x00000;
exports.CTRL_GIO_MASTER_DISABLE = 0x00000004;
exports.CTRL_LRST = 0x00000008;
exports.CTRL_RST = 0x04000000;

// STATUS: Device status; 8.2.3.1.2
exports.STATUS = 0x00008;
exports.STATUS_LAN_ID_MASK = 0x0000000c;
exports.STATUS_LAN_ID_SHIFT = 2;
exports.STATUS_LINK_UP = 0x00000080;
exports.STATUS_MASTER_ENABLE = 0x00080000;

// CTRL_EXT: Extended device control; 8.2.3.1.3
exports.CTRL_EXT = 0x00018;
exports.CTRL_EXT_PFRSTD = 0x00004000;
exports.CTRL_EXT_NS_DIS = 0x00010000;
exports.CTRL_EXT_RO_DIS = 0x00020000;
exports.CTRL_EXT_DRV_LOAD = 0x10000000;

// EEC: EEPROM control; 8.2.3.2.1
exports.EEC = 0x10010;
exports.EEC_EE_PRES = 0x00000100;
exports.EEC_ARD = 0x00000200;

// EERD: EEPROM read; 8.2.3.2.2
exports.EERD = 0x10014;
exports.EERD_START = 0x00000001;
exports.EERD_DONE = 0x00000002;
exports.EERD_ADDR_MASK = 0x0000fffc;
exports.EERD_ADDR_SHIFT = 2;
exports.EERD_DATA_MASK = 0xffff0000;
exports.EERD_DATA_SHIFT = 16;

// EICR: Interrupt cause; 8.2.3.5.1
exports.EICR = 0x00800;
exports.EICR_RTXQ_MASK = 0x0000ffff;
exports.EICR_RTXQ_SHIFT = 0;
exports.EICR_RX_MISS = 0x00020000;
exports.EICR_LSC = 0x00100000;

// EICS: Interrupt cause set; 8.2.3.5.2
exports.EICS = 0x00808;

// EIMS: Interrupt mask set; 8.2.3.5.3
exports.EIMS = 0x00880;

// EIMC: Interrupt mask clear; 8.2.3.5.4
exports.EIMC = 0x00888;
exports.EIMC_ALL_MASK = 0x7fffffff;
exports.EIMC_ALL_SHIFT = 0;

// EIAC: Interrupt auto clear; 8.2.3.5.5
exports.EIAC = 0x00810;

// EIAM: Interrupt auto mask; 8.2.3.5.6
exports.EIAM = 0x00890;

// EITR: Interrupt throttling: the shortest time between two interrupts of a vector, in units of 2 us; 8.2.3.5.12
exports.eitr = (n) => 0x00820 + n * 0x4;
exports.EITR_INTERVAL_MASK = 0x00000ff8;
exports.EITR_INTERVAL_SHIFT = 3;

// IVAR: Interrupt vector allocation: a byte each for receive queue 2n, transmit queue 2n, and the same of 2n + 1; 8.2.3.5.16
exports.ivar = (n) => 0x00900 + n * 0x4;
exports.IVAR_ALLOC_MASK = 0x0000003f;
exports.IVAR_ALLOC_SHIFT = 0;
exports.IVAR_VALID = 0x00000080;

// IVAR_MISC: Interrupt vector allocation of causes that are of no queue: the second byte, of all but the timer of TCP; 8.2.3.5.17
exports.IVAR_MISC = 0x00a00;
exports.IVAR_MISC_OTHER_MASK = 0x00003f00;
exports.IVAR_MISC_OTHER_SHIFT = 8;
exports.IVAR_MISC_OTHER_VALID = 0x00008000;

// GPIE: General purpose interrupt enable; 8.2.3.5.18
exports.GPIE = 0x00898;
exports.GPIE_MULTIPLE_MSIX = 0x00000010;
exports.GPIE_EIAME = 0x40000000;
exports.GPIE_PBA_SUPPORT = 0x80000000;

// FCTRL: Filter control; 8.2.3.7.1
exports.FCTRL = 0x05080;
exports.FCTRL_SBP = 0x00000002;
exports.FCTRL_MPE = 0x00000100;
exports.FCTRL_UPE = 0x00000200;
exports.FCTRL_BAM = 0x00000400;

// VLNCTRL: VLAN control; 8.2.3.7.2
exports.VLNCTRL = 0x05088;
exports.VLNCTRL_VET_MASK = 0x0000ffff;
exports.VLNCTRL_VET_SHIFT = 0;
exports.VLNCTRL_CFI = 0x10000000;
exports.VLNCTRL_CFIEN = 0x20000000;
exports.VLNCTRL_VFE = 0x40000000;

// MCSTCTRL: Multicast control; 8.2.3.7.3
exports.MCSTCTRL = 0x05090;

// RXCSUM: Receive checksum control: PCSD has descriptors show the RSS hash in place of the IP identification; 8.2.3.7.5
exports.RXCSUM = 0x05000;
exports.RXCSUM_IPPCSE = 0x00001000;
exports.RXCSUM_PCSD = 0x00002000;

// RFCTL: Receive filter control; 8.2.3.7.6
exports.RFCTL = 0x05008;

// RAL: Receive address, lower four bytes; 8.2.3.7.8
exports.ral = (n) => 0x05400 + n * 0x8;

// RAH: Receive address, upper two bytes; 8.2.3.7.9
exports.rah = (n) => 0x05404 + n * 0x8;
exports.RAH_RAH_MASK = 0x0000ffff;
exports.RAH_RAH_SHIFT = 0;
exports.RAH_AV = 0x80000000;

// VFTA: VLAN filter table: a bit for each VLAN; 8.2.3.7.11
exports.vfta = (n) => 0x0a000 + n * 0x4;

// MRQC: Multiple receive queues command: mode, and the fields that are hashed; 8.2.3.7.12
exports.MRQC = 0x05818;
exports.MRQC_MRQE_MASK = 0x0000000f;
exports.MRQC_MRQE_SHIFT = 0;
exports.MRQC_TCP_IPV4 = 0x00010000;
exports.MRQC_IPV4 = 0x00020000;
exports.MRQC_IPV6 = 0x00100000;
exports.MRQC_TCP_IPV6 = 0x00200000;
exports.MRQC_UDP_IPV4 = 0x00400000;
exports.MRQC_UDP_IPV6 = 0x00800000;

// RSSRK: RSS random key, four bytes each, the first in the lowest bits; 8.2.3.7.14
exports.rssrk = (n) => 0x05c80 + n * 0x4;

// RETA: RSS redirection table: queues of four values of the hash each, 8 bits apart; 8.2.3.7.15
exports.reta = (n) => 0x05c00 + n * 0x4;
exports.RETA_QUEUE_MASK = 0x0000000f;
exports.RETA_QUEUE_SHIFT = 0;

// RDBAL: Receive descriptor ring base address, lower half; 8.2.3.8.1
exports.rdbal = (n) => 0x01000 + n * 0x40;

// RDBAH: Receive descriptor ring base address, upper half; 8.2.3.8.2
exports.rdbah = (n) => 0x01004 + n * 0x40;

// RDLEN: Receive descriptor ring length in bytes; 8.2.3.8.3
exports.rdlen = (n) => 0x01008 + n * 0x40;

// RDH: Receive descriptor head: the first that the device owns; 8.2.3.8.4
exports.rdh = (n) => 0x01010 + n * 0x40;

// RDT: Receive descriptor tail: the first that the device does not own; 8.2.3.8.5
exports.rdt = (n) => 0x01018 + n * 0x40;

// RXDCTL: Receive descriptor control; 8.2.3.8.6
exports.rxdctl = (n) => 0x01028 + n * 0x40;
exports.RXDCTL_ENABLE = 0x02000000;
exports.RXDCTL_SWFLSH = 0x04000000;
exports.RXDCTL_VME = 0x40000000;

// SRRCTL: Split receive control: buffer size and descriptor type; 8.2.3.8.7
exports.srrctl = (n) => 0x02100 + n * 0x4;
exports.SRRCTL_BSIZEPACKET_MASK = 0x0000001f;
exports.SRRCTL_BSIZEPACKET_SHIFT = 0;
exports.SRRCTL_BSIZEHEADER_MASK = 0x00003f00;
exports.SRRCTL_BSIZEHEADER_SHIFT = 8;
exports.SRRCTL_DESCTYPE_MASK = 0x0e000000;
exports.SRRCTL_DESCTYPE_SHIFT = 25;
exports.SRRCTL_DROP_EN = 0x10000000;

// RDRXCTL: Receive DMA control; 8.2.3.8.8
exports.RDRXCTL = 0x02f00;
exports.RDRXCTL_CRCSTRIP = 0x00000002;
exports.RDRXCTL_DMAIDONE = 0x00000008;

// RXPBSIZE: Receive packet buffer size; 8.2.3.8.9
exports.rxpbsize = (n) => 0x03c00 + n * 0x4;
exports.RXPBSIZE_SIZE_MASK = 0x000ffc00;
exports.RXPBSIZE_SIZE_SHIFT = 10;

// RXCTRL: Receive control; 8.2.3.8.10
exports.RXCTRL = 0x03000;
exports.RXCTRL_RXEN = 0x00000001;

// DTXMXSZRQ: DMA transmit maximum outstanding bytes; 8.2.3.9.1
exports.DTXMXSZRQ = 0x08100;

// DMATXCTL: DMA transmit control; 8.2.3.9.2
exports.DMATXCTL = 0x04a80;
exports.DMATXCTL_TE = 0x00000001;
exports.DMATXCTL_VT_MASK = 0xffff0000;
exports.DMATXCTL_VT_SHIFT = 16;

// TDBAL: Transmit descriptor ring base address, lower half; 8.2.3.9.5
exports.tdbal = (n) => 0x06000 + n * 0x40;

// TDBAH: Transmit descriptor ring base address, upper half; 8.2.3.9.6
exports.tdbah = (n) => 0x06004 + n * 0x40;

// TDLEN: Transmit descriptor ring length in bytes; 8.2.3.9.7
exports.tdlen = (n) => 0x06008 + n * 0x40;

// TDH: Transmit descriptor head: the first that the device has not sent; 8.2.3.9.8
exports.tdh = (n) => 0x06010 + n * 0x40;

// TDT: Transmit descriptor tail: the first that the device must not send yet; 8.2.3.9.9
exports.tdt = (n) => 0x06018 + n * 0x40;

// TXDCTL: Transmit descriptor control; 8.2.3.9.10
exports.txdctl = (n) => 0x06028 + n * 0x40;
exports.TXDCTL_PTHRESH_MASK = 0x0000007f;
exports.TXDCTL_PTHRESH_SHIFT = 0;
exports.TXDCTL_HTHRESH_MASK = 0x00007f00;
exports.TXDCTL_HTHRESH_SHIFT = 8;
exports.TXDCTL_WTHRESH_MASK = 0x007f0000;
exports.TXDCTL_WTHRESH_SHIFT = 16;
exports.TXDCTL_ENABLE = 0x02000000;
exports.TXDCTL_SWFLSH = 0x04000000;

// TXPBSIZE: Transmit packet buffer size; 8.2.3.9.13
exports.txpbsize = (n) => 0x0cc00 + n * 0x4;
exports.TXPBSIZE_SIZE_MASK = 0x000ffc00;
exports.TXPBSIZE_SIZE_SHIFT = 10;

// RTTDCS: DCB transmit descriptor plane control; 8.2.3.10.2
exports.RTTDCS = 0x04900;
exports.RTTDCS_ARBDIS = 0x00000040;

// DCA_RXCTRL: Receive direct cache access control; bit 12 is reserved, set by a reset, and must be cleared (4.6.7); 8.2.3.11.1
exports.dcaRxctrl = (n) => 0x02200 + n * 0x4;
exports.DCA_RXCTRL_RESERVED_12 = 0x00001000;

// HLREG0: MAC core control; 8.2.3.22.8
exports.HLREG0 = 0x04240;
exports.HLREG0_TXCRCEN = 0x00000001;
exports.HLREG0_RXCRCSTRP = 0x00000002;
exports.HLREG0_JUMBOEN = 0x00000004;
exports.HLREG0_TXPADEN = 0x00000400;
exports.HLREG0_LPBK = 0x00008000;

// MSCA: MDI single command and address: of a PHY at an address of the management bus; 8.2.3.22
exports.MSCA = 0x0425c;
exports.MSCA_READ = 0x08000000;
exports.MSCA_MDICMD = 0x40000000;

// MSRWD: MDI single read and write data; 8.2.3.22
exports.MSRWD = 0x04260;
exports.MSRWD_WRITE_DATA_MASK = 0x0000ffff;
exports.MSRWD_WRITE_DATA_SHIFT = 0;
exports.MSRWD_READ_DATA_MASK = 0xffff0000;
exports.MSRWD_READ_DATA_SHIFT = 16;

// MAXFRS: Maximum frame size; 8.2.3.22.13
exports.MAXFRS = 0x04268;
exports.MAXFRS_MFS_MASK = 0xffff0000;
exports.MAXFRS_MFS_SHIFT = 16;

// AUTOC: Auto negotiation control; 8.2.3.22.19
exports.AUTOC = 0x042a0;
exports.AUTOC_PMA_PMD_10G_MASK = 0x00000180;
exports.AUTOC_PMA_PMD_10G_SHIFT = 7;
exports.AUTOC_RESTART_AN = 0x00001000;
exports.AUTOC_LMS_MASK = 0x0000e000;
exports.AUTOC_LMS_SHIFT = 13;

// LINKS: Link status; 8.2.3.22.20
exports.LINKS = 0x042a4;
exports.LINKS_SPEED_MASK = 0x30000000;
exports.LINKS_SPEED_SHIFT = 28;
exports.LINKS_UP = 0x40000000;

// ANLP1: Auto negotiation link partner: state of the negotiation over a backplane, 0 before it has begun; 8.2.3.22
exports.ANLP1 = 0x042b0;
exports.ANLP1_STATE_MASK = 0x000f0000;
exports.ANLP1_STATE_SHIFT = 16;

// RXMPC: Missed frames: no room in the packet buffer, as no descriptor is free and SRRCTL.DROP_EN is not set; 8.2.3.23.4
exports.rxmpc = (n) => 0x03fa0 + n * 0x4;

// PRC64: Good frames received of 64 bytes; 8.2.3.23
exports.PRC64 = 0x0405c;

// PRC127: Good frames received of 65 to 127 bytes; 8.2.3.23
exports.PRC127 = 0x04060;

// PRC255: Good frames received of 128 to 255 bytes; 8.2.3.23
exports.PRC255 = 0x04064;

// PRC511: Good frames received of 256 to 511 bytes; 8.2.3.23
exports.PRC511 = 0x04068;

// PRC1023: Good frames received of 512 to 1023 bytes; 8.2.3.23
exports.PRC1023 = 0x0406c;

// PRC1522: Good frames received of 1024 bytes and more; 8.2.3.23
exports.PRC1522 = 0x04070;

// BPRC: Good broadcast frames received; 8.2.3.23
exports.BPRC = 0x04078;

// MPRC: Good multicast frames received, without broadcasts; 8.2.3.23
exports.MPRC = 0x0407c;

// GPRC: Good frames received; 8.2.3.23.18
exports.GPRC = 0x04074;

// GPTC: Good frames transmitted; 8.2.3.23.21
exports.GPTC = 0x04080;

// GORCL: Good bytes received, lower half; 8.2.3.23.22
exports.GORCL = 0x04088;

// GORCH: Good bytes received, upper 4 bits; 8.2.3.23.23
exports.GORCH = 0x0408c;

// GOTCL: Good bytes transmitted, lower half; 8.2.3.23.24
exports.GOTCL = 0x04090;

// GOTCH: Good bytes transmitted, upper 4 bits; 8.2.3.23.25
exports.GOTCH = 0x04094;

// TORL: Bytes of all frames received, lower half; 8.2.3.23
exports.TORL = 0x040c0;

// TORH: Bytes of all frames received, upper 4 bits; 8.2.3.23
exports.TORH = 0x040c4;

// TPR: All frames received, also those that no filter takes; 8.2.3.23
exports.TPR = 0x040d0;

// TPT: All frames transmitted; 8.2.3.23
exports.TPT = 0x040d4;

// PTC64: Frames transmitted of 64 bytes; 8.2.3.23
exports.PTC64 = 0x040d8;

// PTC127: Frames transmitted of 65 to 127 bytes; 8.2.3.23
exports.PTC127 = 0x040dc;

// PTC255: Frames transmitted of 128 to 255 bytes; 8.2.3.23
exports.PTC255 = 0x040e0;

// PTC511: Frames transmitted of 256 to 511 bytes; 8.2.3.23
exports.PTC511 = 0x040e4;

// PTC1023: Frames transmitted of 512 to 1023 bytes; 8.2.3.23
exports.PTC1023 = 0x040e8;

// PTC1522: Frames transmitted of 1024 bytes and more; 8.2.3.23
exports.PTC1522 = 0x040ec;

// MPTC: Multicast frames transmitted, without broadcasts; 8.2.3.23
exports.MPTC = 0x040f0;

// BPTC: Broadcast frames transmitted; 8.2.3.23
exports.BPTC = 0x040f4;

// XEC: Frames received with a wrong IPv4, TCP, UDP or SCTP checksum; 8.2.3.23
exports.XEC = 0x04120;

// RQSMR: Receive queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23
exports.rqsmr = (n) => 0x02300 + n * 0x4;
exports.RQSMR_COUNTER_MASK = 0x0000000f;
exports.RQSMR_COUNTER_SHIFT = 0;

// TQSM: Transmit queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23
exports.tqsm = (n) => 0x08600 + n * 0x4;
exports.TQSM_COUNTER_MASK = 0x0000000f;
exports.TQSM_COUNTER_SHIFT = 0;

// QPRC: Frames received by the queues of this counter; 8.2.3.23.69
exports.qprc = (n) => 0x01030 + n * 0x40;

// QPTC: Frames transmitted by the queues of this counter; 8.2.3.23.72
exports.qptc = (n) => 0x06030 + n * 0x40;

// QPRDC: Frames that the queues of this counter dropped: no descriptor with SRRCTL.DROP_EN, or the queue is disabled; 8.2.3.23
exports.qprdc = (n) => 0x01430 + n * 0x40;

// QBRC_L: Bytes received by the queues of this counter, lower half; 8.2.3.23
exports.qbrcL = (n) => 0x01034 + n * 0x40;

// QBRC_H: Bytes received by the queues of this counter, upper 4 bits; 8.2.3.23
exports.qbrcH = (n) => 0x01038 + n * 0x40;

// QBTC_L: Bytes transmitted by the queues of this counter, lower half; 8.2.3.23
exports.qbtcL = (n) => 0x08700 + n * 0x8;

// QBTC_H: Bytes transmitted by the queues of this counter, upper 4 bits; 8.2.3.23
exports.qbtcH = (n) => 0x08704 + n * 0x8;

// RXD_INFO: Advanced receive descriptor as the device writes it back: what was hashed, type of the packet, 32-bit word 0; 7.1.6.2
exports.RXD_INFO_RSS_TYPE_MASK = 0x0000000f;
exports.RXD_INFO_RSS_TYPE_SHIFT = 0;
exports.RXD_INFO_IPV4 = 0x00000010;
exports.RXD_INFO_IPV4E = 0x00000020;
exports.RXD_INFO_IPV6 = 0x00000040;
exports.RXD_INFO_IPV6E = 0x00000080;
exports.RXD_INFO_TCP = 0x00000100;
exports.RXD_INFO_UDP = 0x00000200;
exports.RXD_INFO_SCTP = 0x00000400;

// RXD: Advanced receive descriptor as the device writes it back: status and errors, 32-bit word 2; 7.1.6.2
exports.RXD_DD = 0x00000001;
exports.RXD_EOP = 0x00000002;
exports.RXD_VP = 0x00000008;
exports.RXD_L4CS = 0x00000020;
exports.RXD_IPCS = 0x00000040;
exports.RXD_L4E = 0x40000000;
exports.RXD_IPE = 0x80000000;

// RXD_LENGTH: Advanced receive descriptor as the device writes it back: length and stripped VLAN tag, 32-bit word 3; 7.1.6.2
exports.RXD_LENGTH_BYTES_MASK = 0x0000ffff;
exports.RXD_LENGTH_BYTES_SHIFT = 0;
exports.RXD_LENGTH_VLAN_MASK = 0xffff0000;
exports.RXD_LENGTH_VLAN_SHIFT = 16;

// TXD: Advanced transmit data descriptor, command and length, 32-bit word 2; 7.2.3.2.4
exports.TXD_DTALEN_MASK = 0x0000ffff;
exports.TXD_DTALEN_SHIFT = 0;
exports.TXD_DTYP_MASK = 0x00f00000;
exports.TXD_DTYP_SHIFT = 20;
exports.TXD_EOP = 0x01000000;
exports.TXD_IFCS = 0x02000000;
exports.TXD_RS = 0x08000000;
exports.TXD_DEXT = 0x20000000;
exports.TXD_VLE = 0x40000000;
exports.TXD_TSE = 0x80000000;

// TXD_OLINFO: Advanced transmit data descriptor: context, checksums to insert, total payload length, 32-bit word 3; 7.2.3.2.4
exports.TXD_OLINFO_IDX = 0x00000010;
exports.TXD_OLINFO_CC = 0x00000080;
exports.TXD_OLINFO_IXSM = 0x00000100;
exports.TXD_OLINFO_TXSM = 0x00000200;
exports.TXD_OLINFO_PAYLEN_MASK = 0xffffc000;
exports.TXD_OLINFO_PAYLEN_SHIFT = 14;

// TXC_LENGTHS: Advanced transmit context descriptor: lengths of headers, and the VLAN tag, 32-bit word 0; 7.2.3.2.3
exports.TXC_LENGTHS_IPLEN_MASK = 0x000001ff;
exports.TXC_LENGTHS_IPLEN_SHIFT = 0;
exports.TXC_LENGTHS_MACLEN_MASK = 0x0000fe00;
exports.TXC_LENGTHS_MACLEN_SHIFT = 9;
exports.TXC_LENGTHS_VLAN_MASK = 0xffff0000;
exports.TXC_LENGTHS_VLAN_SHIFT = 16;

// TXC: Advanced transmit context descriptor: command, 32-bit word 2; 7.2.3.2.3
exports.TXC_IPV4 = 0x00000400;
exports.TXC_L4T_MASK = 0x00001800;
exports.TXC_L4T_SHIFT = 11;

// TXC_IDX: Advanced transmit context descriptor: which of the two contexts of the queue it is, 32-bit word 3; 7.2.3.2.3
exports.TXC_IDX_IDX = 0x00000010;
exports.TXC_IDX_L4LEN_MASK = 0x0000ff00;
exports.TXC_IDX_L4LEN_SHIFT = 8;
exports.TXC_IDX_MSS_MASK = 0xffff0000;
exports.TXC_IDX_MSS_SHIFT = 16;

// TXL: Legacy transmit descriptor: place of the checksum to insert, command, 32-bit word 2; 7.2.3.2.2
exports.TXL_CSO_MASK = 0x00ff0000;
exports.TXL_CSO_SHIFT = 16;
exports.TXL_IC = 0x04000000;

// TXL_TAG: Legacy transmit descriptor: where the checksum begins, VLAN tag, 32-bit word 3; 7.2.3.2.2
exports.TXL_TAG_CSS_MASK = 0x0000ff00;
exports.TXL_TAG_CSS_SHIFT = 8;
exports.TXL_TAG_VLAN_MASK = 0xffff0000;
exports.TXL_TAG_VLAN_SHIFT = 16;

// TXD_WB: Advanced transmit descriptor as the device writes it back, 32-bit word 3; 7.2.3.2.4
exports.TXD_WB_DD = 0x00000001;

// Values of fields
exports.SRRCTL_DESCTYPE_ADVANCED = 0x02000000;
exports.AUTOC_LMS_10G_SERIAL = 0x00006000;
exports.AUTOC_LMS_NEGOTIATES = 0x00008000;
exports.LINKS_SPEED_10G = 0x30000000;
exports.LINKS_SPEED_1G = 0x20000000;
exports.LINKS_SPEED_100M = 0x10000000;
exports.RXPBSIZE_128KB = 0x00020000;
exports.TXPBSIZE_40KB = 0x0000a000;
exports.TXD_DTYP_DATA = 0x00300000;
exports.TXD_DTYP_CONTEXT = 0x00200000;
exports.MRQC_MRQE_RSS = 0x00000001;
exports.RSS_TYPE_TCP_IPV4 = 0x00000001;
exports.RSS_TYPE_IPV4 = 0x00000002;
exports.RSS_TYPE_TCP_IPV6 = 0x00000003;
exports.RSS_TYPE_IPV6 = 0x00000005;
exports.RSS_TYPE_UDP_IPV4 = 0x00000007;
exports.RSS_TYPE_UDP_IPV6 = 0x00000008;
exports.TXC_L4T_UDP = 0x00000000;
exports.TXC_L4T_TCP = 0x00000800;
exports.TXC_L4T_SCTP = 0x00001000;
