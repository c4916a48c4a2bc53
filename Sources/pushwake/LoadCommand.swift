// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore

struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Measures the delivery path against a simulator.",
        discussion:
            "Sends pushes to as many different tokens; exit code 0 when all were accepted. Only loopback addresses are taken."
    )

    @Option(name: .long, help: "apns or fcm.") var provider = "apns"
    @Option(name: .long, help: "Where the simulator listens.") var url = "https://127.0.0.1:8443"
    @Option(name: .long, help: "Directory with the files that the simulator made.") var dir: String
    @Option(name: .long, help: "Pushes to send.") var count = 10_000
    @Option(name: .long, help: "Pushes under way at once.") var concurrency = 100
    @Option(name: .long, help: "Connections at most.") var connections = 1
    @Flag(name: .long, help: "Sends nothing: queues and drops the pushes, and measures the memory of the process.")
    var backlog = false
    @Flag(name: .long, help: "One JSON object instead of lines.") var json = false

    @OptionGroup var library: LibraryOptions

    func validate() throws {
        if count < 1 || count > 100_000_000 { throw ValidationError("--count takes 1 to 100000000") }
        if concurrency < 1 || concurrency > 1_000_000 { throw ValidationError("--concurrency takes 1 to 1000000") }
        if connections < 1 || connections > 64 { throw ValidationError("--connections takes 1 to 64") }
        if provider != "apns" && provider != "fcm" { throw ValidationError("--provider takes apns or fcm") }
        guard let origin = HTTPOrigin(url) else { throw ValidationError("--url takes https://host:port") }
        if !origin.isLoopback {
            throw ValidationError("load only runs against loopback addresses: nobody else asked for it")
        }
    }

    func run() throws {
        try library.run(
            "load",
            [
                ("provider", provider), ("url", url), ("dir", dir), ("count", "\(count)"),
                ("concurrency", "\(concurrency)"), ("connections", "\(connections)"), ("backlog", backlog ? "1" : "0"),
                ("json", json ? "1" : "0"),
            ])
    }
}
