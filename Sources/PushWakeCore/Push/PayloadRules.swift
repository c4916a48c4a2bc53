// SPDX-License-Identifier: MIT

/// What a provider allows in a payload beyond plain JSON, checked when a template is compiled.
public struct PayloadRules: Equatable, Sendable {
    /// Paths of members that are left out (`message.notification`).
    public var dropped: Set<String>
    /// Objects whose values must all be strings (`message.data`).
    public var stringMaps: Set<String>
    /// The only members allowed at the top; nil allows any.
    public var topLevel: Set<String>?
    /// Paths without which the provider refuses every push.
    public var required: Set<String>

    public init(
        dropped: Set<String> = [], stringMaps: Set<String> = [], topLevel: Set<String>? = nil,
        required: Set<String> = []
    ) {
        self.dropped = dropped
        self.stringMaps = stringMaps
        self.topLevel = topLevel
        self.required = required
    }

    /// Google's schema, as far as a template can break it.
    static func fcm(dropping dropped: Set<String>) -> PayloadRules {
        PayloadRules(
            dropped: dropped, stringMaps: ["message.data", "message.android.data"],
            topLevel: ["message", "validate_only"], required: ["message", "message.token"])
    }

    /// Why a member may not be called that, or have a value that begins so; nil when it may.
    func objection(to name: String, under path: String, valueStartingWith byte: UInt8?) -> String? {
        if path.isEmpty, let topLevel, !topLevel.contains(name) {
            return "\"\(name)\" may not stand here: all goes inside \"message\""
        }
        guard stringMaps.contains(path) else { return nil }
        if byte != UInt8(ascii: "\"") { return "FCM takes only strings here: put the value in quotes" }
        let isReserved = name == "from" || name == "message_type" || name.hasPrefix("google.") || name.hasPrefix("gcm.")
        return isReserved ? "\"\(name)\" is reserved by FCM" : nil
    }
}
