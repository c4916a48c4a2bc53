// SPDX-License-Identifier: MIT

/// What happened to one request, in order: the answer to "why did the phone not ring?".
///
/// A line is a packed fact; sentences are made when somebody asks. All that comes from packets is cut, and a trace that
/// grows too long loses lines from its middle: how it began and how it ended matter most.
public struct CallTrace: Equatable, Sendable {
    /// Lines kept at most, and how many of them are its first.
    public static let mostLines = 64
    static let firstLines = 24
    /// Devices that get a name, and texts kept.
    static let mostNames = 8
    static let mostTexts = 16
    /// Bytes of a text from a packet, and of a name by which the trace is found: B2BUAs and hidden topologies make long ones.
    static let longestText = 128
    static let longestName = 512

    /// What a device is called besides its number.
    public struct Name: Equatable, Sendable {
        /// Nil for a device that cannot be pushed.
        public var provider: Provider?
        /// Bundle id, package or project.
        public var app: String
        /// Shortened.
        public var token: String
        /// Shortened.
        public var instance: String

        public init(provider: Provider? = nil, app: String = "", token: String = "", instance: String = "") {
            self.provider = provider
            self.app = TraceText.cut(app)
            self.token = TraceText.cut(token)
            self.instance = TraceText.cut(instance)
        }
    }

    public let method: String
    public let aor: String
    public let callID: String
    public let cseq: UInt32
    /// URI of the caller.
    public let from: String
    /// Monotonic milliseconds.
    public let startedAt: Int64
    public private(set) var lines: [TraceLine] = []
    /// Lines that are missing after the first `firstLines`.
    public private(set) var omitted = 0
    var names: [Name?] = []
    var texts: [String] = []
    /// What `takeNewSteps` has not given yet: lines at the end, and a bit for each name.
    var unreportedLines: UInt8 = 0
    var unreportedNames: UInt8 = 0
    /// `takeNewSteps` has said that there is such a request.
    var isReported = false

    /// Begins at `now` (monotonic milliseconds).
    public init(method: String, aor: String, callID: String, cseq: UInt32, from: String, now: Int64) {
        self.method = TraceText.cut(method)
        self.aor = Self.shown(aor)
        self.callID = Self.shown(callID)
        self.cseq = cseq
        self.from = TraceText.cut(from)
        startedAt = now
        lines.reserveCapacity(8)
    }

    /// An AoR or a Call-ID as a trace keeps it, and is found by it.
    public static func shown(_ name: String) -> String { TraceText.cut(name, to: longestName) }

    /// Gives a device a name; a later one replaces it.
    public mutating func name(_ device: Int, _ name: Name) {
        guard device >= 0, device < Self.mostNames else { return }
        while names.count <= device { names.append(nil) }
        names[device] = name
        unreportedNames |= 1 << UInt8(truncatingIfNeeded: device)
    }

    /// Adds what happened at `now`.
    public mutating func append(_ note: CallNote, now: Int64) {
        var line = TraceLine(note, at: offset(now))
        switch note {
        case .rung(_, _, let contact): line.text = keep(TraceText.address(contact))
        case .announced(let node): line.text = keep(TraceText.cut(node))
        case .notPushed(_, let reason): line.text = keep(reason.rawValue)
        case .gaveUp: line.flag = hasLegs
        case .pushed(let device, _):
            if let cause = takeCause(of: device, at: line.at) {
                line.detail = cause.kind.rawValue
                line.milliseconds = cause.milliseconds
            }
        default: break
        }
        append(line)
    }

    /// Adds all that the verbs of one event have to tell.
    public mutating func append(_ verbs: [CallVerb], now: Int64) {
        var replaced: (leg: Int, by: Int)?
        var latest = 0
        for verb in verbs {
            switch verb {
            case .ring(let leg, _, let old): replaced = old.map { ($0, leg) }
            case .hold(let until): append(.held(max(0, until &- now)), now: now)
            case .dropPush(let device): append(.dropped(device: device), now: now)
            case .ringAndCancel: append(.endShown(device: latest), now: now)
            case .note(let note):
                append(note, now: now)
                if case .late(let device) = note { latest = device }
                if case .rung(_, let leg, _) = note, let replaced, replaced.by == leg, !lines.isEmpty {
                    lines[lines.count - 1].replacedLeg = UInt16(clamping: replaced.leg)
                }
            case .resend, .close, .giveUp, .push, .tell: break
            }
        }
    }

    /// Adds how a push ended.
    public mutating func append(_ result: PushResult, device: Int, now: Int64) {
        var line = TraceLine(result, device: device, at: offset(now))
        line.text = keep(TraceText.cut(result.reason))
        append(line)
    }

    /// The text of a line; empty when it has none, or when the table was full.
    func text(of line: TraceLine) -> String {
        let index = Int(line.text) - 1
        return texts.indices.contains(index) ? texts[index] : ""
    }

    /// How the request ended, and after how many milliseconds.
    public var end: (how: CallEnd, at: Int64)? {
        for line in lines.reversed() {
            if let end = line.end { return (end, Int64(line.at)) }
        }
        return nil
    }

    /// The channel that waited has gone on with a phone, and nobody says what becomes of the call.
    var isLeft: Bool { lines.contains { $0.kind == .wentOn } }

    /// The request is out to a phone that has not refused it.
    private var hasLegs: Bool {
        // Few lines, and no table is made for them.
        lines.indices.contains { index in
            lines[index].kind == .rung
                && !lines[(index + 1)...].contains { $0.device == lines[index].device && $0.isRefusal }
        }
    }

    private func offset(_ now: Int64) -> UInt32 { UInt32(clamping: now &- startedAt) }

    private mutating func append(_ line: TraceLine) {
        if lines.count == Self.mostLines {
            lines.remove(at: Self.firstLines)
            omitted += 1
        }
        lines.append(line)
        if unreportedLines < Self.mostLines { unreportedLines += 1 }
    }

    /// "It sleeps" and "it is pushed" of one moment are one line.
    private mutating func takeCause(of device: Int, at: UInt32) -> TraceLine? {
        guard let last = lines.last, last.kind == .asleep || last.kind == .silent, last.index == device, last.at == at
        else { return nil }
        if unreportedLines > 0 { unreportedLines -= 1 }
        return lines.popLast()
    }

    private mutating func keep(_ text: String) -> UInt8 {
        if text.isEmpty { return 0 }
        if let index = texts.firstIndex(of: text) { return UInt8(clamping: index + 1) }
        guard texts.count < Self.mostTexts else { return 0 }
        texts.append(text)
        return UInt8(clamping: texts.count)
    }
}
