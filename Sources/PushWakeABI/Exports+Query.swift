// SPDX-License-Identifier: MIT

// What people ask of the engine and push by hand, through whichever console their host has.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore

@_cdecl("pushwake_send") @implementation
public func pushwake_send(
    _ queued: UnsafeMutablePointer<CInt>!, _ client: OpaquePointer!, _ request: UnsafePointer<pushwake_send_request>!
) -> CInt {
    guard let request, isWhole(request) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    let wanted = request.pointee
    var event = Int64(wanted.event)
    if !wanted.event_name.isEmpty {
        let name = wanted.event_name.string
        guard let named = PushEvent(name: name) else {
            return asking(client)?.wrong(SendWords.mistake(event: name)) ?? PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
        }
        event = Int64(named.rawValue)
    }
    return ask(
        client, .send,
        { engine in
            engine.put(.event, event)
            engine.put(.aor, wanted.aor.bytes.span)
            engine.put(.provider, wanted.provider.bytes.span)
            engine.put(.app, wanted.app.bytes.span)
            engine.put(.token, wanted.token.bytes.span)
            if wanted.header_count > 0 {
                var reader = RequestReader(method: "".utf8.span, uri: "".utf8.span)
                reader.headers(wanted.headers, wanted.header_count, shown: wanted.shown)
                let read = reader.finish()
                engine.put(.callID, read.callID)
                engine.put(.fromURI, read.fromURI)
                engine.put(.fromDisplay, read.fromDisplay)
            } else {
                engine.put(.callID, wanted.call_id.bytes.span)
                engine.put(.fromURI, wanted.from_uri.bytes.span)
                engine.put(.fromDisplay, NameAddress.displayName(wanted.from_display.bytes.span))
            }
            engine.put(.title, wanted.title.bytes.span)
            engine.put(.text, wanted.text.bytes.span)
            engine.put(.pushType, wanted.push_type.bytes.span)
            if !wanted.environment.isEmpty { engine.put(.environment, wanted.environment.bytes.span) }
            if !wanted.service.isEmpty { engine.put(.service, wanted.service.bytes.span) }
            for (name, value) in [
                (PushParameterName.publicKey, wanted.p256dh), (.authSecret, wanted.auth), (.selector, wanted.selector),
            ] where !value.isEmpty {
                engine.put(.attributeName, name.rawValue)
                engine.put(.attributeValue, value.bytes.span)
            }
        },
        then: { queued?.pointee = CInt(clamping: EngineClient.number(.pushed, in: $0)) })
}

/// Where the value of a name belongs, in bytes from the begin of the request; nil for a name that nobody knows.
private func sendOffset(_ name: String) -> Int? {
    typealias Request = pushwake_send_request
    return switch name {
    case "event": MemoryLayout<Request>.offset(of: \.event_name)
    case "aor": MemoryLayout<Request>.offset(of: \.aor)
    case "platform": MemoryLayout<Request>.offset(of: \.provider)
    case "package": MemoryLayout<Request>.offset(of: \.app)
    case "token": MemoryLayout<Request>.offset(of: \.token)
    case "call-id": MemoryLayout<Request>.offset(of: \.call_id)
    case "from": MemoryLayout<Request>.offset(of: \.from_uri)
    case "name": MemoryLayout<Request>.offset(of: \.from_display)
    case "title": MemoryLayout<Request>.offset(of: \.title)
    case "text": MemoryLayout<Request>.offset(of: \.text)
    case "push-type": MemoryLayout<Request>.offset(of: \.push_type)
    case "environment": MemoryLayout<Request>.offset(of: \.environment)
    case "service": MemoryLayout<Request>.offset(of: \.service)
    case "p256dh": MemoryLayout<Request>.offset(of: \.p256dh)
    case "auth": MemoryLayout<Request>.offset(of: \.auth)
    case "selector": MemoryLayout<Request>.offset(of: \.selector)
    default: nil
    }
}

@_cdecl("pushwake_send_set") @implementation
public func pushwake_send_set(
    _ request: UnsafeMutablePointer<pushwake_send_request>!, _ name: pushwake_str, _ value: pushwake_str
) -> CInt {
    guard let request, isWhole(request), let offset = sendOffset(name.string) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    (UnsafeMutableRawPointer(request) + offset).assumingMemoryBound(to: pushwake_str.self).pointee = value
    return PUSHWAKE_OK.rawValue
}

@_cdecl("pushwake_send_words") @implementation
public func pushwake_send_words(
    _ queued: UnsafeMutablePointer<CInt>!, _ client: OpaquePointer!, _ words: UnsafePointer<pushwake_str>!, _ count: Int
) -> CInt {
    guard let handle = asking(client), let words = strings(words, count) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let arena = TextArena()
    var request = pushwake_send_request()
    request.size = MemoryLayout<pushwake_send_request>.size
    do throws(SendWords.Mistake) {
        for field in try SendWords(words, isName: { sendOffset($0) != nil }).fields {
            _ = pushwake_send_set(&request, arena.keep(field.name), arena.keep(field.value))
        }
    } catch {
        return handle.wrong(error.message)
    }
    return withExtendedLifetime(arena) { pushwake_send(queued, client, &request) }
}

