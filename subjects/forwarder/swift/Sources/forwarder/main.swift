// Forwards frames between two ports, both ways: forwarder ADDRESS ADDRESS. README.md two directories up describes the options,
// which are the same in every language.
func forward(from: Device, to: Device, pool: Pool, packets: borrowing Slots<Packet>, touch: Int?) {
    let received = from.rxBatch(packets)
    if received == 0 {
        // Buffers that were sent are all that an empty pool can get.
        if pool.isEmpty {
            to.cleanUp()
        }
        return
    }
    if let touch {
        for n in 0..<received {
            pool.touch(packets[n].buffer, at: touch)
        }
    }
    let sent = to.txBatch(packets, number: received)
    // What finds no room is dropped, as waiting would only delay what comes next.
    for n in sent..<received {
        pool.give(packets[n].buffer)
    }
}

func run() throws {
    guard CommandLine.arguments.count == 3 else { throw ForwarderError("usage: forwarder ADDRESS ADDRESS") }
    let kind = variable("FORWARDER_POOL") ?? "stack"
    guard kind == "stack" || kind == "ring" else {
        throw ForwarderError("FORWARDER_POOL: expected stack or ring, found \(kind)")
    }
    let batch = try number("FORWARDER_BATCH", 32, 1...512)
    let clean = try number("FORWARDER_CLEAN", 32, 1...256)
    let touch = variable("FORWARDER_TOUCH") == "none" ? nil : try number("FORWARDER_TOUCH", 1, 0...59)
    let prefetches = try number("FORWARDER_PREFETCH", 1, 0...1) == 1
    let pool = try Pool(buffers: number("FORWARDER_BUFFERS", 8192, 2112...65_536), isRing: kind == "ring")
    let first = try Device(address: CommandLine.arguments[1], pool: pool, cleanBatch: clean, prefetches: prefetches)
    let second = try Device(address: CommandLine.arguments[2], pool: pool, cleanBatch: clean, prefetches: prefetches)
    let packets = Slots(repeating: Packet(), count: batch)
    while true {
        forward(from: first, to: second, pool: pool, packets: packets, touch: touch)
        forward(from: second, to: first, pool: pool, packets: packets, touch: touch)
    }
}

start(run)
