// SPDX-License-Identifier: MIT

// Requests to users whose phones may sleep: asked about once, then reported on.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore

@_cdecl("pushwake_may_wake") @implementation
public func pushwake_may_wake(_ client: OpaquePointer!, _ aor: pushwake_str) -> CInt {
    guard let handle = asking(client) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    return handle.client.mayHaveBindings(aor.bytes.span) ? 1 : 0
}

@_cdecl("pushwake_wake") @implementation
public func pushwake_wake(
    _ out: UnsafeMutablePointer<pushwake_wake_result>!, _ client: OpaquePointer!,
    _ request: UnsafeMutablePointer<pushwake_wake_request>!
) -> CInt {
    guard let out, isWhole(out), let request, isWhole(request), let handle = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    handle.arena.clear()
    // Nobody is woken, unless the engine says otherwise.
    out.pointee = pushwake_wake_result(size: out.pointee.size)
    let wanted = WakeRequestView(request.pointee)
    do throws(ClientError) {
        guard wanted.put(into: handle.client, host: handle.host, handle.requests) else { return 0 }
        let reply = try handle.client.call()
        out.pointee = try wanted.result(reply, size: out.pointee.size, handle.arena)
        return 0
    } catch {
        return handle.status(of: error)
    }
}

@_cdecl("pushwake_method_wakes") @implementation
public func pushwake_method_wakes(_ client: OpaquePointer!, _ method: pushwake_str, _ in_dialog: CInt) -> CInt {
    guard let handle = asking(client) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    return handle.requests.mayWake(method.string, isInDialog: in_dialog != 0, carriesPURR: in_dialog != 0) ? 1 : 0
}

@_cdecl("pushwake_dialog_user") @implementation
public func pushwake_dialog_user(
    _ aor: UnsafeMutablePointer<pushwake_str>!, _ client: OpaquePointer!, _ method: pushwake_str,
    _ request_uri: pushwake_str, _ headers: UnsafePointer<pushwake_header>!, _ header_count: Int
) -> CInt {
    guard let aor, let handle = asking(client), headers != nil || header_count == 0 else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    handle.arena.clear()
    aor.pointee = pushwake_str()
    var reader = RequestReader(method: method.bytes.span, uri: request_uri.bytes.span)
    reader.headers(headers, header_count)
    let purr = reader.finish().purr
    guard !purr.isEmpty, handle.settings.flag(.purr) else { return 0 }
    handle.client.begin(.purrUser)
    handle.client.put(.purr, purr)
    do throws(ClientError) {
        aor.pointee = handle.arena.keep(EngineClient.text(.aor, in: try handle.client.call()))
        return 0
    } catch {
        return handle.status(of: error)
    }
}

@_cdecl("pushwake_node_user") @implementation
public func pushwake_node_user(
    _ aor: UnsafeMutablePointer<pushwake_str>!, _ client: OpaquePointer!, _ route: pushwake_str
) -> CInt {
    guard let aor, let handle = asking(client) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    handle.arena.clear()
    let here = NodeRoute(nodeURI: handle.settings.text(.nodeURI))
    aor.pointee = handle.arena.keep(here.user(inRoute: route.bytes.span) ?? "")
    return 0
}

@_cdecl("pushwake_better_answer") @implementation
public func pushwake_better_answer(_ first: CInt, _ second: CInt) -> CInt {
    CInt(truncatingIfNeeded: FinalAnswer.better(Int(first), Int(second)))
}

@_cdecl("pushwake_is_about_way") @implementation
public func pushwake_is_about_way(_ status: CInt) -> CInt { FinalAnswer.isAboutTheWay(Int(status)) ? 1 : 0 }

@_cdecl("pushwake_progressed") @implementation
public func pushwake_progressed(
    _ client: OpaquePointer!, _ request: UInt64, _ leg: CInt, _ status: CInt, _ from_phone: CInt
) -> CInt {
    post(client, .progressed, request) { engine in
        engine.put(.leg, Int64(leg))
        engine.put(.status, Int64(status))
        engine.put(.fromPhone, Int64(from_phone))
    }
}

@_cdecl("pushwake_request_ended") @implementation
public func pushwake_request_ended(
    _ client: OpaquePointer!, _ request: UInt64, _ how: CInt, _ status: CInt, _ leg: CInt, _ reason: pushwake_str
) -> CInt {
    post(client, .requestEnded, request) { engine in
        engine.put(.how, Int64(how))
        engine.put(.status, Int64(status))
        if leg > 0 { engine.put(.leg, Int64(leg)) }
        if !reason.isEmpty { engine.put(.reason, reason.bytes.span) }
    }
}

@_cdecl("pushwake_request_continues") @implementation
public func pushwake_request_continues(_ client: OpaquePointer!, _ request: UInt64, _ milliseconds: Int64) -> CInt {
    post(client, .requestContinues, request) { engine in engine.put(.milliseconds, milliseconds) }
}

@_cdecl("pushwake_resume") @implementation
public func pushwake_resume(_ client: OpaquePointer!, _ request: UnsafePointer<pushwake_resume_request>!) -> CInt {
    guard let request, isWhole(request), let handle = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let engine = handle.client
    engine.begin(.resume)
    engine.put(.host, Int64(bitPattern: handle.host))
    engine.put(.handle, Int64(bitPattern: request.pointee.handle))
    engine.put(.ticket, request.pointee.ticket.bytes.span)
    engine.put(.pushedDevices, Int64(bitPattern: request.pointee.pushed))
    engine.put(.milliseconds, request.pointee.age_ms)
    engine.put(.lastLeg, Int64(request.pointee.last_leg))
    let contacts = ContactsView(
        request.pointee.contacts, request.pointee.contact_count, stride: request.pointee.contact_size)
    for index in contacts.indices { contacts[index].put(into: engine, withLeg: true) }
    do throws(ClientError) {
        // No SIP worker asks it, and a new engine that was slow once must not lose all that is held.
        _ = try engine.call(milliseconds: handle.settings.integer(.engineTimeout))
        return 0
    } catch {
        return handle.status(of: error)
    }
}

/// What is said of a request.
private func post(
    _ client: OpaquePointer?, _ kind: EngineProtocol.Kind, _ request: UInt64, _ fill: (EngineClient) -> Void
) -> CInt {
    post(client, kind) { handle in
        handle.client.put(.host, Int64(bitPattern: handle.host))
        handle.client.put(.handle, Int64(bitPattern: request))
        fill(handle.client)
    }
}

/// One message without a reply.
func post(_ client: OpaquePointer?, _ kind: EngineProtocol.Kind, _ fill: (ClientHandle) -> Void) -> CInt {
    guard let handle = reporting(client) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    handle.client.begin(kind, waits: false)
    fill(handle)
    do throws(ClientError) {
        try handle.client.post()
        return 0
    } catch {
        return handle.status(of: error)
    }
}
