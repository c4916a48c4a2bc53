// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What waiting legs say to the engine, as messages of its protocol.
struct LegMessages: ~Copyable {
    /// Marks ids of these: the supervisor numbers its own messages from 1.
    private static let mark: UInt32 = 0x8000_0000

    private var writer = MessageWriter()
    private var lastID: UInt32 = 0
    /// Names the processes of this PBX to the engine.
    var host: UInt64 = 0

    /// Whether a reply is to one of these.
    static func isOwn(_ id: UInt32) -> Bool { id & mark != 0 }

    private mutating func begin(_ kind: EngineProtocol.Kind, _ handle: UInt64) -> UInt32 {
        lastID = lastID &+ 1 & ~Self.mark
        writer.begin(kind, id: lastID | Self.mark)
        writer.put(.host, Int64(bitPattern: host))
        writer.put(.handle, Int64(bitPattern: handle))
        return lastID | Self.mark
    }

    private func finish() -> [UInt8]? { writer.isOverfull ? nil : writer.bytes }

    /// Asks for a push; nil when the request is longer than a message.
    mutating func wake(_ request: WakeMessage) -> (id: UInt32, bytes: [UInt8])? {
        let id = begin(.wake, request.handle)
        request.put(into: &writer, text: request.text)
        for contact in request.contacts { contact.put(into: &writer, legs: false) }
        return finish().map { (id, $0) }
    }

    /// Hands a request to a new engine. `ticket`: of the engine before; nil: none has answered it. The contacts carry legs.
    mutating func resume(
        _ request: WakeMessage, ticket: [UInt8]?, pushed: UInt64, age: Int64, lastLeg: Int
    ) -> (id: UInt32, bytes: [UInt8])? {
        let ticket = ticket ?? pendingTicket(of: request)
        let id = begin(.resume, request.handle)
        writer.put(.ticket, ticket)
        writer.put(.pushedDevices, Int64(bitPattern: pushed))
        writer.put(.milliseconds, age)
        writer.put(.lastLeg, lastLeg)
        for contact in request.contacts { contact.put(into: &writer, legs: true) }
        return finish().map { (id, $0) }
    }

    /// A phone of this user is there.
    mutating func registered(_ aor: String, _ contact: String) -> [UInt8]? {
        _ = begin(.registered, 0)
        writer.put(.aor, aor)
        writer.put(.contactURI, contact)
        return finish()
    }

    /// A leg has an answer: 100 to 699, or 0: it is sent now.
    mutating func progressed(_ handle: UInt64, leg: Int, status: Int, isFromPhone: Bool) -> [UInt8]? {
        _ = begin(.progressed, handle)
        writer.put(.leg, leg)
        writer.put(.status, status)
        writer.put(.fromPhone, isFromPhone ? 1 : 0)
        return finish()
    }

    /// The request has its final answer; `how` is `enum pushwake_call_end`.
    mutating func ended(_ handle: UInt64, how: Int, status: Int, reason: String) -> [UInt8]? {
        _ = begin(.requestEnded, handle)
        writer.put(.how, how)
        writer.put(.status, status)
        if !reason.isEmpty { writer.put(.reason, reason) }
        return finish()
    }

    /// A ticket for a request that no engine has seen: whose phones it may wake is not known yet.
    private mutating func pendingTicket(of request: WakeMessage) -> [UInt8] {
        writer.begin(.resume, id: 0)
        request.put(into: &writer, text: request.text)
        writer.put(.bindingsPending, 1)
        return writer.isOverfull ? [] : writer.bytes
    }
}

extension WakeMessage.Contact {
    /// Writes it; `legs`: with the leg that is out to it.
    func put(into writer: inout MessageWriter, legs: Bool) {
        writer.put(.contactURI, uri)
        if !instance.isEmpty { writer.put(.contactInstance, instance) }
        writer.put(.contactAge, age)
        if !key.isEmpty { writer.put(.contactKey, key) }
        if !flow.isEmpty { writer.put(.contactFlow, flow) }
        if !registration.isEmpty { writer.put(.contactRegistration, registration) }
        if isBehindProxy { writer.put(.contactProxy, 1) }
        if !path.isEmpty { writer.put(.contactPath, path) }
        if legs, leg > 0 {
            writer.put(.leg, leg)
            writer.put(.status, legStatus)
        }
        // ORDER: it ends the contact.
        writer.put(.contactReachable, Int64(reach.rawValue))
    }
}

/// A verb of the engine for a request that waits.
struct LegVerb {
    /// Raw values are `enum pushwake_verb_kind`.
    enum Kind: Int64 {
        case ring = 1
        case resend = 2
        case hold = 3
        case giveUp = 4
        case pushed = 6
        case tell = 7
        case close = 8
    }

    var kind: Kind?
    var handle: UInt64 = 0
    var leg = 0
    var replaces = 0
    var status = 0
    var milliseconds: Int64 = 0
    var contact = WakeMessage.Contact()
    var reason = ""

    /// All verbs of a message.
    static func read(_ message: MessageReader) -> [LegVerb] {
        var verbs: [LegVerb] = []
        var reader = message
        while let field = reader.next() {
            if field.tag == .verb {
                var verb = LegVerb()
                verb.kind = Kind(rawValue: reader.number(field))
                verbs.append(verb)
            } else if !verbs.isEmpty {
                verbs[verbs.count - 1].take(field, reader)
            }
        }
        return verbs
    }

    private mutating func take(_ field: MessageReader.Field, _ reader: MessageReader) {
        switch field.tag {
        case .handle: handle = UInt64(bitPattern: reader.number(field))
        case .leg: leg = Int(clamping: reader.number(field))
        case .replaces: replaces = Int(clamping: reader.number(field))
        case .status: status = Int(clamping: reader.number(field))
        case .milliseconds: milliseconds = reader.number(field)
        case .contactKey: contact.key = reader.text(field)
        case .contactURI: contact.uri = reader.text(field)
        case .contactPath: contact.path = reader.text(field)
        case .contactFlow: contact.flow = reader.text(field)
        case .reason: reason = reader.text(field)
        default: break
        }
    }
}

/// What the engine answers to a request that begins to wait.
struct LegAnswer {
    private(set) var bindings = 0
    private(set) var isWatched = false
    private(set) var hold: Int64 = 0
    private(set) var limit: Int64 = 0
    private(set) var ticket: [UInt8] = []
    /// Per contact: 0 ring, anything else hold.
    private(set) var verdicts: [UInt8] = []
    /// Per contact: the number of its leg, or 0.
    private(set) var legs: [Int] = []

    init(_ reply: MessageReader) {
        var reader = reply
        while let field = reader.next() {
            switch field.tag {
            case .bindings: bindings = Int(clamping: reader.number(field))
            case .watched: isWatched = true
            case .hold: hold = reader.number(field)
            case .limit: limit = reader.number(field)
            case .ticket: ticket = Array(reader.bytes[field.range])
            case .verdicts: verdicts = Array(reader.bytes[field.range])
            case .legs:
                let bytes = Array(reader.bytes[field.range])
                legs = stride(from: 0, to: bytes.count - 1, by: 2).map { Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8 }
            default: break
            }
        }
    }

    /// Whether the contact at this place is rung, and as which leg; 0: one that nobody follows.
    func leg(at index: Int) -> Int? {
        guard index < verdicts.count, verdicts[index] == 0 else { return nil }
        return index < legs.count ? legs[index] : 0
    }
}
