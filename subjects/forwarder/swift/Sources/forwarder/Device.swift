import Glibc

/// Descriptors of two words each, and the buffer of each.
final class Ring {
    /// A power of two.
    static let entries = 1024
    static let mask = entries - 1

    let address: UInt64
    var buffers = [UInt32](repeating: 0, count: entries)
    var index = 0
    private let words: Mapping

    init(name: String) throws {
        let memory = try DMAMemory(bytes: Self.entries * 16, name: name)
        words = memory.mapping
        address = memory.pages[0]
        for index in 0..<Self.entries {
            // Addresses that no memory has, so that a device that starts too early finds nothing to overwrite.
            set(index, address: .max, command: .max)
        }
    }

    /// The second word of a descriptor, which the device writes last.
    @inline(__always)
    func status(_ index: Int) -> UInt64 {
        words.load64(index * 16 + 8)
    }

    @inline(__always)
    func set(_ index: Int, address: UInt64, command: UInt64) {
        words.store64(index * 16, address)
        words.store64(index * 16 + 8, command)
    }
}

/// An Intel 82599 with one receive and one transmit queue.
final class Device {
    private static let timeoutMs = 10_000
    /// The shortest frame on a wire without its frame check sequence (IEEE 802.3, 4.4.2).
    private static let frameBytesMin: UInt32 = 60
    private static let command =
        Registers.txdEop | Registers.txdRs | Registers.txdIfcs | Registers.txdDext | Registers.txdDtypData

    private let registers: Mapping
    private let pool: Pool
    private let cleanBatch: Int
    private let receive: Ring
    private let transmit: Ring
    private var clean = 0
    /// Within a received frame whose last buffer has not come yet.
    private var isInside = false

    init(address: String, pool: Pool, cleanBatch: Int) throws {
        registers = try Self.openRegisters(address)
        self.pool = pool
        self.cleanBatch = cleanBatch
        receive = try Ring(name: "\(address)-receive")
        transmit = try Ring(name: "\(address)-transmit")
        // 4.6.3: interrupts off, reset, interrupts off again, EEPROM and DMA ready
        write(Registers.eimc, Registers.eimcAllMask)
        let reset = Registers.ctrlRst | Registers.ctrlLrst
        write(Registers.ctrl, reset)
        try wait(Registers.ctrl, mask: reset, value: 0, step: "reset")
        usleep(10_000)
        write(Registers.eimc, Registers.eimcAllMask)
        try wait(Registers.eec, mask: Registers.eecArd, value: Registers.eecArd, step: "EEPROM")
        let dmaIdone = Registers.rdrxctlDmaidone
        try wait(Registers.rdrxctl, mask: dmaIdone, value: dmaIdone, step: "DMA initialisation")
        // 4.6.4
        clearBits(Registers.autoc, Registers.autocLmsMask | Registers.autocPmaPmd10gMask)
        setBits(Registers.autoc, Registers.autocLms10gSerial | Registers.autocRestartAn)
        try setUpReceive()
        try setUpTransmit()
        try wait(Registers.links, mask: Registers.linksUp, value: Registers.linksUp, step: "link")
    }

    /// Fills an array with received packets. Returns their number.
    func rxBatch(_ packets: inout [Packet]) -> Int {
        var index = receive.index
        var received = 0
        while received < packets.count && !pool.isEmpty {
            let status = receive.status(index)
            if UInt32(truncatingIfNeeded: status) & Registers.rxdDd == 0 {
                break
            }
            let length = UInt32(truncatingIfNeeded: status >> 32) & 0xffff
            if isWhole(status: UInt32(truncatingIfNeeded: status), length: length) {
                packets[received] = Packet(buffer: receive.buffers[index], length: length)
                receive.buffers[index] = pool.take()
                received += 1
            }
            receive.set(index, address: pool.address(receive.buffers[index]), command: 0)
            index = (index + 1) & Ring.mask
        }
        if index != receive.index {
            receive.index = index
            // One behind: a tail that equals the head would say that the ring is empty.
            write(Registers.rdt(0), UInt32((index + Ring.mask) & Ring.mask))
        }
        return received
    }

    /// Sends so many packets from the front as far as there is room. Returns how many.
    func txBatch(_ packets: [Packet], number: Int) -> Int {
        cleanUp()
        var index = transmit.index
        var sent = 0
        while sent < number {
            let next = (index + 1) & Ring.mask
            if next == clean {
                break
            }
            let packet = packets[sent]
            let payload = UInt64(packet.length << Registers.txdOlinfoPaylenShift) << 32
            transmit.set(index, address: pool.address(packet.buffer), command: UInt64(Self.command | packet.length) | payload)
            transmit.buffers[index] = packet.buffer
            index = next
            sent += 1
        }
        transmit.index = index
        write(Registers.tdt(0), UInt32(index))
        return sent
    }

