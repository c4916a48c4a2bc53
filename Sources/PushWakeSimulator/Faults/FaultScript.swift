// SPDX-License-Identifier: MIT

import PushWakeCore

/// A script: limits of the services and a list of rules. The first rule that fits a request is used.
public struct FaultScript: Equatable, Sendable {
    /// What is wrong with a script, as a sentence for its author.
    public struct Mistake: Error, Equatable, Sendable, CustomStringConvertible {
        /// Names the place and what should stand there.
        public let description: String

        init(_ text: String) { description = text }
    }

    var rules: [FaultRule] = []
    var apns = APNsRules()
    var webPush = WebPushRules()
    /// Seconds that an OAuth access token lives.
    var tokenLifetime: Int64 = 3_599
    /// Streams that a connection may have open at once.
    var maxStreams: UInt32 = 1_000
    /// The same after the first FCM request of a connection.
    var fcmMaxStreams: UInt32 = 100
    /// One stream until the first accepted push of a connection, as APNs does with provider tokens.
    public var isStrict = false

    /// Makes an empty script: vendors on a good day.
    public init() {}

    /// Reads a script; every unknown key is a mistake. A mistake begins with its line.
    public init(json: [UInt8]) throws(Mistake) {
        let document: JSONValue
        do throws(JSONReader.Failure) {
            document = try JSONReader.read(json)
        } catch {
            let place = ScriptPlace(of: error.offset, in: json)
            throw Mistake("line \(place.line), column \(place.column): this is not JSON: \(error.message)")
        }
        do throws(Mistake) {
            try self.init(document)
        } catch {
            // Every mistake begins with the path of its member.
            let path = error.description.prefix { $0 != " " && $0 != ":" }
            throw Mistake("line \(ScriptPlace(ofMember: path, in: json).line): \(error.description)")
        }
    }

    private init(_ document: JSONValue) throws(Mistake) {
        var reader = try ScriptReader(document, at: "script")
        if let value = reader.take("streams") {
            var part = try ScriptReader(value, at: "streams")
            maxStreams = try part.number("max_concurrent").map { UInt32(clamping: $0) } ?? maxStreams
            fcmMaxStreams = try part.number("fcm_max_concurrent").map { UInt32(clamping: $0) } ?? fcmMaxStreams
            isStrict = try part.flag("one_until_first_push") ?? isStrict
            try part.end()
        }
        if let value = reader.take("apns") { apns = try Self.apnsRules(value) }
        if let value = reader.take("webpush") { webPush = try Self.webPushRules(value) }
        if let value = reader.take("oauth") {
            var part = try ScriptReader(value, at: "oauth")
            tokenLifetime = try part.number("expires_in_s") ?? tokenLifetime
            try part.end()
        }
        for (index, value) in (try reader.list("rules") ?? []).enumerated() {
            rules.append(try FaultRule(json: value, at: "rules[\(index)]"))
        }
        try reader.end()
    }

    private static func apnsRules(_ value: JSONValue) throws(Mistake) -> APNsRules {
        var part = try ScriptReader(value, at: "apns")
        var rules = APNsRules()
        rules.tokenAge = try part.number("token_age_s") ?? rules.tokenAge
        rules.tokenChange = try part.number("token_change_s") ?? rules.tokenChange
        rules.clockSkew = try part.number("clock_skew_s") ?? rules.clockSkew
        rules.team = try part.text("team")
        rules.environment = try part.choice("environment", AppleWorld.self)?.environment
        rules.takesAnyCertificate = try part.flag("any_certificate") ?? rules.takesAnyCertificate
        for topic in try part.list("topics") ?? [] {
            guard let text = topic.string, !text.isEmpty else { throw part.wrong("topics", "a list of bundle ids") }
            rules.topics.append(text)
        }
        try part.end()
        return rules
    }

    private static func webPushRules(_ value: JSONValue) throws(Mistake) -> WebPushRules {
        var part = try ScriptReader(value, at: "webpush")
        var rules = WebPushRules()
        rules.requiresVAPID = try part.flag("require_vapid") ?? rules.requiresVAPID
        rules.requiresOwnKey = try part.flag("require_own_key") ?? rules.requiresOwnKey
        try part.end()
        return rules
    }
}

/// Apple's two worlds, by the words of a script.
private enum AppleWorld: String, CaseIterable {
    case production, sandbox

    var environment: Environment { self == .production ? .production : .sandbox }
}
