/// A ring of descriptors.
class Queue {
    static let entries = 1024

    let card: Card
    let descriptors: [Descriptor]
    let place: Card.Place
    var head = 0
    var tail = 0

    init(name: String, card: Card, pool: Pool) throws {
        let memory = try DMAMemory(bytes: Self.entries * 16, name: name)
        self.card = card
        place = Card.Place(address: memory.pages[0], entries: Self.entries)
        descriptors = (0..<Self.entries).map { Descriptor(words: memory.mapping, index: $0, pool: pool) }
    }

    func next(_ index: Int) -> Int {
        index + 1 == descriptors.count ? 0 : index + 1
    }

    /// Hands the ring to the device: what each kind of queue does in its own way.
    func start() throws {
        fatalError("of receive and transmit queues")
    }
}

final class ReceiveQueue: Queue {
    private var available: [Packet] = []
    private var isInside = false

    override func start() throws {
        for descriptor in descriptors {
            guard descriptor.prepare() else { throw ForwarderError("too few buffers for a receive ring") }
        }
        try card.setUpReceive(place, bufferBytes: Pool.bufferBytes)
    }

    /// What has been received, `limit` packets at most; without a limit, all of it in an array that grows.
    func fetch(limit: Int?) -> [Packet] {
        available = []
        if let limit {
            available.reserveCapacity(limit)
        }
        let first = tail
        while limit.map({ available.count < $0 }) ?? true, process(descriptors[tail]) {
            tail = next(tail)
        }
        if tail != first {
            // One behind: a tail that equals the head would say that the ring is empty.
            card.registers.write(Registers.rdt(0), UInt32(tail == 0 ? descriptors.count - 1 : tail - 1))
        }
        let packets = available
        // So that the queue holds none of them.
        available = []
        return packets
    }

    private func process(_ descriptor: Descriptor) -> Bool {
        // One whose packet could not be replaced.
        if descriptor.packet == nil {
            return descriptor.prepare()
        }
        switch descriptor.receive(isInside: &isInside) {
        case .nothing:
            return false
        case .refused:
            return descriptor.prepare()
        case .packet(let packet):
            available.append(packet)
            return descriptor.prepare()
        }
    }
}

final class TransmitQueue: Queue {
    private let cleanBatch: Int

    init(name: String, card: Card, pool: Pool, cleanBatch: Int) throws {
        self.cleanBatch = cleanBatch
        try super.init(name: name, card: card, pool: pool)
    }

    override func start() throws {
        try card.setUpTransmit(place)
    }

    /// Sends packets from the front as far as there is room, and gives the others back.
    func transmit(_ packets: [Packet]) {
        cleanUp()
        var sent = 0
        for packet in packets {
            guard next(tail) != head else { break }
            descriptors[tail].send(packet)
            tail = next(tail)
            sent += 1
        }
        card.registers.write(Registers.tdt(0), UInt32(tail))
        for packet in packets[sent...] {
            packet.free()
        }
    }

    /// Gives back what was sent: one by one, or a batch at a time, of which only the last descriptor is read.
    func cleanUp() {
        if cleanBatch == 1 {
            while head != tail, descriptors[head].isSent {
                descriptors[head].cleanUp()
                head = next(head)
            }
            return
        }
        while (tail + descriptors.count - head) % descriptors.count >= cleanBatch {
            guard descriptors[(head + cleanBatch - 1) % descriptors.count].isSent else { return }
            for _ in 0..<cleanBatch {
                descriptors[head].cleanUp()
                head = next(head)
            }
        }
    }
}
