// swift-tools-version: 6.2
import PackageDescription

let common: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
    // The shims ask for GNU's declarations; the C library's own module must agree on the structs.
    .unsafeFlags(["-Xcc", "-D_GNU_SOURCE"]),
]

/// Targets that the library is made of: regular expressions stay out of it (PushWakeCore/Bytes/PrintableText.swift).
let lean: [SwiftSetting] =
    common + [.unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])]

/// Of these, those that hold no `unsafe` at all: the compiler says no. PushWakeBytes marks what it holds.
let safe: [SwiftSetting] = lean + [.strictMemorySafety()]

// The shipped files carry their own Swift runtime. The flags stay out of ordinary
// builds because a target's linker settings follow it into the test bundle.
// lld: gold leaves local Swift names in the table of exported symbols.
let isDistribution = Context.environment["PUSHWAKE_DIST"] != nil
/// What scripts/make/version.sh says; a build by hand has none.
let version = Context.environment["PUSHWAKE_VERSION"] ?? "unversioned"
/// For scripts/bench/function_order.py and profilers.
let keepsSymbols = Context.environment["PUSHWAKE_SYMBOLS"] != nil
let strip = keepsSymbols ? [] : ["-Xlinker", "-s"]
/// Swift's static runtime, of which the linker may leave out what nobody refers to (scripts/make/lean_runtime.py).
let runtime = "\(Context.packageDirectory)/.build/dist/swift_static/libswiftCore.a"
/// What both shipped files are linked with; the linker says which archives it took, and how much of each, for
/// scripts/make/sbom.py.
func shipped(_ name: String) -> [String] {
    [
        runtime, "-Xlinker", "--wrap=_swift_stdlib_getScalarName",
        "-Xlinker", "--print-archive-stats=\(Context.packageDirectory)/.build/dist/\(name).archives",
        "-Xlinker", "-T", "-Xlinker", "\(Context.packageDirectory)/scripts/make/reproducible.ld",
    ]
}
// Packed, a relative relocation takes a bit where it took 24 bytes.
let packed = ["-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"]
let libraryLinking: [LinkerSetting] =
    isDistribution
    ? [
        .unsafeFlags(
            [
                "-static-stdlib", "-use-ld=lld",
                "-Xlinker", "-soname=libpushwake.so.1",
                "-Xlinker", "--version-script=\(Context.packageDirectory)/include/pushwake.map",
                "-Xlinker", "-z", "-Xlinker", "nodelete",
                "-Xlinker", "--gc-sections", "-Xlinker", "--as-needed",
                // What is called for each request stands together (docs/architecture/build.md). Names that are gone are left out.
                "-Xlinker", "--symbol-ordering-file=\(Context.packageDirectory)/Sources/PushWakeABI/functions.order",
                "-Xlinker", "--no-warn-symbol-ordering",
                // The same libraries as by default, but libc without its linker script, which would name the dynamic
                // loader as a library of its own: every process has it anyway.
                "-Xclang-linker", "-nodefaultlibs",
                "-Xlinker", "-lstdc++", "-Xlinker", "-lm", "-Xlinker", "-l:libgcc_s.so.1", "-Xlinker", "-lgcc",
                "-Xlinker", "-l:libc.so.6", "-Xlinker", "-l:libc_nonshared.a",
            ] + shipped("libpushwake") + packed + strip)
    ] : []
let executableLinking: [LinkerSetting] =
    isDistribution
    ? [
        // Nobody loads the program: it exports nothing.
        .unsafeFlags(
            ["-static-stdlib", "-use-ld=lld", "-Xlinker", "--gc-sections", "-Xlinker", "--no-export-dynamic"]
                + shipped("pushwake") + packed + strip)
    ] : []

