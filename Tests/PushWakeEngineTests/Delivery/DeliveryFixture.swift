// SPDX-License-Identifier: MIT

import Glibc
import PushWakeClient
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeEngine
@testable import PushWakeSimulator

/// A simulator on a thread of its own, and the engine's delivery on a loop that the test turns.
final class DeliveryFixture {
    /// How one push ended.
    struct End {
        let verdict: Verdict
        let status: Int
        let attempts: Int
    }

    let directory: String
    let origin: String
    let loop: Loop
    private(set) var settings: Settings
    private(set) var lines: [String] = []
    private let stop: @Sendable () -> Void
    private var thread = pthread_t()

    /// A service that the simulator stands for.
    enum Service { case fcm, webPush, webhook, flexiAPI, harmonyOS, acrobits }

    /// With these services and settings; `values` are set last, and may name what is not a setting of any service.
    init(_ services: Service..., values: KeyValuePairs<String, String> = [:], script: String = "{}") throws {
        var template = Array("/tmp/pushwake-delivery-XXXXXX".utf8CString)
        directory = try #require(mkdtemp(&template).map { String(cString: $0) })
        var options = SimulatorServer.Options(directory: directory + "/files")
        options.port = 0
        options.logPath = directory + "/log"
        options.script = try FaultScript(json: Array(script.utf8))
        let server = try SimulatorServer(options)
        origin = server.origin
        stop = server.stopper
        loop = try Loop()
        settings = Settings()
        try settings.set(.caFile, to: directory + "/files/ca.pem")
        let argument = Unmanaged.passRetained(server).toOpaque()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                try? Unmanaged<SimulatorServer>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument)
        for service in services { try set(service) }
        for (name, value) in values { try set(name, value) }
    }

    private func set(_ service: Service) throws {
        switch service {
        // The first account, for every app.
        case .fcm: try set(.fcmKey, file: "fcmkey.json", .fcmURL)
        case .webPush: try setWebPush()
        // It signs with the simulator's secret.
        case .webhook: try set(.webhookSecretFile, file: "webhook.secret", .webhookURL, "/webhook/$token")
        // For the Linphone of Apple's store.
        case .flexiAPI:
            try set(.flexiAPIKeyFile, file: "flexiapi.key", .flexiAPIURL, "/flexiapi")
            try settings.set(.flexiAPIApps, to: "apns.org.linphone.phone")
        case .harmonyOS: try set(.harmonyOSKey, file: "harmonyos.json", .harmonyOSURL)
        case .acrobits:
            try settings.set(.acrobits, to: "1")
            try settings.set(.acrobitsURL, to: origin + "/pnm2/send")
        }
    }

    private func set(_ key: SettingKey, file: String, _ url: SettingKey, _ path: String = "") throws {
        try settings.set(key, to: "\(directory)/files/\(file)")
        try settings.set(url, to: origin + path)
    }

    /// Stops the server, waits for its thread and removes all files.
    deinit {
        stop()
        pthread_join(thread, nil)
        _ = system("rm -rf \(directory)")
    }

    /// Sets one more setting; nil is a test that went wrong.
    func set(_ key: SettingKey, _ value: String?) throws { try settings.set(key, to: #require(value)) }

    /// Web Push with the simulator's key, to its own address unless told otherwise.
    func setWebPush(hosts: String = "127.0.0.1") throws {
        try settings.set(.vapidKey, to: directory + "/files/vapid.pem")
        try settings.set(.vapidSubject, to: "mailto:ops@example.com")
        try settings.set(.webPushHosts, to: hosts)
    }

    func set(_ key: SettingKey, to value: String) throws { try settings.set(key, to: value) }

    /// Replaces a file.
    func write(_ path: String, _ bytes: [UInt8]) throws {
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    }

    func set(_ name: String, _ value: String) throws { try settings.set(name, to: value) }

    /// A service account of another project.
    var secondAccount: String { directory + "/files/fcm/fcmkey.com.example.second.json" }

    /// A delivery with these settings that has opened nothing yet; its log goes to `lines`.
    func delivery() -> Delivery {
        let log = EngineLog(threshold: .debug) { [weak self] _, text in self?.lines.append(text) }
        return Delivery(settings: settings, loop: loop, log: log)
    }

    /// The same, opened; it watches its keys. So many problems were found.
    func opened(problems count: Int = 0) -> Delivery {
        let delivery = delivery()
        let problems = delivery.open()
        #expect(problems.count == count, "\(problems)")
        delivery.watchKeys()
        return delivery
    }

    /// Turns the loop until something holds, or so long.
    func turn(seconds: Int64, until condition: () -> Bool) {
        let end = SystemClock.monotonicMilliseconds() + seconds * 1000
        while !condition(), SystemClock.monotonicMilliseconds() < end { loop.turn(waitingUpTo: 50) }
    }

    /// Sends one push through a delivery that is open already; nil when it does not end.
    func send(
        _ binding: Binding, _ content: PushContent, _ type: PushWakeCore.APNsPushType?, through delivery: Delivery
    ) -> End? {
        var end: End?
        loop.updateTime()
        delivery.push(Push(binding, content, type: type, deadline: loop.now + 5000)) { job, verdict, status in
            end = End(verdict: verdict, status: status, attempts: job.attempts)
        }
        turn(seconds: 7) { end != nil }
        return end
    }

    /// How a call to a phone ends, through a delivery that is open already.
    func call(_ binding: Binding, _ delivery: Delivery) throws -> Verdict {
        let content = PushContent(event: .call, callID: "c1", fromURI: "sip:bob@example.com")
        return try #require(send(binding, content, .voip, through: delivery)).verdict
    }

    /// Plays another script from now on.
    func play(_ script: String) { _ = control("script --data-binary '\(script)'") }

    /// One of the simulator's counters.
    func counter(_ name: String) -> Int64? {
        (try? JSONParser.parse(Array(control("counters").utf8)))?[name]?.integer
    }

    private func control(_ request: String) -> String {
        let command = "curl -s --cacert \(directory)/files/ca.pem \(origin)/_simulator/\(request)"
        guard let pipe = popen(command, "r") else { return "" }
        defer { pclose(pipe) }
        var text = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&text, 1, text.count, pipe)
        return String(decoding: text.prefix(count), as: UTF8.self)
    }

    /// Sends pushes at once and turns the loop until all have ended.
    /// `problems` are the beginnings of what the settings are expected to be blamed for.
    func push(_ pushes: [(Binding, PushContent)], seconds: Int64 = 5, problems: [String] = []) throws -> [End] {
        let delivery = delivery()
        let found = delivery.open()
        #expect(found.count == problems.count && zip(found, problems).allSatisfy { $0.hasPrefix($1) }, "\(found)")
        var ends: [Int: End] = [:]
        loop.updateTime()
        for (index, push) in pushes.enumerated() {
            let type: PushWakeCore.APNsPushType? = push.0.provider == .apns ? .voip : nil
            let deadline = loop.now + seconds * 1000
            delivery.push(Push(push.0, push.1, type: type, deadline: deadline)) { job, verdict, status in
                #expect(ends[index] == nil)
                ends[index] = End(verdict: verdict, status: status, attempts: job.attempts)
            }
        }
        let limit = loop.now + seconds * 1000 + 2000
        while ends.count < pushes.count, loop.now < limit { loop.turn(waitingUpTo: 100) }
        return try pushes.indices.map { try #require(ends[$0]) }
    }

    func push(_ binding: Binding, _ content: PushContent, seconds: Int64 = 5) throws -> End {
        try push([(binding, content)], seconds: seconds)[0]
    }

    /// What the simulator got, one value per request.
    func requests() throws -> [JSONValue] {
        try FileContent.read(directory + "/log").split(separator: 0x0A).map { try JSONParser.parse(Array($0)) }
    }

    func subscription(_ name: String, keys: Bool) throws -> Binding {
        var binding = Binding(provider: .webpush, token: "\(origin)/push/\(name)", dialect: .rfc8599)
        guard keys else { return binding }
        let file = try JSONParser.parse(try FileContent.read(directory + "/files/subscription.json"))
        binding.attributes["pn-p256dh"] = file["p256dh"]?.string
        binding.attributes["pn-auth"] = file["auth"]?.string
        return binding
    }
}
