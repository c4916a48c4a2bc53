// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// Names a request in the trace; one that was forgotten meanwhile takes no more notes.
struct TraceID: Equatable {
    /// From 1, in order of arrival; 0 names no request.
    fileprivate(set) var sequence: UInt64

    /// Names no request: what is noted under it is dropped.
    static let none = TraceID(sequence: 0)
}

/// The traces of the last requests, in a ring: the oldest gives way.
///
/// A request of one phone that is pushed, registers and answers takes about 1 kB; one that does its worst takes 7 kB.
/// Nothing is put into words before somebody asks.
final class TraceRing {
    /// Requests that are remembered.
    static let capacity = 10_000

    private struct Entry {
        var trace: CallTrace
        let callKey: NameKey
        let aorKey: NameKey
        /// The request before it with the same Call-ID, and with the same AoR; 0 for none.
        let callBefore: UInt64
        let aorBefore: UInt64
        /// Where in the count of all changes its last one stands.
        var changedAt: UInt64
    }

    /// By which a name is found, whole or as it is shown.
    private struct NameKey {
        let whole: Int
        let shown: Int

        init(_ name: String) {
            whole = name.hashValue
            let kept = CallTrace.shown(name)
            shown = kept.utf8.count == name.utf8.count ? whole : kept.hashValue
        }

        func isMeant(by asked: NameKey, _ isWhole: Bool) -> Bool {
            isWhole ? whole == asked.whole : shown == asked.shown
        }
    }

    private let capacity: Int
    private var entries: [Entry] = []
    private var last: UInt64 = 0
    /// Steps of all traces since the start.
    private(set) var changes: UInt64 = 0
    /// The newest request of each Call-ID and AoR, by hash: Swift's has a seed that no caller knows.
    private var newestByCall: [Int: UInt64] = [:]
    private var newestByAoR: [Int: UInt64] = [:]
    /// A trace goes on; nil where nobody follows them.
    var onStep: ((TraceID) -> Void)?

    init(capacity: Int = TraceRing.capacity) { self.capacity = max(capacity, 1) }

    /// Requests remembered now.
    var count: Int { entries.count }

    /// A request is here; `from` is the caller's URI, `now` monotonic milliseconds here and below.
    func begin(method: String, aor: String, callID: String, cseq: UInt32, from: String, now: Int64) -> TraceID {
        let callKey = NameKey(callID)
        let aorKey = NameKey(aor)
        if entries.count == capacity { forgetOldest() }
        last += 1
        let entry = Entry(
            trace: CallTrace(method: method, aor: aor, callID: callID, cseq: cseq, from: from, now: now),
            callKey: callKey, aorKey: aorKey,
            callBefore: newestByCall.updateValue(last, forKey: callKey.shown) ?? 0,
            aorBefore: newestByAoR.updateValue(last, forKey: aorKey.shown) ?? 0, changedAt: 0)
        if entries.count < capacity { entries.append(entry) } else { entries[index(of: last)] = entry }
        let id = TraceID(sequence: last)
        hasChanged(id)
        return id
    }

    /// Something has happened to it.
    func note(_ id: TraceID, _ note: CallNote, now: Int64) {
        guard isKept(id.sequence) else { return }
        entries[index(of: id.sequence)].trace.append(note, now: now)
        hasChanged(id)
    }

    /// The machine has answered an event with these verbs.
    func note(_ id: TraceID, _ verbs: [CallVerb], now: Int64) {
        guard isKept(id.sequence), !verbs.isEmpty else { return }
        entries[index(of: id.sequence)].trace.append(verbs, now: now)
        hasChanged(id)
    }

    /// A device, by its place in the machine, is the one of this binding.
    func name(_ id: TraceID, device: Int, _ binding: Binding) {
        name(
            id, device: device, provider: binding.provider, app: binding.app, token: binding.token,
            instance: binding.instance)
    }

    /// The same without a binding: a device that cannot be pushed has nothing but an instance, if that.
    func name(
        _ id: TraceID, device: Int, provider: Provider? = nil, app: String = "", token: String = "", instance: String
    ) {
        guard isKept(id.sequence), provider != nil || !instance.isEmpty else { return }
        let name = CallTrace.Name(
            provider: provider, app: app, token: EngineLog.shortened(token),
            instance: Self.shortened(instance: instance))
        entries[index(of: id.sequence)].trace.name(device, name)
    }

    /// A push for one of its devices has ended.
    func answered(_ id: TraceID, device: Int, _ result: PushResult, now: Int64) {
        guard isKept(id.sequence) else { return }
        entries[index(of: id.sequence)].trace.append(result, device: device, now: now)
        hasChanged(id)
    }

