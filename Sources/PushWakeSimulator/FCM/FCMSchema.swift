// SPDX-License-Identifier: MIT

import PushWakeCore

/// The request body of `projects.messages.send` as a table, and the strict reading of it that
/// Google's front end does: unknown names and wrong types are errors that name the field.
indirect enum FCMSchema {
    case string, bool, integer, duration
    /// Any JSON object.
    case structure
    case strings
    case map
    case choice(type: String, [String])
    case message([(name: String, schema: FCMSchema)])

    /// `{"message": …, "validate_only": …}`.
    static let request = FCMSchema.message([("message", message), ("validate_only", .bool)])

    private static let options = FCMSchema.message([("analytics_label", .string)])
    private static let priority = FCMSchema.choice(
        type: "type.googleapis.com/google.firebase.fcm.v1.AndroidMessagePriority", ["NORMAL", "HIGH", "normal", "high"])
    private static let message = FCMSchema.message([
        ("name", .string), ("data", .map), ("token", .string), ("topic", .string), ("condition", .string),
        ("notification", .message([("title", .string), ("body", .string), ("image", .string)])),
        ("android", android), ("android_v2", androidV2), ("fcm_options", options),
        (
            "webpush",
            .message([
                ("headers", .map), ("data", .map), ("notification", .structure),
                ("fcm_options", .message([("link", .string), ("analytics_label", .string)])),
            ])
        ),
        (
            "apns",
            .message([
                ("headers", .map), ("payload", .structure), ("live_activity_token", .string),
                ("fcm_options", .message([("analytics_label", .string), ("image", .string)])),
            ])
        ),
    ])
    private static let android = FCMSchema.message([
        ("collapse_key", .string), ("priority", priority), ("ttl", .duration), ("restricted_package_name", .string),
        ("data", .map), ("fcm_options", options), ("direct_boot_ok", .bool), ("bandwidth_constrained_ok", .bool),
        ("restricted_satellite_ok", .bool), ("notification", androidNotification),
    ])
    /// "Migrate from FCM HTTP v1 API to AndroidConfigV2": no priority, which follows from the kind of message.
    private static let androidV2 = FCMSchema.message([
        ("collapse_key", .string), ("ttl", .duration), ("restricted_package_name", .string), ("data", .map),
        ("fcm_options", options), ("direct_boot_ok", .bool), ("bandwidth_constrained_ok", .bool),
        ("restricted_satellite_ok", .bool), ("background_sync", .message([])),
        (
            "remote_notification",
            .message([
                ("mutable_content", .bool), ("use_as_v1_data_message", .bool), ("notification", .structure),
            ])
        ),
    ])
    private static let androidNotification = FCMSchema.message([
        ("title", .string), ("body", .string), ("icon", .string), ("color", .string), ("sound", .string),
        ("tag", .string), ("click_action", .string), ("body_loc_key", .string), ("body_loc_args", .strings),
        ("title_loc_key", .string), ("title_loc_args", .strings), ("channel_id", .string), ("ticker", .string),
        ("sticky", .bool), ("event_time", .string), ("local_only", .bool), ("notification_priority", .string),
        ("default_sound", .bool), ("default_vibrate_timings", .bool), ("default_light_settings", .bool),
        ("vibrate_timings", .strings), ("visibility", .string), ("notification_count", .integer),
        ("light_settings", .structure), ("image", .string), ("bypass_proxy_notification", .bool), ("proxy", .string),
    ])

    /// Checks a value; `path` is the dotted name that errors carry.
    func check(_ value: JSONValue, at path: String) throws(FCMError) {
        if case .null = value { return }
        switch self {
        case .string: guard value.string != nil else { throw .invalidValue(path, "TYPE_STRING", value) }
        case .bool: guard case .bool = value else { throw .invalidValue(path, "TYPE_BOOL", value) }
        case .integer: guard value.integer != nil else { throw .invalidValue(path, "TYPE_INT32", value) }
        case .structure: guard case .object = value else { throw Self.wrongKind(path, "google.protobuf.Struct", value) }
        case .strings: try Self.checkStrings(value, at: path)
        case .map: try Self.checkMap(value, at: path)
        case .choice(let type, let names):
            guard let name = value.string, names.contains(name) else { throw .invalidValue(path, type, value) }
        case .duration:
            guard let text = value.string, Self.seconds(text) != nil else {
                throw Self.wrongKind(path, "google.protobuf.Duration", value)
            }
        case .message(let fields): try Self.checkMessage(value, fields, at: path)
        }
    }

    /// Seconds of a Duration string such as "3.5s"; nil when it is none.
    static func seconds(_ text: String) -> Double? {
        guard text.last == "s", let seconds = Double(text.dropLast()), seconds.isFinite else { return nil }
        let body = text.dropLast().utf8
        guard body.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 || $0 == 0x2E || $0 == 0x2D }) else { return nil }
        return seconds
    }

    private static func wrongKind(_ path: String, _ type: String, _ value: JSONValue) -> FCMError {
        .invalidValue(path, "type.googleapis.com/\(type)", value)
    }

    private static func checkStrings(_ value: JSONValue, at path: String) throws(FCMError) {
        guard let items = value.array else { throw .invalidValue(path, "TYPE_STRING", value) }
        for (index, item) in items.enumerated() where item.string == nil {
            throw .invalidValue("\(path)[\(index)]", "TYPE_STRING", item)
        }
    }

    private static func checkMap(_ value: JSONValue, at path: String) throws(FCMError) {
        guard case .object(let members) = value else { throw .invalidValue(path, "Map", value) }
        for (index, member) in members.enumerated() where member.value.string == nil {
            throw .invalidValue("\(path)[\(index)].value", "TYPE_STRING", member.value)
        }
    }

    private static func checkMessage(
        _ value: JSONValue, _ fields: [(name: String, schema: FCMSchema)], at path: String
    ) throws(FCMError) {
        guard case .object(let members) = value else {
            throw wrongKind(
                path, path == "message" ? "google.firebase.fcm.v1.Message" : "google.protobuf.Message", value)
        }
        for member in members {
            guard let field = fields.first(where: { $0.name == member.name || camel($0.name) == member.name }) else {
                throw .unknownName(member.name, at: path)
            }
            try field.schema.check(member.value, at: path.isEmpty ? field.name : "\(path).\(field.name)")
        }
    }

    /// Protocol buffers read `collapse_key` and `collapseKey` alike.
    private static func camel(_ name: String) -> String {
        let parts = name.split(separator: "_")
        return parts.enumerated().map { $0 == 0 ? String($1) : $1.prefix(1).uppercased() + $1.dropFirst() }.joined()
    }
}
