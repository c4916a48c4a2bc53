// SPDX-License-Identifier: MIT

internal import COpenSSL

/// Settings of many TLS sessions: trust, identity, protocols. TLS 1.2 is the least.
public final class TLSContext {
    /// Names of ALPN (RFC 7301).
    public enum ApplicationProtocol: String, Sendable {
        case http2 = "h2"
        case http1 = "http/1.1"
    }

    /// Versions of TLS, for limits.
    public enum Version: Int32, Sendable {
        case tls10 = 0x0301
        case tls11 = 0x0302
        case tls12 = 0x0303
        case tls13 = 0x0304
    }

    let pointer: OpaquePointer
    let isServer: Bool
    /// ALPN wire form: each name after its length.
    fileprivate let protocols: [UInt8]

    private init(server: Bool, protocols names: [ApplicationProtocol], from minimum: Version, to maximum: Version)
        throws(TLSError)
    {
        guard let context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()) else {
            throw TLSError.drain("make a TLS context")
        }
        pointer = context
        isServer = server
        protocols = names.flatMap { [UInt8(truncatingIfNeeded: $0.rawValue.utf8.count)] + Array($0.rawValue.utf8) }
        copenssl_configure(context, minimum.rawValue, maximum.rawValue)
    }

    deinit { SSL_CTX_free(pointer) }

    /// A context for clients that verify the server.
    ///
    /// Trusts the certificates of `caFile` (PEM) when it is given, of the system when it is nil.
    public static func client(
        caFile: String? = nil, identity: TLSIdentity? = nil, protocols: [ApplicationProtocol] = [.http2, .http1]
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(server: false, protocols: protocols, from: .tls12, to: .tls13)
        if let caFile {
            guard SSL_CTX_load_verify_file(context.pointer, caFile) == 1 else {
                throw TLSError.drain("cannot read certificates from \(caFile)")
            }
        } else if SSL_CTX_set_default_verify_paths(context.pointer) != 1 {
            throw TLSError.drain("cannot read the system's certificates")
        }
        SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_alpn_protos(context.pointer, context.protocols, UInt32(context.protocols.count))
        if let identity { try context.use(identity) }
        return context
    }

    /// A context for servers; asks for a client certificate when `clientCAs` is not empty, and accepts its absence.
    public static func server(
        identity: TLSIdentity, protocols: [ApplicationProtocol] = [.http2, .http1], clientCAs: [Certificate] = [],
        from minimum: Version = .tls12, to maximum: Version = .tls13
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(server: true, protocols: protocols, from: minimum, to: maximum)
        try context.use(identity)
        // TLS 1.1 and older need this level; only a test of refusals asks for them.
        if maximum.rawValue < Version.tls12.rawValue { SSL_CTX_set_security_level(context.pointer, 0) }
        SSL_CTX_set_alpn_select_cb(context.pointer, selectProtocol, Unmanaged.passUnretained(context).toOpaque())
        if !clientCAs.isEmpty {
            let store = SSL_CTX_get_cert_store(context.pointer)
            for authority in clientCAs { X509_STORE_add_cert(store, authority.pointer) }
            SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        }
        return context
    }

    private func use(_ identity: TLSIdentity) throws(TLSError) {
        guard SSL_CTX_use_certificate(pointer, identity.certificate.pointer) == 1,
            SSL_CTX_use_PrivateKey(pointer, identity.key.pointer) == 1
        else { throw TLSError.drain("cannot use the certificate") }
        for link in identity.chain where copenssl_add_chain(pointer, link.pointer) != 1 {
            throw TLSError.drain("cannot use the certificate chain")
        }
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
