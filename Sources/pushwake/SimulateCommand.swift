// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore
import PushWakeSimulator
import PushWakeSystem

struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Simulates APNs, FCM, Web Push, Acrobits and a webhook on this machine.",
        discussion: """
            The first start makes certificates and keys in the directory, and simulator.json, which says where \
            everything is. One line on standard output says that it listens. docs/simulator.md has the checks \
            and the form of scripts.
            """)

    @Option(help: ArgumentHelp("Address to listen on; port 0 picks a free one.", valueName: "ip:port"))
    var listen = "127.0.0.1:8443"

    @Option(
        help: ArgumentHelp(
            "Second address, for the control endpoint: no script disturbs what comes there.", valueName: "ip:port"))
    var control: String?

    @Option(help: ArgumentHelp("Directory of certificates and keys, made when missing.", valueName: "dir"))
    var dir: String

    @Option(help: ArgumentHelp("File that gets one JSON line per request.", valueName: "file"))
    var log: String?

    @Option(help: ArgumentHelp("JSON file of faults and limits.", valueName: "file"))
    var script: String?

    @Option(help: ArgumentHelp("Seconds by which its clock is ahead; negative: behind.", valueName: "seconds"))
    var clock: Int64 = 0

    @Flag(help: "One stream until the first accepted APNs push of a connection, as Apple does.")
    var apnsStrictStreams = false

    func run() throws {
        var options = SimulatorServer.Options(directory: dir)
        (options.ip, options.port) = try Self.address("--listen", listen)
        if let control { options.control = try Self.address("--control", control) }
        guard (-1_000_000_000...1_000_000_000).contains(clock) else {
            throw ValidationError("--clock takes up to 30 years")
        }
        options.clock = clock
        options.logPath = log
        if let script {
            let bytes: [UInt8]
            do throws(SystemError) {
                bytes = try TextFile.readBytes(script)
            } catch {
                Console.printError("cannot \(error); give a readable file")
                throw ExitCode(2)
            }
            do throws(FaultScript.Mistake) {
                options.script = try FaultScript(json: bytes)
            } catch {
                Console.printError("\(script): \(error)")
                throw ExitCode(2)
            }
        }
        if apnsStrictStreams { options.script.isStrict = true }
        do throws(SimulatorServer.Failure) {
            let server = try SimulatorServer(options)
            let control = server.controlOrigin.map { ", control on \($0)" } ?? ""
            Console.say("listening on \(server.origin), files in \(dir)\(control)")
            try server.run()
        } catch {
            Console.printError(error.description)
            throw ExitCode(1)
        }
    }

    private static func address(_ option: String, _ text: String) throws -> (String, UInt16) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw ValidationError("\(option) wants an address and a port, such as 127.0.0.1:8443")
        }
        let host = String(text[..<colon])
        return (host == "localhost" ? "127.0.0.1" : host, port)
    }
}
