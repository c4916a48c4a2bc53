// SPDX-License-Identifier: MIT

/// One whole request that a client sent to the engine.
public struct ServedRequest: Equatable, Sendable {
    /// As sent; methods tell capitals from small letters (RFC 9110, 9.1).
    public let method: String
    /// The target as sent, which Digest repeats (RFC 7616, 3.4).
    public let target: String
    /// Without query, escapes resolved; begins with a slash.
    public let path: String
    /// What stands behind the question mark.
    public let query: FormFields
    /// Names in lower case; the host is under `host` in every version.
    public let headers: [HTTPResponse.Header]
    /// Empty when it has none.
    public var body: [UInt8]

    /// Takes a request apart; nil when the target is none that a server can have (RFC 9112, 3.2).
    public init?(method: String, target: String, headers: [HTTPResponse.Header] = [], body: [UInt8] = []) {
        guard let own = Self.ownPart(of: target) else { return nil }
        let parts = own.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let bytes = Array(parts[0].utf8)
        do {
            path = try PercentDecoding.decode(bytes.span)
            query = try FormFields(parts.count > 1 ? Array(parts[1].utf8) : [])
        } catch {
            return nil
        }
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    /// First value under a lower-case name.
    public subscript(name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The media type of the body in small letters, without parameters; empty when it has none.
    public var mediaType: String {
        let value = self["content-type"] ?? ""
        return value.prefix { $0 != ";" && $0 != " " }.lowercased()
    }

    /// A browser sends it for another site's page, which must not use what it knows of passwords here: by Fetch Metadata,
    /// or where a browser does not send that, as in the clear to another machine, by `Origin` (RFC 6454, 7). A GET has
    /// neither there.
    public var isForAnotherSite: Bool {
        if let site = self["sec-fetch-site"] { return site != "same-origin" && site != "none" }
        guard let origin = self["origin"] else { return false }
        // "null" is the origin of a page that does not say its own.
        guard let end = origin.firstRange(of: "://")?.upperBound else { return true }
        return origin[end...].lowercased() != self["host"]?.lowercased()
    }

    /// What a proxy's form of a target has behind scheme and host.
    private static func ownPart(of target: String) -> Substring? {
        guard !target.isEmpty, target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        if target.utf8.first == UInt8(ascii: "/") { return target[...] }
        for scheme in ["http://", "https://"] where target.lowercased().hasPrefix(scheme) {
            let rest = target.dropFirst(scheme.count)
            return rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
        }
        return nil
    }
}

/// Fields of a form or a query, in order (`application/x-www-form-urlencoded`, URL Standard, 5).
public struct FormFields: Equatable, Sendable {
    /// More in one form are refused.
    public static let most = 100

    /// One field.
    public struct Field: Equatable, Sendable {
        /// Escapes resolved.
        public let name: String
        /// Escapes resolved.
        public let value: String
    }

    /// Why a form cannot be read.
    public enum Failure: Error, Equatable, Sendable {
        case tooMany
        /// The field at this place, from 1, has an escape that is none, a control character, or is no UTF-8.
        case unreadable(Int)
    }

    /// In the order of the text.
    public private(set) var fields: [Field] = []

    /// Reads a form; an empty text has no fields. With `keepsLines` values may have line ends and tabs.
    public init(_ text: [UInt8], keepsLines: Bool = false) throws(Failure) {
        let parts = text.split(separator: ASCII.ampersand)
        guard parts.count <= Self.most else { throw .tooMany }
        for (index, part) in parts.enumerated() {
            let bytes = part.map { $0 == UInt8(ascii: "+") ? ASCII.space : $0 }
            let equals = bytes.firstIndex(of: ASCII.equals) ?? bytes.endIndex
            do throws(PercentDecoding.Failure) {
                fields.append(
                    Field(
                        name: try PercentDecoding.decode(Array(bytes[..<equals]).span),
                        value: try PercentDecoding.decode(
                            Array(bytes[equals...].dropFirst()).span, keepsLines: keepsLines)))
            } catch {
                throw .unreadable(index + 1)
            }
        }
    }

    /// First value under a name.
    public subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}
