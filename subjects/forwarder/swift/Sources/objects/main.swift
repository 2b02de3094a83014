// The same forwarder, written as programs with a collector or counted references usually are: packets, descriptors, queues and ports are
// objects, and what is received is an array of packets. README.md three directories up describes the options; FORWARDER_BATCH may be
// `none` here, for arrays that grow, and FORWARDER_POOL is array, fixed or unmanaged.

/// A port with one receive and one transmit queue.
class Port {
    let receive: ReceiveQueue
    let transmit: TransmitQueue

    init(address: String, pool: Pool, cleanBatch: Int) throws {
        let card = try Card(address: address)
        receive = try ReceiveQueue(name: "\(address)-receive", card: card, pool: pool)
        transmit = try TransmitQueue(name: "\(address)-transmit", card: card, pool: pool, cleanBatch: cleanBatch)
        try receive.start()
        try transmit.start()
        try card.waitForLink()
    }
}

class Forwarder {
    let first: Port
    let second: Port
    let batch: Int?
    let touch: Int?

    init(addresses: ArraySlice<String>) throws {
        guard let one = addresses.first, let other = addresses.last, addresses.count == 2 else {
            throw ForwarderError("usage: forwarder ADDRESS ADDRESS")
        }
        guard let kind = PoolKind(rawValue: variable("FORWARDER_POOL") ?? "array") else {
            throw ForwarderError("FORWARDER_POOL: expected array, fixed or unmanaged, found \(variable("FORWARDER_POOL")!)")
        }
        batch = variable("FORWARDER_BATCH") == "none" ? nil : try number("FORWARDER_BATCH", 32, 1...512)
        touch = variable("FORWARDER_TOUCH") == "none" ? nil : try number("FORWARDER_TOUCH", 1, 0...59)
        let clean = try number("FORWARDER_CLEAN", 32, 1...256)
        let pool = try Pool(buffers: number("FORWARDER_BUFFERS", 8192, 2112...65_536), kind: kind)
        first = try Port(address: one, pool: pool, cleanBatch: clean)
        second = try Port(address: other, pool: pool, cleanBatch: clean)
    }

    func forward(from: Port, to: Port) {
        let packets = from.receive.fetch(limit: batch)
        if packets.isEmpty {
            // Buffers that were sent are all that an empty pool can get.
            to.transmit.cleanUp()
            return
        }
        if let touch {
            for packet in packets {
                packet.touch(at: touch)
            }
        }
        to.transmit.transmit(packets)
    }

    func loop() -> Never {
        while true {
            forward(from: first, to: second)
            forward(from: second, to: first)
        }
    }
}

start {
    try Forwarder(addresses: CommandLine.arguments.dropFirst()).loop()
}
