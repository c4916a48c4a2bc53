// SPDX-License-Identifier: MIT

/// Lines of bindings on their way from a file to an engine: as many in one message as are good for it, those of one user
/// together, since a phone may have several. Pure.
public struct BindingBatch {
    /// A line with its place in the file, from 1.
    public struct Line: Equatable, Sendable {
        public let number: Int
        public let text: String
    }

    /// What becomes of a line.
    public enum Step: Equatable, Sendable {
        case taken
        /// `take()` and send what is here first, then add it again.
        case sendFirst
        /// No binding is so long.
        case tooLong
    }

    /// Bytes of a line, and of lines after which those of another user begin another message.
    public static let enough = 48 * 1024
    /// Bytes of lines in one message, whoever they are of; the rest is for what stands between them.
    static let most = EngineProtocol.longestMessage - 32 * 1024

    private var lines: [Line] = []
    private var size = 0
    private var user = ""

    public init() {}

    /// Takes a line, unless it has to wait for the next message.
    public mutating func add(_ text: String, number: Int) -> Step {
        let count = text.utf8.count
        guard count <= Self.enough else { return .tooLong }
        let user = Self.user(of: text)
        if !lines.isEmpty, size > Self.enough && user != self.user || size + count > Self.most { return .sendFirst }
        lines.append(Line(number: number, text: text))
        (self.user, size) = (user, size + count)
        return .taken
    }

    /// What is to be sent; the batch is empty then.
    public mutating func take() -> [Line] {
        defer { (lines, size) = ([], 0) }
        return lines
    }

    /// What stands under `aor`, wherever in the line; empty when it is not found.
    static func user(of line: String) -> String {
        let name = Array("\"aor\"".utf8)
        let bytes = Array(line.utf8)
        var place = 0
        while place + name.count <= bytes.count {
            guard bytes[place..<(place + name.count)].elementsEqual(name) else {
                place += 1
                continue
            }
            let rest = bytes[(place + name.count)...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard rest.first == UInt8(ascii: ":") else { return "" }
            let value = rest.dropFirst().drop { $0 != UInt8(ascii: "\"") }.dropFirst()
            return String(decoding: value.prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        }
        return ""
    }
}
