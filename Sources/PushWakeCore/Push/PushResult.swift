// SPDX-License-Identifier: MIT

/// How one push ended, as the log, the statistics, the trace of its request and the PBX hear of it.
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

    public init(
        id: UInt64 = 0, event: PushEvent, outcome: Outcome, httpStatus: Int = 0, isBindingRemoved: Bool = false,
        microseconds: Int64 = 0, aor: String = "", callID: String = "", provider: Provider = .webhook,
        app: String = "", token: String = "", reason: String = ""
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
}
