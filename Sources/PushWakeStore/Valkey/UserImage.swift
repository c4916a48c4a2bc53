// SPDX-License-Identifier: MIT

import PushWakeCore

/// One user as the bytes of one value in Valkey: bindings, tombstones and PURRs.
///
///     image = version(8) format(1) count *binding count *tombstone count *purr *acceptance
///
/// An acceptance is when a push to a binding or tombstone was first taken (`Binding.acceptedAt`), in their order; there are
/// none where none was. Earlier releases read no further than the PURRs.
///
/// `version` is drawn anew at each write, and a write names the one it has read: that makes it atomic. The texts are
/// packed as in the SQLite store, which saves about half.
struct UserImage {
    static let versionLength = 8
    private static let format: UInt8 = 1

    /// Writes a user; nothing for one who has nothing.
    static func encode(_ user: MemoryStore.User, of aor: String, version: [UInt8]) -> [UInt8] {
        guard !user.live.isEmpty || !user.tombstones.isEmpty else { return [] }
        var bytes = version
        bytes.append(format)
        bytes.append(count: user.live.count)
        for row in user.live { write(row.binding, of: aor, to: &bytes) }
        bytes.append(count: user.tombstones.count)
        for tombstone in user.tombstones {
            write(tombstone.binding, of: aor, to: &bytes)
            write(tombstone.reason, to: &bytes)
            bytes.append(number: tombstone.removedAt)
        }
        bytes.append(count: user.purrs.count)
        for told in user.purrs {
            bytes += told.purr.bytes
            bytes.append(count: user.live.firstIndex { $0.id == told.row } ?? user.live.count)
            bytes.append(number: told.madeAt)
            bytes.append(number: told.usedAt)
        }
        let acceptances = user.live.map(\.binding.acceptedAt) + user.tombstones.map(\.binding.acceptedAt)
        if acceptances.contains(where: { $0 != 0 }) {
            for time in acceptances { bytes.append(number: Int64(time)) }
        }
        return bytes
    }

    /// Reads what `encode` wrote; nil when it is damaged, or of a later release.
    static func decode(_ bytes: [UInt8], of aor: String) -> (version: [UInt8], user: MemoryStore.User)? {
        var reader = ByteReader(bytes.span)
        guard let version = reader.next(versionLength), reader.next() == format else { return nil }
        var user = MemoryStore.User()
        guard let live = reader.nextCount() else { return nil }
        for id in 0..<min(live, bytes.count) {
            guard let binding = readBinding(of: aor, from: &reader) else { return nil }
            user.live.append(MemoryStore.Row(id: id + 1, binding: binding))
        }
        guard let tombstones = reader.nextCount() else { return nil }
        for _ in 0..<min(tombstones, bytes.count) {
            guard let binding = readBinding(of: aor, from: &reader), let reason = readText(from: &reader),
                let time = reader.nextNumber()
            else { return nil }
            user.tombstones.append(RemovedBinding(binding: binding, reason: reason, removedAt: time))
        }
        guard let purrs = reader.nextCount() else { return nil }
        for _ in 0..<min(purrs, bytes.count) {
            guard let bits = reader.next(16), let purr = PURR(bytes: bits.copy()), let row = reader.nextCount(),
                let madeAt = reader.nextNumber(), let usedAt = reader.nextNumber()
            else { return nil }
            user.purrs.append(MemoryStore.PURRUse(purr: purr, row: row + 1, madeAt: madeAt, usedAt: usedAt))
        }
        for index in user.live.indices { user.live[index].binding.acceptedAt = readAcceptance(from: &reader) }
        for index in user.tombstones.indices {
            user.tombstones[index].binding.acceptedAt = readAcceptance(from: &reader)
        }
        return (version.copy(), user)
    }

    private static func readAcceptance(from reader: inout ByteReader) -> UInt32 {
        reader.isEmpty ? 0 : UInt32(clamping: reader.nextNumber() ?? 0)
    }

    private static func write(_ binding: Binding, of aor: String, to bytes: inout [UInt8]) {
        let kind = BindingKind(of: binding)
        bytes += kind.numbers
        write(binding.app, to: &bytes)
        write(binding.team, to: &bytes)
        bytes.append(number: Int64(binding.cseq))
        bytes.append(number: binding.registeredAt)
        bytes.append(number: binding.expiresAt &- binding.registeredAt)
        bytes.append(number: binding.forgetAt &- binding.registeredAt)
        bytes.append(binding.flags)
        write(binding.token, to: &bytes)
        write(binding.instance, to: &bytes)
        write(
            binding.contact, BindingRow.contactPacking(aor: aor, token: binding.token, kind: kind), to: &bytes)
        write(binding.callID, to: &bytes)
        write(binding.route, to: &bytes)
        bytes.append(count: binding.attributes.entries.count)
        for entry in binding.attributes.entries {
            write(entry.name, to: &bytes)
            write(entry.value, to: &bytes)
        }
    }

    private static func readBinding(of aor: String, from reader: inout ByteReader) -> Binding? {
        guard let numbers = reader.next(4), let app = readText(from: &reader), let team = readText(from: &reader),
            let kind = BindingKind(numbers: numbers, app: app, team: team),
            let cseq = reader.nextNumber().flatMap(UInt32.init(exactly:)), let registeredAt = reader.nextNumber(),
            let expires = reader.nextNumber(), let keep = reader.nextNumber(), let flags = reader.next(),
            let token = readText(from: &reader), let instance = readText(from: &reader)
        else { return nil }
        let packing = BindingRow.contactPacking(aor: aor, token: token, kind: kind)
        guard let contact = readText(packing, from: &reader), let callID = readText(from: &reader),
            let route = readText(from: &reader), let count = reader.nextCount()
        else { return nil }
        var entries: [Binding.Attributes.Entry] = []
        for _ in 0..<count {
            guard let name = readText(from: &reader), let value = readText(from: &reader) else { return nil }
            entries.append(.init(name: name, value: value))
        }
        var binding = Binding(
            aor: aor, provider: kind.provider, environment: kind.environment, app: app, team: team,
            service: kind.service, token: token, dialect: kind.dialect, instance: instance, contact: contact,
            callID: callID, cseq: cseq, attributes: Binding.Attributes(entries), registeredAt: registeredAt,
            expiresAt: registeredAt &+ expires, forgetAt: registeredAt &+ keep, route: route)
        binding.flags = flags
        return binding
    }

    private static func write(_ text: String, _ packing: TextPacking = .plain, to bytes: inout [UInt8]) {
        let packed = packing.pack(text)
        bytes.append(count: packed.count)
        bytes += packed
    }

    private static func readText(_ packing: TextPacking = .plain, from reader: inout ByteReader) -> String? {
        guard let count = reader.nextCount(), let packed = reader.next(count) else { return nil }
        return packing.unpack(packed)
    }
}

extension MemoryStore.User {
    /// Seconds for which the server keeps it: until the last of it is over.
    func lifetime(now: Int64, tombstoneLifetime: Int64) -> Int64 {
        let ends =
            live.map { $0.binding.forgetAt.subtractingSaturating(now) }
            + tombstones.map { $0.removedAt.subtractingSaturating(now).addingSaturating(tombstoneLifetime) }
        return max(ends.max() ?? 0, 1)
    }

    /// Whether a REGISTER of `time` that changes this user into `after` would undo what came later.
    func isNewer(than time: Int64, changedTo after: MemoryStore.User) -> Bool {
        live.contains { row in row.binding.registeredAt > time && !after.live.contains { $0.binding == row.binding } }
            || tombstones.contains { $0.removedAt > time && !after.tombstones.contains($0) }
    }
}
