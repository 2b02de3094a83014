// Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example tables`.
final class Registers {
    private Registers() {}

    // CTRL: Device control; 8.2.3.1.1
    static final int CTRL = 0x00000;
    static final int CTRL_GIO_MASTER_DISABLE = 0x00000004;
    static final int CTRL_LRST = 0x00000008;
    static final int CTRL_RST = 0x04000000;

    // STATUS: Device status; 8.2.3.1.2
    static final int STATUS = 0x00008;
    static final int STATUS_LAN_ID_MASK = 0x0000000c;
    static final int STATUS_LAN_ID_SHIFT = 2;
    static final int STATUS_LINK_UP = 0x00000080;
    static final int STATUS_MASTER_ENABLE = 0x00080000;

    // CTRL_EXT: Extended device control; 8.2.3.1.3
    static final int CTRL_EXT = 0x00018;
    static final int CTRL_EXT_PFRSTD = 0x00004000;
    static final int CTRL_EXT_NS_DIS = 0x00010000;
    static final int CTRL_EXT_RO_DIS = 0x00020000;
    static final int CTRL_EXT_DRV_LOAD = 0x10000000;

    // EEC: EEPROM control; 8.2.3.2.1
    static final int EEC = 0x10010;
    static final int EEC_EE_PRES = 0x00000100;
    static final int EEC_ARD = 0x00000200;

    // EERD: EEPROM read; 8.2.3.2.2
    static final int EERD = 0x10014;
    static final int EERD_START = 0x00000001;
    static final int EERD_DONE = 0x00000002;
    static final int EERD_ADDR_MASK = 0x0000fffc;
    static final int EERD_ADDR_SHIFT = 2;
    static final int EERD_DATA_MASK = 0xffff0000;
    static final int EERD_DATA_SHIFT = 16;

    // EICR: Interrupt cause; 8.2.3.5.1
    static final int EICR = 0x00800;
    static final int EICR_RTXQ_MASK = 0x0000ffff;
    static final int EICR_RTXQ_SHIFT = 0;
    static final int EICR_RX_MISS = 0x00020000;
    static final int EICR_LSC = 0x00100000;

    // EICS: Interrupt cause set; 8.2.3.5.2
    static final int EICS = 0x00808;

    // EIMS: Interrupt mask set; 8.2.3.5.3
    static final int EIMS = 0x00880;

    // EIMC: Interrupt mask clear; 8.2.3.5.4
    static final int EIMC = 0x00888;
    static final int EIMC_ALL_MASK = 0x7fffffff;
    static final int EIMC_ALL_SHIFT = 0;

    // EIAC: Interrupt auto clear; 8.2.3.5.5
    static final int EIAC = 0x00810;

    // EIAM: Interrupt auto mask; 8.2.3.5.6
    static final int EIAM = 0x00890;

    // EITR: Interrupt throttling: the shortest time between two interrupts of a vector, in units of 2 us; 8.2.3.5.12
    static int eitr(int n) {
        return 0x00820 + n * 0x4;
    }
    static final int EITR_INTERVAL_MASK = 0x00000ff8;
    static final int EITR_INTERVAL_SHIFT = 3;

    // IVAR: Interrupt vector allocation: a byte each for receive queue 2n, transmit queue 2n, and the same of 2n + 1; 8.2.3.5.16
    static int ivar(int n) {
        return 0x00900 + n * 0x4;
    }
    static final int IVAR_ALLOC_MASK = 0x0000003f;
    static final int IVAR_ALLOC_SHIFT = 0;
    static final int IVAR_VALID = 0x00000080;

    // IVAR_MISC: Interrupt vector allocation of causes that are of no queue: the second byte, of all but the timer of TCP; 8.2.3.5.17
    static final int IVAR_MISC = 0x00a00;
    static final int IVAR_MISC_OTHER_MASK = 0x00003f00;
    static final int IVAR_MISC_OTHER_SHIFT = 8;
    static final int IVAR_MISC_OTHER_VALID = 0x00008000;

