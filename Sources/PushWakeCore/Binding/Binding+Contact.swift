// SPDX-License-Identifier: MIT

extension Binding {
    /// The contact URI as a registrar has it that keeps no push parameters: `pn-…`, `push-token-…` and
    /// `app-id` taken out, everything else as it came.
    public var contactWithoutPushParameters: String { Self.withoutPushParameters(contact) }

    /// The same for any contact URI.
    public static func withoutPushParameters(_ contact: String) -> String {
        let bytes = Array(contact.utf8)
        let parts = SIPURI(bytes.span, in: 0..<bytes.count)
        let upper = bytes[parts.parameters].firstIndex(of: ASCII.question) ?? parts.parameters.upperBound
        var kept = Array(bytes[..<parts.parameters.lowerBound])
        var start = parts.parameters.lowerBound
        while start < upper {
            let end = bytes[(start + 1)..<upper].firstIndex(of: ASCII.semicolon) ?? upper
            if !isAboutPush(bytes[(start + 1)..<end]) { kept += bytes[start..<end] }
            start = end
        }
        kept += bytes[upper...]
        return String(decoding: kept, as: UTF8.self)
    }

    private static func isAboutPush(_ parameter: ArraySlice<UInt8>) -> Bool {
        let name = parameter.span.extracting(
            first: (parameter.firstIndex(of: UInt8(ascii: "=")) ?? parameter.endIndex) - parameter.startIndex)
        return name.startsIgnoringCase(with: "pn-") || name.startsIgnoringCase(with: "push-token-")
            || name.equalsIgnoringCase("app-id")
    }
}
