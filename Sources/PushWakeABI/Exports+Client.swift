// SPDX-License-Identifier: MIT

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeEngine

// What a SIP worker asks the engine, and the wait of a host that holds a call in a thread.

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
    guard let handle = asking(client) else { return pushwake_str() }
    handle.errorArena.clear()
    return handle.errorArena.keep(handle.error)
}

@_cdecl("pushwake_client_share") @implementation
public func pushwake_client_share(_ client: OpaquePointer!) -> CInt {
    guard let handle = borrow(client, as: ClientHandle.self) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    return handle.share() ? 0 : PUSHWAKE_ERR_REFUSED.rawValue
}

@_cdecl("pushwake_client_replace") @implementation
public func pushwake_client_replace(_ client: OpaquePointer!, _ settings: OpaquePointer!) -> CInt {
    guard let threads = borrow(client, as: ClientHandle.self)?.threads,
        let settings = borrow(settings, as: SettingsHandle.self)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    threads.replace(with: ClientHandle(settings: settings.settings, host: settings.host))
    return 0
}

@_cdecl("pushwake_client_await") @implementation
public func pushwake_client_await(_ client: OpaquePointer!, _ milliseconds: CInt) -> CInt {
    guard let handle = asking(client) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    return handle.client.awaitEngine(milliseconds: Int64(milliseconds)) ? 0 : PUSHWAKE_ERR_UNAVAILABLE.rawValue
}

@_cdecl("pushwake_client_warning") @implementation
public func pushwake_client_warning(
    _ line: UnsafeMutablePointer<pushwake_str>!, _ client: OpaquePointer!, _ status: CInt
) -> CInt {
    guard let line, let all = borrow(client, as: ClientHandle.self), let mine = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let name = pushwake_status_name(status).map { String(cString: $0) } ?? ""
    let text = mine.error.isEmpty ? name : "\(name): \(mine.error)"
    line.pointee = pushwake_str()
    guard let warning = all.warn(text, now: Moment.now()) else { return 0 }
    mine.errorArena.clear()
    line.pointee = mine.errorArena.keep(warning)
    return 1
}

@_cdecl("pushwake_wait_new") @implementation
public func pushwake_wait_new(
    _ out: UnsafeMutablePointer<OpaquePointer?>!, _ result: UnsafeMutablePointer<pushwake_wake_result>!,
    _ client: OpaquePointer!, _ request: UnsafeMutablePointer<pushwake_wake_request>!
) -> CInt {
    guard let out, let result, let request, let wanted = WakeRequestView(request, result),
        let handle = asking(client)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    out.pointee = nil
    wanted.clearResult(result)
    let wait = WaitHandle(client: EngineClient(settings: handle.settings), startedAt: Moment.now())
    wait.client.learn(from: handle.client)
    defer { handle.client.learn(from: wait.client) }
    do throws(ClientError) {
        guard wanted.put(.wait, into: wait.client, host: 0, handle.requests) else { return 0 }
        let reply = try wait.client.call()
        try wanted.read(reply, into: result, wait.arena)
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

/// One request whose reply only says that it was done.
func ask(
    _ client: OpaquePointer?, _ kind: EngineProtocol.Kind, _ fill: (EngineClient) -> Void,
    then: (MessageReader) -> Void = { _ in }
) -> CInt {
    guard let handle = asking(client) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    handle.client.begin(kind)
    fill(handle.client)
    do throws(ClientError) {
        then(try handle.client.call())
        return 0
    } catch {
        return handle.status(of: error)
    }
}

// The library's other role: the engine's own process, and tools that are made of its code.

@_cdecl("pushwake_engine_run") @implementation
public func pushwake_engine_run(_ settings: OpaquePointer!, _ supervised: CInt) -> CInt {
    guard let handle = borrow(settings, as: SettingsHandle.self) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    if supervised == 2 { return EngineProcess.tryOut() ? 0 : PUSHWAKE_ERR_CONFIG.rawValue }
    let hasRun = EngineProcess.run(handle.settings, isSupervised: supervised != 0, source: handle.source)
    return hasRun ? 0 : PUSHWAKE_ERR_CONFIG.rawValue
}

@_cdecl("pushwake_tool_run") @implementation
public func pushwake_tool_run(
    _ settings: OpaquePointer!, _ tool: pushwake_str, _ words: UnsafePointer<pushwake_str>!, _ count: Int
) -> CInt {
    guard let handle = borrow(settings, as: SettingsHandle.self), let tool = Tool(rawValue: tool.string),
        let words = strings(words, count), let code = tool.run(words, settings: handle.settings)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    return code
}