    // GPIE: General purpose interrupt enable; 8.2.3.5.18
    static final int GPIE = 0x00898;
    static final int GPIE_MULTIPLE_MSIX = 0x00000010;
    static final int GPIE_EIAME = 0x40000000;
    static final int GPIE_PBA_SUPPORT = 0x80000000;

    // FCTRL: Filter control; 8.2.3.7.1
    static final int FCTRL = 0x05080;
    static final int FCTRL_SBP = 0x00000002;
    static final int FCTRL_MPE = 0x00000100;
    static final int FCTRL_UPE = 0x00000200;
    static final int FCTRL_BAM = 0x00000400;

    // VLNCTRL: VLAN control; 8.2.3.7.2
    static final int VLNCTRL = 0x05088;
    static final int VLNCTRL_VET_MASK = 0x0000ffff;
    static final int VLNCTRL_VET_SHIFT = 0;
    static final int VLNCTRL_CFI = 0x10000000;
    static final int VLNCTRL_CFIEN = 0x20000000;
    static final int VLNCTRL_VFE = 0x40000000;

    // MCSTCTRL: Multicast control; 8.2.3.7.3
    static final int MCSTCTRL = 0x05090;

    // RXCSUM: Receive checksum control: PCSD has descriptors show the RSS hash in place of the IP identification; 8.2.3.7.5
    static final int RXCSUM = 0x05000;
    static final int RXCSUM_IPPCSE = 0x00001000;
    static final int RXCSUM_PCSD = 0x00002000;

    // RFCTL: Receive filter control; 8.2.3.7.6
    static final int RFCTL = 0x05008;

    // RAL: Receive address, lower four bytes; 8.2.3.7.8
    static int ral(int n) {
        return 0x05400 + n * 0x8;
    }

    // RAH: Receive address, upper two bytes; 8.2.3.7.9
    static int rah(int n) {
        return 0x05404 + n * 0x8;
    }
    static final int RAH_RAH_MASK = 0x0000ffff;
    static final int RAH_RAH_SHIFT = 0;
    static final int RAH_AV = 0x80000000;

    // VFTA: VLAN filter table: a bit for each VLAN; 8.2.3.7.11
    static int vfta(int n) {
        return 0x0a000 + n * 0x4;
    }

    // MRQC: Multiple receive queues command: mode, and the fields that are hashed; 8.2.3.7.12
    static final int MRQC = 0x05818;
    static final int MRQC_MRQE_MASK = 0x0000000f;
    static final int MRQC_MRQE_SHIFT = 0;
    static final int MRQC_TCP_IPV4 = 0x00010000;
    static final int MRQC_IPV4 = 0x00020000;
    static final int MRQC_IPV6 = 0x00100000;
    static final int MRQC_TCP_IPV6 = 0x00200000;
    static final int MRQC_UDP_IPV4 = 0x00400000;
    static final int MRQC_UDP_IPV6 = 0x00800000;

    // RSSRK: RSS random key, four bytes each, the first in the lowest bits; 8.2.3.7.14
    static int rssrk(int n) {
        return 0x05c80 + n * 0x4;
    }

    // RETA: RSS redirection table: queues of four values of the hash each, 8 bits apart; 8.2.3.7.15
    static int reta(int n) {
        return 0x05c00 + n * 0x4;
    }
    static final int RETA_QUEUE_MASK = 0x0000000f;
    static final int RETA_QUEUE_SHIFT = 0;

    // RDBAL: Receive descriptor ring base address, lower half; 8.2.3.8.1
    static int rdbal(int n) {
        return 0x01000 + n * 0x40;
    }

    // RDBAH: Receive descriptor ring base address, upper half; 8.2.3.8.2
    static int rdbah(int n) {
        return 0x01004 + n * 0x40;
    }

    // RDLEN: Receive descriptor ring length in bytes; 8.2.3.8.3
    static int rdlen(int n) {
        return 0x01008 + n * 0x40;
    }

