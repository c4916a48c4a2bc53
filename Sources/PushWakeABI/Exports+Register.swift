// SPDX-License-Identifier: MIT

// REGISTERs: what they say about push, before and after the registrar has them.

public import CPushWake
internal import PushWakeCore
internal import PushWakeEngine

@_cdecl("pushwake_register_check") @implementation
public func pushwake_register_check(
    _ out: UnsafeMutablePointer<pushwake_register_result>!, _ client: OpaquePointer!,
    _ request: UnsafePointer<pushwake_register_request>!
) -> CInt {
    guard let out, let request, isComplete(out, request), let handle = borrow(client, as: ClientHandle.self) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    handle.arena.clear()
    clear(&out.pointee)
    // Parsing is the engine's work: a trap must not reach a SIP worker. Only a refusal has to be known here.
    guard handle.policy.mayRefuse else { return 0 }
    var reader = RegistrationReader(others: handle.policy.others)
    for header in UnsafeBufferPointer(start: request.pointee.headers, count: request.pointee.header_count) {
        reader.header(name: header.name.bytes.span, value: header.value.bytes.span)
    }
    let registration = reader.finish(aor: request.pointee.aor.string, callID: request.pointee.call_id.string)
    guard let refusal = handle.policy.refusal(of: registration) else { return 0 }
    out.pointee.outcome = CInt(PUSHWAKE_REGISTER_IGNORED.rawValue)
    out.pointee.reply_code = CInt(clamping: refusal.code)
    out.pointee.reply_reason = handle.arena.keep(refusal.reason)
    out.pointee.min_expires = UInt32(clamping: refusal.minExpires)
    out.pointee.problems = handle.arena.keep(handle.policy.problems(of: registration).joined(separator: "\n"))
    return 0
}

@_cdecl("pushwake_register") @implementation
public func pushwake_register(
    _ out: UnsafeMutablePointer<pushwake_register_result>!, _ client: OpaquePointer!,
    _ request: UnsafePointer<pushwake_register_request>!
) -> CInt {
    guard let out, let request, isComplete(out, request), let handle = borrow(client, as: ClientHandle.self) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    handle.arena.clear()
    clear(&out.pointee)
    put(request.pointee, into: handle.client)
    do throws(ClientError) {
        read(try handle.client.call(), into: &out.pointee, handle.arena)
        return 0
    } catch {
        return handle.status(of: error)
    }
}

private func isComplete(
    _ out: UnsafeMutablePointer<pushwake_register_result>, _ request: UnsafePointer<pushwake_register_request>
) -> Bool {
    out.pointee.size >= MemoryLayout<pushwake_register_result>.size
        && request.pointee.size >= MemoryLayout<pushwake_register_request>.size
        && (request.pointee.headers != nil || request.pointee.header_count == 0)
}

private func clear(_ out: inout pushwake_register_result) {
    let size = out.size
    out = pushwake_register_result()
    out.size = size
}

private func put(_ request: pushwake_register_request, into engine: EngineClient) {
    engine.begin(.register)
    engine.put(.aor, request.aor.bytes.span)
    engine.put(.callID, request.call_id.bytes.span)
    engine.put(.cseq, Int64(request.cseq))
    engine.put(.granted, Int64(request.granted_expires))
    for header in UnsafeBufferPointer(start: request.headers, count: request.header_count) {
        // The engine needs only those it reads; the others would only make the message long.
        guard RegistrationReader.reads(header.name.bytes.span) else { continue }
        engine.put(.headerName, header.name.bytes.span)
        engine.put(.headerValue, header.value.bytes.span)
    }
}

private func read(_ reply: MessageReader, into out: inout pushwake_register_result, _ arena: TextArena) {
    var reader = reply
    var problems: [String] = []
    var stale: [String] = []
    while let field = reader.next() {
        switch field.tag {
        case .outcome: out.outcome = CInt(clamping: reader.number(field))
        case .bindings: out.bindings = CInt(clamping: reader.number(field))
        case .featureCaps: out.feature_caps = arena.keep(reader.text(field))
        case .problem: problems.append(reader.text(field))
        case .staleContact: stale.append(reader.text(field))
        default: break
        }
    }
    out.problems = arena.keep(problems.joined(separator: "\n"))
    out.stale_contacts = arena.keep(stale.joined(separator: "\n"))
}
