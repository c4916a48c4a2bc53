// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// What push services say the time is, against this machine's clock. Only of services that the operator chose: whoever
/// names an endpoint for Web Push has no word in it.
final class ProviderClocks {
    /// Milliseconds for which a reading counts: a clock is put right meanwhile.
    private static let lasting: Int64 = 3_600_000

    private let loop: Loop
    private let log: EngineLog
    private var readings: [String: (reading: ClockReading, at: Int64)] = [:]
    private var hasComplained = false

    init(loop: Loop, log: EngineLog) {
        self.loop = loop
        self.log = log
    }

    /// The reading that is nearest to our clock: of services that differ one is wrong, and ours is not while any agrees
    /// with it. Nil where none has told its time of late.
    var current: ClockReading? {
        readings.values.lazy.filter { self.loop.now &- $0.at < Self.lasting }.map(\.reading)
            .min { $0.distance < $1.distance }
    }

    /// An answer with this Date has just come.
    func note(_ date: String, from host: String) {
        guard let reading = ClockReading(date: date, host: host, now: loop.wallSeconds) else { return }
        readings[host] = (reading, loop.now)
        guard let current, current.isOff != hasComplained else { return }
        hasComplained = current.isOff
        if current.isOff {
            let remedy = "tokens for Apple and Google carry its time: set it, and keep it right by NTP"
            log(.warning, "\(current.words); \(remedy)")
        } else {
            log(.notice, "\(current.words) again")
        }
    }
}