    // RDH: Receive descriptor head: the first that the device owns; 8.2.3.8.4
    static int rdh(int n) {
        return 0x01010 + n * 0x40;
    }

    // RDT: Receive descriptor tail: the first that the device does not own; 8.2.3.8.5
    static int rdt(int n) {
        return 0x01018 + n * 0x40;
    }

    // RXDCTL: Receive descriptor control; 8.2.3.8.6
    static int rxdctl(int n) {
        return 0x01028 + n * 0x40;
    }
    static final int RXDCTL_ENABLE = 0x02000000;
    static final int RXDCTL_SWFLSH = 0x04000000;
    static final int RXDCTL_VME = 0x40000000;

    // SRRCTL: Split receive control: buffer size and descriptor type; 8.2.3.8.7
    static int srrctl(int n) {
        return 0x02100 + n * 0x4;
    }
    static final int SRRCTL_BSIZEPACKET_MASK = 0x0000001f;
    static final int SRRCTL_BSIZEPACKET_SHIFT = 0;
    static final int SRRCTL_BSIZEHEADER_MASK = 0x00003f00;
    static final int SRRCTL_BSIZEHEADER_SHIFT = 8;
    static final int SRRCTL_DESCTYPE_MASK = 0x0e000000;
    static final int SRRCTL_DESCTYPE_SHIFT = 25;
    static final int SRRCTL_DROP_EN = 0x10000000;

    // RDRXCTL: Receive DMA control; 8.2.3.8.8
    static final int RDRXCTL = 0x02f00;
    static final int RDRXCTL_CRCSTRIP = 0x00000002;
    static final int RDRXCTL_DMAIDONE = 0x00000008;

    // RXPBSIZE: Receive packet buffer size; 8.2.3.8.9
    static int rxpbsize(int n) {
        return 0x03c00 + n * 0x4;
    }
    static final int RXPBSIZE_SIZE_MASK = 0x000ffc00;
    static final int RXPBSIZE_SIZE_SHIFT = 10;

    // RXCTRL: Receive control; 8.2.3.8.10
    static final int RXCTRL = 0x03000;
    static final int RXCTRL_RXEN = 0x00000001;

    // DTXMXSZRQ: DMA transmit maximum outstanding bytes; 8.2.3.9.1
    static final int DTXMXSZRQ = 0x08100;

    // DMATXCTL: DMA transmit control; 8.2.3.9.2
    static final int DMATXCTL = 0x04a80;
    static final int DMATXCTL_TE = 0x00000001;
    static final int DMATXCTL_VT_MASK = 0xffff0000;
    static final int DMATXCTL_VT_SHIFT = 16;

    // TDBAL: Transmit descriptor ring base address, lower half; 8.2.3.9.5
    static int tdbal(int n) {
        return 0x06000 + n * 0x40;
    }

    // TDBAH: Transmit descriptor ring base address, upper half; 8.2.3.9.6
    static int tdbah(int n) {
        return 0x06004 + n * 0x40;
    }

    // TDLEN: Transmit descriptor ring length in bytes; 8.2.3.9.7
    static int tdlen(int n) {
        return 0x06008 + n * 0x40;
    }

    // TDH: Transmit descriptor head: the first that the device has not sent; 8.2.3.9.8
    static int tdh(int n) {
        return 0x06010 + n * 0x40;
    }

    // TDT: Transmit descriptor tail: the first that the device must not send yet; 8.2.3.9.9
    static int tdt(int n) {
        return 0x06018 + n * 0x40;
    }

