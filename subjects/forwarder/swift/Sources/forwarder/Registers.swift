// Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example tables`.

enum Registers {

    // CTRL: Device control; 8.2.3.1.1
    static let ctrl: UInt32 = 0x00000
    static let ctrlGioMasterDisable: UInt32 = 0x00000004
    static let ctrlLrst: UInt32 = 0x00000008
    static let ctrlRst: UInt32 = 0x04000000

    // STATUS: Device status; 8.2.3.1.2
    static let status: UInt32 = 0x00008
    static let statusLanIdMask: UInt32 = 0x0000000c
    static let statusLanIdShift: UInt32 = 2
    static let statusLinkUp: UInt32 = 0x00000080
    static let statusMasterEnable: UInt32 = 0x00080000

    // CTRL_EXT: Extended device control; 8.2.3.1.3
    static let ctrlExt: UInt32 = 0x00018
    static let ctrlExtPfrstd: UInt32 = 0x00004000
    static let ctrlExtNsDis: UInt32 = 0x00010000
    static let ctrlExtRoDis: UInt32 = 0x00020000
    static let ctrlExtDrvLoad: UInt32 = 0x10000000

    // EEC: EEPROM control; 8.2.3.2.1
    static let eec: UInt32 = 0x10010
    static let eecEePres: UInt32 = 0x00000100
    static let eecArd: UInt32 = 0x00000200

    // EERD: EEPROM read; 8.2.3.2.2
    static let eerd: UInt32 = 0x10014
    static let eerdStart: UInt32 = 0x00000001
    static let eerdDone: UInt32 = 0x00000002
    static let eerdAddrMask: UInt32 = 0x0000fffc
    static let eerdAddrShift: UInt32 = 2
    static let eerdDataMask: UInt32 = 0xffff0000
    static let eerdDataShift: UInt32 = 16

    // EICR: Interrupt cause; 8.2.3.5.1
    static let eicr: UInt32 = 0x00800
    static let eicrRtxqMask: UInt32 = 0x0000ffff
    static let eicrRtxqShift: UInt32 = 0
    static let eicrRxMiss: UInt32 = 0x00020000
    static let eicrLsc: UInt32 = 0x00100000

    // EICS: Interrupt cause set; 8.2.3.5.2
    static let eics: UInt32 = 0x00808

    // EIMS: Interrupt mask set; 8.2.3.5.3
    static let eims: UInt32 = 0x00880

    // EIMC: Interrupt mask clear; 8.2.3.5.4
    static let eimc: UInt32 = 0x00888
    static let eimcAllMask: UInt32 = 0x7fffffff
    static let eimcAllShift: UInt32 = 0

    // EIAC: Interrupt auto clear; 8.2.3.5.5
    static let eiac: UInt32 = 0x00810

    // EIAM: Interrupt auto mask; 8.2.3.5.6
    static let eiam: UInt32 = 0x00890

    // EITR: Interrupt throttling: the shortest time between two interrupts of a vector, in units of 2 us; 8.2.3.5.12
    @inline(__always) static func eitr(_ n: UInt32) -> UInt32 { return 0x00820 + n * 0x4 }
    static let eitrIntervalMask: UInt32 = 0x00000ff8
    static let eitrIntervalShift: UInt32 = 3

    // IVAR: Interrupt vector allocation: a byte each for receive queue 2n, transmit queue 2n, and the same of 2n + 1; 8.2.3.5.16
    @inline(__always) static func ivar(_ n: UInt32) -> UInt32 { return 0x00900 + n * 0x4 }
    static let ivarAllocMask: UInt32 = 0x0000003f
    static let ivarAllocShift: UInt32 = 0
    static let ivarValid: UInt32 = 0x00000080

    // IVAR_MISC: Interrupt vector allocation of causes that are of no queue: the second byte, of all but the timer of TCP; 8.2.3.5.17
    static let ivarMisc: UInt32 = 0x00a00
    static let ivarMiscOtherMask: UInt32 = 0x00003f00
    static let ivarMiscOtherShift: UInt32 = 8
    static let ivarMiscOtherValid: UInt32 = 0x00008000

