// SPDX-License-Identifier: MIT

// Structs of a caller, who may have been built with another header: fields are only ever appended.

internal import CPushWake
internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// A struct of a caller that begins with its size.
protocol CallerStruct {
    var size: Int { get }
}

extension pushwake_setting: CallerStruct {}
extension pushwake_register_request: CallerStruct {}
extension pushwake_register_result: CallerStruct {}
extension pushwake_wake_request: CallerStruct {}
extension pushwake_wake_result: CallerStruct {}
extension pushwake_resume_request: CallerStruct {}
extension pushwake_send_request: CallerStruct {}
extension pushwake_host_load: CallerStruct {}
extension pushwake_upstream_request: CallerStruct {}
extension pushwake_upstream_answer: CallerStruct {}
extension pushwake_supervisor_config: CallerStruct {}
extension pushwake_legs_config: CallerStruct {}

/// Whether a caller's struct has all fields of the first release.
func isWhole<Value: CallerStruct>(_ pointer: UnsafePointer<Value>) -> Bool {
    pointer.pointee.size >= MemoryLayout<Value>.size
}

/// The same of one that is written.
func isWhole<Value: CallerStruct>(_ pointer: UnsafeMutablePointer<Value>) -> Bool { isWhole(UnsafePointer(pointer)) }

/// An array of contacts whose elements have the caller's size.
struct ContactsView {
    private let base: UnsafeRawPointer?
    private let stride: Int
    let indices: Range<Int>

    init(_ contacts: UnsafePointer<pushwake_contact>?, _ count: Int, stride: Int) {
        base = UnsafeRawPointer(contacts)
        self.stride = stride
        indices = contacts == nil || stride < MemoryLayout<pushwake_contact>.size ? 0..<0 : 0..<max(0, count)
    }

    subscript(index: Int) -> pushwake_contact { place(index)?.pointee ?? pushwake_contact() }

    /// Writes what the engine said of a contact into the caller's array, which was given as one that can be written.
    func put(action: CInt, leg: CInt, at index: Int) {
        guard indices.contains(index), let contact = place(index) else { return }
        let place = UnsafeMutablePointer(mutating: contact)
        (place.pointee.action, place.pointee.leg) = (action, leg)
    }

    private func place(_ index: Int) -> UnsafePointer<pushwake_contact>? {
        base?.advanced(by: index * stride).assumingMemoryBound(to: pushwake_contact.self)
    }
}

extension pushwake_contact {
    /// Writes the fields of one contact.
    func put(into engine: EngineClient, withLeg: Bool = false, withExpiry: Bool = false) {
        engine.put(.contactURI, uri.bytes.span)
        engine.put(.contactInstance, instance.bytes.span)
        engine.put(.contactAge, Int64(age_s))
        if !key.isEmpty { engine.put(.contactKey, key.bytes.span) }
        if !flow.isEmpty { engine.put(.contactFlow, flow.bytes.span) }
        if !register_call_id.isEmpty { engine.put(.contactRegistration, register_call_id.bytes.span) }
        if behind_proxy != 0 { engine.put(.contactProxy, 1) }
        if !path.isEmpty { engine.put(.contactPath, path.bytes.span) }
        if withExpiry, expires != 0 { engine.put(.contactExpires, expires) }
        if withLeg, leg != 0 {
            engine.put(.leg, Int64(leg))
            engine.put(.status, Int64(leg_status))
        }
        engine.put(.contactReachable, Int64(reach))
    }
}

extension pushwake_contact {
    /// As waiting legs keep it.
    var known: WakeMessage.Contact {
        var contact = WakeMessage.Contact(uri: uri.string)
        contact.instance = WakeMessage.unquoted(instance.string)
        contact.key = key.isEmpty ? contact.uri : key.string
        (contact.flow, contact.path, contact.registration) = (flow.string, path.string, register_call_id.string)
        contact.age = Int64(age_s)
        contact.isBehindProxy = behind_proxy != 0
        contact.reach = UInt8(exactly: reach).flatMap { CallContact.Reach(rawValue: $0) } ?? .datagram
        return contact
    }
}

