// Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example tables`.
namespace Forwarder
{
    public static class Registers
    {

        // CTRL: Device control; 8.2.3.1.1
        public const uint Ctrl = 0x00000;
        public const uint CtrlGioMasterDisable = 0x00000004;
        public const uint CtrlLrst = 0x00000008;
        public const uint CtrlRst = 0x04000000;

        // STATUS: Device status; 8.2.3.1.2
        public const uint Status = 0x00008;
        public const uint StatusLanIdMask = 0x0000000c;
        public const int StatusLanIdShift = 2;
        public const uint StatusLinkUp = 0x00000080;
        public const uint StatusMasterEnable = 0x00080000;

        // CTRL_EXT: Extended device control; 8.2.3.1.3
        public const uint CtrlExt = 0x00018;
        public const uint CtrlExtPfrstd = 0x00004000;
        public const uint CtrlExtNsDis = 0x00010000;
        public const uint CtrlExtRoDis = 0x00020000;
        public const uint CtrlExtDrvLoad = 0x10000000;

        // EEC: EEPROM control; 8.2.3.2.1
        public const uint Eec = 0x10010;
        public const uint EecEePres = 0x00000100;
        public const uint EecArd = 0x00000200;

        // EERD: EEPROM read; 8.2.3.2.2
        public const uint Eerd = 0x10014;
        public const uint EerdStart = 0x00000001;
        public const uint EerdDone = 0x00000002;
        public const uint EerdAddrMask = 0x0000fffc;
        public const int EerdAddrShift = 2;
        public const uint EerdDataMask = 0xffff0000;
        public const int EerdDataShift = 16;

        // EICR: Interrupt cause; 8.2.3.5.1
        public const uint Eicr = 0x00800;
        public const uint EicrRtxqMask = 0x0000ffff;
        public const int EicrRtxqShift = 0;
        public const uint EicrRxMiss = 0x00020000;
        public const uint EicrLsc = 0x00100000;

        // EICS: Interrupt cause set; 8.2.3.5.2
        public const uint Eics = 0x00808;

        // EIMS: Interrupt mask set; 8.2.3.5.3
        public const uint Eims = 0x00880;

        // EIMC: Interrupt mask clear; 8.2.3.5.4
        public const uint Eimc = 0x00888;
        public const uint EimcAllMask = 0x7fffffff;
        public const int EimcAllShift = 0;

        // EIAC: Interrupt auto clear; 8.2.3.5.5
        public const uint Eiac = 0x00810;

        // EIAM: Interrupt auto mask; 8.2.3.5.6
        public const uint Eiam = 0x00890;

        // EITR: Interrupt throttling: the shortest time between two interrupts of a vector, in units of 2 us; 8.2.3.5.12
        public static uint Eitr(uint n) => 0x00820 + n * 0x4;
        public const uint EitrIntervalMask = 0x00000ff8;
        public const int EitrIntervalShift = 3;

        // IVAR: Interrupt vector allocation: a byte each for receive queue 2n, transmit queue 2n, and the same of 2n + 1; 8.2.3.5.16
        public static uint Ivar(uint n) => 0x00900 + n * 0x4;
        public const uint IvarAllocMask = 0x0000003f;
        public const int IvarAllocShift = 0;
        public const uint IvarValid = 0x00000080;

        // IVAR_MISC: Interrupt vector allocation of causes that are of no queue: the second byte, of all but the timer of TCP; 8.2.3.5.17
        public const uint IvarMisc = 0x00a00;
        public const uint IvarMiscOtherMask = 0x00003f00;
        public const int IvarMiscOtherShift = 8;
        public const uint IvarMiscOtherValid = 0x00008000;

        // GPIE: General purpose interrupt enable; 8.2.3.5.18
        public const uint Gpie = 0x00898;
        public const uint GpieMultipleMsix = 0x00000010;
        public const uint GpieEiame = 0x40000000;
        public const uint GpiePbaSupport = 0x80000000;

        // FCTRL: Filter control; 8.2.3.7.1
        public const uint Fctrl = 0x05080;
        public const uint FctrlSbp = 0x00000002;
        public const uint FctrlMpe = 0x00000100;
        public const uint FctrlUpe = 0x00000200;
        public const uint FctrlBam = 0x00000400;

