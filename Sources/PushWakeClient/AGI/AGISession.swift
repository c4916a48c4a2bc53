// SPDX-License-Identifier: MIT

package import PushWakeCore

/// One channel in the push hook, without I/O: lines and engine events go in, lines and requests come out.
///
///     environment -> asking the channel -> waiting for a phone -> setting variables -> done
///                                              |
///                                              +-- the caller hangs up -> done
///
/// Asterisk answers each command with one line that begins with `200` (or `5xx`); after a hang-up FastAGI says
/// `HANGUP`. The same session serves standard input and output and a FastAGI connection.
package struct AGISession {
    /// What the owner has to do; in order.
    package enum Action: Equatable {
        case say(String)
        /// Wake and wait; the answers come back through `woke` and `heard`.
        case wake(WakeMessage)
        case send(PushEvent, aor: String, text: String, callID: String, fromURI: String, fromDisplay: String)
        case listBindings(aor: String)
        /// The wait is over before a phone came: the caller hung up.
        case hangUp
        case close
    }

    private enum State: Equatable {
        case environment
        case askingChannel
        case waiting
        /// Commands that still have to be said; the one before has no answer yet.
        case setting([String])
        case done
    }

    private static let longestLine = 8192
    private var environment = AGIEnvironment()
    private var state = State.environment
    private let arguments: [String]?
    private let token: String
    private let host: String
    private var command: AGICommand?
    private var aor = ""
    private var startedAt: Int64 = 0
    private var wakeMessage: WakeMessage?
    private var isInUsage = false

    /// `arguments` are those of the process; nil for FastAGI, which has them in the environment, and which must say the
    /// `token` unless that is empty. `host` is the domain of callers who have none.
    package init(arguments: [String]?, token: String = "", host: String = "localhost") {
        self.arguments = arguments
        self.token = token
        self.host = host
    }

    /// Nothing has been asked for yet.
    package var isIntroducing: Bool { state == .environment }

    /// A command has been said whose answer is to come: Asterisk gives it at once.
    package var expectsAnswer: Bool {
        switch state {
        case .askingChannel, .setting: true
        case .environment, .waiting, .done: false
        }
    }

    /// True while a phone is waited for.
    package var isWaiting: Bool { state == .waiting }

    /// Takes one line from Asterisk, without its end.
    package mutating func line(_ text: String, now: Int64) -> [Action] {
        guard text.utf8.count <= Self.longestLine else { return ended() }
        if text == "HANGUP" { return ended() }
        switch state {
        case .environment:
            environment.line(text)
            if environment.isOverfull { return ended() }
            return environment.isComplete ? begin(now) : []
        case .askingChannel:
            return start(Self.value(in: text), now)
        case .setting(var rest):
            if isUsage(text) { return [] }
            guard !rest.isEmpty else {
                state = .done
                return [.close]
            }
            let next = rest.removeFirst()
            state = .setting(rest)
            return [.say(next)]
        case .waiting, .done:
            return []
        }
    }

    /// The engine has taken the wake.
    package mutating func woke(_ answer: WakeAnswer) -> [Action] {
        guard state == .waiting else { return [] }
        if answer.bindings == 0 { return finish("NOBINDING") }
        // Who is awake rings now; Dial() reaches those that wake later through the registrar.
        if answer.awake > 0 { return finish("AWAKE", contacts: dial("")) }
        if answer.pushed == 0 { return finish("FAILED") }
        return []
    }

    /// Something has happened to the wake.
    package mutating func received(_ event: WaitEvent, now: Int64) -> [Action] {
        guard state == .waiting else { return [] }
        switch event.kind {
        case .registered: return finish("WOKEN", contacts: dial(event.contact), milliseconds: max(0, now &- startedAt))
        case .timedOut: return finish("TIMEOUT")
        case .failed: return finish("FAILED", because: event.reason)
        }
    }

    /// No engine answers.
    package mutating func engineLost(_ reason: String) -> [Action] {
        finish("UNAVAILABLE", because: reason)
    }

    /// The engine that had taken the wake is gone: what to ask the next one; nil when nothing is waited for.
    package func wakeAgain(now: Int64) -> WakeMessage? {
        guard state == .waiting, var message = wakeMessage else { return nil }
        if message.seconds > 0 { message.seconds = max(1, message.seconds - max(0, now &- startedAt) / 1000) }
        return message
    }

    /// So many pushes have been queued for a `send`.
    package mutating func sent(_ count: Int64) -> [Action] {
        finish(count > 0 ? "SENT" : "NOBINDING", sent: count)
    }

    /// No push was queued for a `send`, and why. `isMissing`: its user has no binding.
    package mutating func notSent(because reason: String, isMissing: Bool) -> [Action] {
        finish(isMissing ? "NOBINDING" : "FAILED", because: reason)
    }

    /// The user of a `bindings` has bindings of these providers, one each.
    package mutating func listed(_ providers: [String]) -> [Action] {
        finish(providers.isEmpty ? "NOBINDING" : "BOUND", providers: providers)
    }

    /// Asterisk has closed the connection, or the caller has hung up.
    package mutating func ended() -> [Action] {
        let wasWaiting = state == .waiting
        state = .done
        return wasWaiting ? [.hangUp, .close] : [.close]
    }
}