    // GPIE: General purpose interrupt enable; 8.2.3.5.18
    static let gpie: UInt32 = 0x00898
    static let gpieMultipleMsix: UInt32 = 0x00000010
    static let gpieEiame: UInt32 = 0x40000000
    static let gpiePbaSupport: UInt32 = 0x80000000

    // FCTRL: Filter control; 8.2.3.7.1
    static let fctrl: UInt32 = 0x05080
    static let fctrlSbp: UInt32 = 0x00000002
    static let fctrlMpe: UInt32 = 0x00000100
    static let fctrlUpe: UInt32 = 0x00000200
    static let fctrlBam: UInt32 = 0x00000400

    // VLNCTRL: VLAN control; 8.2.3.7.2
    static let vlnctrl: UInt32 = 0x05088
    static let vlnctrlVetMask: UInt32 = 0x0000ffff
    static let vlnctrlVetShift: UInt32 = 0
    static let vlnctrlCfi: UInt32 = 0x10000000
    static let vlnctrlCfien: UInt32 = 0x20000000
    static let vlnctrlVfe: UInt32 = 0x40000000

    // MCSTCTRL: Multicast control; 8.2.3.7.3
    static let mcstctrl: UInt32 = 0x05090

    // RXCSUM: Receive checksum control: PCSD has descriptors show the RSS hash in place of the IP identification; 8.2.3.7.5
    static let rxcsum: UInt32 = 0x05000
    static let rxcsumIppcse: UInt32 = 0x00001000
    static let rxcsumPcsd: UInt32 = 0x00002000

    // RFCTL: Receive filter control; 8.2.3.7.6
    static let rfctl: UInt32 = 0x05008

    // RAL: Receive address, lower four bytes; 8.2.3.7.8
    @inline(__always) static func ral(_ n: UInt32) -> UInt32 { return 0x05400 + n * 0x8 }

    // RAH: Receive address, upper two bytes; 8.2.3.7.9
    @inline(__always) static func rah(_ n: UInt32) -> UInt32 { return 0x05404 + n * 0x8 }
    static let rahRahMask: UInt32 = 0x0000ffff
    static let rahRahShift: UInt32 = 0
    static let rahAv: UInt32 = 0x80000000

    // VFTA: VLAN filter table: a bit for each VLAN; 8.2.3.7.11
    @inline(__always) static func vfta(_ n: UInt32) -> UInt32 { return 0x0a000 + n * 0x4 }

    // MRQC: Multiple receive queues command: mode, and the fields that are hashed; 8.2.3.7.12
    static let mrqc: UInt32 = 0x05818
    static let mrqcMrqeMask: UInt32 = 0x0000000f
    static let mrqcMrqeShift: UInt32 = 0
    static let mrqcTcpIpv4: UInt32 = 0x00010000
    static let mrqcIpv4: UInt32 = 0x00020000
    static let mrqcIpv6: UInt32 = 0x00100000
    static let mrqcTcpIpv6: UInt32 = 0x00200000
    static let mrqcUdpIpv4: UInt32 = 0x00400000
    static let mrqcUdpIpv6: UInt32 = 0x00800000

    // RSSRK: RSS random key, four bytes each, the first in the lowest bits; 8.2.3.7.14
    @inline(__always) static func rssrk(_ n: UInt32) -> UInt32 { return 0x05c80 + n * 0x4 }

    // RETA: RSS redirection table: queues of four values of the hash each, 8 bits apart; 8.2.3.7.15
    @inline(__always) static func reta(_ n: UInt32) -> UInt32 { return 0x05c00 + n * 0x4 }
    static let retaQueueMask: UInt32 = 0x0000000f
    static let retaQueueShift: UInt32 = 0

    // RDBAL: Receive descriptor ring base address, lower half; 8.2.3.8.1
    @inline(__always) static func rdbal(_ n: UInt32) -> UInt32 { return 0x01000 + n * 0x40 }

    // RDBAH: Receive descriptor ring base address, upper half; 8.2.3.8.2
    @inline(__always) static func rdbah(_ n: UInt32) -> UInt32 { return 0x01004 + n * 0x40 }

