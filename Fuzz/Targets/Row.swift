// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeStore

/// Reads any bytes as what the store keeps: a packed text, the rare parts of a binding, the journal of refreshes. What can
/// be read as a text is written so that it reads as the same text. The first byte picks which.
public func fuzzRow(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    switch choice % 3 {
    case 0:
        let packing = TextPacking(references: ["a1b2c3d4e5f60718", "com.example.phone", "DEF123GHIJ", "alice"])
        for text in [packing.unpack(bytes.span), String(validating: bytes, as: UTF8.self)].compactMap(\.self) {
            guard packing.unpack(packing.pack(text).span) == text else { fatalError("not the same text: \(text)") }
        }
    case 1:
        guard let extra = BindingExtra(reading: bytes.span) else { return 0 }
        guard let again = BindingExtra(reading: extra.bytes.span), again.attributes == extra.attributes,
            (again.kind == nil) == (extra.kind == nil)
        else { fatalError("not the same: \(extra)") }
    default:
        for row in RefreshJournal.rows(in: bytes.span) where row.binding.aor.utf8.count > bytes.count {
            fatalError("longer than the file")
        }
    }
    return 0
}
