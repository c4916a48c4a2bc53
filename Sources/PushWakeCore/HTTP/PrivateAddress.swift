// SPDX-License-Identifier: MIT

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
