// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

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
        do throws(JSONParser.Failure) {
            document = try JSONParser.parse(json)
        } catch {
            throw Mistake("line \(error.line), column \(error.column): this is not JSON: \(error.message)")
        }
        do throws(Mistake) {
            try self.init(document)
        } catch {
            // Every mistake begins with the path of its member.
            let path = error.description.prefix { $0 != " " && $0 != ":" }
            throw Mistake("line \(ScriptPlace(of: path).line(in: json)): \(error.description)")
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

/// Takes the members of a JSON object one by one, so that what is left over is a mistake.
struct ScriptReader {
    private var members: [JSONValue.Member]
    private let place: String
    /// The names that somebody wanted.
    private var known: [String] = []

    init(_ value: JSONValue, at place: String) throws(FaultScript.Mistake) {
        guard case .object(let members) = value else { throw FaultScript.Mistake("\(place) is not an object") }
        self.members = members
        self.place = place
    }

    /// Takes a member of any kind.
    mutating func take(_ name: String) -> JSONValue? {
        known.append(name)
        guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
        return members.remove(at: index).value
    }

    mutating func text(_ name: String) throws(FaultScript.Mistake) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw wrong(name, "a string") }
        return text
    }

    /// Takes a whole number that is not negative.
    mutating func number(_ name: String) throws(FaultScript.Mistake) -> Int64? {
        guard let value = take(name) else { return nil }
        guard case .integer(let number) = value, number >= 0, number < 1 << 53 else {
            throw wrong(name, "a whole number, 0 or more")
        }
        return number
    }

    mutating func flag(_ name: String) throws(FaultScript.Mistake) -> Bool? {
        guard let value = take(name) else { return nil }
        guard case .bool(let flag) = value else { throw wrong(name, "true or false") }
        return flag
    }

    mutating func list(_ name: String) throws(FaultScript.Mistake) -> [JSONValue]? {
        guard let value = take(name) else { return nil }
        guard let list = value.array else { throw wrong(name, "a list") }
        return list
    }

    /// Takes a number between 0 and 1.
    mutating func share(_ name: String) throws(FaultScript.Mistake) -> Double? {
        switch take(name) {
        case nil: return nil
        case .integer(let number)? where number == 0 || number == 1: return Double(number)
        case .number(let number)? where number >= 0 && number <= 1: return number
        default: throw wrong(name, "a number from 0 to 1")
        }
    }

    /// Takes a string that names a case.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Choice.Type, except hidden: Choice? = nil
    ) throws(FaultScript.Mistake) -> Choice? where Choice.RawValue == String {
        guard let text = try text(name) else { return nil }
        let choices = Choice.allCases.filter { $0.rawValue != hidden?.rawValue }
        guard let choice = choices.first(where: { $0.rawValue == text }) else {
            let known = choices.map(\.rawValue).joined(separator: ", ")
            throw wrong(name, "one of \(known); \"\(text)\" is none")
        }
        return choice
    }

    /// Whether anything is left but these members.
    func hasOther(than names: [String]) -> Bool { members.contains { !names.contains($0.name) } }

    /// Throws for the first member that nobody took.
    func end() throws(FaultScript.Mistake) {
        guard let left = members.first else { return }
        throw FaultScript.Mistake(
            "\(place).\(left.name) is not known; it may have \(known.joined(separator: ", "))")
    }

    func wrong(_ name: String, _ wanted: String) -> FaultScript.Mistake {
        FaultScript.Mistake("\(place).\(name) must be \(wanted)")
    }
}
