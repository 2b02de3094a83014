// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "forwarder",
    targets: [
        .executableTarget(name: "forwarder", path: "Sources/forwarder"),
    ]
)
