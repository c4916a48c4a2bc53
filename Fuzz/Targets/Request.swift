// SPDX-License-Identifier: MIT

@testable import PushWakeCore

/// Reads any bytes as a request to a user and decides what it does, and as a compressed body: what comes out stays within
/// the limits.
public func fuzzRequest(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count))
    if let plain = try? Inflate.bytes(of: bytes, most: ContentCoding.most), plain.count > ContentCoding.most {
        fatalError("\(plain.count) bytes were decompressed")
    }
    guard let request = IncomingRequest(file: bytes) else { return 0 }
    guard request.purr.utf8.count <= SIPLimits.longestName, !request.purr.utf8.contains(where: { $0 < 0x20 }) else {
        fatalError("unsafe PURR: \(request)")
    }
    let policy = RequestPolicy(Settings())
    for hasPURR in [false, true] {
        guard case .wakes(let event, _, let seconds) = policy.decision(on: request, hasPURR: hasPURR) else { continue }
        let isHeldTooLong = request.method != "INVITE" && seconds > RequestPolicy.longestHold
        if isHeldTooLong || request.isInDialog && !hasPURR || event == .call && request.method != "INVITE" {
            fatalError("\(event) for \(request)")
        }
    }
    return 0
}
