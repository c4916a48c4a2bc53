// SPDX-License-Identifier: MIT

// What a SIP worker knows of users without asking the engine.

public import CPushWake
internal import PushWakeEngine

@_cdecl("pushwake_may_wake") @implementation
public func pushwake_may_wake(_ client: OpaquePointer!, _ aor: pushwake_str) -> CInt {
    guard let handle = borrow(client, as: ClientHandle.self) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    return handle.client.mayHaveBindings(aor.bytes.span) ? 1 : 0
}
