/// A buffer of DMA memory.
class Buffer {
    let memory: Mapping
    /// Of its first byte, within the memory and on the bus.
    let offset: Int
    let address: UInt64
    /// Kept as the evaluation's driver keeps it; nothing here asks.
    var isInUse = false

    init(memory: Mapping, offset: Int, address: UInt64) {
        self.memory = memory
        self.offset = offset
        self.address = address
    }
}

/// A frame in a buffer: what drivers and applications hand to each other. Each reference to it is counted.
class Packet {
    let buffer: Buffer
    let pool: Pool
    var length: UInt32 = 0

    init(buffer: Buffer, pool: Pool) {
        self.buffer = buffer
        self.pool = pool
    }

    /// Increases a byte.
    func touch(at place: Int) {
        buffer.memory.increase(buffer.offset + place)
    }

    func free() {
        pool.give(self)
    }
}

/// How a pool keeps the packets that are free.
enum PoolKind: String {
    /// An array that grows and shrinks at its end.
    case array
    /// A stack of a fixed size, whose places are empty or have a packet.
    case fixed
    /// An array of references that are not counted; another array keeps the packets.
    case unmanaged
}

class Pool {
    static let bufferBytes = 2048

    private let kind: PoolKind
    private var packets: [Packet] = []
    private var available: [Packet] = []
    private var places: [Packet?] = []
    private var filled = 0
    private var uncounted: [Unmanaged<Packet>] = []

    init(buffers: Int, kind: PoolKind) throws {
        self.kind = kind
        let memory = try DMAMemory(bytes: buffers * Self.bufferBytes, name: "pool")
        for index in 0..<buffers {
            let offset = index * Self.bufferBytes
            let page = memory.pages[offset / DMAMemory.hugePageBytes]
            let address = page + UInt64(offset % DMAMemory.hugePageBytes)
            packets.append(Packet(buffer: Buffer(memory: memory.mapping, offset: offset, address: address), pool: self))
        }
        places = [Packet?](repeating: nil, count: buffers)
        for packet in packets.reversed() {
            give(packet)
        }
    }

    func take() -> Packet? {
        let packet: Packet
        switch kind {
        case .array:
            guard !available.isEmpty else { return nil }
            packet = available.removeLast()
        case .fixed:
            guard filled > 0, let last = places[filled - 1] else { return nil }
            filled -= 1
            places[filled] = nil
            packet = last
        case .unmanaged:
            guard !uncounted.isEmpty else { return nil }
            packet = uncounted.removeLast().takeUnretainedValue()
        }
        packet.buffer.isInUse = true
        return packet
    }

    func give(_ packet: Packet) {
        packet.buffer.isInUse = false
        switch kind {
        case .array:
            available.append(packet)
        case .fixed:
            places[filled] = packet
            filled += 1
        case .unmanaged:
            uncounted.append(Unmanaged.passUnretained(packet))
        }
    }
}
