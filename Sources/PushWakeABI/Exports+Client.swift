// SPDX-License-Identifier: MIT

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeEngine

// What a SIP worker asks the engine.

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

@_cdecl("pushwake_client_make_shared") @implementation
public func pushwake_client_make_shared(_ client: OpaquePointer!) -> CInt {
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

@_cdecl("pushwake_client_wait_for_engine") @implementation
public func pushwake_client_wait_for_engine(_ client: OpaquePointer!, _ milliseconds: CInt) -> CInt {
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
