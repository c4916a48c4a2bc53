// SPDX-License-Identifier: MIT

// The gateway: REGISTERs of phones on their way to a SIP server behind the host.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore

@_cdecl("pushwake_upstream_register") @implementation
public func pushwake_upstream_register(
    _ out: UnsafeMutablePointer<pushwake_upstream_result>!, _ client: OpaquePointer!,
    _ request: UnsafePointer<pushwake_upstream_request>!
) -> CInt {
    guard let out, out.pointee.size >= MemoryLayout<pushwake_upstream_result>.size, let request,
        let wanted = whole(
            request, size: request.pointee.size, smallest: MemoryLayout<pushwake_upstream_request>.size,
            empty: pushwake_upstream_request()),
        let handle = borrow(client, as: ClientHandle.self)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    let engine = handle.client
    engine.begin(.upstreamRegister)
    engine.put(.host, Int64(bitPattern: handle.host))
    engine.put(.handle, Int64(bitPattern: wanted.handle))
    engine.put(.requestURI, wanted.request_uri.bytes.span)
    engine.put(.toURI, wanted.to_uri.bytes.span)
    engine.put(.callID, wanted.call_id.bytes.span)
    engine.put(.route, wanted.route.bytes.span)
    engine.put(.local, wanted.local.bytes.span)
    for header in UnsafeBufferPointer(start: wanted.headers, count: wanted.headers == nil ? 0 : wanted.header_count) {
        let (name, value) = (header.name.bytes.span, header.value.bytes.span)
        guard RegistrationReader.reads(name) || HeaderLine.authorization(name: name, value: value) != nil else {
            continue
        }
        engine.put(.headerName, name)
        engine.put(.headerValue, value)
    }
    return ask(out, handle)
}

@_cdecl("pushwake_upstream_answered") @implementation
public func pushwake_upstream_answered(
    _ out: UnsafeMutablePointer<pushwake_upstream_result>!, _ client: OpaquePointer!,
    _ answer: UnsafePointer<pushwake_upstream_answer>!
) -> CInt {
    guard let out, out.pointee.size >= MemoryLayout<pushwake_upstream_result>.size, let answer,
        let said = whole(
            answer, size: answer.pointee.size, smallest: MemoryLayout<pushwake_upstream_answer>.size,
            empty: pushwake_upstream_answer()),
        let handle = borrow(client, as: ClientHandle.self)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    let engine = handle.client
    engine.begin(.upstreamAnswered)
    engine.put(.host, Int64(bitPattern: handle.host))
    engine.put(.upstreamID, Int64(bitPattern: said.id))
    engine.put(.status, Int64(said.status))
    engine.put(.reason, said.reason.bytes.span)
    engine.put(.fromPhone, Int64(said.from_server))
    for header in UnsafeBufferPointer(start: said.headers, count: said.headers == nil ? 0 : said.header_count)
    where UpstreamAnswerReader.reads(header.name.bytes.span) {
        engine.put(.headerName, header.name.bytes.span)
        engine.put(.headerValue, header.value.bytes.span)
    }
    return ask(out, handle)
}

@_cdecl("pushwake_upstream_user") @implementation
public func pushwake_upstream_user(
    _ uri: UnsafeMutablePointer<pushwake_str>!, _ client: OpaquePointer!, _ name: pushwake_str
) -> CInt {
    guard let uri, let handle = borrow(client, as: ClientHandle.self) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    handle.arena.clear()
    uri.pointee = handle.arena.keep(UpstreamName.localURI(of: name.bytes.span) ?? "")
    return 0
}

private func ask(_ out: UnsafeMutablePointer<pushwake_upstream_result>, _ handle: ClientHandle) -> CInt {
    out.pointee.actions = nil
    out.pointee.count = 0
    do throws(ClientError) {
        handle.orders.read(try handle.client.call())
        handle.orders.lend(&out.pointee.actions, &out.pointee.count)
        return 0
    } catch {
        return handle.status(of: error)
    }
}

/// Orders as C structs, with the texts that they point to.
struct UpstreamArena {
    private let arena = TextArena()
    private var orders: [pushwake_upstream] = []
    private var lent = UnsafeMutableBufferPointer<pushwake_upstream>(start: nil, count: 0)

    /// Takes the orders of a message; those taken before are gone.
    mutating func read(_ message: MessageReader) {
        arena.clear()
        orders.removeAll(keepingCapacity: true)
        free()
        var reader = message
        while let field = reader.next() {
            if field.tag == .upstreamAction {
                var order = pushwake_upstream()
                order.size = MemoryLayout<pushwake_upstream>.size
                order.kind = CInt(clamping: reader.number(field))
                order.at_most = -1
                orders.append(order)
            } else if !orders.isEmpty {
                take(field, reader)
            }
        }
    }

    private mutating func take(_ field: MessageReader.Field, _ reader: MessageReader) {
        let last = orders.count - 1
        switch field.tag {
        case .handle: orders[last].handle = UInt64(bitPattern: reader.number(field))
        case .upstreamID: orders[last].id = UInt64(bitPattern: reader.number(field))
        case .status: orders[last].status = CInt(clamping: reader.number(field))
        case .atMost: orders[last].at_most = reader.number(field)
        case .cseq: orders[last].cseq = UInt32(truncatingIfNeeded: reader.number(field))
        case .account: orders[last].account = arena.keep(reader.text(field))
        case .toURI: orders[last].uri = arena.keep(reader.text(field))
        case .requestURI: orders[last].request_uri = arena.keep(reader.text(field))
        case .route: orders[last].next_hop = arena.keep(reader.text(field))
        case .callID: orders[last].call_id = arena.keep(reader.text(field))
        case .fromTag: orders[last].from_tag = arena.keep(reader.text(field))
        case .reason: orders[last].reason = arena.keep(reader.text(field))
        case .headerLines: orders[last].headers = arena.keep(reader.text(field))
        default: break
        }
    }

    /// Runs the body with each.
    func each(_ body: (UnsafePointer<pushwake_upstream>) -> Void) {
        for order in orders { withUnsafePointer(to: order) { body($0) } }
    }

    /// Lends all of them until the next `read`.
    mutating func lend(_ out: inout UnsafePointer<pushwake_upstream>?, _ count: inout Int) {
        free()
        lent = .allocate(capacity: orders.count)
        _ = lent.initialize(from: orders)
        out = orders.isEmpty ? nil : UnsafePointer(lent.baseAddress)
        count = orders.count
    }

    /// Takes back what was lent.
    mutating func free() {
        lent.deallocate()
        lent = UnsafeMutableBufferPointer(start: nil, count: 0)
    }
}
