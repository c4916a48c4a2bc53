// SPDX-License-Identifier: MIT

/// One challenge of a server (RFC 3261, 22; RFC 8760).
public struct DigestChallenge: Equatable, Sendable {
    public var realm = ""
    public var nonce = ""
    /// Nil when the server sent none.
    public var opaque: String?
    public var algorithm = DigestAlgorithm.md5
    /// `MD5-sess` and the like.
    public var isSession = false
    /// As the server wrote it; empty when not said.
    public var algorithmName = ""
    /// The server understands `qop=auth`.
    public var hasAuth = false
    /// The answer was right, but its nonce too old (RFC 7616, 3.3).
    public var isStale = false
    /// 407: the answer goes into Proxy-Authorization.
    public var isProxy = false

    /// Nothing is known yet.
    public init() {}

    /// All challenges of one WWW-Authenticate or Proxy-Authenticate that can be answered: several may stand in one
    /// header, separated by commas (RFC 7235, 4.1). Other schemes, algorithms and `auth-int` alone are left out.
    public static func read(_ value: Span<UInt8>, isProxy: Bool) -> [DigestChallenge] {
        var found: [DigestChallenge] = []
        var current: Draft?
        var cursor = Cursor(value.part(0..<SIPLimits.longestHeader))
        while !cursor.isAtEnd {
            cursor.skip { ASCII.isBlank($0) || $0 == ASCII.comma || $0 == ASCII.carriageReturn || $0 == ASCII.lineFeed }
            let name = cursor.skip { $0 != ASCII.equals && $0 != ASCII.comma && !ASCII.isBlank($0) }
            cursor.skipBlanks()
            guard cursor.take(ASCII.equals) else {
                // A scheme begins another challenge.
                guard !name.isEmpty else { break }
                if let done = current?.challenge { found.append(done) }
                current = value.part(name).equalsIgnoringCase("digest") ? Draft(isProxy: isProxy) : nil
                continue
            }
            cursor.skipBlanks()
            var text: String
            if cursor.peek() == ASCII.quote {
                guard let inner = cursor.quotedString() else { break }
                // Backslashes stay: the text goes back as it came (RFC 3261, 25.1).
                text = value.text(inner)
            } else {
                text = value.text(cursor.skip { $0 != ASCII.comma && !ASCII.isBlank($0) })
            }
            if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { text = "" }
            current?.take(value.text(name).lowercased(), text)
        }
        if let done = current?.challenge { found.append(done) }
        return found
    }

    /// The user name in the value of an Authorization header; nil when there is none.
    public static func username(inAuthorization value: Span<UInt8>) -> String? {
        var cursor = Cursor(value.part(0..<SIPLimits.longestHeader))
        cursor.skip { !ASCII.isBlank($0) }
        while !cursor.isAtEnd {
            cursor.skip { ASCII.isBlank($0) || $0 == ASCII.comma }
            let name = cursor.trimmingBlanks(cursor.skip { $0 != ASCII.equals && $0 != ASCII.comma })
            guard cursor.take(ASCII.equals) else { continue }
            cursor.skipBlanks()
            var text: Range<Int>?
            if cursor.peek() == ASCII.quote {
                text = cursor.quotedString()
                if text == nil { return nil }
            } else {
                text = cursor.skip { $0 != ASCII.comma && !ASCII.isBlank($0) }
            }
            guard value.part(name).equalsIgnoringCase("username"), let text, !text.isEmpty else { continue }
            let user = value.part(text)
            return user.hasControls() || user.count > SIPLimits.longestName ? nil : user.text()
        }
        return nil
    }

    /// The best one that a hash of this algorithm answers; nil when there is none.
    public static func choose(_ challenges: [DigestChallenge], for algorithm: DigestAlgorithm) -> DigestChallenge? {
        let fit = challenges.filter { $0.algorithm == algorithm }
        return fit.first { $0.hasAuth && !$0.isSession } ?? fit.first { $0.hasAuth } ?? fit.first
    }

    private struct Draft {
        var made = DigestChallenge()
        var isKnown = true
        var hasQOP = false

        init(isProxy: Bool) { made.isProxy = isProxy }

        mutating func take(_ name: String, _ text: String) {
            switch name {
            case "realm": made.realm = text
            case "nonce": made.nonce = text
            case "opaque": made.opaque = text
            case "stale": made.isStale = text.lowercased() == "true"
            case "qop":
                hasQOP = true
                made.hasAuth = text.split(separator: ",").contains { part in
                    part.filter { $0 != " " }.lowercased() == "auth"
                }
            case "algorithm":
                made.algorithmName = text
                var word = text.uppercased()
                made.isSession = word.hasSuffix("-SESS")
                if made.isSession { word.removeLast(5) }
                if let known = DigestAlgorithm(rawValue: word) { made.algorithm = known } else { isKnown = false }
            default: break
            }
        }

        var challenge: DigestChallenge? {
            isKnown && !made.nonce.isEmpty && (made.hasAuth || !hasQOP) ? made : nil
        }
    }
}

/// The answer to a challenge, out of HA1 (RFC 7616, 3.4).
public struct DigestAnswer: Sendable {
    /// Digest in bytes.
    public typealias Hash = (DigestAlgorithm, [UInt8]) -> [UInt8]

    public let challenge: DigestChallenge
    /// How often the nonce has been used, this time included.
    public let count: UInt32
    /// Chance of the client.
    public let clientNonce: String

    public init(_ challenge: DigestChallenge, count: UInt32, clientNonce: String) {
        self.challenge = challenge
        self.count = count
        self.clientNonce = clientNonce
    }

    /// The whole header line without its end: `Authorization: Digest …`. `credential` is HA1 in hex digits.
    public func header(
        username: String, credential: Secret, method: String, uri: String, hash: Hash
    ) -> String {
        let algorithm = challenge.algorithm
        func hex(_ parts: [String]) -> String {
            var bytes = Array(parts.joined(separator: ":").utf8)
            defer { for index in bytes.indices { bytes[index] = 0 } }
            return Hex.encode(hash(algorithm, bytes))
        }
        var first = credential.revealed.lowercased()
        if challenge.isSession { first = hex([first, challenge.nonce, clientNonce]) }
        let second = hex([method, uri])
        let number = Hex.encode((0..<4).map { UInt8(truncatingIfNeeded: count >> UInt32(24 - 8 * $0)) })
        let response =
            challenge.hasAuth
            ? hex([first, challenge.nonce, number, clientNonce, "auth", second])
            : hex([first, challenge.nonce, second])
        var line = challenge.isProxy ? "Proxy-Authorization: Digest " : "Authorization: Digest "
        line += "username=\"\(username)\", realm=\"\(challenge.realm)\", nonce=\"\(challenge.nonce)\", uri=\"\(uri)\""
        line += ", response=\"\(response)\""
        if !challenge.algorithmName.isEmpty { line += ", algorithm=\(challenge.algorithmName)" }
        if let opaque = challenge.opaque { line += ", opaque=\"\(opaque)\"" }
        if challenge.hasAuth { line += ", qop=auth, nc=\(number)" }
        if challenge.hasAuth || challenge.isSession { line += ", cnonce=\"\(clientNonce)\"" }
        return line
    }
}
