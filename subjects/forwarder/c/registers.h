/* Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example tables`. */
#ifndef FORWARDER_REGISTERS_H
#define FORWARDER_REGISTERS_H

#include <stdint.h>

/* CTRL: Device control; 8.2.3.1.1 */
#define CTRL 0x00000u
#define CTRL_GIO_MASTER_DISABLE 0x00000004u
#define CTRL_LRST 0x00000008u
#define CTRL_RST 0x04000000u

/* STATUS: Device status; 8.2.3.1.2 */
#define STATUS 0x00008u
#define STATUS_LAN_ID_MASK 0x0000000cu
#define STATUS_LAN_ID_SHIFT 2u
#define STATUS_LINK_UP 0x00000080u
#define STATUS_MASTER_ENABLE 0x00080000u

/* CTRL_EXT: Extended device control; 8.2.3.1.3 */
#define CTRL_EXT 0x00018u
#define CTRL_EXT_PFRSTD 0x00004000u
#define CTRL_EXT_NS_DIS 0x00010000u
#define CTRL_EXT_RO_DIS 0x00020000u
#define CTRL_EXT_DRV_LOAD 0x10000000u

/* EEC: EEPROM control; 8.2.3.2.1 */
#define EEC 0x10010u
#define EEC_EE_PRES 0x00000100u
#define EEC_ARD 0x00000200u

/* EERD: EEPROM read; 8.2.3.2.2 */
#define EERD 0x10014u
#define EERD_START 0x00000001u
#define EERD_DONE 0x00000002u
#define EERD_ADDR_MASK 0x0000fffcu
#define EERD_ADDR_SHIFT 2u
#define EERD_DATA_MASK 0xffff0000u
#define EERD_DATA_SHIFT 16u

/* EICR: Interrupt cause; 8.2.3.5.1 */
#define EICR 0x00800u
#define EICR_RTXQ_MASK 0x0000ffffu
#define EICR_RTXQ_SHIFT 0u
#define EICR_RX_MISS 0x00020000u
#define EICR_LSC 0x00100000u

/* EICS: Interrupt cause set; 8.2.3.5.2 */
#define EICS 0x00808u

/* EIMS: Interrupt mask set; 8.2.3.5.3 */
#define EIMS 0x00880u

/* EIMC: Interrupt mask clear; 8.2.3.5.4 */
#define EIMC 0x00888u
#define EIMC_ALL_MASK 0x7fffffffu
#define EIMC_ALL_SHIFT 0u

/* EIAC: Interrupt auto clear; 8.2.3.5.5 */
#define EIAC 0x00810u

/* EIAM: Interrupt auto mask; 8.2.3.5.6 */
#define EIAM 0x00890u

/* EITR: Interrupt throttling: the shortest time between two interrupts of a vector, in units of 2 us; 8.2.3.5.12 */
static inline uint32_t eitr(uint32_t n) { return 0x00820u + n * 0x4u; }
#define EITR_INTERVAL_MASK 0x00000ff8u
#define EITR_INTERVAL_SHIFT 3u

/* IVAR: Interrupt vector allocation: a byte each for receive queue 2n, transmit queue 2n, and the same of 2n + 1; 8.2.3.5.16 */
static inline uint32_t ivar(uint32_t n) { return 0x00900u + n * 0x4u; }
#define IVAR_ALLOC_MASK 0x0000003fu
#define IVAR_ALLOC_SHIFT 0u
#define IVAR_VALID 0x00000080u

/* IVAR_MISC: Interrupt vector allocation of causes that are of no queue: the second byte, of all but the timer of TCP; 8.2.3.5.17 */
#define IVAR_MISC 0x00a00u
#define IVAR_MISC_OTHER_MASK 0x00003f00u
#define IVAR_MISC_OTHER_SHIFT 8u
#define IVAR_MISC_OTHER_VALID 0x00008000u

/* GPIE: General purpose interrupt enable; 8.2.3.5.18 */
#define GPIE 0x00898u
#define GPIE_MULTIPLE_MSIX 0x00000010u
#define GPIE_EIAME 0x40000000u
#define GPIE_PBA_SUPPORT 0x80000000u

/* FCTRL: Filter control; 8.2.3.7.1 */
#define FCTRL 0x05080u
#define FCTRL_SBP 0x00000002u
#define FCTRL_MPE 0x00000100u
#define FCTRL_UPE 0x00000200u
#define FCTRL_BAM 0x00000400u