extension AGISession {
    private mutating func begin(_ now: Int64) -> [Action] {
        let shown = AGICommand.token(of: environment["agi_request"])
        guard token.isEmpty || ConstantTime.areEqual(Array(shown.utf8), Array(token.utf8)) else {
            return finish("FAILED", because: "the request has not the token of fastagi_token_file; write ?token=TOKEN")
        }
        do throws(AGICommand.Mistake) {
            if let arguments {
                command = try AGICommand(arguments: arguments.isEmpty ? environment.arguments : arguments)
            } else {
                command = try AGICommand(request: environment["agi_request"], arguments: environment.arguments)
            }
        } catch {
            return finish("FAILED", because: error.message)
        }
        switch command {
        case .wake(_, _, let callID) where !callID.isEmpty, .send(_, _, _, let callID) where !callID.isEmpty:
            return start(callID, now)
        default: break
        }
        state = .askingChannel
        // A channel of another kind has none of both, and Asterisk warns of each.
        let isSIP = ["", "PJSIP"].contains(environment["agi_type"])
        let callID = isSIP ? "${CHANNEL(pjsip,call-id)}" : ""
        // Of a caller who is not to be seen it would be read in vain.
        let caller = isSIP && !environment.withholdsCaller ? " ${CHANNEL(pjsip,remote_uri)}" : ""
        return [.say("GET FULL VARIABLE \"\(callID) ${CHANNEL(videonativeformat)} ${CHANNEL(checkhangup)}\(caller)\"")]
    }

    /// Begins with what the channel or the script says: its Call-ID, and behind spaces its video formats, such as
    /// `(h264|vp8)` or `(nothing)`, 1 when it is being hung up (the extension `h`), and the caller's own URI as From has it.
    private mutating func start(_ channel: String, _ now: Int64) -> [Action] {
        let words = channel.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        // A channel that is not PJSIP's has no Call-ID; its unique id names the call as well.
        let callID = words.first.flatMap { $0.isEmpty ? nil : String($0) } ?? environment["agi_uniqueid"]
        let hasVideo = words.count > 1 && !words[1].isEmpty && words[1] != "(nothing)"
        let isGone = words.count > 2 && words[2] == "1"
        let remote = words.count > 3 ? String(words[3]) : ""
        let caller =
            environment.withholdsCaller
            ? .anonymous
            : CallerIdentity(
                number: environment["agi_callerid"], name: environment["agi_calleridname"], from: remote.utf8.span,
                host: host)
        let (from, name) = (caller.uri, caller.displayName)
        switch command {
        case .wake where isGone:
            return finish("FAILED", because: "nobody is woken once the caller has hung up")
        case .wake(let aor, let seconds, _):
            self.aor = aor
            startedAt = now
            state = .waiting
            var message = WakeMessage()
            (message.aor, message.seconds, message.callID, message.hasNoContacts) = (aor, seconds, callID, true)
            (message.fromURI, message.fromDisplay, message.toURI) = (from, name, aor)
            message.offersVideo = hasVideo
            wakeMessage = message
            return [.wake(message)]
        case .send(let event, let aor, let text, _):
            state = .waiting
            return [.send(event, aor: aor, text: text, callID: callID, fromURI: from, fromDisplay: name)]
        case .bindings(let aor):
            state = .waiting
            return [.listBindings(aor: aor)]
        case nil:
            return finish("FAILED")
        }
    }

    /// Whether the line is part of a usage text, which stands between `520-` and `520 `.
    private mutating func isUsage(_ text: String) -> Bool {
        if text.hasPrefix("520-") { isInUsage = true }
        if text.hasPrefix("520 ") { isInUsage = false }
        return isInUsage
    }

