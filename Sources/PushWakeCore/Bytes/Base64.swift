// SPDX-License-Identifier: MIT

/// Base64 with padding (RFC 4648, 4), as HTTP's Basic authentication wants it.
enum Base64 {
    /// Writes the text of `bytes`.
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var out: [UInt8] = []
        Base64URL.append(Array(bytes), to: &out)
        for index in out.indices {
            if out[index] == UInt8(ascii: "-") { out[index] = UInt8(ascii: "+") }
            if out[index] == UInt8(ascii: "_") { out[index] = UInt8(ascii: "/") }
        }
        while out.count % 4 != 0 { out.append(ASCII.equals) }
        return String(decoding: out, as: UTF8.self)
    }
}