/* VLNCTRL: VLAN control; 8.2.3.7.2 */
#define VLNCTRL 0x05088u
#define VLNCTRL_VET_MASK 0x0000ffffu
#define VLNCTRL_VET_SHIFT 0u
#define VLNCTRL_CFI 0x10000000u
#define VLNCTRL_CFIEN 0x20000000u
#define VLNCTRL_VFE 0x40000000u

/* MCSTCTRL: Multicast control; 8.2.3.7.3 */
#define MCSTCTRL 0x05090u

/* RXCSUM: Receive checksum control: PCSD has descriptors show the RSS hash in place of the IP identification; 8.2.3.7.5 */
#define RXCSUM 0x05000u
#define RXCSUM_IPPCSE 0x00001000u
#define RXCSUM_PCSD 0x00002000u

/* RFCTL: Receive filter control; 8.2.3.7.6 */
#define RFCTL 0x05008u

/* RAL: Receive address, lower four bytes; 8.2.3.7.8 */
static inline uint32_t ral(uint32_t n) { return 0x05400u + n * 0x8u; }

/* RAH: Receive address, upper two bytes; 8.2.3.7.9 */
static inline uint32_t rah(uint32_t n) { return 0x05404u + n * 0x8u; }
#define RAH_RAH_MASK 0x0000ffffu
#define RAH_RAH_SHIFT 0u
#define RAH_AV 0x80000000u

/* VFTA: VLAN filter table: a bit for each VLAN; 8.2.3.7.11 */
static inline uint32_t vfta(uint32_t n) { return 0x0a000u + n * 0x4u; }

/* MRQC: Multiple receive queues command: mode, and the fields that are hashed; 8.2.3.7.12 */
#define MRQC 0x05818u
#define MRQC_MRQE_MASK 0x0000000fu
#define MRQC_MRQE_SHIFT 0u
#define MRQC_TCP_IPV4 0x00010000u
#define MRQC_IPV4 0x00020000u
#define MRQC_IPV6 0x00100000u
#define MRQC_TCP_IPV6 0x00200000u
#define MRQC_UDP_IPV4 0x00400000u
#define MRQC_UDP_IPV6 0x00800000u

/* RSSRK: RSS random key, four bytes each, the first in the lowest bits; 8.2.3.7.14 */
static inline uint32_t rssrk(uint32_t n) { return 0x05c80u + n * 0x4u; }

/* RETA: RSS redirection table: queues of four values of the hash each, 8 bits apart; 8.2.3.7.15 */
static inline uint32_t reta(uint32_t n) { return 0x05c00u + n * 0x4u; }
#define RETA_QUEUE_MASK 0x0000000fu
#define RETA_QUEUE_SHIFT 0u

/* RDBAL: Receive descriptor ring base address, lower half; 8.2.3.8.1 */
static inline uint32_t rdbal(uint32_t n) { return 0x01000u + n * 0x40u; }

/* RDBAH: Receive descriptor ring base address, upper half; 8.2.3.8.2 */
static inline uint32_t rdbah(uint32_t n) { return 0x01004u + n * 0x40u; }

/* RDLEN: Receive descriptor ring length in bytes; 8.2.3.8.3 */
static inline uint32_t rdlen(uint32_t n) { return 0x01008u + n * 0x40u; }

/* RDH: Receive descriptor head: the first that the device owns; 8.2.3.8.4 */
static inline uint32_t rdh(uint32_t n) { return 0x01010u + n * 0x40u; }

/* RDT: Receive descriptor tail: the first that the device does not own; 8.2.3.8.5 */
static inline uint32_t rdt(uint32_t n) { return 0x01018u + n * 0x40u; }

/* RXDCTL: Receive descriptor control; 8.2.3.8.6 */
static inline uint32_t rxdctl(uint32_t n) { return 0x01028u + n * 0x40u; }
#define RXDCTL_ENABLE 0x02000000u
#define RXDCTL_SWFLSH 0x04000000u
#define RXDCTL_VME 0x40000000u

/* SRRCTL: Split receive control: buffer size and descriptor type; 8.2.3.8.7 */
static inline uint32_t srrctl(uint32_t n) { return 0x02100u + n * 0x4u; }
#define SRRCTL_BSIZEPACKET_MASK 0x0000001fu
#define SRRCTL_BSIZEPACKET_SHIFT 0u
#define SRRCTL_BSIZEHEADER_MASK 0x00003f00u
#define SRRCTL_BSIZEHEADER_SHIFT 8u
#define SRRCTL_DESCTYPE_MASK 0x0e000000u
#define SRRCTL_DESCTYPE_SHIFT 25u
#define SRRCTL_DROP_EN 0x10000000u

