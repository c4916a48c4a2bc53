// SPDX-License-Identifier: MIT

/// Who calls or writes, as a dialplan has it: what a phone is to show, where no request is at hand.
public struct CallerIdentity: Equatable, Sendable {
    public var uri: String
    /// The name for people; empty when there is none.
    public var displayName: String

    /// Somebody who does not want to be seen (RFC 3323, 4.1.1.3).
    public static let anonymous = CallerIdentity(uri: "sip:anonymous@anonymous.invalid", displayName: "")

    /// Characters of a number that are shown.
    private static let longestNumber = 120

    private init(uri: String, displayName: String) { (self.uri, self.displayName) = (uri, displayName) }

    /// Whom a request names, unless its caller does not want to be named.
    init(uri: String, displayName: String, isWithheld: Bool) {
        self = isWithheld || CallerPrivacy.isNobody(uri) ? .anonymous : Self(uri: uri, displayName: displayName)
    }

    /// The sender that a From header names; one that cannot be read names nobody.
    public init(from: Span<UInt8>) {
        guard let address = NameAddress(from), !address.uri.isEmpty else {
            self = .anonymous
            return
        }
        self.init(uri: address.uri, displayName: address.displayName, isWithheld: false)
    }

    /// The number that the dialplan shows for the caller, at the domain of the caller's own URI. `from` is that as a host's
    /// channel has it, with a name or without; `host` counts where it says no domain. `name` is as Asterisk has it, with the
    /// backslashes of what was between quotes, or in quotes, as a dialplan writes it.
    public init(number: String, name: String, from: Span<UInt8>, host: @autoclosure () -> String) {
        let number = number.prefix(Self.longestNumber)
        let name = Self.readable(name, from: from)
        if number.utf8.contains(ASCII.at) {
            let hasScheme = ["sip:", "sips:", "tel:"].contains { number.lowercased().hasPrefix($0) }
            self.init(uri: (hasScheme ? "" : "sip:") + number, displayName: name)
            return
        }
        let own = from.part(Self.uri(in: from))
        var domain = own.text(SIPAddressParts.host(of: own))
        if CallerPrivacy.isNobody(own.text()) {
            guard !number.isEmpty, number != Self.user(of: own.text()) else {
                self = .anonymous
                return
            }
            // Others have vouched for the number that the dialplan shows (RFC 3325), or it has set one itself.
            domain = ""
        }
        self.init(
            uri: "sip:\(number.isEmpty ? "anonymous" : number)@\(domain.isEmpty ? host() : domain)", displayName: name)
    }

    /// The name as its caller wrote it, as far as a host has left it.
    private static func readable(_ name: String, from: Span<UInt8>) -> String {
        let name = name.utf8.first == ASCII.quote ? NameAddress.displayName(name.utf8.span) : withoutEscapes(name)
        guard name.unicodeScalars.contains(missing) else { return name }
        // Asterisk puts this in place of what is no UTF-8; in the caller's own URI it is there, quotes escaped once more.
        let before = from.part(0..<max(uri(in: from).lowerBound - 1, 0)).trimmed()
        guard let own = NameAddress.withoutBackslashes(before) else { return name }
        let written = NameAddress.displayName(own.span)
        let isSame = zip(name.unicodeScalars, written.unicodeScalars).allSatisfy { $0 == missing || $0 == $1 }
        return isSame && !written.isEmpty ? written : name
    }

    private static let missing: Unicode.Scalar = "\u{FFFD}"

    /// Resolves the two quoted-pairs that there have to be, and leaves other backslashes alone.
    private static func withoutEscapes(_ name: String) -> String {
        guard name.utf8.contains(ASCII.backslash) else { return name }
        var out: [UInt8] = []
        var rest = name.utf8[...]
        while let byte = rest.popFirst() {
            let isEscape = byte == ASCII.backslash && (rest.first == ASCII.backslash || rest.first == ASCII.quote)
            out.append((isEscape ? rest.popFirst() : nil) ?? byte)
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Where the URI is: in the last brackets, since a name before them may look like one, and Asterisk puts a backslash before
    /// the quotes of the name. Empty when the text was cut.
    private static func uri(in text: Span<UInt8>) -> Range<Int> {
        var cursor = Cursor(text)
        cursor.skip { $0 != ASCII.less && $0 != ASCII.quote }
        if cursor.isAtEnd { return 0..<text.count }
        var found = 0..<0
        while !cursor.isAtEnd {
            cursor.skip(to: ASCII.less)
            guard cursor.take(ASCII.less) else { break }
            let start = cursor.position
            cursor.skip { $0 != ASCII.greater && $0 != ASCII.less }
            found = cursor.peek() == ASCII.greater ? start..<cursor.position : 0..<0
        }
        return found
    }

    /// The user part of a URI, which is what a host shows as the number.
    public static func user(of uri: String) -> String {
        uri.utf8.span.text(SIPAddressParts.user(of: uri.utf8.span))
    }
}
