// SPDX-License-Identifier: MIT

/// What kind of phone a registration token of Google's leads to.
public enum FCMPlatform: UInt8, Sendable, CaseIterable {
    case android = 0
    /// An iPhone whose app takes its pushes through Firebase (the phone's wish `pn-platform=ios`).
    case ios = 1

    /// The platform that the phone wished; Android unless it said otherwise.
    public init(of binding: Binding) {
        self = binding.wishes["pn-platform"]?.lowercased() == "ios" ? .ios : .android
    }

    /// Sections of a message that are meant for others.
    var foreignSections: Set<String> {
        switch self {
        case .android: ["message.apns", "message.webpush"]
        case .ios: ["message.android", "message.webpush"]
        }
    }
}