    // RDLEN: Receive descriptor ring length in bytes; 8.2.3.8.3
    @inline(__always) static func rdlen(_ n: UInt32) -> UInt32 { return 0x01008 + n * 0x40 }

    // RDH: Receive descriptor head: the first that the device owns; 8.2.3.8.4
    @inline(__always) static func rdh(_ n: UInt32) -> UInt32 { return 0x01010 + n * 0x40 }

    // RDT: Receive descriptor tail: the first that the device does not own; 8.2.3.8.5
    @inline(__always) static func rdt(_ n: UInt32) -> UInt32 { return 0x01018 + n * 0x40 }

    // RXDCTL: Receive descriptor control; 8.2.3.8.6
    @inline(__always) static func rxdctl(_ n: UInt32) -> UInt32 { return 0x01028 + n * 0x40 }
    static let rxdctlEnable: UInt32 = 0x02000000
    static let rxdctlSwflsh: UInt32 = 0x04000000
    static let rxdctlVme: UInt32 = 0x40000000

    // SRRCTL: Split receive control: buffer size and descriptor type; 8.2.3.8.7
    @inline(__always) static func srrctl(_ n: UInt32) -> UInt32 { return 0x02100 + n * 0x4 }
    static let srrctlBsizepacketMask: UInt32 = 0x0000001f
    static let srrctlBsizepacketShift: UInt32 = 0
    static let srrctlBsizeheaderMask: UInt32 = 0x00003f00
    static let srrctlBsizeheaderShift: UInt32 = 8
    static let srrctlDesctypeMask: UInt32 = 0x0e000000
    static let srrctlDesctypeShift: UInt32 = 25
    static let srrctlDropEn: UInt32 = 0x10000000

    // RDRXCTL: Receive DMA control; 8.2.3.8.8
    static let rdrxctl: UInt32 = 0x02f00
    static let rdrxctlCrcstrip: UInt32 = 0x00000002
    static let rdrxctlDmaidone: UInt32 = 0x00000008

    // RXPBSIZE: Receive packet buffer size; 8.2.3.8.9
    @inline(__always) static func rxpbsize(_ n: UInt32) -> UInt32 { return 0x03c00 + n * 0x4 }
    static let rxpbsizeSizeMask: UInt32 = 0x000ffc00
    static let rxpbsizeSizeShift: UInt32 = 10

    // RXCTRL: Receive control; 8.2.3.8.10
    static let rxctrl: UInt32 = 0x03000
    static let rxctrlRxen: UInt32 = 0x00000001

    // DTXMXSZRQ: DMA transmit maximum outstanding bytes; 8.2.3.9.1
    static let dtxmxszrq: UInt32 = 0x08100

    // DMATXCTL: DMA transmit control; 8.2.3.9.2
    static let dmatxctl: UInt32 = 0x04a80
    static let dmatxctlTe: UInt32 = 0x00000001
    static let dmatxctlVtMask: UInt32 = 0xffff0000
    static let dmatxctlVtShift: UInt32 = 16

    // TDBAL: Transmit descriptor ring base address, lower half; 8.2.3.9.5
    @inline(__always) static func tdbal(_ n: UInt32) -> UInt32 { return 0x06000 + n * 0x40 }

    // TDBAH: Transmit descriptor ring base address, upper half; 8.2.3.9.6
    @inline(__always) static func tdbah(_ n: UInt32) -> UInt32 { return 0x06004 + n * 0x40 }

    // TDLEN: Transmit descriptor ring length in bytes; 8.2.3.9.7
    @inline(__always) static func tdlen(_ n: UInt32) -> UInt32 { return 0x06008 + n * 0x40 }

    // TDH: Transmit descriptor head: the first that the device has not sent; 8.2.3.9.8
    @inline(__always) static func tdh(_ n: UInt32) -> UInt32 { return 0x06010 + n * 0x40 }

    // TDT: Transmit descriptor tail: the first that the device must not send yet; 8.2.3.9.9
    @inline(__always) static func tdt(_ n: UInt32) -> UInt32 { return 0x06018 + n * 0x40 }

