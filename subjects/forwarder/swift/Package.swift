// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "forwarder",
    targets: [
        .systemLibrary(name: "Prefetch", path: "Sources/prefetch"),
        .target(name: "Helpers", path: "Sources/helpers", cSettings: [.unsafeFlags(["-O2"])]),
        .executableTarget(name: "forwarder", dependencies: ["Helpers", "Prefetch"], path: "Sources/forwarder"),
        .executableTarget(name: "objects", dependencies: ["Helpers", "Prefetch"], path: "Sources/objects"),
    ]
)
