// SPDX-License-Identifier: MIT

@testable import PushWakeClient

/// Reads any bytes as a message of the local socket: every field lies within the message, and the reader ends.
public func fuzzMessage(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard var reader = MessageReader(Array(UnsafeBufferPointer(start: start, count: count))) else { return 0 }
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
