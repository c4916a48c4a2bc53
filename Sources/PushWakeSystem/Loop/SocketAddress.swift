// SPDX-License-Identifier: MIT

internal import CLinux
internal import PushWakeCore

/// An IPv4 or IPv6 address with a port.
public struct SocketAddress: Sendable, CustomStringConvertible {
    var storage: sockaddr_storage
    var length: socklen_t

    init(storage: sockaddr_storage, length: socklen_t) {
        self.storage = storage
        self.length = length
    }

    /// Reads an IP literal, IPv6 with or without brackets; nil when it is a name.
    public init?(ip text: String, port: UInt16) {
        var literal = text
        if literal.hasPrefix("["), literal.hasSuffix("]") { literal = String(literal.dropFirst().dropLast()) }
        var four = sockaddr_in()
        var six = sockaddr_in6()
        storage = sockaddr_storage()
        if inet_pton(AF_INET, literal, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: four, as: sockaddr_in.self) }
        } else if inet_pton(AF_INET6, literal, &six.sin6_addr) == 1 {
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = port.bigEndian
            length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: six, as: sockaddr_in6.self) }
        } else {
            return nil
        }
    }

    /// A Unix socket; nil when the path is empty or longer than 107 bytes.
    public init?(unixPath path: String) {
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        storage = sockaddr_storage()
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_un.self) }
    }

    /// The IPv4 address that `::ffff:a.b.c.d` stands for: an IPv4 peer of a listener for both (RFC 4291, 2.5.5.2). Any
    /// other is itself.
    var unmapped: SocketAddress {
        guard isIPv6 else { return self }
        return withUnsafeBytes(of: storage) { bytes in
            let address = bytes[8..<24]
            guard address.prefix(10).allSatisfy({ $0 == 0 }), address[18] == 0xFF, address[19] == 0xFF else {
                return self
            }
            return SocketAddress(ip: address.suffix(4).map(String.init).joined(separator: "."), port: port) ?? self
        }
    }

    var family: Int32 { Int32(storage.ss_family) }

    /// False means IPv4.
    public var isIPv6: Bool { family == AF_INET6 }

    /// In host byte order.
    public var port: UInt16 {
        withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
    }

    /// The literal without port or brackets.
    public var ip: String {
        var text = [CChar](repeating: 0, count: 64)
        let offset = isIPv6 ? 8 : 4
        withUnsafeBytes(of: storage) { bytes in
            guard let base = bytes.baseAddress else { return }
            _ = inet_ntop(family, base + offset, &text, 64)
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The address in network order: 4 bytes, or 16 for IPv6.
    public var hostBytes: [UInt8] {
        withUnsafeBytes(of: storage) { Array($0[isIPv6 ? 8..<24 : 4..<8]) }
    }

    /// Not on the public Internet: nothing that a URL from outside should reach.
    public var isLocal: Bool {
        withUnsafeBytes(of: storage) { bytes in
            if isIPv6 {
                return PrivateAddress.isPrivate(v6: Array(bytes[8..<24]))
            }
            return PrivateAddress.isPrivate(v4: bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) })
        }
    }

    /// `127.0.0.1:443` or `[::1]:443`.
    public var description: String {
        family == AF_UNIX ? unixPath : isIPv6 ? "[\(ip)]:\(port)" : "\(ip):\(port)"
    }

    private var unixPath: String {
        withUnsafeBytes(of: storage) { String(decoding: $0[2...].prefix { $0 != 0 }, as: UTF8.self) }
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
