// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeSimulator

/// A simulator on a thread of its own and a free port, and `curl` as a client that is not ours.
final class RunningSimulator {
    struct Answer {
        var status = 0
        var version = ""
        var headers: [String: String] = [:]
        var body = ""

        var json: JSONValue? { try? JSONParser.parse(Array(body.utf8)) }
    }

    let directory: String
    let origin: String
    let controlOrigin: String
    let settings: JSONValue
    private let stop: @Sendable () -> Void
    private var thread = pthread_t()

    init(script: String = "{}", in existing: String? = nil, hasControl: Bool = false) throws {
        var template = Array("/tmp/pushwake-simulator-XXXXXX".utf8CString)
        let made = existing == nil ? mkdtemp(&template).map { String(cString: $0) } : existing
        directory = try #require(made)
        var options = SimulatorServer.Options(directory: directory + "/files")
        options.port = 0
        options.logPath = directory + "/log"
        if hasControl { options.control = ("127.0.0.1", 0) }
        options.script = try FaultScript(json: Array(script.utf8))
        let server = try SimulatorServer(options)
        origin = server.origin
        controlOrigin = server.controlOrigin ?? server.origin
        stop = server.stopper
        settings = try JSONParser.parse(try FileContent.read(directory + "/files/simulator.json"))
        let argument = Unmanaged.passRetained(server).toOpaque()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                try? Unmanaged<SimulatorServer>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument)
    }

    /// Stops the server and waits for its thread.
    func end() {
        stop()
        pthread_join(thread, nil)
    }

    /// Removes all files.
    func remove() { _ = shell("rm -rf \(directory)") }

    /// One line of the log per request.
    func log() throws -> [JSONValue] {
        try FileContent.read(directory + "/log").split(separator: 0x0A).map { try JSONParser.parse(Array($0)) }
    }

    func counters() -> JSONValue? { send("/_simulator/counters", method: "GET", to: controlOrigin).json }

    func play(_ script: String) -> Int { send("/_simulator/script", body: script, to: controlOrigin).status }

    /// Sends one request with curl; status 0 means that no answer came.
    func send(
        _ path: String, method: String = "POST", headers: [String] = [], body: String = "", flags: String = "--http2",
        to origin: String? = nil
    ) -> Answer {
        let all = headers.map { "-H '\($0)'" }.joined(separator: " ")
        let data = method == "POST" ? "--data-binary '\(body)'" : ""
        let output = shell(
            "curl -s -i -m 10 --cacert \(directory)/files/ca.pem -X \(method) \(flags) \(all) \(data) '\(origin ?? self.origin)\(path)'"
        )
        var answer = Answer()
        var lines = output.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst(), first.hasPrefix("HTTP/") else { return answer }
        let words = first.split(separator: " ")
        answer.version = String(words[0])
        answer.status = Int(words[1]) ?? 0
        while let line = lines.popFirst(), !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { continue }
            answer.headers[String(line[..<colon])] = String(line[colon...].dropFirst(2))
        }
        answer.body = lines.joined(separator: "\r\n")
        return answer
    }

    /// A push that APNs takes, signed with the key in the directory.
    func push(_ token: String = "00fc13adff785122", id: String = ServiceFixture.id, flags: String = "--http2") throws
        -> Answer
    {
        let signer = try Signer(pem: try FileContent.read(settings["apns_key"]?.string ?? ""))
        let now = SystemClock.wallSeconds()
        let jwt = try makeToken(
            [.init("alg", .string("ES256")), .init("kid", settings["apns_key_id"] ?? .null)],
            [.init("iss", settings["apns_team_id"] ?? .null), .init("iat", .integer(now))], signer)
        return send(
            "/3/device/\(token)",
            headers: [
                "authorization: bearer \(jwt)", "apns-topic: com.example.phone.voip", "apns-push-type: voip",
                "apns-priority: 10", "apns-expiration: 0", "apns-id: \(id)",
            ], body: #"{"aps":{}}"#, flags: flags)
    }

    /// A JWT with a real signature.
    func makeToken(_ header: [JSONValue.Member], _ claims: [JSONValue.Member], _ signer: Signer) throws -> String {
        let signed = [header, claims].map { Base64URL.encode(JSONText.bytes(.object($0))) }.joined(separator: ".")
        return signed + "." + Base64URL.encode(try signer.sign(signed))
    }

    private func shell(_ command: String) -> String {
        guard let pipe = popen(command, "r") else { return "" }
        defer { pclose(pipe) }
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&chunk, 1, chunk.count, pipe)
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all.append(contentsOf: chunk[..<count])
        }
    }
}
