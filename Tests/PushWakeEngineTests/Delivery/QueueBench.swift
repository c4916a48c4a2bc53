// SPDX-License-Identifier: MIT

import PushWakeClient
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeEngine
@testable import PushWakeSimulator

/// A delivery to a simulator that stays for the whole test: pushes are named by their tokens.
final class QueueBench {
    struct End: Equatable {
        let outcome: Outcome
        let reason: String
        /// Milliseconds from the push to its end.
        let after: Int64
        let attempts: Int
    }

    let fixture: DeliveryFixture
    let delivery: Delivery
    let log: EngineLog
    private(set) var ends: [String: End] = [:]
    /// Names in the order in which the pushes ended.
    private(set) var order: [String] = []
    private(set) var jobs: [String: PushJob] = [:]
    var loop: Loop { fixture.loop }

    /// With one of the `connections` it is known what waits for what.
    init(script: String = "{}", _ values: [SettingKey: String] = [:], connections: Int? = nil) throws {
        fixture = try DeliveryFixture(script: script)
        let files = try JSONParser.parse(try FileContent.read(fixture.directory + "/files/simulator.json"))
        func file(_ name: String) throws -> String { try #require(files[name]?.string) }
        var all: [SettingKey: String] = [
            .apnsKey: try file("apns_key"), .apnsKeyID: try file("apns_key_id"), .apnsTeamID: try file("apns_team_id"),
            .apnsURL: fixture.origin, .apnsSandboxURL: fixture.origin,
            .fcmKey: try file("fcm_key"), .fcmURL: fixture.origin,
            // A test machine may be slow; what is late here is late on purpose.
            .requestTimeout: "120000",
        ]
        all.merge(values) { $1 }
        for (key, value) in all { try fixture.set(key, to: value) }
        log = EngineLog(threshold: .error) { _, _ in }
        delivery = Delivery(settings: fixture.settings, loop: fixture.loop, log: log, connections: connections)
        let problems = delivery.open()
        #expect(problems == [])
    }

    /// Asks for a push; the token is the name.
    func push(_ event: PushEvent, _ name: String, by provider: Provider = .apns, seconds: Int64 = 60) {
        loop.updateTime()
        let start = loop.now
        let binding = Binding(
            aor: "bob", provider: provider, app: provider == .apns ? "com.example.phone" : "pushwake-simulator",
            token: name, dialect: .rfc8599)
        let content = PushContent(event: event, callID: "\(name)@host", timeToLive: 30)
        let type = provider == .apns ? APNsRequest.pushType(of: event, for: nil) : nil
        jobs[name] = delivery.push(Push(binding, content, type: type, deadline: start + seconds * 1000)) {
            [self] job, verdict, _ in
            #expect(ends[name] == nil)
            #expect(jobs[name] != nil)
            ends[name] = End(
                outcome: verdict.outcome, reason: verdict.reason, after: loop.now - start, attempts: job.attempts)
            order.append(name)
        }
    }

    /// Turns the loop until the condition holds; false when it never did.
    @discardableResult
    func run(seconds: Int64 = 60, until condition: () throws -> Bool) rethrows -> Bool {
        let end = SystemClock.monotonicMilliseconds() + seconds * 1000
        while SystemClock.monotonicMilliseconds() < end {
            if try condition() { return true }
            loop.turn(waitingUpTo: 20)
        }
        return try condition()
    }

    /// Tokens of the pushes that reached the simulator, in order.
    func arrivals() throws -> [String] {
        try fixture.requests().compactMap { request in
            switch request["provider"]?.string {
            case "apns": request["path"]?.string.map { String($0.split(separator: "/").last ?? "") }
            case "fcm": request["body"]?["message"]?["token"]?.string
            default: nil
            }
        }
    }
}
