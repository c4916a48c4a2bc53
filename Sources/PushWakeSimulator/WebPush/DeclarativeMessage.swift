// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// What a browser makes of a decrypted push (W3C Push API, "declarative push message parser"): what is no declarative
/// message goes to the service worker, as every push did before.
enum DeclarativeMessage {
    /// Why a browser would not show a message that says it is one; nil when it would.
    static func objection(to payload: [UInt8]) -> String? {
        guard let document = try? JSONParser.parse(payload), case .object = document else { return "not a JSON object" }
        guard document["web_push"]?.integer == 8030 else { return "web_push is not 8030" }
        guard let notification = document["notification"], case .object = notification else {
            return "notification is not an object"
        }
        guard let title = notification["title"]?.string, !title.isEmpty else { return "title is missing" }
        // Nothing to resolve it against: it must be absolute.
        guard let target = notification["navigate"]?.string, HTTPOrigin.split(target) != nil else {
            return "navigate is not an https URL"
        }
        for name in ["body", "lang", "tag", "icon", "image", "badge"] {
            if let value = notification[name], value.string == nil { return "\(name) is not a string" }
        }
        if let direction = notification["dir"]?.string, !["auto", "ltr", "rtl"].contains(direction) {
            return "dir is none of auto, ltr, rtl"
        }
        for (value, name) in [(document["mutable"], "mutable"), (notification["silent"], "silent")] {
            switch value {
            case nil, .bool?: break
            default: return "\(name) is neither true nor false"
            }
        }
        return nil
    }
}
