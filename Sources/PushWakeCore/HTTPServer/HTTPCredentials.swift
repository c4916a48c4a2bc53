// SPDX-License-Identifier: MIT

/// What the Authorization field of a request says (RFC 9110, 11.6.2).
public enum HTTPCredentials: Equatable, Sendable {
    case none
    /// RFC 6750, 2.1.
    case bearer([UInt8])
    /// RFC 7617, 2.
    case basic(user: String, password: [UInt8])
    /// RFC 7616, 3.4.
    case digest(Digest)
    /// A scheme that is not offered, or a value that is none of its scheme.
    case unreadable

    /// Whose password is shown; empty where none is, or its owner cannot be read.
    public var user: String {
        switch self {
        case .basic(let user, _): user
        case .digest(let digest): digest.user
        case .none, .bearer, .unreadable: ""
        }
    }

    /// Reads the value of the field; nil stands for no field.
    public init(_ value: String?) {
        guard let value else {
            self = .none
            return
        }
        let parts = value.split(separator: " ", maxSplits: 1)
        let rest = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        switch parts.first?.lowercased() {
        case "bearer": self = rest.isEmpty ? .unreadable : .bearer(Array(rest.utf8))
        case "basic": self = Self.basic(rest) ?? .unreadable
        case "digest": self = Digest(rest).map { .digest($0) } ?? .unreadable
        default: self = .unreadable
        }
    }

    private static func basic(_ text: String) -> HTTPCredentials? {
        let alphabet = text.utf8.map { byte in
            byte == UInt8(ascii: "+") ? UInt8(ascii: "-") : byte == UInt8(ascii: "/") ? UInt8(ascii: "_") : byte
        }
        guard let pair = Base64URL.decode(String(decoding: alphabet, as: UTF8.self)),
            let colon = pair.firstIndex(of: ASCII.colon), !pair.contains(0),
            let user = Array(pair[..<colon]).span.validText()
        else { return nil }
        return .basic(user: user, password: Array(pair[(colon + 1)...]))
    }

    /// The parameters of Digest that count here.
    public struct Digest: Equatable, Sendable {
        public var user = ""
        public var realm = ""
        public var nonce = ""
        public var uri = ""
        public var response = ""
        public var algorithm = DigestAlgorithm.md5
        public var cnonce = ""
        /// Eight hexadecimal digits, as sent.
        public var nonceCount = ""

        /// Reads the parameters; nil when one is missing, comes twice or is of a kind that was not offered.
        init?(_ text: String) {
            var found: [String: String] = [:]
            var rest = text.utf8[...]
            while true {
                rest = rest.drop { ASCII.isBlank($0) || $0 == ASCII.comma }
                guard !rest.isEmpty else { break }
                guard let equals = rest.firstIndex(of: ASCII.equals) else { return nil }
                let name = String(decoding: rest[..<equals], as: UTF8.self).lowercased()
                rest = rest[rest.index(after: equals)...]
                guard let value = Self.takeValue(&rest), found.updateValue(value, forKey: name) == nil, found.count < 20
                else { return nil }
            }
            guard let user = found["username"], let realm = found["realm"], let nonce = found["nonce"],
                let uri = found["uri"], let response = found["response"], let cnonce = found["cnonce"],
                let count = found["nc"], found["qop"] == "auth", found["userhash"] != "true",
                let algorithm = DigestAlgorithm(name: found["algorithm"] ?? "MD5"),
                count.utf8.count == 8, count.utf8.allSatisfy(ByteClass.hex.contains)
            else { return nil }
            (self.user, self.realm, self.nonce, self.uri) = (user, realm, nonce, uri)
            (self.response, self.cnonce, nonceCount, self.algorithm) = (response, cnonce, count, algorithm)
        }

        private static func takeValue(_ rest: inout Substring.UTF8View) -> String? {
            guard rest.first == ASCII.quote else {
                let value = rest.prefix { $0 != ASCII.comma && $0 != ASCII.space }
                rest = rest.dropFirst(value.count)
                return value.isEmpty ? nil : String(decoding: value, as: UTF8.self)
            }
            rest = rest.dropFirst()
            var value: [UInt8] = []
            while let next = rest.popFirst() {
                if next == ASCII.quote { return String(decoding: value, as: UTF8.self) }
                guard next != ASCII.backslash else {
                    guard let escaped = rest.popFirst() else { return nil }
                    value.append(escaped)
                    continue
                }
                value.append(next)
            }
            return nil
        }
    }
}
