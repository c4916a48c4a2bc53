// SPDX-License-Identifier: MIT

extension Binding {
    /// The contact URI as a registrar has it that keeps no push parameters: `pn-…`, `push-token-…` and
    /// `app-id` taken out, everything else as it came.
    public var contactWithoutPushParameters: String { Self.withoutPushParameters(contact) }

    /// The same of any contact URI.
    public static func withoutPushParameters(_ contact: String) -> String {
        let bytes = Array(contact.utf8)
        let parts = SIPURI(bytes.span, in: 0..<bytes.count)
        let upper = bytes[parts.parameters].firstIndex(of: ASCII.question) ?? parts.parameters.upperBound
        var kept = Array(bytes[..<parts.parameters.lowerBound])
        var start = parts.parameters.lowerBound
        while start < upper {
            let end = bytes[(start + 1)..<upper].firstIndex(of: ASCII.semicolon) ?? upper
            if !Self.isAboutPush(bytes[(start + 1)..<end]) { kept += bytes[start..<end] }
            start = end
        }
        kept += bytes[upper...]
        return String(decoding: kept, as: UTF8.self)
    }

    private static func isAboutPush(_ parameter: ArraySlice<UInt8>) -> Bool {
        let name = parameter.prefix { $0 != UInt8(ascii: "=") }.map(ASCII.lowercased)
        return name.starts(with: "pn-".utf8) || name.starts(with: "push-token-".utf8)
            || name.elementsEqual("app-id".utf8)
    }
}
