// SPDX-License-Identifier: MIT

import ArgumentParser
import Glibc
import PushWakeCanary
import PushWakeClient
import PushWakeCore
import PushWakeSystem
import PushWakeTransport

/// A second Kamailio on the installed configuration, with a phone of its own and the simulator in the push services' place:
/// whether the server side works before anybody has an app.
///
/// The installed one is not touched: this one has its own ports on loopback, its own socket and its own bindings.
final class ServerTrial {
    /// Why it could not be tried.
    struct Failure: Error {
        let message: String
    }

    private let directory: String
    private let program: String
    private let port: UInt16
    private var simulator: CompanionProcess?
    private var server: CompanionProcess?
    private var phone: CanaryPhone
    private var socket: DatagramSocket
    private let token = "\(Hex.encode(Crypto.randomBytes(11))):APA91b\(Hex.encode(Crypto.randomBytes(40)))"
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)

    /// `sip:user@host:port` of the phone.
    let uri: String

    /// Makes a directory and takes a port.
    init() throws {
        guard let program = FileContent.target(ofLink: "/proc/self/exe") else {
            throw Failure(message: "this program is not known by /proc; mount /proc")
        }
        self.program = program
        var template = Array("/tmp/pushwake-try-XXXXXX".utf8CString)
        guard template.withUnsafeMutableBufferPointer({ $0.baseAddress.flatMap { mkdtemp($0) } }) != nil else {
            throw Failure(message: "there can be no directory in /tmp: \(String(cString: strerror(errno)))")
        }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        port = UInt16.random(in: 20_000...32_000)
        uri = "sip:pushwake-try@127.0.0.1:\(port)"
        phone = CanaryPhone(
            address: uri, parameters: ";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=\(token)",
            instance: "urn:uuid:00000000-0000-4000-8000-\(Hex.encode(Crypto.randomBytes(6)))",
            random: UInt64.random(in: 0...UInt64.max))
        socket = try Self.socket(port)
    }

    deinit {
        server?.end()
        simulator?.end()
        buffer.deallocate()
        Self.remove(directory)
    }

    /// The whole way; the exit code of `pushwake try` for this phone, to which `words` are passed.
    func run(_ configuration: String, _ words: [String]) throws -> Int32 {
        try startServer(configuration, try startSimulator())
        try register()
        socket.close()
        let trial = CompanionProcess(
            program, ["try", uri, "--socket", "\(directory)/engine.sock", "--within", "10", "--ring", "1"] + words)
        guard let trial else { throw Failure(message: "\(program) cannot be run once more") }
        var isAwake = false
        while true {
            if let code = trial.exitCode() { return code }
            if !isAwake, hasPush {
                isAwake = true
                socket = try Self.socket(port)
                send(phone.register(from: socket.localAddress.description, seconds: 600))
            }
            isAwake ? listen() : SystemClock.wait(milliseconds: 20)
        }
    }

    // MARK: Servers

    /// Gives the settings that lead to it.
    private func startSimulator() throws -> [(name: String, value: String)] {
        let log = "\(directory)/simulator.log"
        simulator = CompanionProcess(
            program,
            [
                "simulate", "--listen", "127.0.0.1:0", "--dir", "\(directory)/files", "--log",
                "\(directory)/requests.jsonl",
            ],
            log: log)
        let listens = "listening on "
        let line = try wait("the simulator", log) {
            let text = (try? TextFile.read(log)) ?? ""
            return text.hasPrefix(listens) && text.contains("\n") ? text : nil
        }
        let origin = String(line.dropFirst(listens.count).prefix { $0 != "," })
        let made =
            (try? JSONParser.parse((try? TextFile.readBytes("\(directory)/files/simulator.json")) ?? [])) ?? .null
        let same = ["ca_file", "apns_key", "apns_key_id", "apns_team_id", "fcm_key"].map {
            (name: $0, value: made[$0]?.string ?? "")
        }
        return same + ["apns_url", "apns_sandbox_url", "fcm_url"].map { ($0, origin) }
    }

    private func startServer(_ configuration: String, _ settings: [(name: String, value: String)]) throws {
        var lines: [String]
        do throws(SystemError) {
            lines = try TextFile.read(configuration).split(separator: "\n", omittingEmptySubsequences: false).map(
                String.init)
        } catch {
            throw Failure(message: "cannot \(error); name the kamailio.cfg with --config")
        }
        // Its ports belong to the installed one.
        lines = lines.filter { line in
            let word = line.drop { $0 == " " || $0 == "\t" }.prefix { $0.isLetter || $0 == "_" }
            return word != "listen" && word != "port"
        }
        let own = [
            ("engine_mode", "supervised"), ("engine_path", program),
            ("engine_socket", "\(directory)/engine.sock"),
            ("store", "sqlite"), ("store_path", "\(directory)/bindings.db"), ("http_listen", ""),
            ("fastagi_listen", ""), ("hep_capture", ""), ("upper_servers", ""), ("wake_timeout", "8"),
        ]
        // No contact of this one comes into the installed one's database.
        lines.append("modparam(\"usrloc\", \"db_mode\", 0)")
        lines += (own + settings).map { name, value in
            let isNumber = name == "wake_timeout"
            return "modparam(\"pushwake\", \"\(name)\", \(isNumber ? value : "\"\(value)\""))"
        }
        let file = "\(directory)/kamailio.cfg"
        guard Self.write(lines.joined(separator: "\n") + "\n", to: file) else {
            throw Failure(message: "\(file) cannot be written")
        }
        let log = "\(directory)/kamailio.log"
        let words = [
            "-f", file, "-l", "udp:127.0.0.1:\(port)", "-l", "tcp:127.0.0.1:\(port)", "-DD", "-E",
            "-P", "\(directory)/pid", "-Y", directory, "-w", Directory.parent(of: configuration), "-m", "64",
        ]
        server = CompanionProcess("kamailio", words, log: log)
        guard server != nil else { throw Failure(message: "there is no program kamailio in PATH") }
        var options = Settings()
        try? options.set("engine_socket", to: "\(directory)/engine.sock")
        let client = EngineClient(settings: options)
        _ = try wait("Kamailio with its engine", log) { client.awaitEngine(milliseconds: 100) ? true : nil }
    }

    private func wait<Value>(_ what: String, _ log: String, _ value: () -> Value?) throws -> Value {
        for _ in 0..<150 {
            if let found = value() { return found }
            if server?.exitCode() != nil || simulator?.exitCode() != nil { break }
            SystemClock.wait(milliseconds: 100)
        }
        let text = (try? TextFile.read(log)) ?? ""
        let errors = text.split(separator: "\n").filter {
            $0.contains("ERROR") || $0.contains("CRITICAL") || $0.contains("pushwake:")
        }
        let last = (errors.isEmpty ? text.split(separator: "\n").suffix(5) : errors.prefix(5)).joined(separator: "\n")
        throw Failure(
            message: "\(what) does not start; it says:\n\(PrintableText.cleaned(last.replacing("\n", with: " | ")))")
    }

    // MARK: Phone

    private var hasPush: Bool {
        ((try? TextFile.read("\(directory)/requests.jsonl")) ?? "").contains(token)
    }

    private func register() throws {
        let message = phone.register(from: socket.localAddress.description, seconds: 600)
        for _ in 0..<10 where phone.status < 200 {
            send(message)
            for _ in 0..<10 where phone.status < 200 { listen() }
        }
        guard phone.status != 200 else { return }
        throw Failure(
            message: phone.status == 401 || phone.status == 407
                ? "the PBX asks the phone for a password (\(phone.status)): this trial has none; call a phone that is registered, with pushwake try USER"
                : "the PBX does not take the phone's REGISTER (\(phone.status)): it has to go through pushwake_save()")
    }

    /// Takes what has come within 50 ms, and answers it.
    private func listen() {
        var readable = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&readable, 1, 50)
        while case .bytes(let count) = socket.receive(into: buffer) {
            for answer in phone.received(Array(UnsafeRawBufferPointer(rebasing: buffer[..<count]))) { send(answer) }
        }
    }

    private func send(_ bytes: [UInt8]) { _ = socket.send(bytes) }

    private static func socket(_ port: UInt16) throws -> DatagramSocket {
        guard let address = SocketAddress(ip: "127.0.0.1", port: port) else {
            throw Failure(message: "there is no loopback address")
        }
        return try DatagramSocket(to: address)
    }

    // MARK: Files

    private static func write(_ text: String, to path: String) -> Bool {
        guard let file = fopen(path, "w") else { return false }
        let bytes = Array(text.utf8)
        let count = fwrite(bytes, 1, bytes.count, file)
        return fclose(file) == 0 && count == bytes.count
    }

    /// A directory of this trial's own, with what is in it.
    private static func remove(_ directory: String) {
        _ = nftw(
            directory, { path, _, _, _ in path.map { Glibc.remove($0) } ?? 0 }, 16, Int32(FTW_DEPTH | FTW_PHYS))
    }
}
