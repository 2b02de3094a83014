import Glibc

/// A port of an Intel 82599, whatever receives and sends through it: its registers, and how it is set up.
struct Card {
    private static let timeoutMs = 10_000
    /// The shortest frame on a wire without its frame check sequence (IEEE 802.3, 4.4.2).
    static let frameBytesMin: UInt32 = 60
    private static let command =
        Registers.txdEop | Registers.txdRs | Registers.txdIfcs | Registers.txdDext | Registers.txdDtypData

    /// The second word of a descriptor that sends a frame of this length.
    @inline(__always)
    static func send(length: UInt32) -> UInt64 {
        UInt64(command | length) | UInt64(length << Registers.txdOlinfoPaylenShift) << 32
    }

    let registers: Mapping

    /// Resets a port, and has it look for a link.
    init(address: String) throws {
        registers = try Self.openRegisters(address)
        // 4.6.3: interrupts off, reset, interrupts off again, EEPROM and DMA ready
        registers.write(Registers.eimc, Registers.eimcAllMask)
        let reset = Registers.ctrlRst | Registers.ctrlLrst
        registers.write(Registers.ctrl, reset)
        try wait(Registers.ctrl, mask: reset, value: 0, step: "reset")
        usleep(10_000)
        registers.write(Registers.eimc, Registers.eimcAllMask)
        try wait(Registers.eec, mask: Registers.eecArd, value: Registers.eecArd, step: "EEPROM")
        let dmaIdone = Registers.rdrxctlDmaidone
        try wait(Registers.rdrxctl, mask: dmaIdone, value: dmaIdone, step: "DMA initialisation")
        // 4.6.4
        clearBits(Registers.autoc, Registers.autocLmsMask | Registers.autocPmaPmd10gMask)
        setBits(Registers.autoc, Registers.autocLms10gSerial | Registers.autocRestartAn)
    }

    /// Where the device finds a ring.
    struct Place {
        let address: UInt64
        let entries: Int
    }

    func waitForLink() throws {
        try wait(Registers.links, mask: Registers.linksUp, value: Registers.linksUp, step: "link")
    }

    private func setBits(_ offset: UInt32, _ bits: UInt32) {
        registers.write(offset, registers.read(offset) | bits)
    }

    private func clearBits(_ offset: UInt32, _ bits: UInt32) {
        registers.write(offset, registers.read(offset) & ~bits)
    }

    private func wait(_ offset: UInt32, mask: UInt32, value: UInt32, step: String) throws {
        var waited = 0
        while registers.read(offset) & mask != value {
            if waited > Self.timeoutMs {
                throw ForwarderError("\(step): no answer within \(Self.timeoutMs) ms")
            }
            usleep(1000)
            waited += 1
        }
    }

    /// 4.6.7, for a ring that is full of buffers.
    func setUpReceive(_ ring: Place, bufferBytes: Int) throws {
        clearBits(Registers.rxctrl, Registers.rxctrlRxen)
        registers.write(Registers.rxpbsize(0), Registers.rxpbsize128kb)
        for n: UInt32 in 1..<8 {
            registers.write(Registers.rxpbsize(n), 0)
        }
        setBits(Registers.hlreg0, Registers.hlreg0Rxcrcstrp)
        setBits(Registers.rdrxctl, Registers.rdrxctlCrcstrip)
        setBits(Registers.fctrl, Registers.fctrlBam | Registers.fctrlMpe | Registers.fctrlUpe)
        clearBits(Registers.srrctl(0), Registers.srrctlDesctypeMask | Registers.srrctlBsizepacketMask)
        let bufferKib = UInt32(bufferBytes / 1024)
        setBits(Registers.srrctl(0), Registers.srrctlDesctypeAdvanced | Registers.srrctlDropEn | bufferKib)
        writeRing(ring, low: Registers.rdbal(0), high: Registers.rdbah(0), length: Registers.rdlen(0))
        registers.write(Registers.rdh(0), 0)
        registers.write(Registers.rdt(0), 0)
        setBits(Registers.ctrlExt, Registers.ctrlExtNsDis)
        clearBits(Registers.dcaRxctrl(0), Registers.dcaRxctrlReserved12)
        setBits(Registers.rxctrl, Registers.rxctrlRxen)
        setBits(Registers.rxdctl(0), Registers.rxdctlEnable)
        let enable = Registers.rxdctlEnable
        try wait(Registers.rxdctl(0), mask: enable, value: enable, step: "receive queue")
        // All descriptors but one: with all of them the ring would look empty.
        registers.write(Registers.rdt(0), UInt32(ring.entries - 1))
    }