    // TXDCTL: Transmit descriptor control; 8.2.3.9.10
    @inline(__always) static func txdctl(_ n: UInt32) -> UInt32 { return 0x06028 + n * 0x40 }
    static let txdctlPthreshMask: UInt32 = 0x0000007f
    static let txdctlPthreshShift: UInt32 = 0
    static let txdctlHthreshMask: UInt32 = 0x00007f00
    static let txdctlHthreshShift: UInt32 = 8
    static let txdctlWthreshMask: UInt32 = 0x007f0000
    static let txdctlWthreshShift: UInt32 = 16
    static let txdctlEnable: UInt32 = 0x02000000
    static let txdctlSwflsh: UInt32 = 0x04000000

    // TXPBSIZE: Transmit packet buffer size; 8.2.3.9.13
    @inline(__always) static func txpbsize(_ n: UInt32) -> UInt32 { return 0x0cc00 + n * 0x4 }
    static let txpbsizeSizeMask: UInt32 = 0x000ffc00
    static let txpbsizeSizeShift: UInt32 = 10

    // RTTDCS: DCB transmit descriptor plane control; 8.2.3.10.2
    static let rttdcs: UInt32 = 0x04900
    static let rttdcsArbdis: UInt32 = 0x00000040

    // DCA_RXCTRL: Receive direct cache access control; bit 12 is reserved, set by a reset, and must be cleared (4.6.7); 8.2.3.11.1
    @inline(__always) static func dcaRxctrl(_ n: UInt32) -> UInt32 { return 0x02200 + n * 0x4 }
    static let dcaRxctrlReserved12: UInt32 = 0x00001000

    // HLREG0: MAC core control; 8.2.3.22.8
    static let hlreg0: UInt32 = 0x04240
    static let hlreg0Txcrcen: UInt32 = 0x00000001
    static let hlreg0Rxcrcstrp: UInt32 = 0x00000002
    static let hlreg0Jumboen: UInt32 = 0x00000004
    static let hlreg0Txpaden: UInt32 = 0x00000400
    static let hlreg0Lpbk: UInt32 = 0x00008000

    // MSCA: MDI single command and address: of a PHY at an address of the management bus; 8.2.3.22
    static let msca: UInt32 = 0x0425c
    static let mscaRead: UInt32 = 0x08000000
    static let mscaMdicmd: UInt32 = 0x40000000

    // MSRWD: MDI single read and write data; 8.2.3.22
    static let msrwd: UInt32 = 0x04260
    static let msrwdWriteDataMask: UInt32 = 0x0000ffff
    static let msrwdWriteDataShift: UInt32 = 0
    static let msrwdReadDataMask: UInt32 = 0xffff0000
    static let msrwdReadDataShift: UInt32 = 16

    // MAXFRS: Maximum frame size; 8.2.3.22.13
    static let maxfrs: UInt32 = 0x04268
    static let maxfrsMfsMask: UInt32 = 0xffff0000
    static let maxfrsMfsShift: UInt32 = 16

    // AUTOC: Auto negotiation control; 8.2.3.22.19
    static let autoc: UInt32 = 0x042a0
    static let autocPmaPmd10gMask: UInt32 = 0x00000180
    static let autocPmaPmd10gShift: UInt32 = 7
    static let autocRestartAn: UInt32 = 0x00001000
    static let autocLmsMask: UInt32 = 0x0000e000
    static let autocLmsShift: UInt32 = 13

    // LINKS: Link status; 8.2.3.22.20
    static let links: UInt32 = 0x042a4
    static let linksSpeedMask: UInt32 = 0x30000000
    static let linksSpeedShift: UInt32 = 28
    static let linksUp: UInt32 = 0x40000000

    // ANLP1: Auto negotiation link partner: state of the negotiation over a backplane, 0 before it has begun; 8.2.3.22
    static let anlp1: UInt32 = 0x042b0
    static let anlp1StateMask: UInt32 = 0x000f0000
    static let anlp1StateShift: UInt32 = 16

    // RXMPC: Missed frames: no room in the packet buffer, as no descriptor is free and SRRCTL.DROP_EN is not set; 8.2.3.23.4
    @inline(__always) static func rxmpc(_ n: UInt32) -> UInt32 { return 0x03fa0 + n * 0x4 }