    // TXDCTL: Transmit descriptor control; 8.2.3.9.10
    static int txdctl(int n) {
        return 0x06028 + n * 0x40;
    }
    static final int TXDCTL_PTHRESH_MASK = 0x0000007f;
    static final int TXDCTL_PTHRESH_SHIFT = 0;
    static final int TXDCTL_HTHRESH_MASK = 0x00007f00;
    static final int TXDCTL_HTHRESH_SHIFT = 8;
    static final int TXDCTL_WTHRESH_MASK = 0x007f0000;
    static final int TXDCTL_WTHRESH_SHIFT = 16;
    static final int TXDCTL_ENABLE = 0x02000000;
    static final int TXDCTL_SWFLSH = 0x04000000;

    // TXPBSIZE: Transmit packet buffer size; 8.2.3.9.13
    static int txpbsize(int n) {
        return 0x0cc00 + n * 0x4;
    }
    static final int TXPBSIZE_SIZE_MASK = 0x000ffc00;
    static final int TXPBSIZE_SIZE_SHIFT = 10;

    // RTTDCS: DCB transmit descriptor plane control; 8.2.3.10.2
    static final int RTTDCS = 0x04900;
    static final int RTTDCS_ARBDIS = 0x00000040;

    // DCA_RXCTRL: Receive direct cache access control; bit 12 is reserved, set by a reset, and must be cleared (4.6.7); 8.2.3.11.1
    static int dcaRxctrl(int n) {
        return 0x02200 + n * 0x4;
    }
    static final int DCA_RXCTRL_RESERVED_12 = 0x00001000;

    // HLREG0: MAC core control; 8.2.3.22.8
    static final int HLREG0 = 0x04240;
    static final int HLREG0_TXCRCEN = 0x00000001;
    static final int HLREG0_RXCRCSTRP = 0x00000002;
    static final int HLREG0_JUMBOEN = 0x00000004;
    static final int HLREG0_TXPADEN = 0x00000400;
    static final int HLREG0_LPBK = 0x00008000;

    // MSCA: MDI single command and address: of a PHY at an address of the management bus; 8.2.3.22
    static final int MSCA = 0x0425c;
    static final int MSCA_READ = 0x08000000;
    static final int MSCA_MDICMD = 0x40000000;

    // MSRWD: MDI single read and write data; 8.2.3.22
    static final int MSRWD = 0x04260;
    static final int MSRWD_WRITE_DATA_MASK = 0x0000ffff;
    static final int MSRWD_WRITE_DATA_SHIFT = 0;
    static final int MSRWD_READ_DATA_MASK = 0xffff0000;
    static final int MSRWD_READ_DATA_SHIFT = 16;

    // MAXFRS: Maximum frame size; 8.2.3.22.13
    static final int MAXFRS = 0x04268;
    static final int MAXFRS_MFS_MASK = 0xffff0000;
    static final int MAXFRS_MFS_SHIFT = 16;

    // AUTOC: Auto negotiation control; 8.2.3.22.19
    static final int AUTOC = 0x042a0;
    static final int AUTOC_PMA_PMD_10G_MASK = 0x00000180;
    static final int AUTOC_PMA_PMD_10G_SHIFT = 7;
    static final int AUTOC_RESTART_AN = 0x00001000;
    static final int AUTOC_LMS_MASK = 0x0000e000;
    static final int AUTOC_LMS_SHIFT = 13;

    // LINKS: Link status; 8.2.3.22.20
    static final int LINKS = 0x042a4;
    static final int LINKS_SPEED_MASK = 0x30000000;
    static final int LINKS_SPEED_SHIFT = 28;
    static final int LINKS_UP = 0x40000000;

    // ANLP1: Auto negotiation link partner: state of the negotiation over a backplane, 0 before it has begun; 8.2.3.22
    static final int ANLP1 = 0x042b0;
    static final int ANLP1_STATE_MASK = 0x000f0000;
    static final int ANLP1_STATE_SHIFT = 16;

    // RXMPC: Missed frames: no room in the packet buffer, as no descriptor is free and SRRCTL.DROP_EN is not set; 8.2.3.23.4
    static int rxmpc(int n) {
        return 0x03fa0 + n * 0x4;
    }

