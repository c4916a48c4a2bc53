// SPDX-License-Identifier: MIT

// REGISTERs: what they say about push, before and after the registrar has them.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeEngine

@_cdecl("pushwake_is_push_parameter") @implementation
public func pushwake_is_push_parameter(_ name: pushwake_str) -> CInt {
    PushParameterName.isAboutPush(name.bytes.span) ? 1 : 0
}

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
    result.min_expires = UInt32(clamping: refusal.minExpires)
    let problems = handle.policy.problems(of: registration)
    result.problems = handle.arena.keep(problems.joined(separator: "\n"))
    handle.problems.publish(problems.map(handle.arena.keep), &result.problem_list, &result.problem_count)
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
        result.problems = handle.arena.keep("user: the name is not UTF-8, so its phones get no push; rename the user")
        handle.problems.publish([result.problems], &result.problem_list, &result.problem_count)
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

/// What is the same for each question about a REGISTER: its pointers, and the result, as large as its caller knows it.
private func answer(
    _ out: UnsafeMutablePointer<pushwake_register_result>?, _ client: OpaquePointer?,
    _ request: UnsafePointer<pushwake_register_request>?,
    _ question: (pushwake_register_request, ClientHandle, inout pushwake_register_result) -> CInt
) -> CInt {
    guard let out, out.pointee.size >= smallestResult, let request = complete(request), let handle = asking(client)
    else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    handle.arena.clear()
    var result = pushwake_register_result()
    result.size = out.pointee.size
    let status = question(request, handle, &result)
    give(result, to: out, size: result.size)
    return status
}

/// Sizes of the first release.
private let smallestRequest = 64
private let smallestResult = 88

/// The request with all fields that this release knows; nil when it cannot be one.
private func complete(_ request: UnsafePointer<pushwake_register_request>?) -> pushwake_register_request? {
    guard let request,
        let whole = whole(
            request, size: request.pointee.size, smallest: smallestRequest, empty: pushwake_register_request()),
        whole.headers != nil || whole.header_count == 0
    else { return nil }
    return whole
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
    var stale: [pushwake_str] = []
    while let field = reader.next() {
        switch field.tag {
        case .outcome: out.outcome = CInt(clamping: reader.number(field))
        case .bindings: out.bindings = CInt(clamping: reader.number(field))
        case .featureCaps: out.feature_caps = arena.keep(reader.bytes[field.range])
        case .problem: problems.append(arena.keep(reader.bytes[field.range]))
        case .staleContact: stale.append(arena.keep(reader.bytes[field.range]))
        default: break
        }
    }
    if !problems.isEmpty { out.problems = joined(problems, arena) }
    if !stale.isEmpty { out.stale_contacts = joined(stale, arena) }
    handle.problems.publish(problems, &out.problem_list, &out.problem_count)
    handle.stale.publish(stale, &out.stale_list, &out.stale_count)
    handle.headers.publish(headers(out.feature_caps, arena), &out.reply_headers, &out.reply_header_count)
}

/// Texts as lines of one.
private func joined(_ texts: [pushwake_str], _ arena: TextArena) -> pushwake_str {
    arena.keep(Array(texts.map(\.bytes).joined(separator: [UInt8(ascii: "\n")])))
}

/// The headers of whole lines.
private func headers(_ lines: pushwake_str, _ arena: TextArena) -> [pushwake_header] {
    guard !lines.isEmpty else { return [] }
    return lines.bytes.split(whereSeparator: { $0 == 0x0D || $0 == 0x0A }).compactMap { line in
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return pushwake_header(
            name: arena.keep(line[..<colon]), value: arena.keep(line[(colon + 1)...].drop { $0 == 0x20 }))
    }
}