    // PRC64: Good frames received of 64 bytes; 8.2.3.23
    static let prc64: UInt32 = 0x0405c

    // PRC127: Good frames received of 65 to 127 bytes; 8.2.3.23
    static let prc127: UInt32 = 0x04060

    // PRC255: Good frames received of 128 to 255 bytes; 8.2.3.23
    static let prc255: UInt32 = 0x04064

    // PRC511: Good frames received of 256 to 511 bytes; 8.2.3.23
    static let prc511: UInt32 = 0x04068

    // PRC1023: Good frames received of 512 to 1023 bytes; 8.2.3.23
    static let prc1023: UInt32 = 0x0406c

    // PRC1522: Good frames received of 1024 bytes and more; 8.2.3.23
    static let prc1522: UInt32 = 0x04070

    // BPRC: Good broadcast frames received; 8.2.3.23
    static let bprc: UInt32 = 0x04078

    // MPRC: Good multicast frames received, without broadcasts; 8.2.3.23
    static let mprc: UInt32 = 0x0407c

    // GPRC: Good frames received; 8.2.3.23.18
    static let gprc: UInt32 = 0x04074

    // GPTC: Good frames transmitted; 8.2.3.23.21
    static let gptc: UInt32 = 0x04080

    // GORCL: Good bytes received, lower half; 8.2.3.23.22
    static let gorcl: UInt32 = 0x04088

    // GORCH: Good bytes received, upper 4 bits; 8.2.3.23.23
    static let gorch: UInt32 = 0x0408c

    // GOTCL: Good bytes transmitted, lower half; 8.2.3.23.24
    static let gotcl: UInt32 = 0x04090

    // GOTCH: Good bytes transmitted, upper 4 bits; 8.2.3.23.25
    static let gotch: UInt32 = 0x04094

    // TORL: Bytes of all frames received, lower half; 8.2.3.23
    static let torl: UInt32 = 0x040c0

    // TORH: Bytes of all frames received, upper 4 bits; 8.2.3.23
    static let torh: UInt32 = 0x040c4

    // TPR: All frames received, also those that no filter takes; 8.2.3.23
    static let tpr: UInt32 = 0x040d0

    // TPT: All frames transmitted; 8.2.3.23
    static let tpt: UInt32 = 0x040d4

    // PTC64: Frames transmitted of 64 bytes; 8.2.3.23
    static let ptc64: UInt32 = 0x040d8

    // PTC127: Frames transmitted of 65 to 127 bytes; 8.2.3.23
    static let ptc127: UInt32 = 0x040dc

    // PTC255: Frames transmitted of 128 to 255 bytes; 8.2.3.23
    static let ptc255: UInt32 = 0x040e0

    // PTC511: Frames transmitted of 256 to 511 bytes; 8.2.3.23
    static let ptc511: UInt32 = 0x040e4

    // PTC1023: Frames transmitted of 512 to 1023 bytes; 8.2.3.23
    static let ptc1023: UInt32 = 0x040e8

    // PTC1522: Frames transmitted of 1024 bytes and more; 8.2.3.23
    static let ptc1522: UInt32 = 0x040ec

    // MPTC: Multicast frames transmitted, without broadcasts; 8.2.3.23
    static let mptc: UInt32 = 0x040f0

    // BPTC: Broadcast frames transmitted; 8.2.3.23
    static let bptc: UInt32 = 0x040f4

    // XEC: Frames received with a wrong IPv4, TCP, UDP or SCTP checksum; 8.2.3.23
    static let xec: UInt32 = 0x04120

    // RQSMR: Receive queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23
    @inline(__always) static func rqsmr(_ n: UInt32) -> UInt32 { return 0x02300 + n * 0x4 }
    static let rqsmrCounterMask: UInt32 = 0x0000000f
    static let rqsmrCounterShift: UInt32 = 0