    // PRC64: Good frames received of 64 bytes; 8.2.3.23
    static final int PRC64 = 0x0405c;

    // PRC127: Good frames received of 65 to 127 bytes; 8.2.3.23
    static final int PRC127 = 0x04060;

    // PRC255: Good frames received of 128 to 255 bytes; 8.2.3.23
    static final int PRC255 = 0x04064;

    // PRC511: Good frames received of 256 to 511 bytes; 8.2.3.23
    static final int PRC511 = 0x04068;

    // PRC1023: Good frames received of 512 to 1023 bytes; 8.2.3.23
    static final int PRC1023 = 0x0406c;

    // PRC1522: Good frames received of 1024 bytes and more; 8.2.3.23
    static final int PRC1522 = 0x04070;

    // BPRC: Good broadcast frames received; 8.2.3.23
    static final int BPRC = 0x04078;

    // MPRC: Good multicast frames received, without broadcasts; 8.2.3.23
    static final int MPRC = 0x0407c;

    // GPRC: Good frames received; 8.2.3.23.18
    static final int GPRC = 0x04074;

    // GPTC: Good frames transmitted; 8.2.3.23.21
    static final int GPTC = 0x04080;

    // GORCL: Good bytes received, lower half; 8.2.3.23.22
    static final int GORCL = 0x04088;

    // GORCH: Good bytes received, upper 4 bits; 8.2.3.23.23
    static final int GORCH = 0x0408c;

    // GOTCL: Good bytes transmitted, lower half; 8.2.3.23.24
    static final int GOTCL = 0x04090;

    // GOTCH: Good bytes transmitted, upper 4 bits; 8.2.3.23.25
    static final int GOTCH = 0x04094;

    // TORL: Bytes of all frames received, lower half; 8.2.3.23
    static final int TORL = 0x040c0;

    // TORH: Bytes of all frames received, upper 4 bits; 8.2.3.23
    static final int TORH = 0x040c4;

    // TPR: All frames received, also those that no filter takes; 8.2.3.23
    static final int TPR = 0x040d0;

    // TPT: All frames transmitted; 8.2.3.23
    static final int TPT = 0x040d4;

    // PTC64: Frames transmitted of 64 bytes; 8.2.3.23
    static final int PTC64 = 0x040d8;

    // PTC127: Frames transmitted of 65 to 127 bytes; 8.2.3.23
    static final int PTC127 = 0x040dc;

    // PTC255: Frames transmitted of 128 to 255 bytes; 8.2.3.23
    static final int PTC255 = 0x040e0;

    // PTC511: Frames transmitted of 256 to 511 bytes; 8.2.3.23
    static final int PTC511 = 0x040e4;

    // PTC1023: Frames transmitted of 512 to 1023 bytes; 8.2.3.23
    static final int PTC1023 = 0x040e8;

    // PTC1522: Frames transmitted of 1024 bytes and more; 8.2.3.23
    static final int PTC1522 = 0x040ec;

    // MPTC: Multicast frames transmitted, without broadcasts; 8.2.3.23
    static final int MPTC = 0x040f0;

    // BPTC: Broadcast frames transmitted; 8.2.3.23
    static final int BPTC = 0x040f4;

    // XEC: Frames received with a wrong IPv4, TCP, UDP or SCTP checksum; 8.2.3.23
    static final int XEC = 0x04120;

    // RQSMR: Receive queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23
    static int rqsmr(int n) {
        return 0x02300 + n * 0x4;
    }
    static final int RQSMR_COUNTER_MASK = 0x0000000f;
    static final int RQSMR_COUNTER_SHIFT = 0;

    // TQSM: Transmit queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23
    static int tqsm(int n) {
        return 0x08600 + n * 0x4;
    }
    static final int TQSM_COUNTER_MASK = 0x0000000f;
    static final int TQSM_COUNTER_SHIFT = 0;

    // QPRC: Frames received by the queues of this counter; 8.2.3.23.69
    static int qprc(int n) {
        return 0x01030 + n * 0x40;
    }

