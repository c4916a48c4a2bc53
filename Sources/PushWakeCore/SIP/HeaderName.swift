// SPDX-License-Identifier: MIT

/// Headers of a REGISTER that say something about push, or about whom it concerns. Names of the former pass
/// `RegistrationReader.mayNamePush`.
enum HeaderName: CaseIterable {
    case contact
    case expires
    case to
    case from
    case callID
    case cseq
    case userAgent
    case featureCaps
    case xMPush
    /// In which apps of Siprix send a token that nothing else is known of.
    case xToken
    case xPIID
    case upperServer
    case upperServerDomain
    case upperProxy

    /// Recognises a name in any case, compact forms too (RFC 3261, 7.3.3); nil for all others.
    init?(_ name: Span<UInt8>) {
        switch name.count {
        case 1: self.init(compact: ASCII.lowercased(name[0]))
        case 2 where name.equalsIgnoringCase("to"): self = .to
        case 4 where name.equalsIgnoringCase("from"): self = .from
        case 4 where name.equalsIgnoringCase("cseq"): self = .cseq
        case 6 where name.equalsIgnoringCase("x-piid"): self = .xPIID
        // Those first that every REGISTER has.
        case 7 where name.equalsIgnoringCase("contact"): self = .contact
        case 7 where name.equalsIgnoringCase("call-id"): self = .callID
        case 7 where name.equalsIgnoringCase("expires"): self = .expires
        case 7 where name.equalsIgnoringCase("x-mpush"): self = .xMPush
        case 7 where name.equalsIgnoringCase("x-token"): self = .xToken
        case 10 where name.equalsIgnoringCase("user-agent"): self = .userAgent
        case 12 where name.equalsIgnoringCase("feature-caps"): self = .featureCaps
        case 13 where name.equalsIgnoringCase("x-sy.uppersrv"): self = .upperServer
        case 14 where name.equalsIgnoringCase("x-sy.uppersrvd"): self = .upperServerDomain
        case 15 where name.equalsIgnoringCase("x-sy.upperproxy"): self = .upperProxy
        default: return nil
        }
    }

    private init?(compact letter: UInt8) {
        switch letter {
        case UInt8(ascii: "m"): self = .contact
        case UInt8(ascii: "i"): self = .callID
        case UInt8(ascii: "t"): self = .to
        case UInt8(ascii: "f"): self = .from
        default: return nil
        }
    }

    /// The name as it is usually written.
    var text: String {
        switch self {
        case .contact: "Contact"
        case .expires: "Expires"
        case .to: "To"
        case .from: "From"
        case .callID: "Call-ID"
        case .cseq: "CSeq"
        case .userAgent: "User-Agent"
        case .featureCaps: "Feature-Caps"
        case .xMPush: "X-MPUSH"
        case .xToken: "X-Token"
        case .xPIID: "X-PIID"
        case .upperServer: "X-Sy.Uppersrv"
        case .upperServerDomain: "X-Sy.Uppersrvd"
        case .upperProxy: "X-Sy.Upperproxy"
        }
    }
}

/// Header values that go on in the next line (RFC 3261, 7.3.1).
enum HeaderFolding {
    /// Says whether `value` has a line end at all, folded or not.
    static func isPresent(in value: Span<UInt8>) -> Bool {
        value.contains { $0 == ASCII.carriageReturn || $0 == ASCII.lineFeed }
    }

    /// The value in one line. A fold becomes a space, and nothing between `<` and `>`: RFC 8599 prints its
    /// examples with a Contact URI over several lines. Line ends that are no fold stay, for others to refuse.
    static func unfold(_ value: Span<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(value.count)
        var cursor = Cursor(value)
        var isInURI = false
        var isQuoted = false
        while let byte = cursor.peek() {
            let isLineEnd = byte == ASCII.carriageReturn || byte == ASCII.lineFeed
            if isLineEnd, let next = foldEnd(value, from: cursor.position) {
                cursor = Cursor(value, in: next..<value.count)
                if !isInURI { out.append(ASCII.space) }
                continue
            }
            cursor.advance()
            out.append(byte)
            switch byte {
            case ASCII.quote where !isInURI: isQuoted.toggle()
            case ASCII.backslash where isQuoted:
                if let escaped = cursor.peek(), escaped == ASCII.quote || escaped == ASCII.backslash {
                    out.append(escaped)
                    cursor.advance()
                }
            case ASCII.less where !isQuoted: isInURI = true
            case ASCII.greater where !isQuoted: isInURI = false
            default: break
            }
        }
        return out
    }

    /// Where the text goes on after a fold that begins at `start`; nil when that is not a fold.
    private static func foldEnd(_ value: Span<UInt8>, from start: Int) -> Int? {
        var cursor = Cursor(value, in: start..<value.count)
        _ = cursor.take(ASCII.carriageReturn)
        guard cursor.take(ASCII.lineFeed) || cursor.position > start else { return nil }
        let blanks = cursor.skip(while: ASCII.isBlank)
        return blanks.isEmpty ? nil : blanks.upperBound
    }
}