extension RequestReader {
    /// Takes the headers that it knows, and who calls as phones see it, if that is another one.
    mutating func headers(
        _ headers: UnsafePointer<pushwake_header>?, _ count: Int, shown lines: pushwake_str = pushwake_str()
    ) {
        for header in UnsafeBufferPointer(start: headers, count: headers == nil ? 0 : count)
        where RequestReader.reads(header.name.bytes.span) {
            self.header(name: header.name.bytes.span, value: header.value.bytes.span)
        }
        if !lines.isEmpty { shown(lines.bytes.span) }
    }
}

extension EngineClient {
    /// Adds those headers of a SIP message that are wanted.
    func put(
        _ headers: UnsafePointer<pushwake_header>?, _ count: Int, where isWanted: (pushwake_header) -> Bool
    ) {
        for header in UnsafeBufferPointer(start: headers, count: headers == nil ? 0 : count) where isWanted(header) {
            put(.headerName, header.name.bytes.span)
            put(.headerValue, header.value.bytes.span)
        }
    }
}

/// A caller's wake request with its contacts.
struct WakeRequestView {
    private let request: pushwake_wake_request
    private let contacts: ContactsView
    /// Milliseconds that an engine's last word may take to reach its host.
    private static let grace: Int64 = 1500

    init(_ request: pushwake_wake_request) {
        self.request = request
        contacts = ContactsView(request.contacts, request.contact_count, stride: request.contact_size)
    }

    /// Writes the fields of the request; false when its headers say that it wakes nobody, or its user has no bindings
    /// because the name is no text.
    func put(into engine: EngineClient, host: UInt64, _ policy: RequestPolicy) -> Bool {
        guard request.aor.bytes.span.isText else { return false }
        engine.begin(.wake)
        if request.headers != nil, request.header_count > 0 {
            guard putRead(into: engine, policy) else { return false }
        } else {
            putGiven(into: engine)
        }
        engine.put(.aor, request.aor.bytes.span)
        engine.put(.cseq, Int64(request.cseq))
        engine.put(.fromTag, request.from_tag.bytes.span)
        engine.put(.method, request.method.bytes.span)
        if !request.domain.isEmpty { engine.put(.domain, request.domain.bytes.span) }
        if request.handle != 0, host != 0 {
            engine.put(.host, Int64(bitPattern: host))
            engine.put(.handle, Int64(bitPattern: request.handle))
        }
        if request.host != 0 { engine.put(.hostKind, Int64(request.host)) }
        for index in contacts.indices { contacts[index].put(into: engine) }
        return true
    }

    /// What the host has read of the request itself.
    private func putGiven(into engine: EngineClient) {
        engine.put(.event, Int64(request.event))
        engine.put(.seconds, Int64(request.hold_seconds))
        engine.put(.callID, request.call_id.bytes.span)
        if let caller = Self.caller(of: request) {
            engine.put(.fromURI, caller.uri)
            engine.put(.fromDisplay, caller.displayName)
            if caller == .anonymous, !request.caller_number.isEmpty {
                engine.put(.callerKey, request.caller_number.bytes.span)
            }
        } else {
            engine.put(.fromURI, request.from_uri.bytes.span)
            engine.put(.fromDisplay, NameAddress.displayName(request.from_display.bytes.span))
        }
        engine.put(.toURI, request.to_uri.bytes.span)
        let event = UInt8(exactly: request.event).flatMap { PushEvent(rawValue: $0) }
        let content = MessageContent.shown(
            of: request.text.bytes.span, contentType: request.content_type.string,
            codings: request.content_encoding.string, event)
        engine.put(.contentType, content.type)
        engine.put(.text, content.text)
        if request.media & UInt64(PUSHWAKE_MEDIA_VIDEO) != 0 { engine.put(.video, 1) }
    }

    /// What a host says of the user whom a request waits for.
    static func user(_ request: pushwake_wake_request) -> LegUser {
        let contacts = ContactsView(request.contacts, request.contact_count, stride: request.contact_size)
        var user = LegUser(contacts: contacts.indices.map { contacts[$0].known })
        user.callID = request.call_id.string
        if let caller = caller(of: request) {
            (user.fromURI, user.fromDisplay) = (caller.uri, caller.displayName)
            if caller == .anonymous { user.callerKey = request.caller_number.string }
        } else {
            user.fromURI = request.from_uri.string
            user.fromDisplay = NameAddress.displayName(request.from_display.bytes.span)
        }
        user.seconds = Int64(request.hold_seconds)
        user.offersVideo = request.media & UInt64(PUSHWAKE_MEDIA_VIDEO) != 0
        user.ringsAll = request.scope == UInt64(PUSHWAKE_SCOPE_ALL.rawValue)
        user.scope = UInt8(exactly: request.scope).flatMap { WakeMessage.Scope(rawValue: $0) } ?? .user
        return user
    }

