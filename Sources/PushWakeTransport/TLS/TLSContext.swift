// SPDX-License-Identifier: MIT

internal import COpenSSL

/// Settings of many TLS sessions: trust, identity, protocols. TLS 1.2 is the least.
public final class TLSContext {
    /// Names of ALPN (RFC 7301).
    public enum ApplicationProtocol: String, Sendable {
        case http2 = "h2"
        case http1 = "http/1.1"
    }

    let pointer: OpaquePointer
    /// ALPN wire form: each name after its length.
    let protocols: [UInt8]
    /// Where the certificates are that servers are verified with; nil: the system's.
    private(set) var caFile: String?

    /// `method` says which end its sessions are.
    init(_ method: OpaquePointer?, protocols names: [ApplicationProtocol]) throws(TLSError) {
        guard let context = SSL_CTX_new(method) else { throw TLSError.drain("make a TLS context") }
        pointer = context
        protocols = names.flatMap { [UInt8(truncatingIfNeeded: $0.rawValue.utf8.count)] + Array($0.rawValue.utf8) }
        copenssl_configure(context, TLS1_2_VERSION, TLS1_3_VERSION)
    }

    deinit { SSL_CTX_free(pointer) }

    /// A context for clients that verify the server.
    ///
    /// Trusts the certificates of `caFile` (PEM) when it is given, of the system when it is nil. Each certificate of the file
    /// is an anchor, whoever issued it: an intermediate vouches for what it signed, a server's own for that server.
    public static func client(
        caFile: String? = nil, identity: TLSIdentity? = nil, protocols: [ApplicationProtocol] = [.http2, .http1]
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(TLS_client_method(), protocols: protocols)
        if let caFile {
            guard SSL_CTX_load_verify_file(context.pointer, caFile) == 1 else {
                throw TLSError.drain("cannot read certificates from \(caFile)")
            }
            X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.pointer), UInt(X509_V_FLAG_PARTIAL_CHAIN))
            context.caFile = caFile
        } else if SSL_CTX_set_default_verify_paths(context.pointer) != 1 {
            throw TLSError.drain("cannot read the system's certificates")
        }
        SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        copenssl_ask_for_staples(context.pointer)
        SSL_CTX_set_alpn_protos(context.pointer, context.protocols, UInt32(context.protocols.count))
        if let identity { try context.use(identity) }
        return context
    }

    /// A context for servers with this identity; clients need not show one.
    public static func serving(_ identity: TLSIdentity) throws(TLSError) -> TLSContext {
        let context = try TLSContext(TLS_server_method(), protocols: [.http2, .http1])
        try context.use(identity)
        copenssl_serve(context.pointer)
        return context
    }

    /// Shows this identity to peers that ask for one.
    func use(_ identity: TLSIdentity) throws(TLSError) {
        guard SSL_CTX_use_certificate(pointer, identity.certificate.pointer) == 1,
            SSL_CTX_use_PrivateKey(pointer, identity.key.pointer) == 1
        else { throw TLSError.drain("cannot use the certificate") }
        for link in identity.chain where copenssl_add_chain(pointer, link.pointer) != 1 {
            throw TLSError.drain("cannot use the certificate chain")
        }
    }
}
