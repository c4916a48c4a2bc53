// SPDX-License-Identifier: MIT

/// What a Request-URI says beside its host: the user, escapes resolved, and parameters.
public struct SIPTarget: Equatable, Sendable {
    /// Empty when there is none, or when it has control bytes.
    public let user: String
    private let uri: [UInt8]
    private let parameters: Range<Int>

    public init(_ uri: String) {
        let bytes = Array(uri.utf8)
        let parts = SIPURI(bytes.span, in: 0..<bytes.count)
        user = (try? PercentDecoding.decode(bytes.span.part(parts.user))) ?? ""
        parameters = parts.parameters
        self.uri = bytes
    }

    /// The value of a parameter, escapes resolved; empty when there is none of this name.
    public func parameter(_ name: String) -> String {
        var cursor = ParameterCursor(uri.span, in: parameters, of: .uri)
        while let parameter = cursor.next() {
            guard uri.span.part(parameter.name).equalsIgnoringCase(name) else { continue }
            return (try? PercentDecoding.decode(uri.span.part(parameter.value))) ?? ""
        }
        return ""
    }
}

/// The body of a message as it came, and its type.
public struct SIPContent: Equatable, Sendable {
    /// Value of Content-Type; empty when there is none.
    public let type: String
    public let body: [UInt8]

    /// No content.
    public static let none = SIPContent()

    private init() { (type, body) = ("", []) }

    /// Nil for what is no SIP.
    public init?(_ bytes: Span<UInt8>) {
        guard let message = SIPMessage(bytes) else { return nil }
        let header = message.headers.first { header in
            let name = bytes.part(header.name)
            return name.equalsIgnoringCase("content-type") || name.equalsIgnoringCase("c")
        }
        type = header.map { PrintableText.cleaned(bytes.text($0.value)) } ?? ""
        body = bytes.part(message.body).copy()
    }
}
