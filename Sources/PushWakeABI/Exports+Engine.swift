// SPDX-License-Identifier: MIT

// The library's other role: the engine's own process.

internal import CPushWake
internal import PushWakeEngine

@_cdecl("pushwake_engine_run") @implementation
public func pushwake_engine_run(_ settings: OpaquePointer!, _ supervised: CInt) -> CInt {
    guard let handle = borrow(settings, as: SettingsHandle.self) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    let hasRun = EngineProcess.run(handle.settings, isSupervised: supervised != 0, source: handle.source)
    return hasRun ? 0 : PUSHWAKE_ERR_CONFIG.rawValue
}
