// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

private let gone = Verdict(.tokenGone, reason: "UNREGISTERED")
private let suspect = Verdict(.tokenGone, reason: "SENDER_ID_MISMATCH", mayBeSetting: true)
private let good = Verdict(.accepted)

/// A core with users whose pushes end as the test says.
private final class RemovalBench {
    let bench: CoreBench
    private let now = SystemClock.wallSeconds()

    init(users: Int, _ values: [String: String] = [:]) throws {
        bench = try CoreBench(values)
        for number in 0..<users {
            let binding = Binding(
                aor: "user\(number)", provider: .fcm, app: "com.example.droid", token: "token\(number)",
                dialect: .rfc8599, instance: "\(number)", callID: "c\(number)", registeredAt: now - 60,
                expiresAt: now + 600, forgetAt: now + 86_400)
            _ = bench.store.register([binding], now: now)
        }
    }

    func bindings(_ number: Int) -> [Binding] { bench.store.bindings(of: "user\(number)", now: now) }

    /// A push for a call to a user ends.
    @discardableResult func end(_ number: Int, _ verdict: Verdict, status: Int = 404) -> PushResult? {
        guard let binding = bindings(number).first else { return nil }
        let push = Push(binding, PushContent(event: .call, callID: "call\(number)"))
        return bench.core.outcomes.record(PushJob(push), verdict, status)
    }

    var count: Int { bench.store.count() }
}

@Suite struct `An engine whose tokens are called bad` {
    @Test func `removes what a provider calls dead`() throws {
        let users = try RemovalBench(users: 3)
        #expect(users.end(0, gone)?.isBindingRemoved == true)
        #expect(users.bindings(0).isEmpty)
        #expect(users.bench.store.removed(of: "user0").first?.reason == "token-gone UNREGISTERED")
        let dead = Verdict(.tokenGone, reason: "Unregistered", goneSince: (SystemClock.wallSeconds() - 3600) * 1000)
        #expect(users.end(1, dead)?.isBindingRemoved == false, "it has registered since")
        #expect(users.bindings(1).count == 1)
    }

    @Test func `restores all when most are, and says so once with the remedy`() throws {
        let users = try RemovalBench(users: 50)
        for number in 0..<50 { users.end(number, good, status: 200) }
        users.bench.core.outcomes.storeAcceptances()
        for number in 0..<9 { #expect(users.end(number, gone)?.isBindingRemoved == true) }
        #expect(users.count == 41)
        #expect(users.end(9, gone)?.isBindingRemoved == false)
        #expect(users.count == 50)
        for number in 10..<50 { users.end(number, gone) }
        #expect(users.count == 50)
        let said = users.bench.lines.filter { $0.contains("are called bad") }
        #expect(said.count == 1)
        #expect(
            said[0].hasPrefix(
                "fcm com.example.droid: the tokens of 10 of the last 20 users are called bad (UNREGISTERED); none is removed, and 9 that were are restored"
            ))
        #expect(said[0].hasSuffix("check whether fcm_key is of the project that the app was built with"))
        #expect(users.bench.core.context.statistics.restored == 9)
        #expect(HealthReport(users.bench.core).providers.map(\.state) == [.tokensRefused])
        users.end(20, good, status: 200)
        #expect(HealthReport(users.bench.core).providers.map(\.state) != [.tokensRefused])
    }

    @Test func `keeps the three of three users whose project is another`() throws {
        let users = try RemovalBench(users: 3)
        for _ in 0..<5 { for number in 0..<3 { users.end(number, suspect, status: 403) } }
        #expect(users.count == 3)
    }

    @Test func `begins anew when its keys are read again`() throws {
        let users = try RemovalBench(users: 50)
        for number in 0..<40 { users.end(number, good, status: 200) }
        _ = users.bench.core.delivery.reload()
        for number in 40..<50 { users.end(number, suspect, status: 403) }
        #expect(users.count == 50)
    }

    @Test func `notes which tokens worked, some at a time`() throws {
        let users = try RemovalBench(users: 200)
        for number in 0..<200 { users.end(number, good, status: 200) }
        let noted = (0..<200).count { users.bindings($0)[0].acceptedAt > 0 }
        #expect(noted >= 128 && noted < 200)
        users.bench.core.outcomes.storeAcceptances()
        #expect((0..<200).allSatisfy { users.bindings($0)[0].acceptedAt > 0 })
    }

    // MARK: By hand

    private func restore(_ users: RemovalBench, _ lines: String) throws -> [String] {
        try users.bench.rows(.restore, lines).rows.map { row in row.first { $0.name == "aor" }?.text ?? "" }
    }

    @Test func `brings back by hand what is named`() throws {
        let users = try RemovalBench(users: 300)
        for number in 0..<150 {
            let reason = number % 3 == 0 ? "by hand" : number % 3 == 1 ? "token-gone BadDeviceToken" : "token-gone Gone"
            let now = SystemClock.wallSeconds() - (number < 100 ? 60 : 7200)
            _ = users.bench.store.remove(.all, of: "user\(number)", reason: reason, now: now)
        }
        #expect(users.count == 150)
        let dry = try RestoreConditions(since: "1h", reason: "badDevice", isDry: true, further: [])
        let named = try restore(users, dry.lines)
        #expect(named.count == 33 && users.count == 150)
        let real = try RestoreConditions(since: "1h", reason: "badDevice", isDry: false, further: [("user", "user9?")])
        #expect(try restore(users, real.lines).sorted() == ["user91", "user94", "user97"])
        let rest = try RestoreConditions(since: "1h", reason: "badDevice", isDry: false, further: [])
        #expect(try restore(users, rest.lines).count == 30 && users.count == 183)
        let usual = try RestoreConditions(
            since: "3h", reason: RestoreConditions.usualReason, isDry: false, further: [("aor", "user110")])
        #expect(try restore(users, usual.lines) == ["user110"])
        #expect(try restore(users, usual.lines) == [])
        #expect(users.bench.core.context.statistics.restored == 34)
    }

    @Test(arguments: [
        "", "since=x\n", "since=-1h\n", "since=0s\n", "since=2h\nprovider=none\n", "since=2h\ncolour=red\n",
    ])
    func `says what does not fit`(lines: String) throws {
        let users = try RemovalBench(users: 1)
        let reply = try users.bench.ask(.query, [.query: EngineQuery.restore.rawValue, .argument: lines])
        #expect(reply.kind == .failure && EngineClient.text(.message, in: reply).contains("write"))
    }

    @Test func `reads the conditions that it wrote`() throws {
        let conditions = try RestoreConditions(
            since: "2h", reason: "BadDeviceToken", isDry: true, further: [("aor", "alice"), ("provider", "apns")])
        let read = try RestoreConditions(lines: conditions.lines)
        #expect(read == conditions && read.since == 7200 && read.isDry)
        #expect(read.admits(makeTombstone(.apns), reason: "token-gone BadDeviceToken", removedAt: 1000, now: 8200))
        #expect(!read.admits(makeTombstone(.apns), reason: "token-gone BadDeviceToken", removedAt: 999, now: 8200))
        #expect(!read.admits(makeTombstone(.apns), reason: "token-gone Unregistered", removedAt: 8000, now: 8200))
        #expect(!read.admits(makeTombstone(.fcm), reason: "token-gone BadDeviceToken", removedAt: 8000, now: 8200))
    }

    private func makeTombstone(_ provider: Provider) -> Binding {
        Binding(aor: "alice", provider: provider, token: "t", dialect: .rfc8599)
    }
}
