// SPDX-License-Identifier: MIT

import PushWakeCore

/// The rare parts of a binding, in one column: wishes, and the kind where the table of kinds is full.
struct BindingExtra {
    let kind: BindingKind?
    let wishes: Binding.Wishes

    private static let hasKind: UInt8 = 1

    init(kind: BindingKind?, wishes: Binding.Wishes) {
        self.kind = kind
        self.wishes = wishes
    }

    /// Nil when the bytes are damaged.
    init?(reading bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        let flags = reader.next() ?? 0
        kind = flags & Self.hasKind == 0 ? nil : Self.readKind(from: &reader)
        guard flags & Self.hasKind == 0 || kind != nil else { return nil }
        var entries: [Binding.Wishes.Entry] = []
        while !reader.isEmpty {
            guard let name = Self.readText(from: &reader), let value = Self.readText(from: &reader) else { return nil }
            entries.append(.init(name: name, value: value))
        }
        wishes = Binding.Wishes(entries)
    }

    /// Nothing at all when there is nothing to say.
    var bytes: [UInt8] {
        guard kind != nil || !wishes.isEmpty else { return [] }
        var bytes: [UInt8] = [kind == nil ? 0 : Self.hasKind]
        if let kind {
            bytes += kind.numbers
            Self.write(kind.app, to: &bytes)
            Self.write(kind.team, to: &bytes)
        }
        for entry in wishes.entries {
            Self.write(entry.name, to: &bytes)
            Self.write(entry.value, to: &bytes)
        }
        return bytes
    }

    private static func readKind(from reader: inout ByteReader) -> BindingKind? {
        guard let numbers = reader.next(4).map(Array.init), let app = readText(from: &reader),
            let team = readText(from: &reader)
        else { return nil }
        return BindingKind(
            provider: Int64(numbers[0]), environment: Int64(numbers[1]), service: Int64(numbers[2]),
            dialect: Int64(numbers[3]), app: app, team: team)
    }

    private static func readText(from reader: inout ByteReader) -> String? {
        guard let count = reader.nextCount(), let bytes = reader.next(count) else { return nil }
        return TextPacking().unpack(Array(bytes))
    }

    private static func write(_ text: String, to bytes: inout [UInt8]) {
        let packed = TextPacking().pack(text)
        bytes.append(count: packed.count)
        bytes += packed
    }
}
