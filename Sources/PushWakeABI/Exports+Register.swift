// SPDX-License-Identifier: MIT

// REGISTERs: what they say about push, before and after the registrar has them.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeEngine

@_cdecl("pushwake_contact_strip") @implementation
public func pushwake_contact_strip(_ out: UnsafeMutablePointer<CChar>!, _ size: Int, _ uri: pushwake_str) -> Int {
    give(Binding.withoutPushParameters(uri.string), to: out, size)
}

@_cdecl("pushwake_log_value") @implementation
public func pushwake_log_value(_ out: UnsafeMutablePointer<CChar>!, _ size: Int, _ text: pushwake_str) -> Int {
    guard size > 0 else { return 0 }
    return give(PrintableText.logValue(text.string, most: size - 1), to: out, size)
}

/// The text and a NUL; without room for both only the NUL. Its length.
private func give(_ text: String, to out: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int {
    guard let out, size > 0 else { return 0 }
    let bytes = Array(text.utf8)
    let length = bytes.count < size ? bytes.count : 0
    for index in 0..<length { out[index] = CChar(bitPattern: bytes[index]) }
    out[length] = 0
    return length
}

@_cdecl("pushwake_register_check") @implementation
public func pushwake_register_check(
    _ out: UnsafeMutablePointer<pushwake_register_result>!, _ client: OpaquePointer!,
    _ request: UnsafePointer<pushwake_register_request>!
) -> CInt {
    answer(out, client, request) { request, handle, result in check(request, handle, &result) }
}

private func check(
    _ request: pushwake_register_request, _ handle: ClientHandle, _ result: inout pushwake_register_result
) -> CInt {
    // Parsing is the engine's work: a trap must not reach a SIP worker. Only a refusal has to be known here.
    guard handle.policy.mayRefuse else { return 0 }
    var reader = RegistrationReader(others: handle.policy.others)
    for header in UnsafeBufferPointer(start: request.headers, count: request.header_count) {
        reader.header(name: header.name.bytes.span, value: header.value.bytes.span)
    }
    let registration = reader.finish(aor: request.aor.string, callID: request.call_id.string)
    guard let refusal = handle.policy.refusal(of: registration) else { return 0 }
    result.outcome = CInt(PUSHWAKE_REGISTER_IGNORED.rawValue)
    result.reply_code = CInt(clamping: refusal.code)
    result.reply_reason = handle.arena.keep(refusal.reason)
    let problems = handle.policy.problems(of: registration)
    handle.problems.publish(problems.map(handle.arena.keep), &result.problems, &result.problem_count)
    if refusal.code == 423 {
        let header = pushwake_header(
            name: handle.arena.keep("Min-Expires"), value: handle.arena.keep(String(refusal.minExpires)))
        handle.headers.publish([header], &result.reply_headers, &result.reply_header_count)
    }
    return 0
}

@_cdecl("pushwake_register") @implementation
public func pushwake_register(
    _ out: UnsafeMutablePointer<pushwake_register_result>!, _ client: OpaquePointer!,
    _ request: UnsafePointer<pushwake_register_request>!
) -> CInt {
    answer(out, client, request) { request, handle, result in register(request, handle, &result) }
}

private func register(
    _ request: pushwake_register_request, _ handle: ClientHandle, _ result: inout pushwake_register_result
) -> CInt {
    guard request.aor.bytes.span.isText else {
        result.outcome = CInt(PUSHWAKE_REGISTER_IGNORED.rawValue)
        let problem = handle.arena.keep("user: the name is not UTF-8, so its phones get no push; rename the user")
        handle.problems.publish([problem], &result.problems, &result.problem_count)
        return 0
    }
    // What it leaves is PUSHWAKE_REGISTER_PLAIN.
    guard concernsEngine(request, handle) else { return 0 }
    put(request, as: .register, into: handle.client, host: handle.host)
    do throws(ClientError) {
        let reply = try handle.client.call()
        read(reply, into: &result, handle)
        handle.verbs.read(reply)
        handle.verbs.publish(&result.verbs, &result.verb_count)
        return 0
    } catch {
        return handle.status(of: error)
    }
}

@_cdecl("pushwake_register_concerns") @implementation
public func pushwake_register_concerns(
    _ client: OpaquePointer!, _ request: UnsafePointer<pushwake_register_request>!
) -> CInt {
    guard let request = complete(request), let handle = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    return concernsEngine(request, handle) ? 1 : 0
}

private func concernsEngine(_ request: pushwake_register_request, _ handle: ClientHandle) -> Bool {
    guard request.account.isEmpty, request.aor.bytes.span.isText,
        !handle.client.mayHaveBindings(request.aor.bytes.span)
    else { return true }
    return UnsafeBufferPointer(start: request.headers, count: request.header_count).contains {
        RegistrationReader.mayConcernPush(name: $0.name.bytes.span, value: $0.value.bytes.span)
    }
}

@_cdecl("pushwake_register_leaves") @implementation
public func pushwake_register_leaves(
    _ out: UnsafeMutablePointer<pushwake_register_result>!, _ client: OpaquePointer!,
    _ request: UnsafePointer<pushwake_register_request>!
) -> CInt {
    answer(out, client, request) { request, handle, result in
        guard request.aor.bytes.span.isText else { return 0 }
        put(request, as: .registerLeaves, into: handle.client, host: handle.host)
        do throws(ClientError) {
            read(try handle.client.call(), into: &result, handle)
            return 0
        } catch {
            return handle.status(of: error)
        }
    }
}

/// What is the same for each question about a REGISTER: its pointers and the result.
private func answer(
    _ out: UnsafeMutablePointer<pushwake_register_result>?, _ client: OpaquePointer?,
    _ request: UnsafePointer<pushwake_register_request>?,
    _ question: (pushwake_register_request, ClientHandle, inout pushwake_register_result) -> CInt
) -> CInt {
    guard let out, isWhole(out), let request = complete(request), let handle = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    handle.arena.clear()
    var result = pushwake_register_result()
    result.size = out.pointee.size
    let status = question(request, handle, &result)
    out.pointee = result
    return status
}

/// The request; nil when it cannot be one.
private func complete(_ request: UnsafePointer<pushwake_register_request>?) -> pushwake_register_request? {
    guard let request, isWhole(request), request.pointee.headers != nil || request.pointee.header_count == 0 else {
        return nil
    }
    return request.pointee
}

private func put(
    _ request: pushwake_register_request, as kind: EngineProtocol.Kind, into engine: EngineClient, host: UInt64
) {
    engine.begin(kind)
    engine.put(.host, Int64(bitPattern: host))
    if !request.domain.isEmpty { engine.put(.domain, request.domain.bytes.span) }
    if !request.account.isEmpty { engine.put(.account, request.account.bytes.span) }
    engine.put(.aor, request.aor.bytes.span)
    engine.put(.callID, request.call_id.bytes.span)
    engine.put(.cseq, Int64(request.cseq))
    engine.put(.granted, Int64(request.granted_expires))
    // The engine needs only those it reads; the others would only make the message long.
    engine.put(request.headers, request.header_count) { RegistrationReader.reads($0.name.bytes.span) }
    let contacts = ContactsView(request.contacts, request.contact_count, stride: request.contact_size)
    for index in contacts.indices { contacts[index].put(into: engine, withExpiry: true) }
}

@_cdecl("pushwake_contact_removed") @implementation
public func pushwake_contact_removed(_ client: OpaquePointer!, _ aor: pushwake_str, _ uri: pushwake_str) -> CInt {
    guard !aor.isEmpty else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    return post(client, .contactRemoved) { handle in
        handle.client.put(.aor, aor.bytes.span)
        if !uri.isEmpty { handle.client.put(.contactURI, uri.bytes.span) }
    }
}

private func read(_ reply: MessageReader, into out: inout pushwake_register_result, _ handle: ClientHandle) {
    let arena = handle.arena
    var reader = reply
    var problems: [pushwake_str] = []
    var left: [pushwake_str] = []
    var headers: [pushwake_header] = []
    while let field = reader.next() {
        switch field.tag {
        case .outcome: out.outcome = CInt(clamping: reader.number(field))
        case .bindings: out.bindings = CInt(clamping: reader.number(field))
        case .featureCaps: headers += replyHeaders(reader.bytes[field.range], arena)
        case .problem: problems.append(arena.keep(reader.bytes[field.range]))
        case .staleContact: left.append(arena.keep(reader.bytes[field.range]))
        default: break
        }
    }
    handle.problems.publish(problems, &out.problems, &out.problem_count)
    handle.leftContacts.publish(left, &out.left_contacts, &out.left_contact_count)
    handle.headers.publish(headers, &out.reply_headers, &out.reply_header_count)
}

/// The headers of whole lines.
private func replyHeaders(_ lines: ArraySlice<UInt8>, _ arena: TextArena) -> [pushwake_header] {
    lines.split(whereSeparator: { $0 == 0x0D || $0 == 0x0A }).compactMap { line in
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return pushwake_header(
            name: arena.keep(line[..<colon]), value: arena.keep(line[(colon + 1)...].drop { $0 == 0x20 }))
    }
}
