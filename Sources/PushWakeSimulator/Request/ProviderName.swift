// SPDX-License-Identifier: MIT

/// Who answers a request; the raw value is the word in logs, scripts and counters.
enum ProviderName: String, CaseIterable, Sendable {
    case apns, fcm, oauth, webpush, acrobits, webhook
    /// The simulator's own endpoint.
    case control

    /// Its requests are pushes.
    var isPush: Bool { self != .oauth && self != .control }

    /// Chooses by path alone, so that one address serves all.
    init?(path: ArraySlice<UInt8>) {
        if Self.starts(path, "/3/") || path.elementsEqual("/3".utf8) {
            self = .apns
        } else if Self.starts(path, "/v1/") {
            self = .fcm
        } else if path.elementsEqual("/token".utf8) {
            self = .oauth
        } else if Self.starts(path, "/push/") {
            self = .webpush
        } else if Self.starts(path, "/pnm2") {
            self = .acrobits
        } else if Self.starts(path, "/webhook") {
            self = .webhook
        } else if Self.starts(path, "/_simulator/") {
            self = .control
        } else {
            return nil
        }
    }

    private static func starts(_ path: ArraySlice<UInt8>, _ prefix: StaticString) -> Bool {
        guard path.count >= prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount where path[path.startIndex + index] != prefix.utf8Start[index] {
            return false
        }
        return true
    }
}
