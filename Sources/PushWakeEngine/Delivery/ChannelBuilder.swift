// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Puts channels together from settings.
struct ChannelBuilder {
    let settings: Settings
    let tls: TLSContext
    let payloads: PayloadLibrary
    let resolver: Resolver
    let loop: Loop
    let log: EngineLog
    var queues = ChannelQueues(capacity: 100_000)
    /// Connections to Apple and to Google at most, for measurements and tests; nil: as many as are of use.
    var connections: Int?
    /// Nil where nobody asks what the time is.
    var clocks: ProviderClocks?

    /// What providers are verified against.
    static func tls(_ settings: Settings, identity: TLSIdentity? = nil) throws(TLSError) -> TLSContext {
        let file = settings.text(.caFile)
        if !file.isEmpty {
            do throws(SystemError) {
                // OpenSSL has a number only for what the system says.
                _ = try FileContent.read(file, atMost: 1)
            } catch {
                throw TLSError("cannot \(error)")
            }
        }
        return try TLSContext.client(caFile: file.isEmpty ? nil : file, identity: identity)
    }

    /// A new channel for a key, and what is left to do for the one before; that one stays when the key cannot be used.
    ///
    /// `key` names the setting; while it is empty there is no channel.
    func replace<Channel>(
        _ old: Channel?, _ key: SettingKey, _ problems: inout [String], retire: (Channel) -> Void,
        make: () throws(KeyFileError) -> Channel
    ) -> Channel? {
        guard !settings.text(key).isEmpty else {
            if let old { retire(old) }
            return nil
        }
        do throws(KeyFileError) {
            let channel = try make()
            if let old { retire(old) }
            return channel
        } catch {
            let ending = old == nil ? "" : "; the key read before is still used"
            problems.append("\(SettingsTable.description(of: key).name): \(error.message)\(ending)")
            return old
        }
    }

    /// At most so many `connections` to one server, another only when those that stand are full; `certificate` is the file of
    /// the one in `tls`, `share` is which part of the queue's size it has, `adjust` says what is special. Without pushes they are
    /// no part of what is counted of the queues; one that `tellsTime` is believed when it says what time it is. `lines` are
    /// those that servers have in common which phones name.
    func pool(
        _ origin: HTTPOrigin, _ label: String, connections: Int, tls: TLSContext? = nil,
        certificate: String? = nil, share: Int = 1, carriesPushes: Bool = true, tellsTime: Bool = true,
        resolver own: Resolver? = nil, lines: LimitedLines? = nil,
        adjust: (inout HTTPPoolConfiguration) -> Void = { _ in }
    ) -> ProviderPool {
        var configuration = HTTPPoolConfiguration()
        configuration.maxConnections = connections
        configuration.answerTimeout = settings.integer(.requestTimeout)
        // A call is still worth a push when the first address has not answered.
        configuration.connectTimeout = configuration.answerTimeout / 2
        configuration.limits = HTTPAnswerLimits(keptHeaders: ["retry-after"])
        configuration.proxy = ProxyFile.proxy(settings, to: origin.host)
        adjust(&configuration)
        let pool = HTTPConnectionPool(
            origin: origin, tls: tls ?? self.tls, configuration: configuration, loop: loop,
            resolver: own ?? resolver)
        if tellsTime, let clocks { pool.onDate = { clocks.note($0, from: origin.host) } }
        let queue = queues.make(pool, share: share, isCounted: carriesPushes, loop: loop)
        return ProviderPool(pool, queue: queue, label: label, certificate: certificate, log: log, lines: lines)
    }
}

/// Names for pushes: seeded by the system once, then a step each (xoshiro256**), since a system
/// call per push would cost more than the push's own request.
struct Randomness {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    init() {
        var system = SystemRandomNumberGenerator()
        state = (system.next(), system.next(), system.next(), system.next() | 1)
    }

    mutating func next() -> UInt64 {
        let product = state.1 &* 5
        let result = (product << 7 | product >> 57) &* 9
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = state.3 << 45 | state.3 >> 19
        return result
    }
}