    /// Sets all variables of the command, so that none of an earlier one stays.
    private mutating func finish(
        _ status: String, contacts: String = "", milliseconds: Int64 = 0, because reason: String = "",
        sent: Int64 = 0, providers: [String] = []
    ) -> [Action] {
        guard state != .done else { return [] }
        var lines = [
            Self.set("PUSHWAKE_STATUS", status), Self.set("PUSHWAKE_CONTACTS", contacts),
            Self.set("PUSHWAKE_WOKEN_MS", String(milliseconds)),
        ]
        switch command {
        case .send: lines.append(Self.set("PUSHWAKE_SENT", String(sent)))
        case .bindings:
            lines.append(Self.set("PUSHWAKE_BINDINGS", String(providers.count)))
            lines.append(Self.set("PUSHWAKE_PROVIDERS", providers.joined(separator: ",")))
        case .wake, nil: break
        }
        if !reason.isEmpty { lines.insert("VERBOSE \"pushwake: \(Self.quotable(reason))\" 1", at: 0) }
        let first = lines.removeFirst()
        state = .setting(lines)
        return [.say(first)]
    }

    /// A string for Dial(): the phone's own address where it is known and harmless, else the endpoint, which
    /// dials what its AoR has. `&`, `,` and `|` would end an argument of Dial(), `/` the resource.
    private func dial(_ contact: String) -> String {
        let user = String(aor.prefix { $0 != "@" })
        guard !user.isEmpty, Self.isSafe(user, upTo: .max) else { return "" }
        guard !contact.isEmpty else { return "PJSIP/\(user)" }
        let bare = Binding.withoutPushParameters(contact)
        return Self.isSafe(bare) && bare.utf8.count < 400 ? "PJSIP/\(user)/\(bare)" : "PJSIP/\(user)"
    }

    /// The name of an endpoint may have letters of any language, a URI has none beyond ASCII.
    private static func isSafe(_ text: String, upTo last: UInt8 = 0x7E) -> Bool {
        text.utf8.allSatisfy { byte in
            byte > 0x20 && byte != 0x7F && byte <= last && !"&,|\"\\/^{}$()".utf8.contains(byte)
        }
    }

    private static func set(_ name: String, _ value: String) -> String {
        "SET VARIABLE \(name) \"\(quotable(value))\""
    }

    /// Text that can stand between quotes in an AGI command. Asterisk reads a command into 2048 bytes and takes
    /// the rest of a longer one for the next command.
    private static func quotable(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            if out.utf8.count > 1900 { break }
            if scalar == "\"" || scalar == "\\" { out.unicodeScalars.append("\\") }
            out.unicodeScalars.append(scalar.value < 0x20 || scalar.value == 0x7F ? " " : scalar)
        }
        return out
    }

    /// What stands in the parentheses of `200 result=1 (value)`.
    private static func value(in reply: String) -> String {
        guard reply.hasPrefix("200 result=1"), let open = reply.firstIndex(of: "("),
            let close = reply.lastIndex(of: ")"), open < close
        else { return "" }
        return String(reply[reply.index(after: open)..<close])
    }
}

/// The lines with which Asterisk introduces a channel to an AGI script: `agi_name: value`, ended by an empty one.
public struct AGIEnvironment: Sendable {
    /// Asterisk sends some twenty lines, and one for each argument.
    private static let mostLines = 256
    private static let mostBytes = 65_536
    private var values: [String: String] = [:]
    private var lines = 0
    private var bytes = 0
    /// The empty line has come.
    public private(set) var isComplete = false
    /// More has come than any Asterisk sends.
    public var isOverfull: Bool { lines > Self.mostLines || bytes > Self.mostBytes }

    /// Makes one that has heard nothing yet.
    public init() {}

    /// Takes one line without its end; what is not a `name: value` is ignored.
    public mutating func line(_ text: String) {
        guard !text.isEmpty else {
            isComplete = true
            return
        }
        (lines, bytes) = (lines &+ 1, bytes &+ text.utf8.count)
        guard !isOverfull, let colon = text.firstIndex(of: ":") else { return }
        let value = text[text.index(after: colon)...].drop { $0 == " " }
        values[String(text[..<colon])] = String(value)
    }

    /// The value under a name such as `agi_callerid`; Asterisk's `unknown` reads as empty.
    public subscript(name: String) -> String {
        let value = values[name] ?? ""
        return value == "unknown" ? "" : value
    }

    /// The caller does not want to be seen: bits 6 and 7 of `agi_callingpres` say allowed when they are 0 (Q.931, 4.5.10).
    public var withholdsCaller: Bool {
        (Int(self["agi_callingpres"]) ?? 0) & 0x60 != 0
    }

    /// `agi_arg_1`, `agi_arg_2`, … up to the first that is missing.
    public var arguments: [String] {
        var found: [String] = []
        while let value = values["agi_arg_\(found.count + 1)"], found.count < 32 { found.append(value) }
        return found
    }
}
