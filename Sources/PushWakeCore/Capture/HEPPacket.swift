// SPDX-License-Identifier: MIT

/// One log line about a call in the Homer Encapsulation Protocol, version 3 ("HEP/EEP: Extensible Encapsulation
/// Protocol", revision 12, sipcapture.org).
///
/// A packet is `HEP3`, its length, and chunks: vendor, type, length with these six bytes, and content, numbers in network
/// order. The chunks stand in the order that siptrace writes them in, which readers without a parser (sngrep) count on.
public struct HEPPacket: Equatable, Sendable {
    /// One end of the connection that carries it.
    public struct End: Equatable, Sendable {
        /// 4 bytes, or 16 for IPv6.
        public let host: [UInt8]
        public let port: UInt16

        public init(host: [UInt8], port: UInt16) {
            self.host = host
            self.port = port
        }
    }

    /// Vendor of the chunk with the step as JSON, `PW`: none of those that are given away (0 to 15). Its type is one that
    /// no reader knows, as heplify-server looks at types alone.
    public static let vendor: UInt16 = 0x5057
    /// Type of that chunk, `JS`.
    public static let jsonType: UInt16 = 0x4A53

    private enum Chunk: UInt16 {
        case family = 1, transport = 2, source4 = 3, destination4 = 4, source6 = 5, destination6 = 6, sourcePort = 7,
            destinationPort = 8, seconds = 9, microseconds = 10, type = 11, agent = 12, payload = 15,
            correlationID = 17
    }

    /// Protocol type of a log line: 100, as siptrace's `hlog` sends and Homer shows.
    private static let log: UInt8 = 100
    /// Bytes that the length of the whole leaves for the parts.
    private static let longestID = 1024
    private static let longestLine = 8192
    private static let longestJSON = 32_768

    /// Microseconds since 1970 at which it happened.
    public var time: Int64
    /// Capture agent's number.
    public var agent: UInt32
    /// The Call-ID; readers show the packet with the SIP messages that have it.
    public var correlationID: String
    /// What people read.
    public var line: String
    /// The same for programs; empty for none.
    public var json: [UInt8]

    /// Texts that are longer than a packet can be are cut when it is encoded.
    public init(time: Int64, agent: UInt32, correlationID: String, line: String, json: [UInt8] = []) {
        self.time = time
        self.agent = agent
        self.correlationID = correlationID
        self.line = line
        self.json = json
    }

    /// The packet as it goes from `source` to `destination`, over UDP or over TCP.
    public func bytes(from source: End, to destination: End, isUDP: Bool) -> [UInt8] {
        var bytes = Array("HEP3".utf8)
        bytes.reserveCapacity(160 + line.utf8.count + json.count)
        Self.put(0, width: 2, &bytes)
        let isIPv6 = source.host.count == 16 && destination.host.count == 16
        Self.put(.family, isIPv6 ? 10 : 2, width: 1, &bytes)
        Self.put(.transport, isUDP ? 17 : 6, width: 1, &bytes)
        Self.put(.sourcePort, UInt32(source.port), width: 2, &bytes)
        Self.put(.destinationPort, UInt32(destination.port), width: 2, &bytes)
        let whole = max(0, time)
        Self.put(.seconds, UInt32(clamping: whole / 1_000_000), width: 4, &bytes)
        Self.put(.microseconds, UInt32(whole % 1_000_000), width: 4, &bytes)
        Self.put(.type, UInt32(Self.log), width: 1, &bytes)
        Self.put(.agent, agent, width: 4, &bytes)
        if isIPv6 {
            Self.put(.source6, source.host, &bytes)
            Self.put(.destination6, destination.host, &bytes)
        } else {
            Self.put(.source4, Self.v4(source.host), &bytes)
            Self.put(.destination4, Self.v4(destination.host), &bytes)
        }
        Self.put(.payload, Self.cut(line, Self.longestLine), &bytes)
        if !correlationID.isEmpty { Self.put(.correlationID, Self.cut(correlationID, Self.longestID), &bytes) }
        if !json.isEmpty, json.count <= Self.longestJSON {
            Self.put(vendor: Self.vendor, Self.jsonType, json, &bytes)
        }
        bytes[4] = UInt8(truncatingIfNeeded: bytes.count >> 8)
        bytes[5] = UInt8(truncatingIfNeeded: bytes.count)
        return bytes
    }

    private static func v4(_ host: [UInt8]) -> [UInt8] { host.count == 4 ? host : [0, 0, 0, 0] }

    /// At most so many bytes, ending with a whole character.
    private static func cut(_ text: String, _ most: Int) -> [UInt8] {
        let bytes = text.utf8
        guard bytes.count > most else { return Array(bytes) }
        var end = bytes.index(bytes.startIndex, offsetBy: most)
        while end > bytes.startIndex, bytes[end] & 0xC0 == 0x80 { end = bytes.index(before: end) }
        return Array(bytes[..<end])
    }

    private static func put(_ chunk: Chunk, _ number: UInt32, width: Int, _ bytes: inout [UInt8]) {
        putHead(vendor: 0, chunk.rawValue, count: width, &bytes)
        put(number, width: width, &bytes)
    }

    private static func put(_ chunk: Chunk, _ content: [UInt8], _ bytes: inout [UInt8]) {
        put(vendor: 0, chunk.rawValue, content, &bytes)
    }

    private static func put(vendor: UInt16, _ type: UInt16, _ content: [UInt8], _ bytes: inout [UInt8]) {
        putHead(vendor: vendor, type, count: content.count, &bytes)
        bytes.append(contentsOf: content)
    }

    private static func putHead(vendor: UInt16, _ type: UInt16, count: Int, _ bytes: inout [UInt8]) {
        put(UInt32(vendor), width: 2, &bytes)
        put(UInt32(type), width: 2, &bytes)
        put(UInt32(truncatingIfNeeded: count + 6), width: 2, &bytes)
    }

    private static func put(_ number: UInt32, width: Int, _ bytes: inout [UInt8]) {
        for place in stride(from: 8 * (width - 1), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(place)))
        }
    }
}

/// Wall time of steps that a clock of milliseconds has timed, in their order: the two clocks are read one after the other,
/// and what the scheduler puts in between must not set a later step before an earlier one.
public struct CaptureClock: Sendable {
    /// Differences up to this, in microseconds, come from the reading; from there on the clock was set.
    public static let leastCorrection: Int64 = 20_000

    private var offset: Int64?

    public init() {}

    /// What to add to a monotonic time to get microseconds since 1970; both clocks in microseconds, as read now.
    public mutating func offset(wall: Int64, monotonic: Int64) -> Int64 {
        let read = wall &- monotonic
        if let offset, (read &- offset).magnitude < Self.leastCorrection.magnitude { return offset }
        offset = read
        return read
    }
}
