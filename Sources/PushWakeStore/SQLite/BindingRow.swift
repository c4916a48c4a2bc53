// SPDX-License-Identifier: MIT

import PushWakeCore

/// A binding as the columns of its row, AoR aside.
struct BindingRow {
    /// The columns in the order of `bind` and `init(reading:)`.
    static let columns =
        "id, kind, cseq, registered_at, expires_in, forget_at, flags, token, instance, contact, call_id, extra"
    /// One question mark per column.
    static let parameters = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
    /// Writes a row, over the one with its id if there is one. With an index over expressions, that of tokens, INSERT OR
    /// REPLACE costs a fifth of a registration more.
    static let writing: String = {
        let others = columns.filter { $0 != " " }.split(separator: ",").dropFirst()
        return """
            INSERT INTO bindings(\(columns)) VALUES(\(parameters))
            ON CONFLICT(id) DO UPDATE SET \(others.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """
    }()
    /// The first column after these.
    static let end: Int32 = 12

    /// What every REGISTER changes, for an UPDATE.
    static let timeColumns = "cseq = ?, registered_at = ?, expires_in = ?, forget_at = ?"
    /// How many they are.
    static let times: Int32 = 4

    /// Binds all columns of a row.
    static func bind(
        _ binding: Binding, id: Int64, kindID: Int64, to statement: SQLiteStatement
    ) throws(StoreError) {
        let kind = BindingKind(of: binding)
        let plain = TextPacking.plain
        try statement.bind(1, id)
        try statement.bind(2, kindID)
        try statement.bind(3, Int64(binding.cseq))
        try statement.bind(4, binding.registeredAt)
        try statement.bind(5, binding.expiresAt &- binding.registeredAt)
        try statement.bind(6, binding.forgetAt)
        try statement.bind(7, flags(of: binding))
        try statement.bind(8, plain.pack(binding.token))
        try statement.bind(9, plain.pack(binding.instance))
        try statement.bind(10, packedContact(binding))
        try statement.bind(11, plain.pack(binding.callID))
        let inline = kindID == BindingKindTable.inline ? kind : nil
        try statement.bind(12, BindingExtra(kind: inline, attributes: binding.attributes).bytes)
    }

    /// Binds `timeColumns`.
    static func bind(_ times: TimesFile.Times, to statement: SQLiteStatement) throws(StoreError) {
        try statement.bind(1, Int64(times.cseq))
        try statement.bind(2, times.registeredAt)
        try statement.bind(3, times.expiresAt &- times.registeredAt)
        try statement.bind(4, times.forgetAt)
    }

    /// The column `contact`.
    static func packedContact(_ binding: Binding) -> [UInt8] {
        contactPacking(aor: binding.aor, token: binding.token, kind: BindingKind(of: binding)).pack(binding.contact)
    }

    /// Reads the current row; nil when it is damaged.
    static func read(
        _ row: SQLiteStatement, aor: String, kinds: BindingKindTable
    ) throws(StoreError) -> StoredRow? {
        let plain = TextPacking.plain
        var room: [UInt8] = []
        func text(_ column: Int32, _ packing: TextPacking) -> String? {
            row.withBytes(column) { packing.unpack($0, by: &room) }
        }
        let kindID = row.number(1)
        guard let extra = row.withBytes(11, BindingExtra.init(reading:)),
            let kind = kindID == BindingKindTable.inline ? extra.kind : try kinds.kind(kindID),
            let token = text(7, plain), let instance = text(8, plain),
            let contact = text(9, contactPacking(aor: aor, token: token, kind: kind)), let callID = text(10, plain),
            let cseq = UInt32(exactly: row.number(2))
        else { return nil }
        var binding = Binding(
            aor: aor, provider: kind.provider, environment: kind.environment, app: kind.app, team: kind.team,
            service: kind.service, token: token, dialect: kind.dialect, instance: instance, contact: contact,
            callID: callID, cseq: cseq, attributes: extra.attributes, registeredAt: row.number(3),
            expiresAt: row.number(3) &+ row.number(4), forgetAt: row.number(5))
        binding.flags = UInt8(truncatingIfNeeded: row.number(6))
        binding.acceptedAt = UInt32(truncatingIfNeeded: row.number(6) >> 8)
        return StoredRow(id: row.number(0), binding, isRespelled: !binding.token.isSameBytes(as: token))
    }

    /// The column `flags`: eight bits of `Binding.flags`, which is all that earlier releases read, and above them
    /// `Binding.acceptedAt`.
    static func flags(of binding: Binding) -> Int64 { Int64(binding.flags) | Int64(binding.acceptedAt) << 8 }

    /// A Contact repeats what other columns have.
    static func contactPacking(aor: String, token: String, kind: BindingKind) -> TextPacking {
        TextPacking(references: [token, kind.app, kind.team, user(of: aor)])
    }

    /// What is before the `@`, as characters: a file may hold rows of a user with marks above the sign.
    private static func user(of aor: String) -> String {
        let bytes = aor.utf8Span
        guard bytes.isKnownASCII else { return String(aor.prefix { $0 != "@" }) }
        var end = 0
        while end < bytes.count, bytes.span[end] != UInt8(ascii: "@") { end &+= 1 }
        return bytes.span.extracting(first: end).text()
    }
}

/// The rare parts of a binding, in one column: attributes, and the kind where the table of kinds is full.
struct BindingExtra {
    let kind: BindingKind?
    let attributes: Binding.Attributes

    private static let hasKind: UInt8 = 1

    init(kind: BindingKind?, attributes: Binding.Attributes) {
        self.kind = kind
        self.attributes = attributes
    }

    /// Nil when the bytes are damaged.
    init?(reading bytes: Span<UInt8>) {
        var reader = ByteReader(bytes)
        let flags = reader.next() ?? 0
        kind = flags & Self.hasKind == 0 ? nil : Self.readKind(from: &reader)
        guard flags & Self.hasKind == 0 || kind != nil else { return nil }
        var entries: [Binding.Attributes.Entry] = []
        while !reader.isEmpty {
            guard let name = Self.readText(from: &reader), let value = Self.readText(from: &reader) else { return nil }
            entries.append(.init(name: name, value: value))
        }
        attributes = Binding.Attributes(entries)
    }

    /// Nothing at all when there is nothing to say.
    var bytes: [UInt8] {
        guard kind != nil || !attributes.isEmpty else { return [] }
        var bytes: [UInt8] = [kind == nil ? 0 : Self.hasKind]
        if let kind {
            bytes += kind.numbers
            Self.write(kind.app, to: &bytes)
            Self.write(kind.team, to: &bytes)
        }
        for entry in attributes.entries {
            Self.write(entry.name, to: &bytes)
            Self.write(entry.value, to: &bytes)
        }
        return bytes
    }

    private static func readKind(from reader: inout ByteReader) -> BindingKind? {
        guard let numbers = reader.next(4), let app = readText(from: &reader), let team = readText(from: &reader) else {
            return nil
        }
        return BindingKind(numbers: numbers, app: app, team: team)
    }

    private static func readText(from reader: inout ByteReader) -> String? {
        guard let count = reader.nextCount(), let packed = reader.next(count) else { return nil }
        return TextPacking.plain.unpack(packed)
    }

    private static func write(_ text: String, to bytes: inout [UInt8]) {
        let packed = TextPacking.plain.pack(text)
        bytes.append(count: packed.count)
        bytes += packed
    }
}
