// SPDX-License-Identifier: MIT

// How many requests for sleeping phones a host takes.

public import CPushWake
internal import PushWakeCore
internal import PushWakeSystem

@_cdecl("pushwake_admits") @implementation
public func pushwake_admits(
    _ note: UnsafeMutablePointer<pushwake_str>!, _ client: OpaquePointer!,
    _ admission: UnsafeMutablePointer<pushwake_admission>!, _ load: UnsafePointer<pushwake_host_load>!
) -> CInt {
    guard let note, let admission, let load, isWhole(load), let handle = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    note.pointee = pushwake_str()
    var state = CallAdmission(admission.pointee)
    let (decision, change) = state.admit(
        CallAdmission.HostLoad(
            queueFill: load.pointee.queue_fill, lost: load.pointee.lost, memory: load.pointee.memory,
            freeMemory: load.pointee.free_memory, held: load.pointee.held),
        now: SystemClock.monotonicMilliseconds())
    state.store(in: &admission.pointee)
    if let change {
        handle.arena.clear()
        note.pointee = handle.arena.keep(change.line)
    }
    return decision == .take ? 1 : 0
}

extension CallAdmission {
    fileprivate init(_ shared: pushwake_admission) {
        self.init()
        (began, samples, fill, taken) = (shared.began_ms, shared.samples, shared.fill, shared.taken)
        (limit, firstLimit, markedAt) = (shared.limit, shared.first_limit, shared.marked_ms)
        (refusedNow, refused, saidAt) = (shared.refused_now, shared.refused, shared.said_ms)
        (ended, endedBefore) = (shared.ended, shared.ended_before)
        (registers, registersBefore) = (shared.registers, shared.registers_before)
        (lost, lostBefore) = (shared.lost, shared.lost_before)
    }

    /// All but what the host counts meanwhile.
    fileprivate func store(in shared: inout pushwake_admission) {
        (shared.began_ms, shared.samples, shared.fill, shared.taken) = (began, samples, fill, taken)
        (shared.limit, shared.first_limit, shared.marked_ms) = (limit, firstLimit, markedAt)
        (shared.refused_now, shared.refused, shared.said_ms) = (refusedNow, refused, saidAt)
        (shared.ended_before, shared.registers_before) = (endedBefore, registersBefore)
        (shared.lost, shared.lost_before) = (lost, lostBefore)
    }
}