        // VLNCTRL: VLAN control; 8.2.3.7.2
        public const uint Vlnctrl = 0x05088;
        public const uint VlnctrlVetMask = 0x0000ffff;
        public const int VlnctrlVetShift = 0;
        public const uint VlnctrlCfi = 0x10000000;
        public const uint VlnctrlCfien = 0x20000000;
        public const uint VlnctrlVfe = 0x40000000;

        // MCSTCTRL: Multicast control; 8.2.3.7.3
        public const uint Mcstctrl = 0x05090;

        // RXCSUM: Receive checksum control: PCSD has descriptors show the RSS hash in place of the IP identification; 8.2.3.7.5
        public const uint Rxcsum = 0x05000;
        public const uint RxcsumIppcse = 0x00001000;
        public const uint RxcsumPcsd = 0x00002000;

        // RFCTL: Receive filter control; 8.2.3.7.6
        public const uint Rfctl = 0x05008;

        // RAL: Receive address, lower four bytes; 8.2.3.7.8
        public static uint Ral(uint n) => 0x05400 + n * 0x8;

        // RAH: Receive address, upper two bytes; 8.2.3.7.9
        public static uint Rah(uint n) => 0x05404 + n * 0x8;
        public const uint RahRahMask = 0x0000ffff;
        public const int RahRahShift = 0;
        public const uint RahAv = 0x80000000;

        // VFTA: VLAN filter table: a bit for each VLAN; 8.2.3.7.11
        public static uint Vfta(uint n) => 0x0a000 + n * 0x4;

        // MRQC: Multiple receive queues command: mode, and the fields that are hashed; 8.2.3.7.12
        public const uint Mrqc = 0x05818;
        public const uint MrqcMrqeMask = 0x0000000f;
        public const int MrqcMrqeShift = 0;
        public const uint MrqcTcpIpv4 = 0x00010000;
        public const uint MrqcIpv4 = 0x00020000;
        public const uint MrqcIpv6 = 0x00100000;
        public const uint MrqcTcpIpv6 = 0x00200000;
        public const uint MrqcUdpIpv4 = 0x00400000;
        public const uint MrqcUdpIpv6 = 0x00800000;

        // RSSRK: RSS random key, four bytes each, the first in the lowest bits; 8.2.3.7.14
        public static uint Rssrk(uint n) => 0x05c80 + n * 0x4;

        // RETA: RSS redirection table: queues of four values of the hash each, 8 bits apart; 8.2.3.7.15
        public static uint Reta(uint n) => 0x05c00 + n * 0x4;
        public const uint RetaQueueMask = 0x0000000f;
        public const int RetaQueueShift = 0;

        // RDBAL: Receive descriptor ring base address, lower half; 8.2.3.8.1
        public static uint Rdbal(uint n) => 0x01000 + n * 0x40;

        // RDBAH: Receive descriptor ring base address, upper half; 8.2.3.8.2
        public static uint Rdbah(uint n) => 0x01004 + n * 0x40;

        // RDLEN: Receive descriptor ring length in bytes; 8.2.3.8.3
        public static uint Rdlen(uint n) => 0x01008 + n * 0x40;

        // RDH: Receive descriptor head: the first that the device owns; 8.2.3.8.4
        public static uint Rdh(uint n) => 0x01010 + n * 0x40;

        // RDT: Receive descriptor tail: the first that the device does not own; 8.2.3.8.5
        public static uint Rdt(uint n) => 0x01018 + n * 0x40;

        // RXDCTL: Receive descriptor control; 8.2.3.8.6
        public static uint Rxdctl(uint n) => 0x01028 + n * 0x40;
        public const uint RxdctlEnable = 0x02000000;
        public const uint RxdctlSwflsh = 0x04000000;
        public const uint RxdctlVme = 0x40000000;

        // SRRCTL: Split receive control: buffer size and descriptor type; 8.2.3.8.7
        public static uint Srrctl(uint n) => 0x02100 + n * 0x4;
        public const uint SrrctlBsizepacketMask = 0x0000001f;
        public const int SrrctlBsizepacketShift = 0;
        public const uint SrrctlBsizeheaderMask = 0x00003f00;
        public const int SrrctlBsizeheaderShift = 8;
        public const uint SrrctlDesctypeMask = 0x0e000000;
        public const int SrrctlDesctypeShift = 25;
        public const uint SrrctlDropEn = 0x10000000;

