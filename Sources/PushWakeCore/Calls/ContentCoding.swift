// SPDX-License-Identifier: MIT

/// Undoes the encodings of a body that Content-Encoding names (RFC 3261, 20.12; RFC 9110, 8.4.1).
enum ContentCoding {
    /// Bytes that are decoded; a push holds less, and a notice says what it is before.
    static let most = 16_384
    /// Encodings of one body.
    private static let mostCodings = 4

    /// The body as it was before; nil when an encoding is not known, or the bytes are none of it. `codings` are in the
    /// order in which they were applied.
    static func decode(_ body: Span<UInt8>, _ codings: String) -> [UInt8]? {
        let names = codings.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        guard names.count <= mostCodings else { return nil }
        var plain: [UInt8] = []
        plain.reserveCapacity(body.count)
        for index in body.indices { plain.append(body[index]) }
        for name in names.reversed() {
            switch name {
            case "", "identity": continue
            case "deflate", "gzip", "x-gzip":
                guard let decoded = try? Inflate.bytes(of: plain.span, most: most) else { return nil }
                plain = decoded.count < most ? decoded : wholeCharacters(of: decoded)
            default: return nil
            }
        }
        return plain
    }

    /// Without the part of a character in UTF-8 that a cut has left at the end.
    private static func wholeCharacters(of text: [UInt8]) -> [UInt8] {
        let tail = text.reversed().prefix { $0 & 0xC0 == 0x80 }.count
        return tail < 4 && (text.dropLast(tail).last ?? 0) >= 0xC0 ? Array(text.dropLast(tail + 1)) : text
    }
}
