/// What a device has written into a descriptor that it received into.
struct Status: OptionSet {
    let rawValue: UInt32

    static let isDone = Status(rawValue: Registers.rxdDd)
    static let isEnd = Status(rawValue: Registers.rxdEop)
}

enum Received {
    case nothing
    /// A part of a frame, or a frame of a length that none has.
    case refused
    case packet(Packet)
}

/// An entry of a ring, and the packet whose buffer it has.
class Descriptor {
    private let words: Mapping
    private let index: Int
    private let pool: Pool
    var packet: Packet?

    init(words: Mapping, index: Int, pool: Pool) {
        self.words = words
        self.index = index
        self.pool = pool
        // An address that no memory has, so that a device that starts too early finds nothing to overwrite.
        words.set(index, address: .max, command: .max)
    }

    /// Gives a packet to the device, a new one where there is none. False if the pool is empty.
    func prepare() -> Bool {
        if packet == nil {
            packet = pool.take()
        }
        guard let packet else { return false }
        words.set(index, address: packet.buffer.address, command: 0)
        return true
    }

    /// Takes what the device has received. `isInside`: within a frame whose last buffer has not come yet.
    func receive(isInside: inout Bool) -> Received {
        guard let packet else { return .nothing }
        let word = words.status(index)
        let status = Status(rawValue: UInt32(truncatingIfNeeded: word))
        guard status.contains(.isDone) else { return .nothing }
        let length = UInt32(truncatingIfNeeded: word >> 32) & 0xffff
        let wasInside = isInside
        isInside = !status.contains(.isEnd)
        guard !isInside, !wasInside, length >= Card.frameBytesMin, length <= UInt32(Pool.bufferBytes) else { return .refused }
        self.packet = nil
        packet.length = length
        return .packet(packet)
    }

    func send(_ packet: Packet) {
        self.packet = packet
        words.set(index, address: packet.buffer.address, command: Card.send(length: packet.length))
    }

    var isSent: Bool {
        UInt32(truncatingIfNeeded: words.status(index) >> 32) & Registers.txdWbDd != 0
    }

    /// Gives back what was sent.
    func cleanUp() {
        packet?.free()
        packet = nil
    }
}
