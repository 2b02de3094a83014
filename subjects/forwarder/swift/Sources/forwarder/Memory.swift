import Glibc
import Synchronization

/// What went wrong, for the person who started the forwarder.
struct ForwarderError: Error {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    /// For a C function that has just failed.
    static func system(_ what: String) -> ForwarderError {
        ForwarderError("cannot \(what): \(String(cString: strerror(errno)))")
    }
}

/// Mapped memory, for as long as the program runs. The only place with pointers; every access is checked, unless the program is
/// built with `-Ounchecked`.
struct Mapping {
    let bytes: Int
    private let start: UnsafeMutableRawPointer

    /// Maps a file that is open, and closes it.
    init(file: Int32, bytes: Int, flags: Int32) throws {
        defer { close(file) }
        let mapped = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0)
        guard let start = mapped, start != UnsafeMutableRawPointer(bitPattern: -1) else {
            throw ForwarderError.system("map \(bytes) bytes")
        }
        self.start = start
        self.bytes = bytes
    }

    /// Address in this process.
    var address: UInt64 { UInt64(UInt(bitPattern: start)) }

    /// Loads four bytes; nothing that follows is loaded before.
    @inline(__always)
    func load32(_ offset: Int) -> UInt32 {
        precondition(offset >= 0 && offset + 4 <= bytes)
        return (start + offset).assumingMemoryBound(to: Atomic<UInt32>.self).pointee.load(ordering: .acquiring)
    }

    /// Stores four bytes, after everything that was stored before.
    @inline(__always)
    func store32(_ offset: Int, _ value: UInt32) {
        precondition(offset >= 0 && offset + 4 <= bytes)
        (start + offset).assumingMemoryBound(to: Atomic<UInt32>.self).pointee.store(value, ordering: .releasing)
    }

    /// As `load32`, for half of a descriptor.
    @inline(__always)
    func load64(_ offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset + 8 <= bytes)
        return (start + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .acquiring)
    }

    /// Stores eight bytes; a register that is written later tells the device to look.
    @inline(__always)
    func store64(_ offset: Int, _ value: UInt64) {
        precondition(offset >= 0 && offset + 8 <= bytes)
        (start + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(value, ordering: .relaxed)
    }

    /// Increases a byte.
    @inline(__always)
    func increase(_ offset: Int) {
        precondition(offset >= 0 && offset < bytes)
        let byte = (start + offset).assumingMemoryBound(to: UInt8.self)
        byte.pointee &+= 1
    }
}

/// Huge pages, and the bus address of each of them.
struct DMAMemory {
    static let hugePageBytes = 2 << 20
    private static let pageBytes: UInt64 = 4096
    /// Entries of /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst): bits 0 to 54 are the number of the frame.
    private static let frameMask: UInt64 = (1 << 55) - 1

    let mapping: Mapping
    let pages: [UInt64]

    /// Maps as many huge pages as so many bytes need. `name`: tells the files of a process apart.
    init(bytes: Int, name: String) throws {
        let number = (bytes + Self.hugePageBytes - 1) / Self.hugePageBytes
        let size = number * Self.hugePageBytes
        let path = "/mnt/huge/forwarder-\(getpid())-\(name)"
        let file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw ForwarderError.system("create \(path)") }
        unlink(path)
        guard ftruncate(file, off_t(size)) == 0 else {
            close(file)
            throw ForwarderError.system("allocate \(number) huge pages")
        }
        // MAP_POPULATE: a page has an address only when it is there.
        let mapping = try Mapping(file: file, bytes: size, flags: MAP_HUGETLB | MAP_POPULATE)
        let pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)
        guard pagemap >= 0 else { throw ForwarderError.system("open /proc/self/pagemap") }
        defer { close(pagemap) }
        pages = try (0..<number).map { page in
            let address = mapping.address + UInt64(page * Self.hugePageBytes)
            var entry: UInt64 = 0
            guard pread(pagemap, &entry, 8, off_t(address / Self.pageBytes * 8)) == 8 else {
                throw ForwarderError.system("read /proc/self/pagemap")
            }
            let frame = entry & Self.frameMask
            guard frame != 0 else { throw ForwarderError("no physical addresses: run as root") }
            return frame * Self.pageBytes
        }
        self.mapping = mapping
    }
}

/// A received frame, or one to send: the index of its buffer, and its length. A value, so that nothing is counted for it.
struct Packet {
    var buffer: UInt32 = 0
    var length: UInt32 = 0
}

/// Buffers of both devices. As a stack, the one that was given back last is used next; as a ring, the one that was given back first.
final class Pool {
    static let bufferBytes = 2048
    private static let perPage = DMAMemory.hugePageBytes / bufferBytes

    private let memory: DMAMemory
    private let isRing: Bool
    private var indices: [UInt32]
    private var free = 0
    /// Of a ring: the place of the first free index.
    private var head = 0

    init(buffers: Int, isRing: Bool) throws {
        memory = try DMAMemory(bytes: buffers * Self.bufferBytes, name: "pool")
        self.isRing = isRing
        indices = [UInt32](repeating: 0, count: buffers)
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

    /// Increases a byte of the frame in a buffer.
    @inline(__always)
    func touch(_ buffer: UInt32, at place: Int) {
        memory.mapping.increase(Int(buffer) * Self.bufferBytes + place)
    }
}
