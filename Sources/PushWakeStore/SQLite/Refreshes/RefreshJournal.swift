// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore

/// Rows that are to be written to the tables soon, in a file beside the store: what a process that is killed had
/// promised is read by the next one.
///
/// One record per row: length and checksum (32 bits each, little endian), then the fields. A record that was cut off by
/// the death of its writer is the last one, and is left out.
final class RefreshJournal {
    /// A row of the table `bindings`, decoded; `newRow` in place of its id where it is not there yet.
    typealias Row = (id: Int64, binding: Binding)

    /// In place of an id: one of the first bindings of a user who is not in the tables.
    static let newRow: Int64 = -1

    private static let headSize = 8
    private static let longestFile = 64 << 20

    private let path: String
    private let descriptor: Int32
    /// Bytes of whole records.
    private(set) var size = 0

    /// Opens the journal of the store at `storePath`, or makes it with mode 0600.
    init(storePath: String) throws(StoreError) {
        path = storePath + "-refreshes"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0o600)
        guard descriptor >= 0 else {
            throw .unusable(
                "\(path) cannot be opened: \(SystemErrorText.of(errno)); \(SystemErrorText.remedy(errno, path))")
        }
        // As for the store's other files: who starts an engine as root once must not lock out the one of every day.
        var status = stat()
        if geteuid() == 0, stat(storePath, &status) == 0 { _ = fchown(descriptor, status.st_uid, status.st_gid) }
    }

    deinit { close(descriptor) }

    /// Appends rows; false when they could not be written, and then none of them counts.
    func append(_ rows: [WaitingRow]) -> Bool {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512 * rows.count)
        for row in rows { Self.append(row.id, row.binding, to: &bytes) }
        let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written == bytes.count else {
            // A part of them would hide what is appended later.
            if written > 0 { _ = ftruncate(descriptor, off_t(size)) }
            return false
        }
        size += written
        return true
    }

    /// Forgets all rows: they are in the tables.
    func clear() {
        guard size > 0 else { return }
        _ = ftruncate(descriptor, 0)
        size = 0
    }

    /// Rows that another process left, in the order they were appended. They stay until `clear()`.
    func leftRows() -> [Row] {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return [] }
        size = Int(status.st_size)
        var bytes = [UInt8](repeating: 0, count: min(size, Self.longestFile))
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return [] }
        let (rows, whole) = Self.records(in: bytes.span.extracting(first: count))
        // A part of one would hide what is appended now.
        if whole < size, ftruncate(descriptor, off_t(whole)) == 0 { size = whole }
        return rows
    }

    static func rows(in bytes: Span<UInt8>) -> [Row] { records(in: bytes).rows }

    private static func records(in bytes: Span<UInt8>) -> (rows: [Row], size: Int) {
        var reader = ByteReader(bytes)
        var rows: [Row] = []
        var size = 0
        while let length = reader.next(4), let sum = reader.next(4), let record = reader.next(Int(number(length))),
            number(sum) == UInt64(self.sum(record)), let row = decode(record)
        {
            rows.append(row)
            size = bytes.count - reader.count
        }
        return (rows, size)
    }

    // MARK: Records

    /// FNV-1a: it finds a record that was cut off, and needs to find no more.
    private static func sum(_ record: Span<UInt8>) -> UInt32 {
        var sum: UInt32 = 2_166_136_261
        for index in record.indices { sum = (sum ^ UInt32(record[index])) &* 16_777_619 }
        return sum
    }

    private static func head(of record: Span<UInt8>) -> UInt64 {
        UInt64(UInt32(truncatingIfNeeded: record.count)) | UInt64(sum(record)) << 32
    }

    private static func append(_ id: Int64, _ binding: Binding, to out: inout [UInt8]) {
        let start = out.count
        append(UInt64(0), to: &out)
        append(UInt64(bitPattern: id), to: &out)
        append(UInt64(binding.cseq), to: &out)
        append(UInt64(bitPattern: binding.registeredAt), to: &out)
        append(UInt64(bitPattern: binding.expiresAt), to: &out)
        append(UInt64(bitPattern: binding.forgetAt), to: &out)
        out.append(binding.flags)
        out += BindingKind(of: binding).numbers
        append(binding.aor, to: &out)
        append(binding.app, to: &out)
        append(binding.team, to: &out)
        append(binding.token, to: &out)
        append(binding.instance, to: &out)
        append(binding.contact, to: &out)
        append(binding.callID, to: &out)
        for attribute in binding.attributes.entries {
            append(attribute.name, to: &out)
            append(attribute.value, to: &out)
        }
        let head = head(of: out.span.extracting((start + headSize)...))
        for index in 0..<headSize { out[start + index] = UInt8(truncatingIfNeeded: head >> (8 * UInt64(index))) }
    }

    private static func append(_ text: String, to out: inout [UInt8]) {
        let bytes = text.utf8Span.span
        out.append(count: bytes.count)
        bytes.append(to: &out)
    }

    private static func append(_ number: UInt64, to out: inout [UInt8]) {
        for index in 0..<8 { out.append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))) }
    }

    private static func decode(_ record: Span<UInt8>) -> Row? {
        var reader = ByteReader(record)
        var numbers: [Int64] = []
        for _ in 0..<5 {
            guard let bytes = reader.next(8) else { return nil }
            numbers.append(Int64(bitPattern: number(bytes)))
        }
        guard let flags = reader.next(), let kindNumbers = reader.next(4) else { return nil }
        var texts: [String] = []
        while !reader.isEmpty {
            guard let count = reader.nextCount(), let bytes = reader.next(count),
                let text = bytes.validText()
            else { return nil }
            texts.append(text)
        }
        guard texts.count >= 7, texts.count % 2 == 1, let cseq = UInt32(exactly: numbers[1]),
            let kind = BindingKind(numbers: kindNumbers, app: texts[1], team: texts[2])
        else { return nil }
        let attributes = stride(from: 7, to: texts.count, by: 2).map {
            Binding.Attributes.Entry(name: texts[$0], value: texts[$0 + 1])
        }
        var binding = Binding(
            aor: texts[0], provider: kind.provider, environment: kind.environment, app: kind.app, team: kind.team,
            service: kind.service, token: texts[3], dialect: kind.dialect, instance: texts[4], contact: texts[5],
            callID: texts[6], cseq: cseq, attributes: Binding.Attributes(attributes), registeredAt: numbers[2],
            expiresAt: numbers[3], forgetAt: numbers[4])
        binding.flags = flags
        return (numbers[0], binding)
    }

    private static func number(_ bytes: Span<UInt8>) -> UInt64 {
        var value: UInt64 = 0
        for index in bytes.indices { value |= UInt64(bytes[index]) << (8 * UInt64(index)) }
        return value
    }
}
