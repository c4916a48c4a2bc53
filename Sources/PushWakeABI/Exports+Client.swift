// SPDX-License-Identifier: MIT

// What a SIP worker asks the engine, and the wait of a host that holds a call in a thread.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore

@_cdecl("pushwake_client_new") @implementation
public func pushwake_client_new(_ out: UnsafeMutablePointer<OpaquePointer?>!, _ settings: OpaquePointer!) -> CInt {
    guard let out, let handle = borrow(settings, as: SettingsHandle.self) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    out.pointee = give(ClientHandle(settings: handle.settings, host: handle.host))
    return 0
}

@_cdecl("pushwake_client_free") @implementation
public func pushwake_client_free(_ client: OpaquePointer!) { _ = take(client, as: ClientHandle.self) }

@_cdecl("pushwake_client_error") @implementation
public func pushwake_client_error(_ client: OpaquePointer!) -> pushwake_str {
    guard let handle = borrow(client, as: ClientHandle.self) else { return pushwake_str() }
    handle.errorArena.clear()
    return handle.errorArena.keep(handle.error)
}

@_cdecl("pushwake_wait_new") @implementation
public func pushwake_wait_new(
    _ out: UnsafeMutablePointer<OpaquePointer?>!, _ result: UnsafeMutablePointer<pushwake_wake_result>!,
    _ client: OpaquePointer!, _ request: UnsafeMutablePointer<pushwake_wake_request>!
) -> CInt {
    guard let out, let result, let request, let wanted = WakeRequestView(request, result),
        let handle = borrow(client, as: ClientHandle.self)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    out.pointee = nil
    wanted.clearResult(result)
    let wait = WaitHandle(client: EngineClient(settings: handle.settings), startedAt: Moment.now())
    wait.client.learn(from: handle.client)
    defer { handle.client.learn(from: wait.client) }
    do throws(ClientError) {
        guard wanted.put(.wait, into: wait.client, host: 0, handle.requests) else { return 0 }
        let reply = try wait.client.call()
        wanted.read(reply, into: result, wait.arena)
        out.pointee = give(wait)
        return 0
    } catch {
        return handle.status(of: error)
    }
}

@_cdecl("pushwake_wait_free") @implementation
public func pushwake_wait_free(_ wait: OpaquePointer!) { _ = take(wait, as: WaitHandle.self) }

@_cdecl("pushwake_wait_fd") @implementation
public func pushwake_wait_fd(_ wait: OpaquePointer!) -> CInt {
    borrow(wait, as: WaitHandle.self)?.client.descriptor ?? -1
}

@_cdecl("pushwake_wait_next") @implementation
public func pushwake_wait_next(_ out: UnsafeMutablePointer<pushwake_wait_event>!, _ wait: OpaquePointer!) -> CInt {
    guard let out, out.pointee.size >= MemoryLayout<pushwake_wait_event>.size,
        let handle = borrow(wait, as: WaitHandle.self)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    handle.arena.clear()
    out.pointee.elapsed_ms = CInt(clamping: Moment.now() &- handle.startedAt)
    out.pointee.contact = pushwake_str()
    out.pointee.reason = pushwake_str()
    do throws(ClientError) {
        guard let event = try handle.client.nextEvent() else {
            out.pointee.kind = CInt(PUSHWAKE_WAIT_NOTHING.rawValue)
            return 0
        }
        out.pointee.kind = CInt(clamping: EngineClient.number(.kind, in: event))
        out.pointee.contact = handle.arena.keep(EngineClient.text(.contactURI, in: event))
        out.pointee.reason = handle.arena.keep(EngineClient.text(.reason, in: event))
    } catch {
        out.pointee.kind = CInt(PUSHWAKE_WAIT_LOST.rawValue)
    }
    return 0
}

@_cdecl("pushwake_call_ended") @implementation
public func pushwake_call_ended(
    _ client: OpaquePointer!, _ aor: pushwake_str, _ call_id: pushwake_str, _ how: CInt
) -> CInt {
    ask(client, .callEnded) { engine in
        engine.put(.aor, aor.bytes.span)
        engine.put(.callID, call_id.bytes.span)
        engine.put(.how, Int64(how))
    }
}

@_cdecl("pushwake_registered") @implementation
public func pushwake_registered(_ client: OpaquePointer!, _ aor: pushwake_str, _ contact: pushwake_str) -> CInt {
    ask(client, .registered) { engine in
        engine.put(.aor, aor.bytes.span)
        engine.put(.contactURI, contact.bytes.span)
    }
}