/* RDRXCTL: Receive DMA control; 8.2.3.8.8 */
#define RDRXCTL 0x02f00u
#define RDRXCTL_CRCSTRIP 0x00000002u
#define RDRXCTL_DMAIDONE 0x00000008u

/* RXPBSIZE: Receive packet buffer size; 8.2.3.8.9 */
static inline uint32_t rxpbsize(uint32_t n) { return 0x03c00u + n * 0x4u; }
#define RXPBSIZE_SIZE_MASK 0x000ffc00u
#define RXPBSIZE_SIZE_SHIFT 10u

/* RXCTRL: Receive control; 8.2.3.8.10 */
#define RXCTRL 0x03000u
#define RXCTRL_RXEN 0x00000001u

/* DTXMXSZRQ: DMA transmit maximum outstanding bytes; 8.2.3.9.1 */
#define DTXMXSZRQ 0x08100u

/* DMATXCTL: DMA transmit control; 8.2.3.9.2 */
#define DMATXCTL 0x04a80u
#define DMATXCTL_TE 0x00000001u
#define DMATXCTL_VT_MASK 0xffff0000u
#define DMATXCTL_VT_SHIFT 16u

/* TDBAL: Transmit descriptor ring base address, lower half; 8.2.3.9.5 */
static inline uint32_t tdbal(uint32_t n) { return 0x06000u + n * 0x40u; }

/* TDBAH: Transmit descriptor ring base address, upper half; 8.2.3.9.6 */
static inline uint32_t tdbah(uint32_t n) { return 0x06004u + n * 0x40u; }

/* TDLEN: Transmit descriptor ring length in bytes; 8.2.3.9.7 */
static inline uint32_t tdlen(uint32_t n) { return 0x06008u + n * 0x40u; }

/* TDH: Transmit descriptor head: the first that the device has not sent; 8.2.3.9.8 */
static inline uint32_t tdh(uint32_t n) { return 0x06010u + n * 0x40u; }

/* TDT: Transmit descriptor tail: the first that the device must not send yet; 8.2.3.9.9 */
static inline uint32_t tdt(uint32_t n) { return 0x06018u + n * 0x40u; }

/* TXDCTL: Transmit descriptor control; 8.2.3.9.10 */
static inline uint32_t txdctl(uint32_t n) { return 0x06028u + n * 0x40u; }
#define TXDCTL_PTHRESH_MASK 0x0000007fu
#define TXDCTL_PTHRESH_SHIFT 0u
#define TXDCTL_HTHRESH_MASK 0x00007f00u
#define TXDCTL_HTHRESH_SHIFT 8u
#define TXDCTL_WTHRESH_MASK 0x007f0000u
#define TXDCTL_WTHRESH_SHIFT 16u
#define TXDCTL_ENABLE 0x02000000u
#define TXDCTL_SWFLSH 0x04000000u

/* TXPBSIZE: Transmit packet buffer size; 8.2.3.9.13 */
static inline uint32_t txpbsize(uint32_t n) { return 0x0cc00u + n * 0x4u; }
#define TXPBSIZE_SIZE_MASK 0x000ffc00u
#define TXPBSIZE_SIZE_SHIFT 10u

/* RTTDCS: DCB transmit descriptor plane control; 8.2.3.10.2 */
#define RTTDCS 0x04900u
#define RTTDCS_ARBDIS 0x00000040u

/* DCA_RXCTRL: Receive direct cache access control; bit 12 is reserved, set by a reset, and must be cleared (4.6.7); 8.2.3.11.1 */
static inline uint32_t dca_rxctrl(uint32_t n) { return 0x02200u + n * 0x4u; }
#define DCA_RXCTRL_RESERVED_12 0x00001000u

/* HLREG0: MAC core control; 8.2.3.22.8 */
#define HLREG0 0x04240u
#define HLREG0_TXCRCEN 0x00000001u
#define HLREG0_RXCRCSTRP 0x00000002u
#define HLREG0_JUMBOEN 0x00000004u
#define HLREG0_TXPADEN 0x00000400u
#define HLREG0_LPBK 0x00008000u

