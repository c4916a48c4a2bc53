// SPDX-License-Identifier: MIT

public import PushWakeCore

/// How one push ended, as the log, the statistics and the PBX hear of it.
public struct PushResult: Equatable, Sendable {
    /// Number of the push since the engine started.
    public var id: UInt64
    public var event: PushEvent
    public var outcome: Outcome
    /// 0 when no answer came.
    public var httpStatus: Int
    /// The provider called the token dead, and the store has let it go.
    public var isBindingRemoved: Bool
    /// From the request to the outcome.
    public var microseconds: Int64
    /// Whom it was for; empty for a token given by hand.
    public var aor: String
    /// Of the request that caused it.
    public var callID: String
    public var provider: Provider
    /// Bundle id, package or project.
    public var app: String
    /// Shortened.
    public var token: String
    /// The provider's own word, or ours in CamelCase; may be empty.
    public var reason: String

    /// One line for the log.
    package var logLine: String {
        // Each push has one, and an interpolated text takes longer.
        var line: [UInt8] = []
        line.reserveCapacity(256)
        func add(_ name: String, _ value: String) {
            name.utf8Span.span.append(to: &line)
            value.utf8Span.span.append(to: &line)
        }
        add("push ", outcome.name)
        add(" provider=", provider.name)
        add(" event=", event.name)
        add(" aor=", PrintableText.logValue(aor))
        add(" call_id=", PrintableText.logValue(callID))
        add(" app=", PrintableText.logValue(app))
        add(" token=", PrintableText.logValue(token))
        add(" status=", String(httpStatus))
        add(" reason=", PrintableText.logValue(reason))
        add(" ms=", String(microseconds / 1000))
        if isBindingRemoved { add(" binding removed", "") }
        return String(decoding: line, as: UTF8.self)
    }

    /// Writes the fields of a `result` message.
    package func encode(into writer: inout MessageWriter) {
        writer.put(.pushID, Int64(bitPattern: id))
        writer.put(.event, Int(event.rawValue))
        writer.put(.outcome, Int(outcome.rawValue))
        writer.put(.httpStatus, httpStatus)
        writer.put(.removed, isBindingRemoved ? 1 : 0)
        writer.put(.microseconds, microseconds)
        writer.put(.aor, aor)
        writer.put(.callID, callID)
        writer.put(.provider, Int(provider.rawValue))
        writer.put(.app, app)
        writer.put(.token, token)
        writer.put(.reason, reason)
    }

    package init(
        id: UInt64, event: PushEvent, outcome: Outcome, httpStatus: Int, isBindingRemoved: Bool, microseconds: Int64,
        aor: String, callID: String, provider: Provider, app: String, token: String, reason: String
    ) {
        self.id = id
        self.event = event
        self.outcome = outcome
        self.httpStatus = httpStatus
        self.isBindingRemoved = isBindingRemoved
        self.microseconds = microseconds
        self.aor = aor
        self.callID = callID
        self.provider = provider
        self.app = app
        self.token = token
        self.reason = reason
    }

    /// Reads a `result` message up to the verbs that may follow in it; what an older engine left out keeps a harmless
    /// value.
    public init(decoding message: MessageReader) {
        self.init(
            id: 0, event: .custom, outcome: .unavailable, httpStatus: 0, isBindingRemoved: false, microseconds: 0,
            aor: "", callID: "", provider: .webhook, app: "", token: "", reason: "")
        var reader = message
        while let field = reader.next(), field.tag != .verb {
            switch field.tag {
            case .pushID: id = UInt64(bitPattern: reader.number(field))
            case .event: event = PushEvent(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .custom
            case .outcome: outcome = Outcome(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .unavailable
            case .httpStatus: httpStatus = Int(truncatingIfNeeded: reader.number(field))
            case .removed: isBindingRemoved = reader.number(field) != 0
            case .microseconds: microseconds = reader.number(field)
            case .aor: aor = reader.text(field)
            case .callID: callID = reader.text(field)
            case .provider: provider = Provider(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .webhook
            case .app: app = reader.text(field)
            case .token: token = reader.text(field)
            case .reason: reason = reader.text(field)
            default: break
            }
        }
    }
}