@_cdecl("pushwake_send") @implementation
public func pushwake_send(
    _ queued: UnsafeMutablePointer<CInt>!, _ client: OpaquePointer!, _ request: UnsafePointer<pushwake_send_request>!
) -> CInt {
    guard let request,
        let wanted = whole(
            request, size: request.pointee.size, smallest: smallestSendRequest, empty: pushwake_send_request())
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    return ask(
        client, .send,
        { engine in
            engine.put(.event, Int64(wanted.event))
            engine.put(.aor, wanted.aor.bytes.span)
            engine.put(.provider, wanted.provider.bytes.span)
            engine.put(.app, wanted.app.bytes.span)
            engine.put(.token, wanted.token.bytes.span)
            engine.put(.callID, wanted.call_id.bytes.span)
            engine.put(.fromURI, wanted.from_uri.bytes.span)
            engine.put(.fromDisplay, wanted.from_display.bytes.span)
            engine.put(.title, wanted.title.bytes.span)
            engine.put(.text, wanted.text.bytes.span)
            engine.put(.pushType, wanted.push_type.bytes.span)
            if !wanted.environment.isEmpty { engine.put(.environment, wanted.environment.bytes.span) }
            if !wanted.service.isEmpty { engine.put(.service, wanted.service.bytes.span) }
            for (name, value) in [
                ("pn-p256dh", wanted.p256dh), ("pn-auth", wanted.auth), ("pn-selector", wanted.selector),
            ] where !value.isEmpty {
                engine.put(.attributeName, name)
                engine.put(.attributeValue, value.bytes.span)
            }
        },
        then: { queued?.pointee = CInt(clamping: EngineClient.number(.pushed, in: $0)) })
}

/// Bytes of the first header's send request, which ended with the text.
private let smallestSendRequest = MemoryLayout<pushwake_send_request>.offset(of: \.push_type) ?? 0

/// Where the value of a name belongs, in bytes from the begin of the request; nil for a name that nobody knows.
private func sendOffset(_ name: String) -> Int? {
    typealias Request = pushwake_send_request
    return switch name {
    case "aor": MemoryLayout<Request>.offset(of: \.aor)
    case "platform": MemoryLayout<Request>.offset(of: \.provider)
    case "package": MemoryLayout<Request>.offset(of: \.app)
    case "token": MemoryLayout<Request>.offset(of: \.token)
    case "call-id": MemoryLayout<Request>.offset(of: \.call_id)
    case "from": MemoryLayout<Request>.offset(of: \.from_uri)
    case "name": MemoryLayout<Request>.offset(of: \.from_display)
    case "title": MemoryLayout<Request>.offset(of: \.title)
    case "text": MemoryLayout<Request>.offset(of: \.text)
    case "push-type": MemoryLayout<Request>.offset(of: \.push_type)
    case "environment": MemoryLayout<Request>.offset(of: \.environment)
    case "service": MemoryLayout<Request>.offset(of: \.service)
    case "p256dh": MemoryLayout<Request>.offset(of: \.p256dh)
    case "auth": MemoryLayout<Request>.offset(of: \.auth)
    case "selector": MemoryLayout<Request>.offset(of: \.selector)
    default: nil
    }
}

@_cdecl("pushwake_send_set") @implementation
public func pushwake_send_set(
    _ request: UnsafeMutablePointer<pushwake_send_request>!, _ name: pushwake_str, _ value: pushwake_str
) -> CInt {
    // A caller with an older header has no room for the newer ones.
    guard let request, let offset = sendOffset(name.string),
        offset + MemoryLayout<pushwake_str>.size <= request.pointee.size
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    (UnsafeMutableRawPointer(request) + offset).assumingMemoryBound(to: pushwake_str.self).pointee = value
    return PUSHWAKE_OK.rawValue
}

@_cdecl("pushwake_query") @implementation
public func pushwake_query(
    _ client: OpaquePointer!, _ kind: CInt, _ argument: pushwake_str, _ on_row: pushwake_row_fn!,
    _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let handle = borrow(client, as: ClientHandle.self), let query = EngineQuery(rawValue: Int(kind)) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    // Calls and device states depend on what one user has.
    let isOfOne = query == .bindings && !argument.isEmpty
    if isOfOne && !handle.client.mayHaveBindings(argument.bytes.span) { return 0 }
    do throws(ClientError) {
        let count = try handle.client.query(query, argument: argument.string, isPrompt: isOfOne) { row in
            let arena = TextArena()
            let fields = row.map { field in
                pushwake_field(
                    name: arena.keep(field.name), text: arena.keep(orEmpty: field.text), number: field.number)
            }
            return fields.withUnsafeBufferPointer { on_row?(context, $0.baseAddress, $0.count) ?? 1 } == 0
        }
        return CInt(clamping: count)
    } catch {
        return handle.status(of: error)
    }
}

/// One request whose reply only says that it was done.
private func ask(
    _ client: OpaquePointer?, _ kind: EngineProtocol.Kind, _ fill: (EngineClient) -> Void,
    then: (MessageReader) -> Void = { _ in }
) -> CInt {
    guard let handle = borrow(client, as: ClientHandle.self) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    handle.client.begin(kind)
    fill(handle.client)
    do throws(ClientError) {
        then(try handle.client.call())
        return 0
    } catch {
        return handle.status(of: error)
    }
}
