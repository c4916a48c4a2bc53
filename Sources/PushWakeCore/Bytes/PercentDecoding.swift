// SPDX-License-Identifier: MIT

/// Resolves `%XX` escapes of URI parameters (RFC 3261, 25.1), once.
///
/// What comes out is text without control bytes, so that no value can end a header or a line
/// wherever it is put later.
enum PercentDecoding {
    /// Why a value cannot be used.
    enum Failure: Error, Equatable {
        /// `%` without two hexadecimal digits after it.
        case escape
        /// A NUL, a line end or another control byte, escaped or not.
        case control
        /// Bytes that are no UTF-8.
        case encoding
    }

    /// The text behind `bytes`; with `keepsLines` escapes may stand for line ends and tabs.
    static func decode(_ bytes: Span<UInt8>, keepsLines: Bool = false) throws(Failure) -> String {
        if bytes.hasControls() { throw .control }
        if bytes.contains(ASCII.percent) { return try decodeEscapes(bytes, keepsLines) }
        guard let text = bytes.validText() else { throw .encoding }
        return text
    }

    private static func decodeEscapes(_ bytes: Span<UInt8>, _ keepsLines: Bool) throws(Failure) -> String {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == ASCII.percent else {
                out.append(byte)
                index &+= 1
                continue
            }
            guard index &+ 2 < bytes.count, let high = Hex.value(of: bytes[index &+ 1]),
                let low = Hex.value(of: bytes[index &+ 2])
            else { throw .escape }
            let value = high &<< 4 | low
            if value < 0x20 || value == 0x7F {
                guard keepsLines, value == 0x0A || value == 0x0D || value == 0x09 else { throw .control }
            }
            out.append(value)
            index &+= 3
        }
        guard let text = out.span.validText() else { throw .encoding }
        return text
    }
}
