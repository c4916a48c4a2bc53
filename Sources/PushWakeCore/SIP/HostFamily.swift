// SPDX-License-Identifier: MIT

/// Which kind of address the host of a SIP URI is.
public enum HostFamily: Equatable, Sendable {
    case v4
    case v6

    /// Nil for a name, and for what is no host.
    public init?(ofURI uri: String) {
        let bytes = uri.utf8Span.span
        let host = SIPURI(bytes, in: 0..<bytes.count).host
        guard !host.isEmpty else { return nil }
        if bytes[host.lowerBound] == UInt8(ascii: "[") {
            self = .v6
        } else if IPAddressText.v4(bytes.text(host)) != nil {
            self = .v4
        } else {
            return nil
        }
    }
}
