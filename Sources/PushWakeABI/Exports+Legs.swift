// SPDX-License-Identifier: MIT

// Requests that wait for phones: a SIP server in the host's own process.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore

/// What is behind a `pushwake_legs *`.
final class LegsHandle {
    let service: LegService
    let host: CallHost
    let isReliable: Bool
    let repetition: Int64
    let key: String

    init?(_ settings: Settings, _ config: pushwake_legs_config) {
        guard let host = UInt8(exactly: config.host).flatMap({ CallHost(rawValue: $0) }) else { return nil }
        self.host = host
        isReliable = config.is_reliable != 0
        repetition = config.repetition_ms
        key = config.key.string
        let policy = Self.policy(settings, host, isReliable, repetition, key)
        service = LegService(policy) { execute($0, for: config) }
    }

    func policy(_ settings: Settings) -> LegPolicy { Self.policy(settings, host, isReliable, repetition, key) }

    private static func policy(
        _ settings: Settings, _ host: CallHost, _ isReliable: Bool, _ repetition: Int64, _ key: String
    ) -> LegPolicy {
        var policy = LegPolicy(settings, host: host, isReliable: isReliable)
        if repetition > 0 { policy.repetition = repetition }
        policy.key = key
        return policy
    }
}

@_cdecl("pushwake_legs_new") @implementation
public func pushwake_legs_new(
    _ out: UnsafeMutablePointer<OpaquePointer?>!, _ settings: OpaquePointer!,
    _ config: UnsafePointer<pushwake_legs_config>!
) -> CInt {
    guard let out, let config, isWhole(config), let handle = borrow(settings, as: SettingsHandle.self),
        let legs = LegsHandle(handle.settings, config.pointee)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    out.pointee = give(legs)
    return 0
}

@_cdecl("pushwake_legs_free") @implementation
public func pushwake_legs_free(_ legs: OpaquePointer!) { _ = take(legs, as: LegsHandle.self) }

@_cdecl("pushwake_legs_use") @implementation
public func pushwake_legs_use(_ legs: OpaquePointer!, _ settings: OpaquePointer!, _ supervisor: OpaquePointer!) -> CInt
{
    guard let legs = borrow(legs, as: LegsHandle.self), let settings = borrow(settings, as: SettingsHandle.self),
        let supervisor = borrow(supervisor, as: SupervisorHandle.self)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    legs.service.take(legs.policy(settings.settings))
    supervisor.supervisor.serve(legs.service)
    return 0
}

@_cdecl("pushwake_legs_receive") @implementation
public func pushwake_legs_receive(_ legs: OpaquePointer!, _ message: pushwake_str) -> CInt {
    tell(legs) { legs, now in legs.receive(message.bytes.span, now: now) }
}

@_cdecl("pushwake_legs_described") @implementation
public func pushwake_legs_described(
    _ legs: OpaquePointer!, _ handle: UInt64, _ user: UnsafePointer<pushwake_wake_request>!, _ may_wake: CInt
) -> CInt {
    guard let user, isWhole(user) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    let known = WakeRequestView.user(user.pointee)
    return tell(legs) { legs, now in
        may_wake == 0 ? legs.uninvolved(handle, as: known, now: now) : legs.described(handle, as: known, now: now)
    }
}

@_cdecl("pushwake_legs_probed") @implementation
public func pushwake_legs_probed(_ legs: OpaquePointer!, _ handle: UInt64, _ leg: CInt, _ status: CInt) -> CInt {
    tell(legs) { legs, now in legs.probed(handle, leg: Int(leg), status: Int(status), now: now) }
}

@_cdecl("pushwake_legs_progressed") @implementation
public func pushwake_legs_progressed(
    _ legs: OpaquePointer!, _ handle: UInt64, _ leg: CInt, _ status: CInt, _ from_phone: CInt
) -> CInt {
    tell(legs) { legs, now in
        legs.progressed(handle, leg: Int(leg), status: Int(status), isFromPhone: from_phone != 0, now: now)
    }
}

