// SPDX-License-Identifier: MIT

internal import COpenSSL

/// The TLS side of the server: certificate, versions, ALPN.
final class ServerContext {
    let handle: OpaquePointer

    /// Makes a context; without an identity every handshake ends with an alert.
    init(identity: (certificate: [UInt8], key: KeyPair)?) throws(KeyPair.Failure) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw KeyPair.Failure("no TLS") }
        handle = context
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // A record costs two system calls without read-ahead.
        SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        SSL_CTX_set_default_read_buffer_len(context, 65_536)
        SSL_CTX_set_num_tickets(context, 0)
        SSL_CTX_set_alpn_select_cb(context, selectProtocol, nil)
        guard let identity else { return }
        let certificate = identity.certificate.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            return PEM_read_bio_X509(bio, nil, nil, nil)
        }
        guard let certificate else { throw KeyPair.Failure("server.pem is not a certificate") }
        defer { X509_free(certificate) }
        guard SSL_CTX_use_certificate(context, certificate) == 1,
            SSL_CTX_use_PrivateKey(context, identity.key.handle) == 1, SSL_CTX_check_private_key(context) == 1
        else { throw KeyPair.Failure("server.key does not belong to server.pem") }
    }

    deinit { SSL_CTX_free(handle) }
}

/// Takes HTTP/2 when the client offers it, else HTTP/1.1.
private func selectProtocol(
    _: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ outCount: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ count: UInt32, _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let out, let outCount, let offered else { return SSL_TLSEXT_ERR_NOACK }
    for wanted in [Array("h2".utf8), Array("http/1.1".utf8)] {
        var at = 0
        while at < Int(count) {
            let length = Int(offered[at])
            guard at + 1 + length <= Int(count) else { break }
            if UnsafeBufferPointer(start: offered + at + 1, count: length).elementsEqual(wanted) {
                out.pointee = offered + at + 1
                outCount.pointee = UInt8(truncatingIfNeeded: length)
                return SSL_TLSEXT_ERR_OK
            }
            at += 1 + length
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