/* MSCA: MDI single command and address: of a PHY at an address of the management bus; 8.2.3.22 */
#define MSCA 0x0425cu
#define MSCA_READ 0x08000000u
#define MSCA_MDICMD 0x40000000u

/* MSRWD: MDI single read and write data; 8.2.3.22 */
#define MSRWD 0x04260u
#define MSRWD_WRITE_DATA_MASK 0x0000ffffu
#define MSRWD_WRITE_DATA_SHIFT 0u
#define MSRWD_READ_DATA_MASK 0xffff0000u
#define MSRWD_READ_DATA_SHIFT 16u

/* MAXFRS: Maximum frame size; 8.2.3.22.13 */
#define MAXFRS 0x04268u
#define MAXFRS_MFS_MASK 0xffff0000u
#define MAXFRS_MFS_SHIFT 16u

/* AUTOC: Auto negotiation control; 8.2.3.22.19 */
#define AUTOC 0x042a0u
#define AUTOC_PMA_PMD_10G_MASK 0x00000180u
#define AUTOC_PMA_PMD_10G_SHIFT 7u
#define AUTOC_RESTART_AN 0x00001000u
#define AUTOC_LMS_MASK 0x0000e000u
#define AUTOC_LMS_SHIFT 13u

/* LINKS: Link status; 8.2.3.22.20 */
#define LINKS 0x042a4u
#define LINKS_SPEED_MASK 0x30000000u
#define LINKS_SPEED_SHIFT 28u
#define LINKS_UP 0x40000000u

/* ANLP1: Auto negotiation link partner: state of the negotiation over a backplane, 0 before it has begun; 8.2.3.22 */
#define ANLP1 0x042b0u
#define ANLP1_STATE_MASK 0x000f0000u
#define ANLP1_STATE_SHIFT 16u

/* RXMPC: Missed frames: no room in the packet buffer, as no descriptor is free and SRRCTL.DROP_EN is not set; 8.2.3.23.4 */
static inline uint32_t rxmpc(uint32_t n) { return 0x03fa0u + n * 0x4u; }

/* PRC64: Good frames received of 64 bytes; 8.2.3.23 */
#define PRC64 0x0405cu

/* PRC127: Good frames received of 65 to 127 bytes; 8.2.3.23 */
#define PRC127 0x04060u

/* PRC255: Good frames received of 128 to 255 bytes; 8.2.3.23 */
#define PRC255 0x04064u

/* PRC511: Good frames received of 256 to 511 bytes; 8.2.3.23 */
#define PRC511 0x04068u

/* PRC1023: Good frames received of 512 to 1023 bytes; 8.2.3.23 */
#define PRC1023 0x0406cu

/* PRC1522: Good frames received of 1024 bytes and more; 8.2.3.23 */
#define PRC1522 0x04070u

/* BPRC: Good broadcast frames received; 8.2.3.23 */
#define BPRC 0x04078u

/* MPRC: Good multicast frames received, without broadcasts; 8.2.3.23 */
#define MPRC 0x0407cu

/* GPRC: Good frames received; 8.2.3.23.18 */
#define GPRC 0x04074u

/* GPTC: Good frames transmitted; 8.2.3.23.21 */
#define GPTC 0x04080u

/* GORCL: Good bytes received, lower half; 8.2.3.23.22 */
#define GORCL 0x04088u

/* GORCH: Good bytes received, upper 4 bits; 8.2.3.23.23 */
#define GORCH 0x0408cu

/* GOTCL: Good bytes transmitted, lower half; 8.2.3.23.24 */
#define GOTCL 0x04090u

/* GOTCH: Good bytes transmitted, upper 4 bits; 8.2.3.23.25 */
#define GOTCH 0x04094u

/* TORL: Bytes of all frames received, lower half; 8.2.3.23 */
#define TORL 0x040c0u

/* TORH: Bytes of all frames received, upper 4 bits; 8.2.3.23 */
#define TORH 0x040c4u

/* TPR: All frames received, also those that no filter takes; 8.2.3.23 */
#define TPR 0x040d0u

/* TPT: All frames transmitted; 8.2.3.23 */
#define TPT 0x040d4u

/* PTC64: Frames transmitted of 64 bytes; 8.2.3.23 */
#define PTC64 0x040d8u

/* PTC127: Frames transmitted of 65 to 127 bytes; 8.2.3.23 */
#define PTC127 0x040dcu

/* PTC255: Frames transmitted of 128 to 255 bytes; 8.2.3.23 */
#define PTC255 0x040e0u

