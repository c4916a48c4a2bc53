// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// What pushes to each token have come to since the engine started.
///
/// A cache of sets, each with room for twelve: it grows without ever copying more than a set, and where a set is full
/// the token goes that was pushed longest ago. A record takes 48 bytes, and 12 more of its set.
struct WakeRecords {
    /// Sets and tokens per set: room for 196,608 tokens.
    static let sets = 16_384
    static let perSet = 12

    struct Entry {
        let key: UInt64
        var record = WakeRecord()
    }

    private var table: [[Entry]]
    /// Of tokens whose last push failed.
    private var reasons = RecentReasons<UInt64>()
    private let limit: Int
    private(set) var count = 0

    init(sets: Int = WakeRecords.sets, perSet: Int = WakeRecords.perSet) {
        table = Array(repeating: [], count: max(sets, 1))
        limit = max(perSet, 1)
    }

    /// A provider has taken a push that was to wake the phone for a request; once for each request. `now` in
    /// monotonic milliseconds here and below.
    mutating func accepted(_ binding: Binding, now: Int64) { change(binding) { $0.accept(now: Self.seconds(now)) } }

    /// The phone has registered, so many milliseconds after it was pushed for a request that is still there.
    mutating func woke(_ binding: Binding, milliseconds: Int64, now: Int64) {
        change(binding) { $0.wake(after: milliseconds, now: Self.seconds(now)) }
    }

    /// Any push to it has ended. What ended on our side says nothing about the token.
    mutating func ended(_ binding: Binding, _ outcome: Outcome, _ reason: String = "", now: Int64) {
        guard outcome != .expired, outcome != .overloaded else { return }
        if outcome != .accepted { reasons.note(reason, of: Self.key(of: binding)) }
        change(binding) { $0.end(outcome, now: Self.seconds(now)) }
    }

    /// Its record; an empty one when nothing is known.
    func record(of binding: Binding) -> WakeRecord {
        let key = Self.key(of: binding)
        return table[set(of: key)].first { $0.key == key }?.record ?? WakeRecord()
    }

    /// Why its last push failed; empty when it did not, or that is not known.
    func reason(of binding: Binding) -> String {
        guard case .failing = record(of: binding).assessment else { return "" }
        return reasons.reason(of: Self.key(of: binding)) ?? ""
    }

    /// Tokens that have woken their phones and no longer do, and those that never have although push after push is accepted.
    var silent: (stopped: Int, never: Int) {
        table.joined().reduce(into: (0, 0)) { sum, entry in
            switch entry.record.assessment {
            case .stoppedWaking: sum.0 += 1
            case .neverWoke: sum.1 += 1
            default: break
            }
        }
    }

    /// Seconds since a time that a record has.
    static func ago(_ second: UInt32?, now: Int64) -> Int64? { second.map { max(0, now / 1000 - Int64($0)) } }

    private mutating func change(_ binding: Binding, _ body: (inout WakeRecord) -> Void) {
        let key = Self.key(of: binding)
        let set = set(of: key)
        if let index = table[set].firstIndex(where: { $0.key == key }) {
            return body(&table[set][index].record)
        }
        var entry = Entry(key: key)
        body(&entry.record)
        if table[set].count < limit {
            table[set].append(entry)
            count += 1
        } else if let oldest = table[set].indices.min(by: { age(set, $0) < age(set, $1) }) {
            table[set][oldest] = entry
        }
    }

    private func age(_ set: Int, _ index: Int) -> UInt32 {
        let record = table[set][index].record
        return max(record.lastPush ?? 0, record.lastWake ?? 0)
    }

    private func set(of key: UInt64) -> Int { Int(key % UInt64(table.count)) }

    private static func seconds(_ milliseconds: Int64) -> UInt32 { UInt32(clamping: milliseconds / 1000) }

    /// 64 bits with a seed that nobody outside knows stand for the token.
    private static func key(of binding: Binding) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(binding.provider.rawValue)
        hasher.combine(binding.token)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