    /// 4.6.8
    func setUpTransmit(_ ring: Place) throws {
        setBits(Registers.hlreg0, Registers.hlreg0Txcrcen | Registers.hlreg0Txpaden)
        registers.write(Registers.txpbsize(0), Registers.txpbsize40kb)
        for n: UInt32 in 1..<8 {
            registers.write(Registers.txpbsize(n), 0)
        }
        registers.write(Registers.dtxmxszrq, 0xffff)
        clearBits(Registers.rttdcs, Registers.rttdcsArbdis)
        writeRing(ring, low: Registers.tdbal(0), high: Registers.tdbah(0), length: Registers.tdlen(0))
        registers.write(Registers.tdh(0), 0)
        registers.write(Registers.tdt(0), 0)
        // Thresholds as DPDK has them.
        let prefetch: UInt32 = 36 << Registers.txdctlPthreshShift | 8 << Registers.txdctlHthreshShift
        registers.write(Registers.txdctl(0), prefetch | 4 << Registers.txdctlWthreshShift)
        registers.write(Registers.dmatxctl, Registers.dmatxctlTe)
        setBits(Registers.txdctl(0), Registers.txdctlEnable)
        let enable = Registers.txdctlEnable
        try wait(Registers.txdctl(0), mask: enable, value: enable, step: "transmit queue")
    }

    private func writeRing(_ ring: Place, low: UInt32, high: UInt32, length: UInt32) {
        registers.write(low, UInt32(truncatingIfNeeded: ring.address))
        registers.write(high, UInt32(truncatingIfNeeded: ring.address >> 32))
        registers.write(length, UInt32(ring.entries * 16))
    }

    /// Takes a device from its kernel driver, makes it bus master, and maps BAR 0.
    private static func openRegisters(_ address: String) throws -> Mapping {
        let directory = "/sys/bus/pci/devices/\(address)/"
        let unbind = open(directory + "driver/unbind", O_WRONLY | O_CLOEXEC)
        if unbind >= 0 {
            defer { close(unbind) }
            guard Glibc.write(unbind, address, address.utf8.count) == address.utf8.count else {
                throw ForwarderError.system("unbind the kernel's driver")
            }
        }
        let config = open(directory + "config", O_RDWR | O_CLOEXEC)
        guard config >= 0 else { throw ForwarderError.system("open \(directory)config") }
        defer { close(config) }
        // PCI 3.0, 6.2.2: bit 2 of the command register, at 4.
        var command: UInt16 = 0
        guard pread(config, &command, 2, 4) == 2 else { throw ForwarderError.system("read the configuration space") }
        command |= 1 << 2
        guard pwrite(config, &command, 2, 4) == 2 else { throw ForwarderError.system("write the configuration space") }
        let resource = open(directory + "resource0", O_RDWR | O_CLOEXEC)
        guard resource >= 0 else { throw ForwarderError.system("open \(directory)resource0") }
        let bytes = lseek(resource, 0, SEEK_END)
        guard bytes > 0 else {
            close(resource)
            throw ForwarderError("\(directory)resource0 is empty")
        }
        return try Mapping(file: resource, bytes: Int(bytes), flags: 0)
    }
}
