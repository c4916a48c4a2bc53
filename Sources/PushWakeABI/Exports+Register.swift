// SPDX-License-Identifier: MIT

// A REGISTER, step by step: before the registrar has it, and after.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore

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

@_cdecl("pushwake_register_run") @implementation
public func pushwake_register_run(
    _ out: UnsafeMutablePointer<pushwake_register_result>!, _ client: OpaquePointer!,
    _ request: UnsafeMutablePointer<pushwake_register_request>!
) -> CInt {
    guard let out, isWhole(out), let request, isWhole(request),
        request.pointee.headers != nil || request.pointee.header_count == 0, let handle = asking(client)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    handle.arena.clear()
    out.pointee = pushwake_register_result(size: out.pointee.size)
    return run(&request.pointee, handle, &out.pointee)
}

private func run(
    _ request: inout pushwake_register_request, _ handle: ClientHandle, _ result: inout pushwake_register_result
) -> CInt {
    switch pushwake_registrar(rawValue: UInt32(bitPattern: request.registrar)) {
    case PUSHWAKE_REGISTRAR_NOT_ASKED:
        result.take(PUSHWAKE_REGISTER_SAVE)
        guard handle.refusals.areAny, request.namesPush() else { return 0 }
        // Without an engine the registrar decides alone: the phone can be called all the same.
        _ = ask(.registerCheck, request, handle, &result)
        if result.reply_code != 0 { result.take(PUSHWAKE_REGISTER_REFUSE) }
        return 0
    case PUSHWAKE_REGISTRAR_FULL:
        guard request.namesPush() else { return 0 }
        let status = ask(.registerLeaves, request, handle, &result)
        if result.left_contact_count > 0 { result.take(PUSHWAKE_REGISTER_DROP_AND_SAVE) }
        return status
    case PUSHWAKE_REGISTRAR_SAVED:
        if request.concernsEngine(handle.client) { result.take(PUSHWAKE_REGISTER_DESCRIBE) }
        return 0
    case PUSHWAKE_REGISTRAR_DESCRIBED:
        guard request.concernsEngine(handle.client) else { return 0 }
        guard request.aor.bytes.span.isText else {
            result.outcome = CInt(PUSHWAKE_REGISTER_IGNORED.rawValue)
            let problem = "user: the name is not UTF-8, so its phones get no push; rename the user"
            handle.problems.publish([handle.arena.keep(problem)], &result.problems, &result.problem_count)
            return 0
        }
        return ask(.register, request, handle, &result)
    default: return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
}

extension pushwake_register_result {
    fileprivate init(size: Int) {
        self.init()
        self.size = size
    }

    fileprivate mutating func take(_ step: pushwake_register_step) { self.step = CInt(step.rawValue) }
}

extension pushwake_register_request {
    /// What is kept in `seen`.
    private static let looked: UInt64 = 1
    private static let push: UInt64 = 2
    private static let concern: UInt64 = 4

    /// Whether a header may say something about push; looks once. Users without a name that is text have no push.
    fileprivate mutating func namesPush() -> Bool {
        guard seen & Self.looked == 0 else { return seen & Self.push != 0 }
        seen |= Self.looked
        let isNamed = UnsafeBufferPointer(start: headers, count: header_count).contains {
            RegistrationReader.mayNamePush($0.name.bytes.span)
                && RegistrationReader.mayConcernPush(name: $0.name.bytes.span, value: $0.value.bytes.span)
        }
        if isNamed { seen |= Self.push }
        return isNamed
    }

    /// Whether there is anything to store, or anybody to tell. Once it is true it stays so.
    fileprivate mutating func concernsEngine(_ engine: EngineClient) -> Bool {
        if seen & Self.concern != 0 { return true }
        guard account.isEmpty, engine.lacksBindings(aor.bytes.span), !namesPush() else {
            seen |= Self.concern
            return true
        }
        return false
    }
}

/// Asks the engine, and takes its answer over.
private func ask(
    _ kind: EngineProtocol.Kind, _ request: pushwake_register_request, _ handle: ClientHandle,
    _ result: inout pushwake_register_result
) -> CInt {
    guard request.aor.bytes.span.isText else { return 0 }
    put(request, as: kind, handle)
    do throws(ClientError) {
        let reply = try handle.client.call()
        read(reply, into: &result, handle)
        if kind == .register {
            handle.verbs.read(reply)
            handle.verbs.publish(&result.verbs, &result.verb_count)
        }
        return 0
    } catch {
        return handle.status(of: error)
    }
}

private func put(_ request: pushwake_register_request, as kind: EngineProtocol.Kind, _ handle: ClientHandle) {
    let engine = handle.client
    engine.begin(kind)
    engine.put(.host, Int64(bitPattern: handle.host))
    if kind == .registerCheck {
        engine.put(.sends555, handle.refusals.sends555 ? 1 : 0)
        engine.put(.minExpires, Int64(handle.refusals.minExpires))
    }
    if !request.domain.isEmpty { engine.put(.domain, request.domain.bytes.span) }
    if !request.account.isEmpty { engine.put(.account, request.account.bytes.span) }
    engine.put(.aor, request.aor.bytes.span)
    engine.put(.callID, request.call_id.bytes.span)
    engine.put(.cseq, Int64(request.cseq))
    engine.put(.granted, request.granted_expires)
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
        case .status: out.reply_code = CInt(clamping: reader.number(field))
        case .reason: out.reply_reason = arena.keep(reader.bytes[field.range])
        case .featureCaps, .headerLines: headers += replyHeaders(reader.bytes[field.range], arena)
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