@_cdecl("pushwake_legs_ended") @implementation
public func pushwake_legs_ended(
    _ legs: OpaquePointer!, _ handle: UInt64, _ how: CInt, _ status: CInt, _ reason: pushwake_str
) -> CInt {
    tell(legs) { legs, now in
        legs.ended(handle, how: Int(how), status: Int(status), reason: reason.string, now: now)
    }
}

@_cdecl("pushwake_legs_registered") @implementation
public func pushwake_legs_registered(
    _ legs: OpaquePointer!, _ aor: pushwake_str, _ domain: pushwake_str, _ contact: UnsafePointer<pushwake_contact>!
) -> CInt {
    guard let contact else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    var known = contact.pointee.known
    if known.key.isEmpty { known.key = known.uri }
    return tell(legs) { legs, now in legs.registered(known, aor: aor.string, domain: domain.string, now: now) }
}

@_cdecl("pushwake_legs_takes_back") @implementation
public func pushwake_legs_takes_back(_ status: CInt) -> CInt { WaitingLegs.takesBack(Int(status)) ? 1 : 0 }

@_cdecl("pushwake_legs_timeout_ms") @implementation
public func pushwake_legs_timeout_ms(_ legs: OpaquePointer!) -> CInt {
    borrow(legs, as: LegsHandle.self)?.service.timeoutMilliseconds() ?? -1
}

@_cdecl("pushwake_legs_process") @implementation
public func pushwake_legs_process(_ legs: OpaquePointer!) -> CInt {
    guard let legs = borrow(legs, as: LegsHandle.self) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    legs.service.process()
    return 0
}

private func tell(_ legs: OpaquePointer?, _ event: (inout WaitingLegs, _ now: Int64) -> [LegAction]) -> CInt {
    guard let legs = borrow(legs, as: LegsHandle.self) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    legs.service.with(event)
    return 0
}

private func execute(_ action: LegAction, for config: pushwake_legs_config) {
    let arena = TextArena()
    var order = pushwake_leg_order()
    order.size = MemoryLayout<pushwake_leg_order>.size
    switch action {
    case .answer(let bytes):
        config.on_answer?(config.context, arena.keep(bytes))
        return
    case .ask: return
    case .describe(let subject, _):
        order.kind = CInt(PUSHWAKE_LEG_DESCRIBE.rawValue)
        order.handle = subject.handle
        order.aor = arena.keep(subject.aor)
        order.domain = arena.keep(subject.domain)
        order.call_id = arena.keep(subject.callID)
        order.method = arena.keep(subject.method)
    case .probe(let handle, let leg, let contact):
        order.take(PUSHWAKE_LEG_PROBE, handle, leg)
        order.take(contact, arena)
    case .forward(let subject, let leg, let contact, let text):
        order.take(PUSHWAKE_LEG_FORWARD, subject.handle, leg)
        order.take(contact, arena)
        order.aor = arena.keep(subject.aor)
        order.content_type = arena.keep(text.content.type)
        order.content = arena.keep(text.content.body)
        order.from_uri = arena.keep(text.fromURI)
        order.from_display = arena.keep(text.fromDisplay)
    case .close(let handle, let leg): order.take(PUSHWAKE_LEG_CLOSE, handle, leg)
    case .dial(let handle, let leg, let contact):
        order.take(PUSHWAKE_LEG_DIAL, handle, leg)
        order.take(contact, arena)
    case .resend(let handle, let leg): order.take(PUSHWAKE_LEG_RESEND, handle, leg)
    case .forget(let handle): order.take(PUSHWAKE_LEG_FORGET, handle, 0)
    }
    config.on_order?(config.context, &order)
}

extension pushwake_leg_order {
    fileprivate mutating func take(_ kind: pushwake_leg_order_kind, _ handle: UInt64, _ leg: Int) {
        self.kind = CInt(kind.rawValue)
        (self.handle, self.leg) = (handle, CInt(clamping: leg))
    }

    fileprivate mutating func take(_ contact: WakeMessage.Contact, _ arena: TextArena) {
        self.contact = arena.keep(contact.uri.isEmpty ? contact.key : contact.uri)
        contact_path = arena.keep(contact.path)
        contact_flow = arena.keep(contact.flow)
    }
}
