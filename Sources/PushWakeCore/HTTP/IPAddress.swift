// SPDX-License-Identifier: MIT

/// Reads IP addresses as text, in their strict forms only.
enum IPAddressText {
    /// Four decimal numbers without leading zeros, which some readers take for octal.
    static func v4(_ text: some StringProtocol) -> UInt32? {
        // By bytes: each REGISTER from another address reads two, and Characters cost ten times as much.
        var address: UInt32 = 0
        var dots = 0
        var number: UInt32?
        for byte in text.utf8 {
            if byte == UInt8(ascii: ".") {
                guard let part = number, dots < 3 else { return nil }
                address = address << 8 | part
                (number, dots) = (nil, dots + 1)
            } else {
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), number != 0 else { return nil }
                let next = (number ?? 0) * 10 + UInt32(byte - UInt8(ascii: "0"))
                guard next <= 255 else { return nil }
                number = next
            }
        }
        guard let last = number, dots == 3 else { return nil }
        return address << 8 | last
    }

    /// Sixteen bytes of RFC 4291, 2.2; a zone is refused.
    static func v6(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= 45 else { return nil }
        guard let gap = text.firstRange(of: "::") else {
            guard let bytes = groups(text[...]), bytes.count == 16 else { return nil }
            return bytes
        }
        guard let head = groups(text[..<gap.lowerBound]), let tail = groups(text[gap.upperBound...]),
            head.count + tail.count <= 14
        else { return nil }
        return head + Array(repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    /// The bytes of groups between colons, the last one perhaps an IPv4 address; empty for an empty text.
    private static func groups(_ text: Substring) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        var bytes: [UInt8] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, let address = v4(part) {
                for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: address >> shift)) }
            } else {
                guard (1...4).contains(part.utf8.count), part.first != "+", part.first != "-",
                    let group = UInt16(part, radix: 16)
                else { return nil }
                bytes.append(UInt8(truncatingIfNeeded: group >> 8))
                bytes.append(UInt8(truncatingIfNeeded: group))
            }
        }
        return bytes
    }
}

/// Tells addresses inside a network from public ones, so that a URL that a phone sent leads nowhere it should not.
///
/// The caller asks twice: about the host in the URL, and about each address that its name resolves to.
public enum PrivateAddress {
    /// True for a host that is, or may stand for, something not on the public Internet.
    ///
    /// A host that ends in a number must be four plain decimal numbers: resolvers also read `127.1`,
    /// `0x7f.0.0.1` and `2130706433`, and nobody writes those in good faith.
    public static func isPrivate(host: String) -> Bool {
        let name = host.lowercased()
        if name.utf8.contains(ASCII.colon) {
            guard let bytes = IPAddressText.v6(name) else { return true }
            return isPrivate(v6: bytes)
        }
        if let address = IPAddressText.v4(name) { return isPrivate(v4: address) }
        let labels = name.split(separator: ".", omittingEmptySubsequences: true)
        guard let last = labels.last, labels.count > 1 else { return true }
        if last.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) || last.hasPrefix("0x") { return true }
        return ["localhost", "local", "internal", "lan", "home", "intranet", "corp", "arpa"].contains(last)
    }

    /// True for an IPv4 address, highest byte first, that is not public (IANA special-purpose registry).
    public static func isPrivate(v4 address: UInt32) -> Bool {
        blocks.contains { block in address >> (32 - block.bits) == block.prefix >> (32 - block.bits) }
    }

    /// True for 16 bytes of an IPv6 address that is not public, or wraps an IPv4 address that is not.
    public static func isPrivate(v6 bytes: [UInt8]) -> Bool {
        guard bytes.count == 16 else { return true }
        let mapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        let translated = bytes[..<12].elementsEqual([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        if mapped || translated { return isPrivate(v4: v4(in: bytes, at: 12)) }
        if bytes[0] == 0x20, bytes[1] == 0x02 { return isPrivate(v4: v4(in: bytes, at: 2)) }
        if bytes[0] == 0x20, bytes[1] == 0x01 {
            // Teredo and ORCHID (2001::/23), and documentation.
            return bytes[2] < 2 || bytes[2] == 0x0D && bytes[3] == 0xB8
        }
        // Of the rest, 2000::/3 is all that was ever given out.
        return bytes[0] & 0xE0 != 0x20
    }

    private static func v4(in bytes: [UInt8], at index: Int) -> UInt32 {
        bytes[index..<(index + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static let blocks: [(prefix: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16),
        (0xAC10_0000, 12), (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16),
        (0xC612_0000, 15), (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
    ]
}

/// A list of IP networks such as `127.0.0.0/8,::1/128`.
public struct NetworkList: Equatable, Sendable {
    private struct Network: Equatable {
        let bytes: [UInt8]
        let bits: Int
    }

    private var networks: [Network] = []

    /// Reads a comma separated list; an address without a length means itself. Nil when an entry is none.
    public init?(_ text: String) {
        for entry in text.split(separator: ",") {
            let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
            guard let first = parts.first, let bytes = Self.bytes(String(first.filter { $0 != " " })) else {
                return nil
            }
            var bits = bytes.count * 8
            if parts.count > 1 {
                guard parts.count == 2, let length = Int(parts[1].filter { $0 != " " }), (0...bits).contains(length)
                else {
                    return nil
                }
                bits = length
            }
            networks.append(Network(bytes: bytes, bits: bits))
        }
    }

    /// Whether an address, as an IP literal, lies in one of the networks.
    public func contains(_ ip: String) -> Bool {
        guard let address = Self.bytes(ip) else { return false }
        return networks.contains { network in
            guard network.bytes.count == address.count else { return false }
            return (0..<network.bits).allSatisfy { bit in
                let mask = UInt8(0x80) >> UInt8(bit & 7)
                return network.bytes[bit >> 3] & mask == address[bit >> 3] & mask
            }
        }
    }

    /// It holds more than any one's own network: a network of IPv4 shorter than 8 bits, or one of IPv6 shorter than 16.
    public var isWide: Bool { networks.contains { $0.bits < ($0.bytes.count == 4 ? 8 : 16) } }

    private static func bytes(_ text: String) -> [UInt8]? {
        if let four = IPAddressText.v4(text) {
            return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: four >> UInt32($0)) }
        }
        return IPAddressText.v6(text)
    }
}