    // TQSM: Transmit queue statistics mapping: counters of four queues each, 8 bits apart; 8.2.3.23
    @inline(__always) static func tqsm(_ n: UInt32) -> UInt32 { return 0x08600 + n * 0x4 }
    static let tqsmCounterMask: UInt32 = 0x0000000f
    static let tqsmCounterShift: UInt32 = 0

    // QPRC: Frames received by the queues of this counter; 8.2.3.23.69
    @inline(__always) static func qprc(_ n: UInt32) -> UInt32 { return 0x01030 + n * 0x40 }

    // QPTC: Frames transmitted by the queues of this counter; 8.2.3.23.72
    @inline(__always) static func qptc(_ n: UInt32) -> UInt32 { return 0x06030 + n * 0x40 }

    // QPRDC: Frames that the queues of this counter dropped: no descriptor with SRRCTL.DROP_EN, or the queue is disabled; 8.2.3.23
    @inline(__always) static func qprdc(_ n: UInt32) -> UInt32 { return 0x01430 + n * 0x40 }

    // QBRC_L: Bytes received by the queues of this counter, lower half; 8.2.3.23
    @inline(__always) static func qbrcL(_ n: UInt32) -> UInt32 { return 0x01034 + n * 0x40 }

    // QBRC_H: Bytes received by the queues of this counter, upper 4 bits; 8.2.3.23
    @inline(__always) static func qbrcH(_ n: UInt32) -> UInt32 { return 0x01038 + n * 0x40 }

    // QBTC_L: Bytes transmitted by the queues of this counter, lower half; 8.2.3.23
    @inline(__always) static func qbtcL(_ n: UInt32) -> UInt32 { return 0x08700 + n * 0x8 }

    // QBTC_H: Bytes transmitted by the queues of this counter, upper 4 bits; 8.2.3.23
    @inline(__always) static func qbtcH(_ n: UInt32) -> UInt32 { return 0x08704 + n * 0x8 }

    // RXD_INFO: Advanced receive descriptor as the device writes it back: what was hashed, type of the packet, 32-bit word 0; 7.1.6.2
    static let rxdInfoRssTypeMask: UInt32 = 0x0000000f
    static let rxdInfoRssTypeShift: UInt32 = 0
    static let rxdInfoIpv4: UInt32 = 0x00000010
    static let rxdInfoIpv4e: UInt32 = 0x00000020
    static let rxdInfoIpv6: UInt32 = 0x00000040
    static let rxdInfoIpv6e: UInt32 = 0x00000080
    static let rxdInfoTcp: UInt32 = 0x00000100
    static let rxdInfoUdp: UInt32 = 0x00000200
    static let rxdInfoSctp: UInt32 = 0x00000400

    // RXD: Advanced receive descriptor as the device writes it back: status and errors, 32-bit word 2; 7.1.6.2
    static let rxdDd: UInt32 = 0x00000001
    static let rxdEop: UInt32 = 0x00000002
    static let rxdVp: UInt32 = 0x00000008
    static let rxdL4cs: UInt32 = 0x00000020
    static let rxdIpcs: UInt32 = 0x00000040
    static let rxdL4e: UInt32 = 0x40000000
    static let rxdIpe: UInt32 = 0x80000000

    // RXD_LENGTH: Advanced receive descriptor as the device writes it back: length and stripped VLAN tag, 32-bit word 3; 7.1.6.2
    static let rxdLengthBytesMask: UInt32 = 0x0000ffff
    static let rxdLengthBytesShift: UInt32 = 0
    static let rxdLengthVlanMask: UInt32 = 0xffff0000
    static let rxdLengthVlanShift: UInt32 = 16

    // TXD: Advanced transmit data descriptor, command and length, 32-bit word 2; 7.2.3.2.4
    static let txdDtalenMask: UInt32 = 0x0000ffff
    static let txdDtalenShift: UInt32 = 0
    static let txdDtypMask: UInt32 = 0x00f00000
    static let txdDtypShift: UInt32 = 20
    static let txdEop: UInt32 = 0x01000000
    static let txdIfcs: UInt32 = 0x02000000
    static let txdRs: UInt32 = 0x08000000
    static let txdDext: UInt32 = 0x20000000
    static let txdVle: UInt32 = 0x40000000
    static let txdTse: UInt32 = 0x80000000

