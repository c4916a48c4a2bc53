// SPDX-License-Identifier: MIT

import COpenSSL

@testable import PushWakeTransport

extension TLSContext {
    /// Versions of TLS, for limits.
    enum Version: Int32 {
        case tls10 = 0x0301
        case tls11 = 0x0302
        case tls12 = 0x0303
        case tls13 = 0x0304
    }

    /// A context for servers; asks for a client certificate when `clientCAs` is not empty, and accepts its absence.
    static func server(
        identity: TLSIdentity, protocols: [ApplicationProtocol] = [.http2, .http1], clientCAs: [Certificate] = [],
        from minimum: Version = .tls12, to maximum: Version = .tls13
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(TLS_server_method(), protocols: protocols)
        copenssl_configure(context.pointer, minimum.rawValue, maximum.rawValue)
        try context.use(identity)
        // TLS 1.1 and older need this level.
        if maximum.rawValue < Version.tls12.rawValue { SSL_CTX_set_security_level(context.pointer, 0) }
        SSL_CTX_set_alpn_select_cb(context.pointer, selectProtocol, Unmanaged.passUnretained(context).toOpaque())
        if !clientCAs.isEmpty {
            let store = SSL_CTX_get_cert_store(context.pointer)
            for authority in clientCAs { X509_STORE_add_cert(store, authority.pointer) }
            SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        }
        return context
    }
}

/// Called by OpenSSL with the client's ALPN list; the context outlives its sessions, which hold it.
private func selectProtocol(
    _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32,
    _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let argument, let chosen, let chosenCount else { return SSL_TLSEXT_ERR_NOACK }
    let context = Unmanaged<TLSContext>.fromOpaque(argument).takeUnretainedValue()
    // The choice must outlive this call, so it points into the client's list, not into our array.
    var index = 0
    let ours = context.protocols
    while index < ours.count {
        let entry = ours[index..<min(ours.count, index + 1 + Int(ours[index]))]
        var offset = 0
        let list = UnsafeBufferPointer(start: offered, count: Int(offeredCount))
        while offset < list.count {
            let end = min(list.count, offset + 1 + Int(list[offset]))
            if list[offset..<end].elementsEqual(entry) {
                chosen.pointee = offered?.advanced(by: offset + 1)
                chosenCount.pointee = list[offset]
                return SSL_TLSEXT_ERR_OK
            }
            offset = end
        }
        index += entry.count
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
