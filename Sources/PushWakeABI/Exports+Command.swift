// SPDX-License-Identifier: MIT

// What people ask of the engine and push by hand, through whichever console their host has.

public import CPushWake
internal import PushWakeClient
internal import PushWakeCore

@_cdecl("pushwake_command") @implementation
public func pushwake_command(
    _ client: OpaquePointer!, _ words: UnsafePointer<pushwake_str>!, _ count: Int, _ on_row: pushwake_row_fn!,
    _ on_line: pushwake_line_fn!, _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let handle = asking(client), let words = strings(words, count) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    do throws(ConsoleCommand.Failure) {
        let command = try ConsoleCommand(words)
        let number = try handle.client.run(
            command, onRow: { give($0, to: on_row, context) },
            onLine: { line in
                let arena = TextArena()
                on_line?(context, arena.keep(orEmpty: line))
            })
        return CInt(clamping: number)
    } catch {
        return switch error {
        case .words(let text): handle.wrong(text)
        case .engine(let error): handle.status(of: error)
        }
    }
}

@_cdecl("pushwake_bindings") @implementation
public func pushwake_bindings(
    _ client: OpaquePointer!, _ aor: pushwake_str, _ beside: UnsafePointer<pushwake_contact>!, _ count: Int,
    _ contact_size: Int, _ on_row: pushwake_row_fn!, _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let handle = asking(client), !aor.isEmpty else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    guard handle.client.mayHaveBindings(aor.bytes.span) else { return 0 }
    let contacts = ContactsView(beside, count, stride: contact_size)
    let known = contacts.indices.map { contacts[$0].known }
    var (found, isWanted) = (CInt(0), true)
    do throws(ClientError) {
        _ = try handle.client.bindings(of: aor.string, isPrompt: true) { row in
            guard !row.isBinding(ofOneOf: known) else { return }
            found += 1
            if isWanted { isWanted = give(row, to: on_row, context) }
        }
        return found
    } catch {
        return handle.status(of: error)
    }
}

@_cdecl("pushwake_send") @implementation
public func pushwake_send(_ client: OpaquePointer!, _ request: UnsafePointer<pushwake_send_request>!) -> CInt {
    guard let request, isWhole(request), let handle = asking(client) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let wanted = request.pointee
    let name = wanted.event.string
    guard let event = PushEvent(name: name) else { return handle.wrong(SendWords.mistake(event: name)) }
    var reader = RequestReader(method: "".utf8.span, uri: "".utf8.span)
    reader.headers(wanted.headers, wanted.header_count, shown: wanted.shown)
    let read = reader.finish()
    let engine = handle.client
    engine.begin(.send)
    engine.put(.event, Int64(event.rawValue))
    engine.put(.aor, wanted.aor.bytes.span)
    engine.put(.callID, read.callID)
    engine.put(.fromURI, read.fromURI)
    engine.put(.fromDisplay, read.fromDisplay)
    engine.put(.text, wanted.text.bytes.span)
    do throws(ClientError) {
        return CInt(clamping: EngineClient.number(.pushed, in: try engine.call()))
    } catch {
        return handle.status(of: error)
    }
}

/// Gives a row to a caller, if there is one; false when it wants no more.
private func give(_ row: [EngineField], to onRow: pushwake_row_fn?, _ context: UnsafeMutableRawPointer?) -> Bool {
    guard let onRow else { return true }
    let arena = TextArena()
    let fields = row.map { field in
        pushwake_field(name: arena.keep(field.name), text: arena.keep(orEmpty: field.text), number: field.number)
    }
    return withExtendedLifetime(arena) {
        fields.withUnsafeBufferPointer { onRow(context, $0.baseAddress, $0.count) } == 0
    }
}

extension [EngineField] {
    /// Whether the phone of this binding has one of the contacts.
    fileprivate func isBinding(ofOneOf contacts: [WakeMessage.Contact]) -> Bool {
        func text(_ name: String) -> String { first { $0.name == name }?.text ?? "" }
        let (instance, uri) = (text("instance"), text("contact"))
        return contacts.contains {
            !$0.instance.isEmpty && !instance.isEmpty ? $0.instance == instance : !$0.uri.isEmpty && $0.uri == uri
        }
    }
}