    private func hasChanged(_ id: TraceID) {
        changes &+= 1
        entries[index(of: id.sequence)].changedAt = changes
        onStep?(id)
    }

    /// A number that differs when the newest requests of a Call-ID or an AoR have: `changes` at their last step; 0 for none.
    func changes(of name: String, limit: Int) -> UInt64 {
        find(name, limit: limit).map { entries[index(of: $0.sequence)].changedAt }.max() ?? 0
    }

    /// The trace of a request; nil when it is forgotten.
    func trace(of id: TraceID) -> CallTrace? {
        isKept(id.sequence) ? entries[index(of: id.sequence)].trace : nil
    }

    /// Its Call-ID, as it is shown; empty when it is forgotten.
    func callID(of id: TraceID) -> String { isKept(id.sequence) ? entries[index(of: id.sequence)].trace.callID : "" }

    /// The trace with what is new in it since this was asked last; nil when it is forgotten.
    func takeNewSteps(_ id: TraceID) -> (trace: CallTrace, steps: [CallTrace.Step])? {
        guard isKept(id.sequence) else { return nil }
        let place = index(of: id.sequence)
        let steps = entries[place].trace.takeNewSteps()
        return (entries[place].trace, steps)
    }

    /// The newest requests, the newest first; with `before`, of those that are older than the one with this number.
    func newest(_ limit: Int, before: UInt64? = nil) -> [TraceID] {
        let newest = min(last, before.map { $0 > 0 ? $0 - 1 : 0 } ?? last)
        let oldest = last - UInt64(entries.count)
        guard newest > oldest else { return [] }
        return (0..<min(UInt64(max(limit, 0)), newest - oldest)).map { TraceID(sequence: newest - $0) }
    }

    /// The request that has, or had, this number.
    func id(_ number: UInt64) -> TraceID { TraceID(sequence: number) }

    /// Requests with this Call-ID, the newest first; when there are none, those for this AoR. A name too long to be kept may
    /// also be given as it is shown.
    func find(_ name: String, limit: Int) -> [TraceID] {
        let shown = CallTrace.shown(name)
        let key = NameKey(name)
        for isWhole in [true, false] {
            let calls = walk(from: newestByCall[key.shown], limit) { entry in
                (entry.callKey.isMeant(by: key, isWhole) && entry.trace.callID == shown, entry.callBefore)
            }
            guard calls.isEmpty else { return calls }
            let others = walk(from: newestByAoR[key.shown], limit) { entry in
                (entry.aorKey.isMeant(by: key, isWhole) && entry.trace.aor == shown, entry.aorBefore)
            }
            guard others.isEmpty else { return others }
        }
        return []
    }

    private func walk(
        from newest: UInt64?, _ limit: Int, _ look: (Entry) -> (isMeant: Bool, before: UInt64)
    ) -> [TraceID] {
        var found: [TraceID] = []
        var next = newest ?? 0
        while isKept(next), found.count < limit {
            let (isMeant, before) = look(entries[index(of: next)])
            if isMeant { found.append(TraceID(sequence: next)) }
            next = before
        }
        return found
    }

    private func isKept(_ sequence: UInt64) -> Bool {
        sequence > 0 && sequence <= last && last - sequence < UInt64(entries.count)
    }

    private func index(of sequence: UInt64) -> Int { Int((sequence - 1) % UInt64(capacity)) }

    /// Later requests of its Call-ID and AoR, which may still point to it, see that it is too old.
    private func forgetOldest() {
        let oldest = last - UInt64(capacity) + 1
        let entry = entries[index(of: oldest)]
        if newestByCall[entry.callKey.shown] == oldest { newestByCall[entry.callKey.shown] = nil }
        if newestByAoR[entry.aorKey.shown] == oldest { newestByAoR[entry.aorKey.shown] = nil }
    }

    /// `<urn:uuid:…>` without what all of them have, shortened.
    private static func shortened(instance: String) -> String {
        let bytes = instance.utf8Span.span
        guard bytes.count >= 2, bytes[0] == UInt8(ascii: "<"), bytes[bytes.count - 1] == UInt8(ascii: ">") else {
            return EngineLog.shortened(bytes)
        }
        let prefix = "urn:uuid:".utf8.span
        var start = 0
        while start < prefix.count, start + 1 < bytes.count, bytes[start + 1] == prefix[start] { start += 1 }
        return EngineLog.shortened(bytes.extracting((start == prefix.count ? 1 + start : 1)..<(bytes.count - 1)))
    }
}
