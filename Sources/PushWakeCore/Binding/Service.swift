// SPDX-License-Identifier: MIT

/// What an Apple token is good for.
public enum Service: UInt8, Sendable, CaseIterable {
    /// PushKit: rings through CallKit. Never used for anything but a call.
    case voip = 1
    /// An ordinary notification token.
    case remote = 2

    /// The name in logs and JSON, and in `pn-param`.
    public var name: String {
        switch self {
        case .voip: "voip"
        case .remote: "remote"
        }
    }

    /// Reads `voip` or `remote`. Small letters only: a bundle id may well end in `Voip`.
    init?(label: Span<UInt8>) {
        if label.equals("voip") {
            self = .voip
        } else if label.equals("remote") {
            self = .remote
        } else {
            return nil
        }
    }
}
