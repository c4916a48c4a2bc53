// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeTransport

/// Reads any bytes as a key file: PEM or DER, a certificate with its key, PKCS#12, Google's JSON. A key that can be read
/// can be written and read again. The first byte picks the form.
public func fuzzKey(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    switch choice % 4 {
    case 0:
        guard let key = try? PrivateKey(pem: bytes) else { break }
        guard let text = try? key.pem(), (try? PrivateKey(pem: text)) != nil else { fatalError("a key that is none") }
    case 1:
        _ = try? TLSIdentity.read(bytes, password: "secret")
    case 2:
        let halves = bytes.split(separator: 0, maxSplits: 1).map(Array.init)
        _ = try? TLSIdentity.read(halves.first ?? [], keyFile: halves.dropFirst().first, password: "")
    default:
        guard let file = JanssonValue.parse(bytes), let account = try? ServiceAccount(file) else { break }
        guard HTTPOrigin.split(account.tokenURI) != nil else { fatalError("no URL: \(account.tokenURI)") }
    }
    return 0
}
