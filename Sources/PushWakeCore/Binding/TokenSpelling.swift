// SPDX-License-Identifier: MIT

/// The one spelling of a token. A `Binding` has no other, whatever a phone, an app, an operator or an earlier release wrote:
/// what is one token to its service is one binding, one push, and one device to limits.
enum TokenSpelling {
    /// The token without blanks and `<>` around it, and in the spelling that all others of the same token share:
    ///
    /// * Apple's are hexadecimal: small letters, no blanks between. Apps print them as the system shows bytes
    ///   (`<32C6AD8E 12AB…>`).
    /// * An endpoint of Web Push is a URL: scheme and host in small letters, without the port of https, escapes as RFC 3986
    ///   has them (6.2.2 and 6.2.3).
    /// * Google's have no `%`: escapes are resolved.
    ///
    /// What is none of these stays as it is.
    static func canonical(_ token: String, of provider: Provider) -> String {
        let bytes = token.utf8.span
        let form = provider.row.token
        if isCanonical(bytes, form) { return token }
        let bare = bare(bytes)
        return switch form {
        case .apple: hex(bare) ?? bare.text()
        case .url: url(bare.text())
        case .plain where provider == .fcm: unescaped(bare) ?? bare.text()
        case .plain: bare.text()
        }
    }

    /// What almost all tokens are. Looks at many bytes at a time.
    private static func isCanonical(_ bytes: Span<UInt8>, _ form: TokenRules.Form) -> Bool {
        guard bytes.count > 0, !isAround(bytes[0]), !isAround(bytes[bytes.count &- 1]) else { return bytes.isEmpty }
        switch form {
        case .apple:
            // Small letters and digits have this bit, capital letters do not.
            var all: UInt8 = 0x20
            for index in bytes.indices { all &= bytes[index] }
            return all != 0 && !bytes.contains(ASCII.space)
        case .url: return isCanonicalURL(bytes)
        case .plain: return !bytes.contains(ASCII.percent)
        }
    }

    private static func isAround(_ byte: UInt8) -> Bool {
        byte == ASCII.space || byte &- 9 < 5 || byte == ASCII.less || byte == ASCII.greater
    }

    @_lifetime(copy bytes)
    private static func bare(_ bytes: Span<UInt8>) -> Span<UInt8> {
        var bare = bytes.trimmed()
        while bare.count > 1, bare[0] == ASCII.less, bare[bare.count &- 1] == ASCII.greater {
            bare = bare.part(1..<(bare.count &- 1)).trimmed()
        }
        return bare
    }

    /// Nil when there is anything but hexadecimal digits and blanks.
    private static func hex(_ bytes: Span<UInt8>) -> String? {
        var digits: [UInt8] = []
        digits.reserveCapacity(bytes.count)
        for index in bytes.indices where !ASCII.isBlank(bytes[index]) {
            guard ByteClass.hex.contains(bytes[index]) else { return nil }
            digits.append(ASCII.lowercased(bytes[index]))
        }
        return digits.span.text()
    }

    /// Nil when there is a `%` that stands for itself.
    private static func unescaped(_ bytes: Span<UInt8>) -> String? {
        guard let text = try? PercentDecoding.decode(bytes), !text.utf8.span.contains(ASCII.percent) else { return nil }
        return text
    }

    // MARK: URLs

    /// Nothing but small letters, digits, `.` and `-` before the first slash, and no escape behind it.
    private static func isCanonicalURL(_ bytes: Span<UInt8>) -> Bool {
        let scheme = "https://"
        guard bytes.part(0..<8).equals(scheme), !bytes.contains(ASCII.percent), !bytes.contains(UInt8(ascii: "#"))
        else {
            return false
        }
        var cursor = Cursor(bytes, in: 8..<bytes.count)
        let host = cursor.skip { $0 &- 0x61 < 26 || $0 &- 0x30 < 10 || $0 == ASCII.dot || $0 == UInt8(ascii: "-") }
        return cursor.peek() == UInt8(ascii: "/") && bytes[host.upperBound &- 1] != ASCII.dot
    }

    private static func url(_ text: String) -> String {
        guard let (origin, path) = HTTPOrigin.split(text) else { return text }
        var host = origin.host[...]
        while host.last == "." { host.removeLast() }
        let start = path.first == "/" ? "" : "/"
        return "https://" + HTTPOrigin(host: String(host), port: origin.port).authority + start + escapes(path)
    }

    /// Escapes with capital digits, and none of what needs none.
    private static func escapes(_ path: String) -> String {
        let bytes = path.utf8.span
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == ASCII.percent, index &+ 2 < bytes.count, let high = Hex.value(of: bytes[index &+ 1]),
                let low = Hex.value(of: bytes[index &+ 2])
            else {
                out.append(bytes[index])
                index &+= 1
                continue
            }
            let value = high &<< 4 | low
            if ByteClass.unreserved.contains(value) {
                out.append(value)
            } else {
                out.append(ASCII.percent)
                for digit in [high, low] { out.append(digit < 10 ? 0x30 &+ digit : 0x37 &+ digit) }
            }
            index &+= 3
        }
        return out.span.text()
    }
}
