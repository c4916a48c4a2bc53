// SPDX-License-Identifier: MIT

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
        guard var address = Self.bytes(ip) else { return false }
        // ::ffff:a.b.c.d is an IPv4 peer of a listener for both.
        if address.count == 16, address[..<10].allSatisfy({ $0 == 0 }), address[10] == 0xFF, address[11] == 0xFF {
            address = Array(address[12...])
        }
        return networks.contains { network in
            guard network.bytes.count == address.count else { return false }
            return (0..<network.bits).allSatisfy { bit in
                let mask = UInt8(0x80) >> UInt8(bit & 7)
                return network.bytes[bit >> 3] & mask == address[bit >> 3] & mask
            }
        }
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        if let four = IPAddressText.v4(text) {
            return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: four >> UInt32($0)) }
        }
        return IPAddressText.v6(text)
    }
}
