// SPDX-License-Identifier: MIT

// The engine as a child of the host.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore

@_cdecl("pushwake_supervisor_new") @implementation
public func pushwake_supervisor_new(
    _ out: UnsafeMutablePointer<OpaquePointer?>!, _ settings: OpaquePointer!,
    _ config: UnsafePointer<pushwake_supervisor_config>!
) -> CInt {
    guard let out, let config, isWhole(config), let handle = borrow(settings, as: SettingsHandle.self) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let callbacks = config.pointee
    let verbs = StructArena<pushwake_verb>()
    let supervisor = EngineSupervisor(
        settings: handle.settings, host: handle.host,
        onResult: callbacks.on_result == nil ? nil : { report($0, to: callbacks) },
        onVerbs: { message in
            verbs.read(message)
            // What waiting legs hold they execute themselves; that a call is over is shown by the host.
            verbs.each { verb in
                guard
                    !WaitingLegs.isOwn(verb.pointee.handle)
                        || verb.pointee.kind == PUSHWAKE_VERB_RING_AND_CANCEL.rawValue
                else {
                    return
                }
                callbacks.on_verb?(callbacks.context, verb)
            }
        },
        onEngine: { callbacks.on_engine?(callbacks.context) },
        onUpstream: callbacks.on_upstream.map { callback in
            { message in
                let orders = StructArena<pushwake_upstream>()
                orders.read(message)
                orders.each { callback(callbacks.context, $0) }
            }
        },
        onLog: { level, text in
            guard !handle.takeSaid(text) else { return }
            let arena = TextArena()
            callbacks.on_log?(callbacks.context, CInt(level.rawValue), arena.keep(text))
        })
    out.pointee = give(SupervisorHandle(supervisor))
    return 0
}

@_cdecl("pushwake_supervisor_fd") @implementation
public func pushwake_supervisor_fd(_ supervisor: OpaquePointer!) -> CInt {
    borrow(supervisor, as: SupervisorHandle.self)?.supervisor.descriptor ?? -1
}

@_cdecl("pushwake_supervisor_timeout_ms") @implementation
public func pushwake_supervisor_timeout_ms(_ supervisor: OpaquePointer!) -> CInt {
    borrow(supervisor, as: SupervisorHandle.self)?.supervisor.timeoutMilliseconds() ?? -1
}

@_cdecl("pushwake_supervisor_process") @implementation
public func pushwake_supervisor_process(_ supervisor: OpaquePointer!) -> CInt {
    guard let handle = borrow(supervisor, as: SupervisorHandle.self) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    handle.supervisor.process()
    return 0
}

@_cdecl("pushwake_supervisor_engine_pid") @implementation
public func pushwake_supervisor_engine_pid(_ supervisor: OpaquePointer!) -> CInt {
    borrow(supervisor, as: SupervisorHandle.self)?.supervisor.enginePID ?? 0
}

@_cdecl("pushwake_supervisor_free") @implementation
public func pushwake_supervisor_free(_ supervisor: OpaquePointer!) {
    take(supervisor, as: SupervisorHandle.self)?.supervisor.stop()
}

private func report(_ result: PushResult, to callbacks: pushwake_supervisor_config) {
    guard let tell = callbacks.on_result else { return }
    let arena = TextArena()
    var out = pushwake_result()
    out.size = MemoryLayout<pushwake_result>.size
    out.id = result.id
    out.event = CInt(result.event.rawValue)
    out.outcome = CInt(result.outcome.rawValue)
    out.http_status = CInt(clamping: result.httpStatus)
    out.binding_removed = result.isBindingRemoved ? 1 : 0
    out.elapsed_us = result.microseconds
    out.aor = arena.keep(result.aor)
    out.call_id = arena.keep(result.callID)
    out.provider = arena.keep(result.provider.name)
    out.app = arena.keep(result.app)
    out.token = arena.keep(result.token)
    out.reason = arena.keep(result.reason)
    tell(callbacks.context, &out)
}