        // RDRXCTL: Receive DMA control; 8.2.3.8.8
        public const uint Rdrxctl = 0x02f00;
        public const uint RdrxctlCrcstrip = 0x00000002;
        public const uint RdrxctlDmaidone = 0x00000008;

        // RXPBSIZE: Receive packet buffer size; 8.2.3.8.9
        public static uint Rxpbsize(uint n) => 0x03c00 + n * 0x4;
        public const uint RxpbsizeSizeMask = 0x000ffc00;
        public const int RxpbsizeSizeShift = 10;

        // RXCTRL: Receive control; 8.2.3.8.10
        public const uint Rxctrl = 0x03000;
        public const uint RxctrlRxen = 0x00000001;

        // DTXMXSZRQ: DMA transmit maximum outstanding bytes; 8.2.3.9.1
        public const uint Dtxmxszrq = 0x08100;

        // DMATXCTL: DMA transmit control; 8.2.3.9.2
        public const uint Dmatxctl = 0x04a80;
        public const uint DmatxctlTe = 0x00000001;
        public const uint DmatxctlVtMask = 0xffff0000;
        public const int DmatxctlVtShift = 16;

        // TDBAL: Transmit descriptor ring base address, lower half; 8.2.3.9.5
        public static uint Tdbal(uint n) => 0x06000 + n * 0x40;

        // TDBAH: Transmit descriptor ring base address, upper half; 8.2.3.9.6
        public static uint Tdbah(uint n) => 0x06004 + n * 0x40;

        // TDLEN: Transmit descriptor ring length in bytes; 8.2.3.9.7
        public static uint Tdlen(uint n) => 0x06008 + n * 0x40;

        // TDH: Transmit descriptor head: the first that the device has not sent; 8.2.3.9.8
        public static uint Tdh(uint n) => 0x06010 + n * 0x40;

        // TDT: Transmit descriptor tail: the first that the device must not send yet; 8.2.3.9.9
        public static uint Tdt(uint n) => 0x06018 + n * 0x40;

        // TXDCTL: Transmit descriptor control; 8.2.3.9.10
        public static uint Txdctl(uint n) => 0x06028 + n * 0x40;
        public const uint TxdctlPthreshMask = 0x0000007f;
        public const int TxdctlPthreshShift = 0;
        public const uint TxdctlHthreshMask = 0x00007f00;
        public const int TxdctlHthreshShift = 8;
        public const uint TxdctlWthreshMask = 0x007f0000;
        public const int TxdctlWthreshShift = 16;
        public const uint TxdctlEnable = 0x02000000;
        public const uint TxdctlSwflsh = 0x04000000;

        // TXPBSIZE: Transmit packet buffer size; 8.2.3.9.13
        public static uint Txpbsize(uint n) => 0x0cc00 + n * 0x4;
        public const uint TxpbsizeSizeMask = 0x000ffc00;
        public const int TxpbsizeSizeShift = 10;

        // RTTDCS: DCB transmit descriptor plane control; 8.2.3.10.2
        public const uint Rttdcs = 0x04900;
        public const uint RttdcsArbdis = 0x00000040;

        // DCA_RXCTRL: Receive direct cache access control; bit 12 is reserved, set by a reset, and must be cleared (4.6.7); 8.2.3.11.1
        public static uint DcaRxctrl(uint n) => 0x02200 + n * 0x4;
        public const uint DcaRxctrlReserved12 = 0x00001000;

        // HLREG0: MAC core control; 8.2.3.22.8
        public const uint Hlreg0 = 0x04240;
        public const uint Hlreg0Txcrcen = 0x00000001;
        public const uint Hlreg0Rxcrcstrp = 0x00000002;
        public const uint Hlreg0Jumboen = 0x00000004;
        public const uint Hlreg0Txpaden = 0x00000400;
        public const uint Hlreg0Lpbk = 0x00008000;

        // MSCA: MDI single command and address: of a PHY at an address of the management bus; 8.2.3.22
        public const uint Msca = 0x0425c;
        public const uint MscaRead = 0x08000000;
        public const uint MscaMdicmd = 0x40000000;

