// SPDX-License-Identifier: MIT

/// A contact URI without its push parameters: what stays when only the token has changed.
struct ContactAddress: Equatable {
    private let bytes: [UInt8]

    /// Names that carry a token or its settings, lower case, `pn-` aside.
    private static let pushParameters: Set<String> = [
        "app-id", "appid", "devicetoken", "selector", "x-mpush", "push-token-type", "push-token-app", "push-token-id",
    ]

    init(_ contact: String) {
        let source = Array(contact.utf8)
        // A user part may hold semicolons of its own: parameters start after the host.
        let host = source.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? 0
        var kept: [UInt8] = []
        kept.reserveCapacity(source.count)
        kept += source[..<host]
        var isFirst = true
        for part in source[host...].split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false) {
            if isFirst {
                kept += part
            } else if !Self.isPushParameter(part) {
                kept.append(UInt8(ascii: ";"))
                kept += part
            }
            isFirst = false
        }
        bytes = kept
    }

    private static func isPushParameter(_ parameter: ArraySlice<UInt8>) -> Bool {
        let name = parameter.prefix { $0 != UInt8(ascii: "=") }
        let lowered = String(decoding: name.map(lowercase), as: UTF8.self)
        return lowered.hasPrefix("pn-") || pushParameters.contains(lowered)
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
