import Glibc

/// An option: a variable of the environment that is set, and not empty.
func variable(_ name: String) -> String? {
    guard let text = getenv(name), text.pointee != 0 else { return nil }
    return String(cString: text)
}

func number(_ name: String, _ otherwise: Int, _ range: ClosedRange<Int>) throws -> Int {
    guard let text = variable(name) else { return otherwise }
    guard let value = Int(text), range.contains(value) else {
        throw ForwarderError("\(name): expected \(range.lowerBound) to \(range.upperBound), found \(text)")
    }
    return value
}

/// Says what went wrong, and ends the program.
func fail(_ text: String) -> Never {
    var line = "forwarder: \(text)\n"
    line.withUTF8 { bytes in
        _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
    exit(1)
}

/// Runs a forwarder, whose failure ends the program.
func start(_ run: () throws -> Void) {
    do {
        try run()
    } catch let error as ForwarderError {
        fail(error.text)
    } catch {
        fail("\(error)")
    }
}
