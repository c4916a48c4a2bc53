// SPDX-License-Identifier: MIT

/// Text of the days before UTF-8. Whoever writes ISO 8859-1 and has quotes, dashes or a euro sign means windows-1252, which
/// has them where ISO 8859-1 has controls: browsers read both as this one (Encoding Standard, 4.2).
enum Windows1252 {
    /// What 0x80 to 0x9F are; nothing stands in five places.
    private static let marks: [UInt16] = [
        0x20AC, 0xFFFD, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
        0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0xFFFD, 0x017D, 0xFFFD,
        0xFFFD, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
        0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0xFFFD, 0x017E, 0x0178,
    ]

    /// One character for each byte, U+FFFD for those that are none.
    static func text(of bytes: Span<UInt8>) -> String {
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count)
        for index in bytes.indices {
            let byte = bytes[index]
            units.append(0x80..<0xA0 ~= byte ? marks[Int(byte &- 0x80)] : UInt16(byte))
        }
        return String(decoding: units, as: UTF16.self)
    }
}

extension Span<UInt8> {
    /// What somebody wrote who should have written UTF-8: that, or windows-1252 where nothing beyond ASCII is UTF-8. Where
    /// something is, a part of it was cut or broken, and U+FFFD stands in its place.
    func textOrWindows1252() -> String {
        if let text = validText() { return text }
        let mended = text()
        let isDamaged = mended.unicodeScalars.contains { !$0.isASCII && $0 != "\u{FFFD}" }
        return isDamaged ? mended : Windows1252.text(of: self)
    }
}