/* PTC511: Frames transmitted of 256 to 511 bytes; 8.2.3.23 */
#define PTC511 0x040e4u

/* PTC1023: Frames transmitted of 512 to 1023 bytes; 8.2.3.23 */
#define PTC1023 0x040e8u

/* PTC1522: Frames transmitted of 1024 bytes and more; 8.2.3.23 */
#define PTC1522 0x040ecu

/* MPTC: Multicast frames transmitted, without broadcasts; 8.2.3.23 */
#define MPTC 0x040f0u

/* BPTC: Broadcast frames transmitted; 8.2.3.23 */
#define BPTC 0x040f4u

/* XEC: Frames received with a wrong IPv4, TCP, UDP or SCTP checksum; 8.2.3.23 */
#define XEC 0x04120u

/* RQSMR: Receive queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23 */
static inline uint32_t rqsmr(uint32_t n) { return 0x02300u + n * 0x4u; }
#define RQSMR_COUNTER_MASK 0x0000000fu
#define RQSMR_COUNTER_SHIFT 0u

/* TQSM: Transmit queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23 */
static inline uint32_t tqsm(uint32_t n) { return 0x08600u + n * 0x4u; }
#define TQSM_COUNTER_MASK 0x0000000fu
#define TQSM_COUNTER_SHIFT 0u

/* QPRC: Frames received by the queues of this counter; 8.2.3.23.69 */
static inline uint32_t qprc(uint32_t n) { return 0x01030u + n * 0x40u; }

/* QPTC: Frames transmitted by the queues of this counter; 8.2.3.23.72 */
static inline uint32_t qptc(uint32_t n) { return 0x06030u + n * 0x40u; }

/* QPRDC: Frames that the queues of this counter dropped: no descriptor with SRRCTL.DROP_EN, or the queue is disabled; 8.2.3.23 */
static inline uint32_t qprdc(uint32_t n) { return 0x01430u + n * 0x40u; }

/* QBRC_L: Bytes received by the queues of this counter, lower half; 8.2.3.23 */
static inline uint32_t qbrc_l(uint32_t n) { return 0x01034u + n * 0x40u; }

/* QBRC_H: Bytes received by the queues of this counter, upper 4 bits; 8.2.3.23 */
static inline uint32_t qbrc_h(uint32_t n) { return 0x01038u + n * 0x40u; }

/* QBTC_L: Bytes transmitted by the queues of this counter, lower half; 8.2.3.23 */
static inline uint32_t qbtc_l(uint32_t n) { return 0x08700u + n * 0x8u; }

/* QBTC_H: Bytes transmitted by the queues of this counter, upper 4 bits; 8.2.3.23 */
static inline uint32_t qbtc_h(uint32_t n) { return 0x08704u + n * 0x8u; }

/* RXD_INFO: Advanced receive descriptor as the device writes it back: what was hashed, type of the packet, 32-bit word 0; 7.1.6.2 */
#define RXD_INFO_RSS_TYPE_MASK 0x0000000fu
#define RXD_INFO_RSS_TYPE_SHIFT 0u
#define RXD_INFO_IPV4 0x00000010u
#define RXD_INFO_IPV4E 0x00000020u
#define RXD_INFO_IPV6 0x00000040u
#define RXD_INFO_IPV6E 0x00000080u
#define RXD_INFO_TCP 0x00000100u
#define RXD_INFO_UDP 0x00000200u
#define RXD_INFO_SCTP 0x00000400u

/* RXD: Advanced receive descriptor as the device writes it back: status and errors, 32-bit word 2; 7.1.6.2 */
#define RXD_DD 0x00000001u
#define RXD_EOP 0x00000002u
#define RXD_VP 0x00000008u
#define RXD_L4CS 0x00000020u
#define RXD_IPCS 0x00000040u
#define RXD_L4E 0x40000000u
#define RXD_IPE 0x80000000u

/* RXD_LENGTH: Advanced receive descriptor as the device writes it back: length and stripped VLAN tag, 32-bit word 3; 7.1.6.2 */
#define RXD_LENGTH_BYTES_MASK 0x0000ffffu
#define RXD_LENGTH_BYTES_SHIFT 0u
#define RXD_LENGTH_VLAN_MASK 0xffff0000u
#define RXD_LENGTH_VLAN_SHIFT 16u

