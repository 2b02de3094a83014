/// Descriptors of two words each, and the buffer of each.
final class Ring {
    /// A power of two.
    static let entries = 1024
    static let mask = entries - 1

    let place: Card.Place
    let buffers = Slots<UInt32>(repeating: 0, count: entries)
    var index = 0
    private let words: Mapping

    init(name: String) throws {
        let memory = try DMAMemory(bytes: Self.entries * 16, name: name)
        words = memory.mapping
        place = Card.Place(address: memory.pages[0], entries: Self.entries)
        for index in 0..<Self.entries {
            // Addresses that no memory has, so that a device that starts too early finds nothing to overwrite.
            set(index, address: .max, command: .max)
        }
    }

    /// The second word of a descriptor, which the device writes last.
    @inline(__always)
    func status(_ index: Int) -> UInt64 {
        words.status(index)
    }

    @inline(__always)
    func set(_ index: Int, address: UInt64, command: UInt64) {
        words.set(index, address: address, command: command)
    }
}

/// An Intel 82599 with one receive and one transmit queue.
final class Device {
    private let registers: Mapping
    private let pool: Pool
    private let cleanBatch: Int
    private let prefetches: Bool
    private let receive: Ring
    private let transmit: Ring
    private var clean = 0
    /// Within a received frame whose last buffer has not come yet.
    private var isInside = false

    init(address: String, pool: Pool, cleanBatch: Int, prefetches: Bool) throws {
        let card = try Card(address: address)
        registers = card.registers
        self.pool = pool
        self.cleanBatch = cleanBatch
        self.prefetches = prefetches
        receive = try Ring(name: "\(address)-receive")
        transmit = try Ring(name: "\(address)-transmit")
        for index in 0..<Ring.entries {
            receive.buffers[index] = pool.take()
            receive.set(index, address: pool.address(receive.buffers[index]), command: 0)
        }
        try card.setUpReceive(receive.place, bufferBytes: Pool.bufferBytes)
        try card.setUpTransmit(transmit.place)
        try card.waitForLink()
    }

    /// Fills an array with received packets. Returns their number.
    func rxBatch(_ packets: borrowing Slots<Packet>) -> Int {
        var index = receive.index
        var received = 0
        while received < packets.count && !pool.isEmpty {
            let status = receive.status(index)
            if UInt32(truncatingIfNeeded: status) & Registers.rxdDd == 0 {
                break
            }
            let length = UInt32(truncatingIfNeeded: status >> 32) & 0xffff
            if isWhole(status: UInt32(truncatingIfNeeded: status), length: length) {
                let buffer = receive.buffers[index]
                if prefetches {
                    pool.fetch(buffer)
                }
                packets[received] = Packet(buffer: buffer, length: length)
                receive.buffers[index] = pool.take()
                received += 1
            }
            receive.set(index, address: pool.address(receive.buffers[index]), command: 0)
            index = (index + 1) & Ring.mask
        }
        if index != receive.index {
            receive.index = index
            // One behind: a tail that equals the head would say that the ring is empty.
            registers.write(Registers.rdt(0), UInt32((index + Ring.mask) & Ring.mask))
        }
        return received
    }

    /// Sends so many packets from the front as far as there is room. Returns how many.
    func txBatch(_ packets: borrowing Slots<Packet>, number: Int) -> Int {
        cleanUp()
        var index = transmit.index
        var sent = 0
        while sent < number {
            let next = (index + 1) & Ring.mask
            if next == clean {
                break
            }
            let packet = packets[sent]
            transmit.set(index, address: pool.address(packet.buffer), command: Card.send(length: packet.length))
            transmit.buffers[index] = packet.buffer
            index = next
            sent += 1
        }
        transmit.index = index
        registers.write(Registers.tdt(0), UInt32(index))
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

    /// True for a frame in one buffer, of a length that a wire and a buffer can have. Others are dropped, buffer by buffer.
    @inline(__always)
    private func isWhole(status: UInt32, length: UInt32) -> Bool {
        let isEnd = status & Registers.rxdEop != 0
        let wasInside = isInside
        isInside = !isEnd
        return isEnd && !wasInside && length >= Card.frameBytesMin && length <= UInt32(Pool.bufferBytes)
    }
}