    // TXD_OLINFO: Advanced transmit data descriptor: context, checksums to insert, total payload length, 32-bit word 3; 7.2.3.2.4
    static let txdOlinfoIdx: UInt32 = 0x00000010
    static let txdOlinfoCc: UInt32 = 0x00000080
    static let txdOlinfoIxsm: UInt32 = 0x00000100
    static let txdOlinfoTxsm: UInt32 = 0x00000200
    static let txdOlinfoPaylenMask: UInt32 = 0xffffc000
    static let txdOlinfoPaylenShift: UInt32 = 14

    // TXC_LENGTHS: Advanced transmit context descriptor: lengths of headers, and the VLAN tag, 32-bit word 0; 7.2.3.2.3
    static let txcLengthsIplenMask: UInt32 = 0x000001ff
    static let txcLengthsIplenShift: UInt32 = 0
    static let txcLengthsMaclenMask: UInt32 = 0x0000fe00
    static let txcLengthsMaclenShift: UInt32 = 9
    static let txcLengthsVlanMask: UInt32 = 0xffff0000
    static let txcLengthsVlanShift: UInt32 = 16

    // TXC: Advanced transmit context descriptor: command, 32-bit word 2; 7.2.3.2.3
    static let txcIpv4: UInt32 = 0x00000400
    static let txcL4tMask: UInt32 = 0x00001800
    static let txcL4tShift: UInt32 = 11

    // TXC_IDX: Advanced transmit context descriptor: which of the two contexts of the queue it is, 32-bit word 3; 7.2.3.2.3
    static let txcIdxIdx: UInt32 = 0x00000010
    static let txcIdxL4lenMask: UInt32 = 0x0000ff00
    static let txcIdxL4lenShift: UInt32 = 8
    static let txcIdxMssMask: UInt32 = 0xffff0000
    static let txcIdxMssShift: UInt32 = 16

    // TXL: Legacy transmit descriptor: place of the checksum to insert, command, 32-bit word 2; 7.2.3.2.2
    static let txlCsoMask: UInt32 = 0x00ff0000
    static let txlCsoShift: UInt32 = 16
    static let txlIc: UInt32 = 0x04000000

    // TXL_TAG: Legacy transmit descriptor: where the checksum begins, VLAN tag, 32-bit word 3; 7.2.3.2.2
    static let txlTagCssMask: UInt32 = 0x0000ff00
    static let txlTagCssShift: UInt32 = 8
    static let txlTagVlanMask: UInt32 = 0xffff0000
    static let txlTagVlanShift: UInt32 = 16

    // TXD_WB: Advanced transmit descriptor as the device writes it back, 32-bit word 3; 7.2.3.2.4
    static let txdWbDd: UInt32 = 0x00000001

    // Values of fields
    static let srrctlDesctypeAdvanced: UInt32 = 0x02000000
    static let autocLms10gSerial: UInt32 = 0x00006000
    static let autocLmsNegotiates: UInt32 = 0x00008000
    static let linksSpeed10g: UInt32 = 0x30000000
    static let linksSpeed1g: UInt32 = 0x20000000
    static let linksSpeed100m: UInt32 = 0x10000000
    static let rxpbsize128kb: UInt32 = 0x00020000
    static let txpbsize40kb: UInt32 = 0x0000a000
    static let txdDtypData: UInt32 = 0x00300000
    static let txdDtypContext: UInt32 = 0x00200000
    static let mrqcMrqeRss: UInt32 = 0x00000001
    static let rssTypeTcpIpv4: UInt32 = 0x00000001
    static let rssTypeIpv4: UInt32 = 0x00000002
    static let rssTypeTcpIpv6: UInt32 = 0x00000003
    static let rssTypeIpv6: UInt32 = 0x00000005
    static let rssTypeUdpIpv4: UInt32 = 0x00000007
    static let rssTypeUdpIpv6: UInt32 = 0x00000008
    static let txcL4tUdp: UInt32 = 0x00000000
    static let txcL4tTcp: UInt32 = 0x00000800
    static let txcL4tSctp: UInt32 = 0x00001000
}
