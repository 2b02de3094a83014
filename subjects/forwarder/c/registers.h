/* Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example generate`. */
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

/* EITR: Interrupt throttling; 8.2.3.5.12 */
static inline uint32_t eitr(uint32_t n) { return 0x00820u + n * 0x4u; }

/* IVAR: Interrupt vector allocation; 8.2.3.5.16 */
static inline uint32_t ivar(uint32_t n) { return 0x00900u + n * 0x4u; }

/* GPIE: General purpose interrupt enable; 8.2.3.5.18 */
#define GPIE 0x00898u

/* FCTRL: Filter control; 8.2.3.7.1 */
#define FCTRL 0x05080u
#define FCTRL_SBP 0x00000002u
#define FCTRL_MPE 0x00000100u
#define FCTRL_UPE 0x00000200u
#define FCTRL_BAM 0x00000400u

/* VLNCTRL: VLAN control; 8.2.3.7.2 */
#define VLNCTRL 0x05088u

/* MCSTCTRL: Multicast control; 8.2.3.7.3 */
#define MCSTCTRL 0x05090u

/* RXCSUM: Receive checksum control; 8.2.3.7.5 */
#define RXCSUM 0x05000u

/* RFCTL: Receive filter control; 8.2.3.7.6 */
#define RFCTL 0x05008u

/* RAL: Receive address, lower four bytes; 8.2.3.7.8 */
static inline uint32_t ral(uint32_t n) { return 0x05400u + n * 0x8u; }

/* RAH: Receive address, upper two bytes; 8.2.3.7.9 */
static inline uint32_t rah(uint32_t n) { return 0x05404u + n * 0x8u; }
#define RAH_RAH_MASK 0x0000ffffu
#define RAH_RAH_SHIFT 0u
#define RAH_AV 0x80000000u

/* MRQC: Multiple receive queues command; 8.2.3.7.12 */
#define MRQC 0x05818u

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

/* RXMPC: Missed frames: no room in the packet buffer, or no descriptor where SRRCTL.DROP_EN is set; 8.2.3.23.4 */
static inline uint32_t rxmpc(uint32_t n) { return 0x03fa0u + n * 0x4u; }

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

/* QPRC: Frames received by the queue; 8.2.3.23.69 */
static inline uint32_t qprc(uint32_t n) { return 0x01030u + n * 0x40u; }

/* QPTC: Frames transmitted by the queue; 8.2.3.23.72 */
static inline uint32_t qptc(uint32_t n) { return 0x06030u + n * 0x40u; }

/* RXD: Advanced receive descriptor as the device writes it back, 32-bit word 2; 7.1.6.2 */
#define RXD_DD 0x00000001u
#define RXD_EOP 0x00000002u

/* TXD: Advanced transmit data descriptor, command and length, 32-bit word 2; 7.2.3.2.4 */
#define TXD_DTALEN_MASK 0x0000ffffu
#define TXD_DTALEN_SHIFT 0u
#define TXD_DTYP_MASK 0x00f00000u
#define TXD_DTYP_SHIFT 20u
#define TXD_EOP 0x01000000u
#define TXD_IFCS 0x02000000u
#define TXD_RS 0x08000000u
#define TXD_DEXT 0x20000000u

/* TXD_OLINFO: Advanced transmit data descriptor, total payload length, 32-bit word 3; 7.2.3.2.4 */
#define TXD_OLINFO_PAYLEN_MASK 0xffffc000u
#define TXD_OLINFO_PAYLEN_SHIFT 14u

/* TXD_WB: Advanced transmit descriptor as the device writes it back, 32-bit word 3; 7.2.3.2.4 */
#define TXD_WB_DD 0x00000001u

/* Values of fields */
#define SRRCTL_DESCTYPE_ADVANCED 0x02000000u
#define AUTOC_LMS_10G_SERIAL 0x00006000u
#define LINKS_SPEED_10G 0x30000000u
#define LINKS_SPEED_1G 0x20000000u
#define LINKS_SPEED_100M 0x10000000u
#define RXPBSIZE_128KB 0x00020000u
#define TXPBSIZE_40KB 0x0000a000u
#define TXD_DTYP_DATA 0x00300000u
#define TXD_DTYP_CONTEXT 0x00200000u

#endif