        // MSRWD: MDI single read and write data; 8.2.3.22
        public const uint Msrwd = 0x04260;
        public const uint MsrwdWriteDataMask = 0x0000ffff;
        public const int MsrwdWriteDataShift = 0;
        public const uint MsrwdReadDataMask = 0xffff0000;
        public const int MsrwdReadDataShift = 16;

        // MAXFRS: Maximum frame size; 8.2.3.22.13
        public const uint Maxfrs = 0x04268;
        public const uint MaxfrsMfsMask = 0xffff0000;
        public const int MaxfrsMfsShift = 16;

        // AUTOC: Auto negotiation control; 8.2.3.22.19
        public const uint Autoc = 0x042a0;
        public const uint AutocPmaPmd10gMask = 0x00000180;
        public const int AutocPmaPmd10gShift = 7;
        public const uint AutocRestartAn = 0x00001000;
        public const uint AutocLmsMask = 0x0000e000;
        public const int AutocLmsShift = 13;

        // LINKS: Link status; 8.2.3.22.20
        public const uint Links = 0x042a4;
        public const uint LinksSpeedMask = 0x30000000;
        public const int LinksSpeedShift = 28;
        public const uint LinksUp = 0x40000000;

        // ANLP1: Auto negotiation link partner: state of the negotiation over a backplane, 0 before it has begun; 8.2.3.22
        public const uint Anlp1 = 0x042b0;
        public const uint Anlp1StateMask = 0x000f0000;
        public const int Anlp1StateShift = 16;

        // RXMPC: Missed frames: no room in the packet buffer, as no descriptor is free and SRRCTL.DROP_EN is not set; 8.2.3.23.4
        public static uint Rxmpc(uint n) => 0x03fa0 + n * 0x4;

        // PRC64: Good frames received of 64 bytes; 8.2.3.23
        public const uint Prc64 = 0x0405c;

        // PRC127: Good frames received of 65 to 127 bytes; 8.2.3.23
        public const uint Prc127 = 0x04060;

        // PRC255: Good frames received of 128 to 255 bytes; 8.2.3.23
        public const uint Prc255 = 0x04064;

        // PRC511: Good frames received of 256 to 511 bytes; 8.2.3.23
        public const uint Prc511 = 0x04068;

        // PRC1023: Good frames received of 512 to 1023 bytes; 8.2.3.23
        public const uint Prc1023 = 0x0406c;

        // PRC1522: Good frames received of 1024 bytes and more; 8.2.3.23
        public const uint Prc1522 = 0x04070;

        // BPRC: Good broadcast frames received; 8.2.3.23
        public const uint Bprc = 0x04078;

        // MPRC: Good multicast frames received, without broadcasts; 8.2.3.23
        public const uint Mprc = 0x0407c;

        // GPRC: Good frames received; 8.2.3.23.18
        public const uint Gprc = 0x04074;

        // GPTC: Good frames transmitted; 8.2.3.23.21
        public const uint Gptc = 0x04080;

        // GORCL: Good bytes received, lower half; 8.2.3.23.22
        public const uint Gorcl = 0x04088;

        // GORCH: Good bytes received, upper 4 bits; 8.2.3.23.23
        public const uint Gorch = 0x0408c;

        // GOTCL: Good bytes transmitted, lower half; 8.2.3.23.24
        public const uint Gotcl = 0x04090;

        // GOTCH: Good bytes transmitted, upper 4 bits; 8.2.3.23.25
        public const uint Gotch = 0x04094;

        // TORL: Bytes of all frames received, lower half; 8.2.3.23
        public const uint Torl = 0x040c0;

        // TORH: Bytes of all frames received, upper 4 bits; 8.2.3.23
        public const uint Torh = 0x040c4;

        // TPR: All frames received, also those that no filter takes; 8.2.3.23
        public const uint Tpr = 0x040d0;

        // TPT: All frames transmitted; 8.2.3.23
        public const uint Tpt = 0x040d4;

        // PTC64: Frames transmitted of 64 bytes; 8.2.3.23
        public const uint Ptc64 = 0x040d8;

        // PTC127: Frames transmitted of 65 to 127 bytes; 8.2.3.23
        public const uint Ptc127 = 0x040dc;

        // PTC255: Frames transmitted of 128 to 255 bytes; 8.2.3.23
        public const uint Ptc255 = 0x040e0;