    /// Frees what was sent, a batch at a time: only the last descriptor of one is read.
    func cleanUp() {
        while (transmit.index - clean) & Ring.mask >= cleanBatch {
            let last = (clean + cleanBatch - 1) & Ring.mask
            if UInt32(truncatingIfNeeded: transmit.status(last) >> 32) & Registers.txdWbDd == 0 {
                return
            }
            for n in 0..<cleanBatch {
                pool.give(transmit.buffers[(clean + n) & Ring.mask])
            }
            clean = (last + 1) & Ring.mask
        }
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

    /// True for a frame in one buffer, of a length that a wire and a buffer can have. Others are dropped, buffer by buffer.
    @inline(__always)
    private func isWhole(status: UInt32, length: UInt32) -> Bool {
        let isEnd = status & Registers.rxdEop != 0
        let wasInside = isInside
        isInside = !isEnd
        return isEnd && !wasInside && length >= Self.frameBytesMin && length <= UInt32(Pool.bufferBytes)
    }

    private func read(_ offset: UInt32) -> UInt32 {
        registers.load32(Int(offset))
    }

    @inline(__always)
    private func write(_ offset: UInt32, _ value: UInt32) {
        registers.store32(Int(offset), value)
    }

    private func setBits(_ offset: UInt32, _ bits: UInt32) {
        write(offset, read(offset) | bits)
    }

    private func clearBits(_ offset: UInt32, _ bits: UInt32) {
        write(offset, read(offset) & ~bits)
    }

    private func wait(_ offset: UInt32, mask: UInt32, value: UInt32, step: String) throws {
        var waited = 0
        while read(offset) & mask != value {
            if waited > Self.timeoutMs {
                throw ForwarderError("\(step): no answer within \(Self.timeoutMs) ms")
            }
            usleep(1000)
            waited += 1
        }
    }

    /// 4.6.7
    private func setUpReceive() throws {
        clearBits(Registers.rxctrl, Registers.rxctrlRxen)
        write(Registers.rxpbsize(0), Registers.rxpbsize128kb)
        for n: UInt32 in 1..<8 {
            write(Registers.rxpbsize(n), 0)
        }
        setBits(Registers.hlreg0, Registers.hlreg0Rxcrcstrp)
        setBits(Registers.rdrxctl, Registers.rdrxctlCrcstrip)
        setBits(Registers.fctrl, Registers.fctrlBam | Registers.fctrlMpe | Registers.fctrlUpe)
        clearBits(Registers.srrctl(0), Registers.srrctlDesctypeMask | Registers.srrctlBsizepacketMask)
        let bufferKib = UInt32(Pool.bufferBytes / 1024)
        setBits(Registers.srrctl(0), Registers.srrctlDesctypeAdvanced | Registers.srrctlDropEn | bufferKib)
        writeRing(receive, low: Registers.rdbal(0), high: Registers.rdbah(0), length: Registers.rdlen(0))
        write(Registers.rdh(0), 0)
        write(Registers.rdt(0), 0)
        setBits(Registers.ctrlExt, Registers.ctrlExtNsDis)
        clearBits(Registers.dcaRxctrl(0), Registers.dcaRxctrlReserved12)
        for index in 0..<Ring.entries {
            receive.buffers[index] = pool.take()
            receive.set(index, address: pool.address(receive.buffers[index]), command: 0)
        }
        setBits(Registers.rxctrl, Registers.rxctrlRxen)
        setBits(Registers.rxdctl(0), Registers.rxdctlEnable)
        let enable = Registers.rxdctlEnable
        try wait(Registers.rxdctl(0), mask: enable, value: enable, step: "receive queue")
        // All descriptors but one: with all of them the ring would look empty.
        write(Registers.rdt(0), UInt32(Ring.mask))
    }

    /// 4.6.8
    private func setUpTransmit() throws {
        setBits(Registers.hlreg0, Registers.hlreg0Txcrcen | Registers.hlreg0Txpaden)
        write(Registers.txpbsize(0), Registers.txpbsize40kb)
        for n: UInt32 in 1..<8 {
            write(Registers.txpbsize(n), 0)
        }
        write(Registers.dtxmxszrq, 0xffff)
        clearBits(Registers.rttdcs, Registers.rttdcsArbdis)
        writeRing(transmit, low: Registers.tdbal(0), high: Registers.tdbah(0), length: Registers.tdlen(0))
        write(Registers.tdh(0), 0)
        write(Registers.tdt(0), 0)
        // Thresholds as DPDK has them.
        let prefetch: UInt32 = 36 << Registers.txdctlPthreshShift | 8 << Registers.txdctlHthreshShift
        write(Registers.txdctl(0), prefetch | 4 << Registers.txdctlWthreshShift)
        write(Registers.dmatxctl, Registers.dmatxctlTe)
        setBits(Registers.txdctl(0), Registers.txdctlEnable)
        let enable = Registers.txdctlEnable
        try wait(Registers.txdctl(0), mask: enable, value: enable, step: "transmit queue")
    }

    private func writeRing(_ ring: Ring, low: UInt32, high: UInt32, length: UInt32) {
        write(low, UInt32(truncatingIfNeeded: ring.address))
        write(high, UInt32(truncatingIfNeeded: ring.address >> 32))
        write(length, UInt32(Ring.entries * 16))
    }
}