let package = Package(
    name: "PushWake",
    products: [
        .library(name: "PushWakeABI", type: .dynamic, targets: ["PushWakeABI"]),
        .executable(name: "pushwake", targets: ["pushwake"]),
    ],
    dependencies: [
        // Exactly: two builds of one commit are the same.
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2")
    ],
    targets: [
        .systemLibrary(name: "COpenSSL", path: "Sources/COpenSSL"),
        .systemLibrary(name: "CNGHTTP2", path: "Sources/CNGHTTP2"),
        .systemLibrary(name: "CJansson", path: "Sources/CJansson"),
        .systemLibrary(name: "CSQLite", path: "Sources/CSQLite"),
        .systemLibrary(name: "CHiredis", path: "Sources/CHiredis"),
        .systemLibrary(name: "CLinux", path: "Sources/CLinux"),
        .target(
            name: "CPushWake", path: ".",
            exclude: [
                "Benchmarks", "Fuzz", "Tests", "docs", "kamailio-glue", "asterisk-glue", "Makefile", "README.md",
                "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
            ],
            sources: ["Sources/CPushWake/layout.c"], publicHeadersPath: "include"),
        .target(name: "CRelease", cSettings: [.define("PUSHWAKE_VERSION", to: "\"\(version)\"")]),
        .target(name: "PushWakeBytes", swiftSettings: safe),
        .target(name: "PushWakeCore", dependencies: ["PushWakeBytes"], swiftSettings: safe),
        .target(
            name: "PushWakeSystem", dependencies: ["PushWakeCore", "CLinux", "CRelease"], swiftSettings: lean),
        .target(
            name: "PushWakeTransport",
            dependencies: ["PushWakeCore", "PushWakeSystem", "COpenSSL", "CNGHTTP2", "CJansson", "CLinux"],
            swiftSettings: lean),
        .target(
            name: "PushWakeStore",
            dependencies: ["PushWakeCore", "PushWakeSystem", "PushWakeTransport", "CSQLite", "CHiredis"],
            swiftSettings: lean,
            // Its file, not the shared library, whose name and structs are others in each Debian: two functions and the
            // reader are all that is used.
            linkerSettings: [.linkedLibrary(":libhiredis.a")]),
        .target(
            name: "PushWakeClient", dependencies: ["PushWakeBytes", "PushWakeCore", "PushWakeSystem"],
            swiftSettings: safe),
        .target(
            name: "PushWakeEngine",
            dependencies: ["PushWakeCore", "PushWakeSystem", "PushWakeTransport", "PushWakeStore", "PushWakeClient"],
            swiftSettings: safe),
        .target(
            name: "PushWakeABI",
            dependencies: [
                "CPushWake", "CRelease", "PushWakeCore", "PushWakeSystem", "PushWakeClient", "PushWakeEngine",
            ],
            exclude: ["functions.order"], swiftSettings: lean, linkerSettings: libraryLinking),
        .target(
            name: "PushWakeSimulator",
            dependencies: ["PushWakeCore", "PushWakeSystem", "PushWakeTransport", "COpenSSL", "CNGHTTP2", "CLinux"],
            swiftSettings: common),
        .target(name: "PushWakeCanary", dependencies: ["PushWakeCore"], swiftSettings: safe),
        .executableTarget(
            name: "pushwake",
            dependencies: [
                "CPushWake", "PushWakeCore", "PushWakeSystem", "PushWakeTransport", "PushWakeClient",
                "PushWakeSimulator", "PushWakeCanary",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: common, linkerSettings: executableLinking),
        .testTarget(
            name: "PushWakeCoreTests", dependencies: ["PushWakeBytes", "PushWakeCore", "PushWakeTransport"],
            exclude: ["Fixtures"],
            swiftSettings: common),
        .testTarget(
            name: "PushWakeTransportTests",
            dependencies: [
                "PushWakeCore", "PushWakeSystem", "PushWakeTransport", "PushWakeSimulator", "COpenSSL", "CLinux",
            ],
            swiftSettings: common),
        .testTarget(
            name: "PushWakeStoreTests",
            dependencies: ["PushWakeCore", "PushWakeSystem", "PushWakeTransport", "PushWakeStore"],
            swiftSettings: common),
        .testTarget(
            name: "PushWakeEngineTests",
            dependencies: [
                "PushWakeCore", "PushWakeSystem", "PushWakeTransport", "PushWakeStore", "PushWakeClient",
                "PushWakeEngine", "PushWakeSimulator",
            ],
            swiftSettings: common),
        .testTarget(
            name: "PushWakeCanaryTests", dependencies: ["PushWakeCanary", "PushWakeCore"], swiftSettings: common),
        .testTarget(
            name: "PushWakeSimulatorTests",
            dependencies: ["PushWakeCore", "PushWakeSystem", "PushWakeTransport", "PushWakeSimulator"],
            swiftSettings: common),
        // The fuzz targets as functions: what once broke one is run again by `swift test`.
        .testTarget(
            name: "PushWakeFuzzTests",
            dependencies: [
                "PushWakeCore", "PushWakeSystem", "PushWakeTransport", "PushWakeStore", "PushWakeClient",
                "PushWakeEngine",
                "CJansson",
            ], path: "Fuzz",
            exclude: ["Dictionaries", "Seeds", "FailCases", "README.md", "run"],
            sources: ["Targets", "ReplayTests.swift"],
            swiftSettings: common),
    ]
)