    /// Who calls, when the host leaves that to us.
    private static func caller(of request: pushwake_wake_request) -> CallerIdentity? {
        guard request.from_uri.isEmpty else { return nil }
        if CallerPrivacy.withholds(request.privacy.bytes.span) { return .anonymous }
        return switch UInt32(truncatingIfNeeded: request.caller) {
        case PUSHWAKE_CALLER_NUMBER.rawValue:
            CallerIdentity(
                number: request.caller_number.string, name: request.from_display.string,
                from: request.from.bytes.span, host: SystemName.host)
        case PUSHWAKE_CALLER_WITHHELD.rawValue: .anonymous
        default: request.from.isEmpty ? nil : CallerIdentity(from: request.from.bytes.span)
        }
    }

    /// What its headers say; false when it wakes nobody.
    private func putRead(into engine: EngineClient, _ policy: RequestPolicy) -> Bool {
        var reader = RequestReader(method: request.method.bytes.span, uri: request.request_uri.bytes.span)
        reader.headers(request.headers, request.header_count, shown: request.shown)
        reader.body(request.text.bytes.span)
        let read = reader.finish()
        let decision = policy.decision(on: read, hasPURR: !read.purr.isEmpty, wanted: Int64(request.hold_seconds))
        guard case .wakes(let event, let occasion, let seconds) = decision else { return false }
        engine.put(.event, Int64(event.rawValue))
        engine.put(.occasion, Int64(occasion.rawValue))
        engine.put(.seconds, seconds)
        engine.put(.callID, read.callID)
        engine.put(.fromURI, read.fromURI)
        engine.put(.fromDisplay, read.fromDisplay)
        if !read.callerKey.isEmpty { engine.put(.callerKey, read.callerKey) }
        engine.put(.toURI, read.toURI)
        engine.put(.contentType, read.contentType)
        if !read.text.isEmpty { engine.put(.text, read.text) }
        if read.offersVideo { engine.put(.video, 1) }
        if read.requiresReliableAnswers { engine.put(.reliable, 1) }
        if !read.namingPURR.isEmpty { engine.put(.purr, read.namingPURR) }
        return true
    }

    /// What the answer says; actions and legs go into the caller's array of contacts.
    ///
    /// An action that this release does not know makes it as good as none: all that the host could do with it is guess.
    func result(
        _ reply: MessageReader, size: Int, _ arena: TextArena
    ) throws(ClientError) -> pushwake_wake_result {
        var result = pushwake_wake_result(size: size)
        var actions: ArraySlice<UInt8> = []
        var legs: ArraySlice<UInt8> = []
        var reader = reply
        while let field = reader.next() {
            switch field.tag {
            case .bindings: result.bindings = CInt(clamping: reader.number(field))
            case .pushed: result.pushed = CInt(clamping: reader.number(field))
            case .awake: result.awake = CInt(clamping: reader.number(field))
            case .watched: result.watched = 1
            case .hold: result.hold_ms = reader.number(field)
            case .limit: result.limit_ms = reader.number(field)
            case .ticket: result.ticket = arena.keep(reader.bytes[field.range])
            case .verdicts: actions = reader.bytes[field.range]
            case .legs: legs = reader.bytes[field.range]
            default: break
            }
        }
        if let unknown = actions.first(where: { UInt32($0) > PUSHWAKE_HOLD.rawValue }) {
            throw .unavailable("the engine is of a later release (action \(unknown)); install both of one release")
        }
        result.deadline_ms = result.limit_ms &+ Self.grace
        for index in contacts.indices where index < actions.count {
            let at = legs.startIndex + 2 * index
            let leg = at + 1 < legs.endIndex ? CInt(legs[at]) | CInt(legs[at + 1]) << 8 : 0
            contacts.put(action: CInt(actions[actions.startIndex + index]), leg: leg, at: index)
        }
        return result
    }
}

extension pushwake_wake_result {
    init(size: Int) {
        self.init()
        self.size = size
    }
}
