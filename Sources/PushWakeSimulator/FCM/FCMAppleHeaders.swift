// SPDX-License-Identifier: MIT

import PushWakeCore

/// The headers for Apple in a message to FCM (`message.apns.headers`), checked as Apple does it behind Google.
///
/// Google has the key for alerts alone, and sets the topic to the app's bundle id: it delivers no VoIP pushes
/// (firebase-admin-dotnet, issue 97).
struct FCMAppleHeaders {
    private let headers: [JSONValue.Member]

    /// Takes `message.apns`; nil without headers.
    init?(_ apns: JSONValue?) {
        guard case .object(let headers)? = apns?["headers"] else { return nil }
        self.headers = headers
    }

    /// Apple's word for what is wrong; nil when all is right.
    var rejection: APNsReason? {
        var type = APNsPushType.alert
        if let name = value("apns-push-type") {
            guard let named = APNsPushType(Array(name.utf8)[...]) else { return .invalidPushType }
            type = named
        }
        let topic = value("apns-topic").map { APNsPushType.ofTopic(Array($0.utf8)[...]) } ?? .alert
        // Topic and token are those of the bare bundle id.
        guard topic.topicSuffix == "", type.topicSuffix == "" else { return .deviceTokenNotForTopic }
        if let priority = value("apns-priority") {
            guard ["1", "5", "10"].contains(priority), !(priority == "10" && type == .background) else {
                return .badPriority
            }
        }
        if let expiration = value("apns-expiration"), Int64(expiration).map({ $0 < 0 }) ?? true {
            return .badExpirationDate
        }
        if let id = value("apns-collapse-id"), id.isEmpty || id.utf8.count > 64 { return .badCollapseID }
        return nil
    }

    private func value(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name }?.value.string
    }
}
