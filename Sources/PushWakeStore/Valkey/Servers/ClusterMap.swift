// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Which master of a cluster has which keys. Pure (https://valkey.io/topics/cluster-spec/).
struct ClusterMap: Equatable {
    typealias Host = ValkeyAddress.Host

    static let slotCount = 16_384

    /// Those that have slots, each once.
    private(set) var masters: [Host] = []
    /// All that were named, replicas included.
    private(set) var nodes: [Host] = []
    /// For each slot one more than the index of its master; 0: nobody has it.
    private var owners = [UInt16](repeating: 0, count: slotCount)

    /// Nobody has anything.
    init() {}

    /// Reads the answer to CLUSTER SLOTS; nil when it is none, or names nobody. A node that does not know its own address
    /// is where it was asked.
    init?(_ reply: ValkeyReply, asked: Host) {
        // Each range goes through its slots.
        guard reply.elements.count <= Self.slotCount else { return nil }
        for range in reply.elements {
            let parts = range.elements
            guard parts.count >= 3, case .integer(let first) = parts[0], case .integer(let last) = parts[1], first >= 0,
                last < Self.slotCount, first <= last
            else { return nil }
            let hosts = parts[2...].map { Self.host($0, asked) }
            for case let host? in hosts where !nodes.contains(host) { nodes.append(host) }
            guard case let master? = hosts[0], let number = number(of: master) else { continue }
            for slot in Int(first)...Int(last) { owners[slot] = number }
        }
        guard !masters.isEmpty else { return nil }
    }

    /// Who has a slot; nil when nobody is known to.
    func master(of slot: Int) -> Host? {
        guard owners.indices.contains(slot), owners[slot] > 0 else { return nil }
        return masters[Int(owners[slot]) - 1]
    }

    /// A slot has another master now.
    mutating func move(_ slot: Int, to host: Host) {
        guard owners.indices.contains(slot), let number = number(of: host) else { return }
        owners[slot] = number
        if !nodes.contains(host) { nodes.append(host) }
    }

    /// Every slot has a master.
    var isWhole: Bool { !owners.contains(0) }

    private mutating func number(of host: Host) -> UInt16? {
        if let index = masters.firstIndex(of: host) { return UInt16(index + 1) }
        guard masters.count < 1000 else { return nil }
        masters.append(host)
        return UInt16(masters.count)
    }

    private static func host(_ reply: ValkeyReply, _ asked: Host) -> Host? {
        let parts = reply.elements
        guard parts.count >= 2, case .integer(let number) = parts[1], let port = UInt16(exactly: number), port > 0
        else { return nil }
        let name = parts[0].text ?? ""
        // It has been told to name hosts, and knows no name of this one.
        guard name != "?" else { return nil }
        return Host(name: name.isEmpty ? asked.name : name, port: port)
    }

    /// The slot of a key: CRC-16/XMODEM of its hash tag, or of all of it.
    static func slot(of key: [UInt8]) -> Int {
        var tag = key[...]
        if let open = key.firstIndex(of: UInt8(ascii: "{")),
            let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        {
            tag = key[(open + 1)..<close]
        }
        var crc: UInt16 = 0
        for byte in tag {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        }
        return Int(crc) % slotCount
    }
}

/// What a node of a cluster says that cannot do what it was asked.
enum ClusterRedirection: Equatable {
    /// Another has the slot from now on.
    case moved(slot: Int, to: ValkeyAddress.Host)
    /// Another has this key, as its slot is on its way there.
    case ask(ValkeyAddress.Host)
    /// Some keys of the command are on their way.
    case tryAgain
    /// Nobody has the slot, or too few masters are there.
    case down

    /// Reads an error; nil for any other. `asked`: who said it.
    init?(_ text: String, asked: ValkeyAddress.Host) {
        let words = text.split(separator: " ")
        switch words.first {
        case "MOVED":
            guard words.count == 3, let slot = Int(words[1]), let host = Self.host(words[2], asked) else { return nil }
            self = .moved(slot: slot, to: host)
        case "ASK":
            guard words.count == 3, let host = Self.host(words[2], asked) else { return nil }
            self = .ask(host)
        case "TRYAGAIN": self = .tryAgain
        case "CLUSTERDOWN": self = .down
        default: return nil
        }
    }

    /// An IPv6 address has no brackets here; without any it is the host that says it.
    private static func host(_ text: Substring, _ asked: ValkeyAddress.Host) -> ValkeyAddress.Host? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0,
            text[..<colon] != "?"
        else { return nil }
        return ValkeyAddress.Host(name: colon == text.startIndex ? asked.name : String(text[..<colon]), port: port)
    }
}
