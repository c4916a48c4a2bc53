// SPDX-License-Identifier: MIT

internal import PushWakeClient
public import PushWakeCore
internal import PushWakeSystem

/// Fills the queue of a provider that cannot be reached, lets all pushes go, and weighs the process.
public final class BacklogRun {
    /// What the process weighed, in bytes that it had in memory.
    public struct Report: Equatable, Sendable {
        /// Pushes that waited.
        public var count = 0
        /// Before the first push.
        public var before = 0
        /// While all were waiting.
        public var during = 0
        /// After the last one had gone.
        public var after = 0

        /// Bytes for each push that waited.
        public var perPush: Int { max(0, during - before) / max(count, 1) }
    }

    private let loop: Loop
    private let delivery: Delivery
    private let count: Int
    private var ended = 0
    private var isAsExpected = true

    /// `settings` name key and CA as for the engine; where they lead does not matter.
    public init(settings: Settings, count: Int) throws(EngineFailure) {
        self.count = count
        var settings = settings
        do throws(SettingError) {
            // Nothing answers there, so all wait for a connection.
            try settings.set(.apnsURL, to: "https://192.0.2.1")
            try settings.set(.requestTimeout, to: "120000")
            try settings.set(.queueSize, to: String(count))
        } catch {
            throw EngineFailure(message: "\(error.setting): \(error.message)")
        }
        do throws(SystemError) {
            loop = try Loop()
        } catch {
            throw EngineFailure(message: "\(error)")
        }
        delivery = Delivery(settings: settings, loop: loop, log: EngineLog(threshold: .error) { _, _ in })
        let problems = delivery.open()
        guard delivery.canPush(Self.binding(0)) else {
            throw EngineFailure(message: problems.first ?? "APNs is not set up")
        }
        HeapReserve.fill()
    }

    /// Runs to the end; nil when pushes ended otherwise than by their time. `onProgress` hears how many have ended.
    public func run(onProgress: (Int) -> Void = { _ in }) -> Report? {
        var report = Report()
        report.count = count
        loop.turn(waitingUpTo: 100)
        report.before = ProcessMemory.resident()
        let deadline = loop.now + 5000 + Int64(count) / 20
        for index in 0..<count {
            let content = PushContent(
                event: .call, callID: "backlog-\(index)@127.0.0.1", fromURI: "sip:alice@example.com",
                fromDisplay: "Alice Example", toURI: "sip:bob@example.com", timeToLive: 40, sentAt: loop.wallSeconds)
            delivery.push(Push(Self.binding(index), content, type: .voip, deadline: deadline), owner: self)
        }
        report.during = ProcessMemory.resident()
        guard delivery.queues.waiting == count else { return nil }
        while ended < count {
            loop.turn(waitingUpTo: 100)
            onProgress(ended)
        }
        // The queue asks the allocator for its memory half a second later.
        let end = loop.now + 1500
        while loop.now < end { loop.turn(waitingUpTo: 100) }
        report.after = ProcessMemory.resident()
        return isAsExpected ? report : nil
    }

    /// As a phone's REGISTER leaves it: every text is there, and the token is its own.
    private static func binding(_ index: Int) -> Binding {
        let digits = String(UInt64(truncatingIfNeeded: index) | 1 << 63, radix: 16)
        var binding = Binding(
            aor: "user\(index)@sip.example.com", provider: .apns, app: "com.example.phone", service: .voip,
            token: digits + digits + digits + digits, dialect: .rfc8599)
        binding.contact = "sip:user\(index)@192.0.2.17:5060;transport=tls;pn-provider=apns;pn-prid=\(digits)"
        binding.instance = "urn:uuid:f81d4fae-7dec-11d0-a765-\(digits.suffix(12))"
        return binding
    }
}

extension BacklogRun: PushOwner {
    func ended(_ job: PushJob, _ verdict: Verdict, status: Int) {
        ended += 1
        if verdict.outcome != .expired && verdict.outcome != .unavailable { isAsExpected = false }
    }
}