@_cdecl("pushwake_query") @implementation
public func pushwake_query(
    _ client: OpaquePointer!, _ kind: CInt, _ argument: pushwake_str, _ on_row: pushwake_row_fn!,
    _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let handle = asking(client), let query = EngineQuery(rawValue: Int(kind)) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    if query == .bindings && !argument.isEmpty && !handle.client.mayHaveBindings(argument.bytes.span) { return 0 }
    do throws(ClientError) {
        return try rows(handle, query, argument.string, on_row, context)
    } catch {
        return handle.status(of: error)
    }
}

@_cdecl("pushwake_bindings_count") @implementation
public func pushwake_bindings_count(_ client: OpaquePointer!, _ aor: pushwake_str) -> CInt {
    bindings(client, aor) { _ in }
}

@_cdecl("pushwake_bindings_beside") @implementation
public func pushwake_bindings_beside(
    _ client: OpaquePointer!, _ aor: pushwake_str, _ contacts: UnsafePointer<pushwake_contact>!, _ count: Int,
    _ contact_size: Int
) -> CInt {
    let view = ContactsView(contacts, count, stride: contact_size)
    let known = view.indices.map { view[$0].known }
    var found: CInt = 0
    let status = bindings(client, aor) { row in
        func text(_ name: String) -> String { row.first { $0.name == name }?.text ?? "" }
        let (instance, contact) = (text("instance"), text("contact"))
        let isThere = known.contains {
            !$0.instance.isEmpty && !instance.isEmpty ? $0.instance == instance : !$0.uri.isEmpty && $0.uri == contact
        }
        if !isThere { found += 1 }
    }
    return status < 0 ? status : found
}

@_cdecl("pushwake_bindings_field") @implementation
public func pushwake_bindings_field(
    _ client: OpaquePointer!, _ aor: pushwake_str, _ column: pushwake_str, _ on_value: pushwake_line_fn!,
    _ context: UnsafeMutableRawPointer!
) -> CInt {
    let name = column.string
    return bindings(client, aor) { row in
        guard let field = row.first(where: { $0.name == name }) else { return }
        let arena = TextArena()
        on_value?(context, arena.keep(orEmpty: field.shown))
    }
}

/// Runs the body for each binding of a user that can be pushed; how many there are.
private func bindings(_ client: OpaquePointer?, _ aor: pushwake_str, _ body: ([EngineField]) -> Void) -> CInt {
    guard let handle = asking(client), !aor.isEmpty else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    guard handle.client.mayHaveBindings(aor.bytes.span) else { return 0 }
    do throws(ClientError) {
        return CInt(clamping: try handle.client.bindings(of: aor.string, isPrompt: true, onRow: body))
    } catch {
        return handle.status(of: error)
    }
}

@_cdecl("pushwake_query_words") @implementation
public func pushwake_query_words(
    _ client: OpaquePointer!, _ kind: CInt, _ words: UnsafePointer<pushwake_str>!, _ count: Int,
    _ on_row: pushwake_row_fn!, _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let handle = asking(client), let query = EngineQuery(rawValue: Int(kind)),
        let words = strings(words, count)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    do throws(QuestionFailure) {
        return try asked(query, words) { argument throws(ClientError) in
            try rows(handle, query, argument, on_row, context)
        }
    } catch {
        return handle.status(of: error)
    }
}

@_cdecl("pushwake_report") @implementation
public func pushwake_report(
    _ client: OpaquePointer!, _ kind: CInt, _ words: UnsafePointer<pushwake_str>!, _ count: Int,
    _ on_line: pushwake_line_fn!, _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let handle = asking(client), let report = ConsoleReport(rawValue: Int(kind)),
        let words = strings(words, count)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    do throws(QuestionFailure) {
        return try asked(report.query, words) { argument throws(ClientError) in
            let count = try handle.client.report(report, argument: argument) { line in
                let arena = TextArena()
                on_line?(context, arena.keep(orEmpty: line))
            }
            return CInt(clamping: count)
        }
    } catch {
        return handle.status(of: error)
    }
}

/// Why a question in words has no answer.
enum QuestionFailure: Error {
    case words(ListingConditions.Mistake)
    case engine(ClientError)
}

extension ClientHandle {
    /// Remembers a failure and gives its status.
    fileprivate func status(of failure: QuestionFailure) -> CInt {
        switch failure {
        case .words(let mistake): wrong(mistake.message)
        case .engine(let error): status(of: error)
        }
    }
}

/// Asks with the argument that the words make.
private func asked(
    _ query: EngineQuery, _ words: [String], _ ask: (String) throws(ClientError) -> CInt
) throws(QuestionFailure) -> CInt {
    let argument: String
    do throws(ListingConditions.Mistake) {
        argument = try query.argument(words: words)
    } catch {
        throw .words(error)
    }
    do throws(ClientError) {
        return try ask(argument)
    } catch {
        throw .engine(error)
    }
}

private func rows(
    _ handle: ClientHandle, _ query: EngineQuery, _ argument: String, _ on_row: pushwake_row_fn?,
    _ context: UnsafeMutableRawPointer?
) throws(ClientError) -> CInt {
    // Calls and device states depend on what one user has.
    let isPrompt = query == .bindings && !argument.isEmpty
    let count = try handle.client.query(query, argument: argument, isPrompt: isPrompt) { row in
        let arena = TextArena()
        let fields = row.map { field in
            pushwake_field(name: arena.keep(field.name), text: arena.keep(orEmpty: field.text), number: field.number)
        }
        return fields.withUnsafeBufferPointer { on_row?(context, $0.baseAddress, $0.count) ?? 1 } == 0
    }
    return CInt(clamping: count)
}
