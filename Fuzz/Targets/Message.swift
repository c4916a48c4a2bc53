// SPDX-License-Identifier: MIT

@testable import PushWakeClient
@testable import PushWakeEngine

/// Reads any bytes as a message of the local socket: every field lies within the message, and the reader ends.
public func fuzzMessage(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard var reader = MessageReader(bytes) else { return 0 }
    // What another node announces is such a message too.
    if let notice = RegistrationNotice(bytes), RegistrationNotice(notice.bytes) != notice {
        fatalError("not the same notice")
    }
    _ = RequestDeadline(decoding: reader).isPast(at: 0)
    var total = EngineProtocol.headerLength
    while let field = reader.next() {
        _ = reader.text(field)
        _ = reader.number(field)
        guard field.range.upperBound <= reader.bytes.count else { fatalError("out of bounds") }
        total += 5 + field.range.count
    }
    guard total <= reader.bytes.count else { fatalError("fields overlap") }
    return 0
}