    // QPTC: Frames transmitted by the queues of this counter; 8.2.3.23.72
    static int qptc(int n) {
        return 0x06030 + n * 0x40;
    }

    // QPRDC: Frames that the queues of this counter dropped: no descriptor with SRRCTL.DROP_EN, or the queue is disabled; 8.2.3.23
    static int qprdc(int n) {
        return 0x01430 + n * 0x40;
    }

    // QBRC_L: Bytes received by the queues of this counter, lower half; 8.2.3.23
    static int qbrcL(int n) {
        return 0x01034 + n * 0x40;
    }

    // QBRC_H: Bytes received by the queues of this counter, upper 4 bits; 8.2.3.23
    static int qbrcH(int n) {
        return 0x01038 + n * 0x40;
    }

    // QBTC_L: Bytes transmitted by the queues of this counter, lower half; 8.2.3.23
    static int qbtcL(int n) {
        return 0x08700 + n * 0x8;
    }

    // QBTC_H: Bytes transmitted by the queues of this counter, upper 4 bits; 8.2.3.23
    static int qbtcH(int n) {
        return 0x08704 + n * 0x8;
    }

    // RXD_INFO: Advanced receive descriptor as the device writes it back: what was hashed, type of the packet, 32-bit word 0; 7.1.6.2
    static final int RXD_INFO_RSS_TYPE_MASK = 0x0000000f;
    static final int RXD_INFO_RSS_TYPE_SHIFT = 0;
    static final int RXD_INFO_IPV4 = 0x00000010;
    static final int RXD_INFO_IPV4E = 0x00000020;
    static final int RXD_INFO_IPV6 = 0x00000040;
    static final int RXD_INFO_IPV6E = 0x00000080;
    static final int RXD_INFO_TCP = 0x00000100;
    static final int RXD_INFO_UDP = 0x00000200;
    static final int RXD_INFO_SCTP = 0x00000400;

    // RXD: Advanced receive descriptor as the device writes it back: status and errors, 32-bit word 2; 7.1.6.2
    static final int RXD_DD = 0x00000001;
    static final int RXD_EOP = 0x00000002;
    static final int RXD_VP = 0x00000008;
    static final int RXD_L4CS = 0x00000020;
    static final int RXD_IPCS = 0x00000040;
    static final int RXD_L4E = 0x40000000;
    static final int RXD_IPE = 0x80000000;

    // RXD_LENGTH: Advanced receive descriptor as the device writes it back: length and stripped VLAN tag, 32-bit word 3; 7.1.6.2
    static final int RXD_LENGTH_BYTES_MASK = 0x0000ffff;
    static final int RXD_LENGTH_BYTES_SHIFT = 0;
    static final int RXD_LENGTH_VLAN_MASK = 0xffff0000;
    static final int RXD_LENGTH_VLAN_SHIFT = 16;

    // TXD: Advanced transmit data descriptor, command and length, 32-bit word 2; 7.2.3.2.4
    static final int TXD_DTALEN_MASK = 0x0000ffff;
    static final int TXD_DTALEN_SHIFT = 0;
    static final int TXD_DTYP_MASK = 0x00f00000;
    static final int TXD_DTYP_SHIFT = 20;
    static final int TXD_EOP = 0x01000000;
    static final int TXD_IFCS = 0x02000000;
    static final int TXD_RS = 0x08000000;
    static final int TXD_DEXT = 0x20000000;
    static final int TXD_VLE = 0x40000000;
    static final int TXD_TSE = 0x80000000;

    // TXD_OLINFO: Advanced transmit data descriptor: context, checksums to insert, total payload length, 32-bit word 3; 7.2.3.2.4
    static final int TXD_OLINFO_IDX = 0x00000010;
    static final int TXD_OLINFO_CC = 0x00000080;
    static final int TXD_OLINFO_IXSM = 0x00000100;
    static final int TXD_OLINFO_TXSM = 0x00000200;
    static final int TXD_OLINFO_PAYLEN_MASK = 0xffffc000;
    static final int TXD_OLINFO_PAYLEN_SHIFT = 14;

