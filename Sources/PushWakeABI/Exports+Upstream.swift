// SPDX-License-Identifier: MIT

// The gateway: REGISTERs of phones on their way to a SIP server behind the host.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore

@_cdecl("pushwake_upstream_register") @implementation
public func pushwake_upstream_register(
    _ client: OpaquePointer!, _ request: UnsafePointer<pushwake_upstream_request>!,
    _ action: pushwake_upstream_fn!, _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let action, let request, isWhole(request), let handle = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let wanted = request.pointee
    guard wanted.headers != nil else {
        refuse(wanted.handle) { action(context, $0) }
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let engine = handle.client
    engine.begin(.upstreamRegister)
    engine.put(.host, Int64(bitPattern: handle.host))
    engine.put(.handle, Int64(bitPattern: wanted.handle))
    engine.put(.requestURI, wanted.request_uri.bytes.span)
    engine.put(.toURI, wanted.to_uri.bytes.span)
    engine.put(.callID, wanted.call_id.bytes.span)
    engine.put(.route, wanted.route.bytes.span)
    engine.put(.local, wanted.local_address.bytes.span)
    engine.put(wanted.headers, wanted.header_count) { header in
        let (name, value) = (header.name.bytes.span, header.value.bytes.span)
        return RegistrationReader.reads(name) || HeaderLine.authorization(name: name, value: value) != nil
    }
    let isRetry = wanted.is_retry != 0
    // As in pushwake_resume(): no SIP worker asks it.
    let status = ask(handle, milliseconds: isRetry ? handle.settings.integer(.engineTimeout) : nil) {
        action(context, $0)
    }
    let isSilent = status == PUSHWAKE_ERR_TIMEOUT.rawValue || status == PUSHWAKE_ERR_UNAVAILABLE.rawValue
    if status < 0, !(isRetry && isSilent) { refuse(wanted.handle) { action(context, $0) } }
    return status
}

/// What the engine would say of a phone's REGISTER if it could be asked.
private func refuse(_ handle: UInt64, then tell: (UnsafePointer<pushwake_upstream>) -> Void) {
    let arena = TextArena()
    let refusal = UpstreamAction.notReady
    var action = pushwake_upstream(beginning: Int64(PUSHWAKE_UPSTREAM_REFUSE.rawValue))
    action.handle = handle
    action.status = CInt(refusal.status)
    action.reason = arena.keep(refusal.reason)
    action.headers = arena.keep(refusal.headers.map { $0 + "\r\n" }.joined())
    withExtendedLifetime(arena) { withUnsafePointer(to: action, tell) }
}

@_cdecl("pushwake_upstream_answered") @implementation
public func pushwake_upstream_answered(
    _ client: OpaquePointer!, _ answer: UnsafePointer<pushwake_upstream_answer>!,
    _ action: pushwake_upstream_fn!, _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let action, let answer, isWhole(answer), let handle = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let said = answer.pointee
    let engine = handle.client
    engine.begin(.upstreamAnswered)
    engine.put(.host, Int64(bitPattern: handle.host))
    engine.put(.upstreamID, Int64(bitPattern: said.id))
    engine.put(.status, Int64(said.status))
    engine.put(.reason, said.reason.bytes.span)
    engine.put(.fromPhone, Int64(said.from_server))
    engine.put(said.headers, said.header_count) { UpstreamAnswerReader.reads($0.name.bytes.span) }
    return ask(handle) { action(context, $0) }
}

@_cdecl("pushwake_upstream_user") @implementation
public func pushwake_upstream_user(
    _ uri: UnsafeMutablePointer<pushwake_str>!, _ client: OpaquePointer!, _ name: pushwake_str
) -> CInt {
    guard let uri, let handle = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    handle.arena.clear()
    uri.pointee = handle.arena.keep(UpstreamName.localURI(of: name.bytes.span) ?? "")
    return 0
}

/// Each action is in memory of this call: the host may ask the engine as it carries one out.
private func ask(
    _ handle: ClientHandle, milliseconds: Int64? = nil, then tell: (UnsafePointer<pushwake_upstream>) -> Void
) -> CInt {
    let actions = StructArena<pushwake_upstream>()
    do throws(ClientError) {
        actions.read(try handle.client.call(milliseconds: milliseconds))
    } catch {
        return handle.status(of: error)
    }
    actions.each(tell)
    return 0
}