        // PTC511: Frames transmitted of 256 to 511 bytes; 8.2.3.23
        public const uint Ptc511 = 0x040e4;

        // PTC1023: Frames transmitted of 512 to 1023 bytes; 8.2.3.23
        public const uint Ptc1023 = 0x040e8;

        // PTC1522: Frames transmitted of 1024 bytes and more; 8.2.3.23
        public const uint Ptc1522 = 0x040ec;

        // MPTC: Multicast frames transmitted, without broadcasts; 8.2.3.23
        public const uint Mptc = 0x040f0;

        // BPTC: Broadcast frames transmitted; 8.2.3.23
        public const uint Bptc = 0x040f4;

        // XEC: Frames received with a wrong IPv4, TCP, UDP or SCTP checksum; 8.2.3.23
        public const uint Xec = 0x04120;

        // RQSMR: Receive queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23
        public static uint Rqsmr(uint n) => 0x02300 + n * 0x4;
        public const uint RqsmrCounterMask = 0x0000000f;
        public const int RqsmrCounterShift = 0;

        // TQSM: Transmit queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23
        public static uint Tqsm(uint n) => 0x08600 + n * 0x4;
        public const uint TqsmCounterMask = 0x0000000f;
        public const int TqsmCounterShift = 0;

        // QPRC: Frames received by the queues of this counter; 8.2.3.23.69
        public static uint Qprc(uint n) => 0x01030 + n * 0x40;

        // QPTC: Frames transmitted by the queues of this counter; 8.2.3.23.72
        public static uint Qptc(uint n) => 0x06030 + n * 0x40;

        // QPRDC: Frames that the queues of this counter dropped: no descriptor with SRRCTL.DROP_EN, or the queue is disabled; 8.2.3.23
        public static uint Qprdc(uint n) => 0x01430 + n * 0x40;

        // QBRC_L: Bytes received by the queues of this counter, lower half; 8.2.3.23
        public static uint QbrcL(uint n) => 0x01034 + n * 0x40;

        // QBRC_H: Bytes received by the queues of this counter, upper 4 bits; 8.2.3.23
        public static uint QbrcH(uint n) => 0x01038 + n * 0x40;

        // QBTC_L: Bytes transmitted by the queues of this counter, lower half; 8.2.3.23
        public static uint QbtcL(uint n) => 0x08700 + n * 0x8;

        // QBTC_H: Bytes transmitted by the queues of this counter, upper 4 bits; 8.2.3.23
        public static uint QbtcH(uint n) => 0x08704 + n * 0x8;

        // RXD_INFO: Advanced receive descriptor as the device writes it back: what was hashed, type of the packet, 32-bit word 0; 7.1.6.2
        public const uint RxdInfoRssTypeMask = 0x0000000f;
        public const int RxdInfoRssTypeShift = 0;
        public const uint RxdInfoIpv4 = 0x00000010;
        public const uint RxdInfoIpv4e = 0x00000020;
        public const uint RxdInfoIpv6 = 0x00000040;
        public const uint RxdInfoIpv6e = 0x00000080;
        public const uint RxdInfoTcp = 0x00000100;
        public const uint RxdInfoUdp = 0x00000200;
        public const uint RxdInfoSctp = 0x00000400;

        // RXD: Advanced receive descriptor as the device writes it back: status and errors, 32-bit word 2; 7.1.6.2
        public const uint RxdDd = 0x00000001;
        public const uint RxdEop = 0x00000002;
        public const uint RxdVp = 0x00000008;
        public const uint RxdL4cs = 0x00000020;
        public const uint RxdIpcs = 0x00000040;
        public const uint RxdL4e = 0x40000000;
        public const uint RxdIpe = 0x80000000;

        // RXD_LENGTH: Advanced receive descriptor as the device writes it back: length and stripped VLAN tag, 32-bit word 3; 7.1.6.2
        public const uint RxdLengthBytesMask = 0x0000ffff;
        public const int RxdLengthBytesShift = 0;
        public const uint RxdLengthVlanMask = 0xffff0000;
        public const int RxdLengthVlanShift = 16;

