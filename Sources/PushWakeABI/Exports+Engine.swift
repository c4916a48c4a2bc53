// SPDX-License-Identifier: MIT

// The library's other role: the engine's own process, and tools that are made of its code.

public import CPushWake
internal import PushWakeEngine

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
