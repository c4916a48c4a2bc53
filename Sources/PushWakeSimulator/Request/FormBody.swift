// SPDX-License-Identifier: MIT

/// A body of type application/x-www-form-urlencoded.
struct FormBody {
    private var fields: [(name: String, value: String)] = []

    init(_ body: [UInt8]) {
        for pair in body.split(separator: UInt8(ascii: "&")).prefix(100) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            fields.append((Self.decode(parts[0]), parts.count > 1 ? Self.decode(parts[1]) : ""))
        }
    }

    /// First value under a name.
    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    private static func decode(_ text: ArraySlice<UInt8>) -> String {
        var out: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): out.append(0x20)
            case UInt8(ascii: "%") where rest.count >= 2:
                guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                    out.append(byte)
                    continue
                }
                out.append(value)
                rest = rest.dropFirst(2)
            default: out.append(byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