    // TXC_LENGTHS: Advanced transmit context descriptor: lengths of headers, and the VLAN tag, 32-bit word 0; 7.2.3.2.3
    static final int TXC_LENGTHS_IPLEN_MASK = 0x000001ff;
    static final int TXC_LENGTHS_IPLEN_SHIFT = 0;
    static final int TXC_LENGTHS_MACLEN_MASK = 0x0000fe00;
    static final int TXC_LENGTHS_MACLEN_SHIFT = 9;
    static final int TXC_LENGTHS_VLAN_MASK = 0xffff0000;
    static final int TXC_LENGTHS_VLAN_SHIFT = 16;

    // TXC: Advanced transmit context descriptor: command, 32-bit word 2; 7.2.3.2.3
    static final int TXC_IPV4 = 0x00000400;
    static final int TXC_L4T_MASK = 0x00001800;
    static final int TXC_L4T_SHIFT = 11;

    // TXC_IDX: Advanced transmit context descriptor: which of the two contexts of the queue it is, 32-bit word 3; 7.2.3.2.3
    static final int TXC_IDX_IDX = 0x00000010;
    static final int TXC_IDX_L4LEN_MASK = 0x0000ff00;
    static final int TXC_IDX_L4LEN_SHIFT = 8;
    static final int TXC_IDX_MSS_MASK = 0xffff0000;
    static final int TXC_IDX_MSS_SHIFT = 16;

    // TXL: Legacy transmit descriptor: place of the checksum to insert, command, 32-bit word 2; 7.2.3.2.2
    static final int TXL_CSO_MASK = 0x00ff0000;
    static final int TXL_CSO_SHIFT = 16;
    static final int TXL_IC = 0x04000000;

    // TXL_TAG: Legacy transmit descriptor: where the checksum begins, VLAN tag, 32-bit word 3; 7.2.3.2.2
    static final int TXL_TAG_CSS_MASK = 0x0000ff00;
    static final int TXL_TAG_CSS_SHIFT = 8;
    static final int TXL_TAG_VLAN_MASK = 0xffff0000;
    static final int TXL_TAG_VLAN_SHIFT = 16;

    // TXD_WB: Advanced transmit descriptor as the device writes it back, 32-bit word 3; 7.2.3.2.4
    static final int TXD_WB_DD = 0x00000001;

    // Values of fields
    static final int SRRCTL_DESCTYPE_ADVANCED = 0x02000000;
    static final int AUTOC_LMS_10G_SERIAL = 0x00006000;
    static final int AUTOC_LMS_NEGOTIATES = 0x00008000;
    static final int LINKS_SPEED_10G = 0x30000000;
    static final int LINKS_SPEED_1G = 0x20000000;
    static final int LINKS_SPEED_100M = 0x10000000;
    static final int RXPBSIZE_128KB = 0x00020000;
    static final int TXPBSIZE_40KB = 0x0000a000;
    static final int TXD_DTYP_DATA = 0x00300000;
    static final int TXD_DTYP_CONTEXT = 0x00200000;
    static final int MRQC_MRQE_RSS = 0x00000001;
    static final int RSS_TYPE_TCP_IPV4 = 0x00000001;
    static final int RSS_TYPE_IPV4 = 0x00000002;
    static final int RSS_TYPE_TCP_IPV6 = 0x00000003;
    static final int RSS_TYPE_IPV6 = 0x00000005;
    static final int RSS_TYPE_UDP_IPV4 = 0x00000007;
    static final int RSS_TYPE_UDP_IPV6 = 0x00000008;
    static final int TXC_L4T_UDP = 0x00000000;
    static final int TXC_L4T_TCP = 0x00000800;
    static final int TXC_L4T_SCTP = 0x00001000;
}
