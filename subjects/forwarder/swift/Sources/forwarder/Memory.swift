import Glibc
import Helpers
import Prefetch
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

/// Mapped memory, for as long as the program runs. Every access is checked, unless the program is built with `-Ounchecked`.
struct Mapping {
    let bytes: Int
    private let start: UnsafeMutableRawPointer

    /// Maps a file that is open, and closes it.
    init(file: Int32, bytes: Int, flags: Int32) throws {
        defer { close(file) }
        // No access is wider, so that `bytes` less the width of one is never negative.
        precondition(bytes >= 16)
        let mapped = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0)
        guard let start = mapped, start != UnsafeMutableRawPointer(bitPattern: -1) else {
            throw ForwarderError.system("map \(bytes) bytes")
        }
        self.start = start
        self.bytes = bytes
    }

    /// Address in this process.
    var address: UInt64 { UInt64(UInt(bitPattern: start)) }

    /// Address of an access that is `width` bytes long. As unsigned numbers, one comparison is enough for both ends.
    @inline(__always)
    private func at(_ offset: Int, _ width: Int) -> UnsafeMutableRawPointer {
        precondition(UInt(bitPattern: offset) <= UInt(bitPattern: bytes &- width))
        return start + offset
    }

    #if HELPERS
    /// The second word of a descriptor, which the device writes last: nothing that follows is loaded before.
    @inline(__always)
    func status(_ index: Int) -> UInt64 {
        _ = at(index &* 16 &+ 8, 8)
        return helper_status(start, UInt32(index))
    }

    /// Writes a descriptor. The device does not look before the tail is written.
    @inline(__always)
    func set(_ index: Int, address: UInt64, command: UInt64) {
        _ = at(index &* 16, 16)
        helper_set(start, UInt32(index), address, command)
    }

    /// Reads a register; nothing that follows is loaded before.
    @inline(__always)
    func read(_ offset: UInt32) -> UInt32 {
        _ = at(Int(offset), 4)
        return helper_read(start, offset)
    }

    /// Writes a register, after all that was written before.
    @inline(__always)
    func write(_ offset: UInt32, _ value: UInt32) {
        _ = at(Int(offset), 4)
        helper_write(start, offset, value)
    }
    #else
    /// The second word of a descriptor, which the device writes last: nothing that follows is loaded before.
    @inline(__always)
    func status(_ index: Int) -> UInt64 {
        at(index &* 16 &+ 8, 8).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .acquiring)
    }

    /// Writes a descriptor. The device does not look before the tail is written.
    @inline(__always)
    func set(_ index: Int, address: UInt64, command: UInt64) {
        let words = at(index &* 16, 16).assumingMemoryBound(to: UInt64.self)
        words[0] = address
        words[1] = command
    }

    /// Reads a register; nothing that follows is loaded before.
    @inline(__always)
    func read(_ offset: UInt32) -> UInt32 {
        at(Int(offset), 4).assumingMemoryBound(to: Atomic<UInt32>.self).pointee.load(ordering: .acquiring)
    }

    /// Writes a register, after all that was written before.
    @inline(__always)
    func write(_ offset: UInt32, _ value: UInt32) {
        at(Int(offset), 4).assumingMemoryBound(to: Atomic<UInt32>.self).pointee.store(value, ordering: .releasing)
    }
    #endif

    /// Increases a byte.
    @inline(__always)
    func increase(_ offset: Int) {
        at(offset, 1).assumingMemoryBound(to: UInt8.self).pointee &+= 1
    }

    /// Has the line of a byte brought into the first cache.
    @inline(__always)
    func fetch(_ offset: Int) {
        prefetch(at(offset, 1))
    }
}

/// A fixed number of values. An array would ask before each write whether it is shared and has to be copied; this belongs to one owner,
/// which the compiler sees to, and only checks the index.
struct Slots<Element: BitwiseCopyable>: ~Copyable {
    let count: Int
    private let start: UnsafeMutablePointer<Element>

    init(repeating value: Element, count: Int) {
        start = .allocate(capacity: count)
        start.initialize(repeating: value, count: count)
        self.count = count
    }

    deinit {
        start.deallocate()
    }

    subscript(index: Int) -> Element {
        @inline(__always) get { at(index).pointee }
        @inline(__always) nonmutating set { at(index).pointee = newValue }
    }

    @inline(__always)
    private func at(_ index: Int) -> UnsafeMutablePointer<Element> {
        precondition(UInt(bitPattern: index) < UInt(bitPattern: count))
        return start + index
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
