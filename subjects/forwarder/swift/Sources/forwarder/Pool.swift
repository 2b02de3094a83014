/// A received frame, or one to send: the index of its buffer, and its length. A value, so that nothing is counted for it.
struct Packet: BitwiseCopyable {
    var buffer: UInt32 = 0
    var length: UInt32 = 0
}

/// Buffers of both devices. As a stack, the one that was given back last is used next; as a ring, the one that was given back first.
final class Pool {
    static let bufferBytes = 2048
    private static let perPage = DMAMemory.hugePageBytes / bufferBytes

    private let memory: DMAMemory
    private let isRing: Bool
    private let indices: Slots<UInt32>
    private var free = 0
    /// Of a ring: the place of the first free index.
    private var head = 0

    init(buffers: Int, isRing: Bool) throws {
        memory = try DMAMemory(bytes: buffers * Self.bufferBytes, name: "pool")
        self.isRing = isRing
        indices = Slots(repeating: 0, count: buffers)
        for index in (0..<buffers).reversed() {
            give(UInt32(index))
        }
    }

    var isEmpty: Bool { free == 0 }

    /// Takes a buffer of a pool that is not empty.
    @inline(__always)
    func take() -> UInt32 {
        free -= 1
        if !isRing {
            return indices[free]
        }
        let index = indices[head]
        head = head + 1 == indices.count ? 0 : head + 1
        return index
    }

    @inline(__always)
    func give(_ buffer: UInt32) {
        var end = free
        free += 1
        if isRing {
            end += head
            if end >= indices.count {
                end -= indices.count
            }
        }
        indices[end] = buffer
    }

    /// Bus address of a buffer.
    @inline(__always)
    func address(_ buffer: UInt32) -> UInt64 {
        let index = Int(buffer)
        return memory.pages[index / Self.perPage] + UInt64(index % Self.perPage * Self.bufferBytes)
    }

    /// Has the first line of a buffer brought into the first cache.
    @inline(__always)
    func fetch(_ buffer: UInt32) {
        memory.mapping.fetch(Int(buffer) * Self.bufferBytes)
    }

    /// Increases a byte of the frame in a buffer.
    @inline(__always)
    func touch(_ buffer: UInt32, at place: Int) {
        memory.mapping.increase(Int(buffer) * Self.bufferBytes + place)
    }
}