/* TXD: Advanced transmit data descriptor, command and length, 32-bit word 2; 7.2.3.2.4 */
#define TXD_DTALEN_MASK 0x0000ffffu
#define TXD_DTALEN_SHIFT 0u
#define TXD_DTYP_MASK 0x00f00000u
#define TXD_DTYP_SHIFT 20u
#define TXD_EOP 0x01000000u
#define TXD_IFCS 0x02000000u
#define TXD_RS 0x08000000u
#define TXD_DEXT 0x20000000u
#define TXD_VLE 0x40000000u
#define TXD_TSE 0x80000000u

/* TXD_OLINFO: Advanced transmit data descriptor: context, checksums to insert, total payload length, 32-bit word 3; 7.2.3.2.4 */
#define TXD_OLINFO_IDX 0x00000010u
#define TXD_OLINFO_CC 0x00000080u
#define TXD_OLINFO_IXSM 0x00000100u
#define TXD_OLINFO_TXSM 0x00000200u
#define TXD_OLINFO_PAYLEN_MASK 0xffffc000u
#define TXD_OLINFO_PAYLEN_SHIFT 14u

/* TXC_LENGTHS: Advanced transmit context descriptor: lengths of headers, and the VLAN tag, 32-bit word 0; 7.2.3.2.3 */
#define TXC_LENGTHS_IPLEN_MASK 0x000001ffu
#define TXC_LENGTHS_IPLEN_SHIFT 0u
#define TXC_LENGTHS_MACLEN_MASK 0x0000fe00u
#define TXC_LENGTHS_MACLEN_SHIFT 9u
#define TXC_LENGTHS_VLAN_MASK 0xffff0000u
#define TXC_LENGTHS_VLAN_SHIFT 16u

/* TXC: Advanced transmit context descriptor: command, 32-bit word 2; 7.2.3.2.3 */
#define TXC_IPV4 0x00000400u
#define TXC_L4T_MASK 0x00001800u
#define TXC_L4T_SHIFT 11u

/* TXC_IDX: Advanced transmit context descriptor: which of the two contexts of the queue it is, 32-bit word 3; 7.2.3.2.3 */
#define TXC_IDX_IDX 0x00000010u
#define TXC_IDX_L4LEN_MASK 0x0000ff00u
#define TXC_IDX_L4LEN_SHIFT 8u
#define TXC_IDX_MSS_MASK 0xffff0000u
#define TXC_IDX_MSS_SHIFT 16u

/* TXL: Legacy transmit descriptor: place of the checksum to insert, command, 32-bit word 2; 7.2.3.2.2 */
#define TXL_CSO_MASK 0x00ff0000u
#define TXL_CSO_SHIFT 16u
#define TXL_IC 0x04000000u

/* TXL_TAG: Legacy transmit descriptor: where the checksum begins, VLAN tag, 32-bit word 3; 7.2.3.2.2 */
#define TXL_TAG_CSS_MASK 0x0000ff00u
#define TXL_TAG_CSS_SHIFT 8u
#define TXL_TAG_VLAN_MASK 0xffff0000u
#define TXL_TAG_VLAN_SHIFT 16u

/* TXD_WB: Advanced transmit descriptor as the device writes it back, 32-bit word 3; 7.2.3.2.4 */
#define TXD_WB_DD 0x00000001u

/* Values of fields */
#define SRRCTL_DESCTYPE_ADVANCED 0x02000000u
#define AUTOC_LMS_10G_SERIAL 0x00006000u
#define AUTOC_LMS_NEGOTIATES 0x00008000u
#define LINKS_SPEED_10G 0x30000000u
#define LINKS_SPEED_1G 0x20000000u
#define LINKS_SPEED_100M 0x10000000u
#define RXPBSIZE_128KB 0x00020000u
#define TXPBSIZE_40KB 0x0000a000u
#define TXD_DTYP_DATA 0x00300000u
#define TXD_DTYP_CONTEXT 0x00200000u
#define MRQC_MRQE_RSS 0x00000001u
#define RSS_TYPE_TCP_IPV4 0x00000001u
#define RSS_TYPE_IPV4 0x00000002u
#define RSS_TYPE_TCP_IPV6 0x00000003u
#define RSS_TYPE_IPV6 0x00000005u
#define RSS_TYPE_UDP_IPV4 0x00000007u
#define RSS_TYPE_UDP_IPV6 0x00000008u
#define TXC_L4T_UDP 0x00000000u
#define TXC_L4T_TCP 0x00000800u
#define TXC_L4T_SCTP 0x00001000u

#endif
