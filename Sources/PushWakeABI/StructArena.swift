// SPDX-License-Identifier: MIT

internal import CPushWake
internal import PushWakeClient
internal import PushWakeCore

/// A C struct that a message has as a run of fields: the first begins it, those that follow fill it in.
protocol MessageStruct {
    /// The field that begins one.
    static var beginning: EngineProtocol.Tag { get }
    /// One that holds nothing but the number of its first field.
    init(beginning number: Int64)
    /// Takes a field over; texts are kept in the arena.
    mutating func take(_ field: MessageReader.Field, _ reader: MessageReader, _ arena: TextArena)
}

/// An array that a C caller may read until the next one is borrowed.
final class BorrowedArray<Element> {
    private var borrowed = UnsafeMutableBufferPointer<Element>(start: nil, count: 0)

    deinit { borrowed.deallocate() }

    /// Takes the one before back.
    func clear() {
        borrowed.deallocate()
        borrowed = UnsafeMutableBufferPointer(start: nil, count: 0)
    }

    /// Publishes the elements; none of them is NULL and 0.
    func publish(_ elements: [Element], _ out: inout UnsafePointer<Element>?, _ count: inout Int) {
        clear()
        (out, count) = (nil, elements.count)
        guard !elements.isEmpty else { return }
        borrowed = .allocate(capacity: elements.count)
        _ = borrowed.initialize(from: elements)
        out = UnsafePointer(borrowed.baseAddress)
    }
}

/// C structs of the last message, with the texts that they point to.
final class StructArena<Element: MessageStruct> {
    private let arena = TextArena()
    private var elements: [Element] = []
    private let borrowed = BorrowedArray<Element>()

    /// Takes those of a message; those taken before are gone.
    func read(_ message: MessageReader) {
        arena.clear()
        elements.removeAll(keepingCapacity: true)
        borrowed.clear()
        var reader = message
        while let field = reader.next() {
            if field.tag == Element.beginning {
                elements.append(Element(beginning: reader.number(field)))
            } else if !elements.isEmpty {
                elements[elements.count - 1].take(field, reader, arena)
            }
        }
    }

    /// Runs the body with each.
    func each(_ body: (UnsafePointer<Element>) -> Void) {
        for element in elements { withUnsafePointer(to: element) { body($0) } }
    }

    /// Publishes all of them until the next `read`.
    func publish(_ out: inout UnsafePointer<Element>?, _ count: inout Int) { borrowed.publish(elements, &out, &count) }
}

extension TextArena {
    /// Keeps the bytes of a field.
    fileprivate func keep(_ field: MessageReader.Field, _ reader: MessageReader) -> pushwake_str {
        keep(reader.bytes[field.range])
    }
}

extension pushwake_verb: MessageStruct {
    static var beginning: EngineProtocol.Tag { .verb }

    init(beginning number: Int64) {
        self.init()
        size = MemoryLayout<Self>.size
        kind = CInt(clamping: number)
    }

    mutating func take(_ field: MessageReader.Field, _ reader: MessageReader, _ arena: TextArena) {
        switch field.tag {
        case .handle: handle = UInt64(bitPattern: reader.number(field))
        case .leg: leg = CInt(clamping: reader.number(field))
        case .replaces where kind == CInt(PUSHWAKE_VERB_RING.rawValue):
            replaced_leg = CInt(clamping: reader.number(field))
        case .replaces: sequence = CInt(clamping: reader.number(field))
        case .status: status = CInt(clamping: reader.number(field))
        case .milliseconds: milliseconds = reader.number(field)
        case .cseq: cseq = UInt32(truncatingIfNeeded: reader.number(field))
        case .aor: aor = arena.keep(field, reader)
        case .domain: domain = arena.keep(field, reader)
        case .contactKey: contact = arena.keep(field, reader)
        case .reason: reason = arena.keep(field, reader)
        case .callID: call_id = arena.keep(field, reader)
        case .fromURI:
            from_uri = arena.keep(field, reader)
            from_user = arena.keep(CallerIdentity.user(of: reader.text(field)))
        case .fromTag: from_tag = arena.keep(field, reader)
        case .toURI: to_uri = arena.keep(field, reader)
        case .contactURI: contact_uri = arena.keep(field, reader)
        case .contactPath: contact_path = arena.keep(field, reader)
        case .contactFlow: contact_flow = arena.keep(field, reader)
        default: break
        }
    }
}

extension pushwake_upstream: MessageStruct {
    static var beginning: EngineProtocol.Tag { .upstreamAction }

    init(beginning number: Int64) {
        self.init()
        size = MemoryLayout<Self>.size
        kind = CInt(clamping: number)
        max_expires = -1
    }

    mutating func take(_ field: MessageReader.Field, _ reader: MessageReader, _ arena: TextArena) {
        switch field.tag {
        case .handle: handle = UInt64(bitPattern: reader.number(field))
        case .upstreamID: id = UInt64(bitPattern: reader.number(field))
        case .status: status = CInt(clamping: reader.number(field))
        case .atMost: max_expires = reader.number(field)
        case .cseq: cseq = UInt32(truncatingIfNeeded: reader.number(field))
        case .account: account = arena.keep(field, reader)
        case .toURI where kind == CInt(PUSHWAKE_UPSTREAM_SEND.rawValue): server_user = arena.keep(field, reader)
        case .toURI: local_user = arena.keep(field, reader)
        case .requestURI: request_uri = arena.keep(field, reader)
        case .route: next_hop = arena.keep(field, reader)
        case .callID: call_id = arena.keep(field, reader)
        case .fromTag: from_tag = arena.keep(field, reader)
        case .reason: reason = arena.keep(field, reader)
        case .headerLines: headers = arena.keep(field, reader)
        default: break
        }
    }
}