        // TXD: Advanced transmit data descriptor, command and length, 32-bit word 2; 7.2.3.2.4
        public const uint TxdDtalenMask = 0x0000ffff;
        public const int TxdDtalenShift = 0;
        public const uint TxdDtypMask = 0x00f00000;
        public const int TxdDtypShift = 20;
        public const uint TxdEop = 0x01000000;
        public const uint TxdIfcs = 0x02000000;
        public const uint TxdRs = 0x08000000;
        public const uint TxdDext = 0x20000000;
        public const uint TxdVle = 0x40000000;
        public const uint TxdTse = 0x80000000;

        // TXD_OLINFO: Advanced transmit data descriptor: context, checksums to insert, total payload length, 32-bit word 3; 7.2.3.2.4
        public const uint TxdOlinfoIdx = 0x00000010;
        public const uint TxdOlinfoCc = 0x00000080;
        public const uint TxdOlinfoIxsm = 0x00000100;
        public const uint TxdOlinfoTxsm = 0x00000200;
        public const uint TxdOlinfoPaylenMask = 0xffffc000;
        public const int TxdOlinfoPaylenShift = 14;

        // TXC_LENGTHS: Advanced transmit context descriptor: lengths of headers, and the VLAN tag, 32-bit word 0; 7.2.3.2.3
        public const uint TxcLengthsIplenMask = 0x000001ff;
        public const int TxcLengthsIplenShift = 0;
        public const uint TxcLengthsMaclenMask = 0x0000fe00;
        public const int TxcLengthsMaclenShift = 9;
        public const uint TxcLengthsVlanMask = 0xffff0000;
        public const int TxcLengthsVlanShift = 16;

        // TXC: Advanced transmit context descriptor: command, 32-bit word 2; 7.2.3.2.3
        public const uint TxcIpv4 = 0x00000400;
        public const uint TxcL4tMask = 0x00001800;
        public const int TxcL4tShift = 11;

        // TXC_IDX: Advanced transmit context descriptor: which of the two contexts of the queue it is, 32-bit word 3; 7.2.3.2.3
        public const uint TxcIdxIdx = 0x00000010;
        public const uint TxcIdxL4lenMask = 0x0000ff00;
        public const int TxcIdxL4lenShift = 8;
        public const uint TxcIdxMssMask = 0xffff0000;
        public const int TxcIdxMssShift = 16;

        // TXL: Legacy transmit descriptor: place of the checksum to insert, command, 32-bit word 2; 7.2.3.2.2
        public const uint TxlCsoMask = 0x00ff0000;
        public const int TxlCsoShift = 16;
        public const uint TxlIc = 0x04000000;

        // TXL_TAG: Legacy transmit descriptor: where the checksum begins, VLAN tag, 32-bit word 3; 7.2.3.2.2
        public const uint TxlTagCssMask = 0x0000ff00;
        public const int TxlTagCssShift = 8;
        public const uint TxlTagVlanMask = 0xffff0000;
        public const int TxlTagVlanShift = 16;

        // TXD_WB: Advanced transmit descriptor as the device writes it back, 32-bit word 3; 7.2.3.2.4
        public const uint TxdWbDd = 0x00000001;

        // Values of fields
        public const uint SrrctlDesctypeAdvanced = 0x02000000;
        public const uint AutocLms10gSerial = 0x00006000;
        public const uint AutocLmsNegotiates = 0x00008000;
        public const uint LinksSpeed10g = 0x30000000;
        public const uint LinksSpeed1g = 0x20000000;
        public const uint LinksSpeed100m = 0x10000000;
        public const uint Rxpbsize128kb = 0x00020000;
        public const uint Txpbsize40kb = 0x0000a000;
        public const uint TxdDtypData = 0x00300000;
        public const uint TxdDtypContext = 0x00200000;
        public const uint MrqcMrqeRss = 0x00000001;
        public const uint RssTypeTcpIpv4 = 0x00000001;
        public const uint RssTypeIpv4 = 0x00000002;
        public const uint RssTypeTcpIpv6 = 0x00000003;
        public const uint RssTypeIpv6 = 0x00000005;
        public const uint RssTypeUdpIpv4 = 0x00000007;
        public const uint RssTypeUdpIpv6 = 0x00000008;
        public const uint TxcL4tUdp = 0x00000000;
        public const uint TxcL4tTcp = 0x00000800;
        public const uint TxcL4tSctp = 0x00001000;
    }
}
