// SPDX-License-Identifier: MIT

internal import COpenSSL

/// The TLS side of the server: certificate, versions, ALPN.
final class ServerContext {
    let handle: OpaquePointer

    /// Makes a context from PEM files; without them every handshake ends with an alert.
    init(files: (certificate: String, key: String)?) throws(FileStore.Failure) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw FileStore.Failure(description: "no TLS") }
        handle = context
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // A record costs two system calls without read-ahead.
        SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        SSL_CTX_set_default_read_buffer_len(context, 65_536)
        SSL_CTX_set_num_tickets(context, 0)
        SSL_CTX_set_alpn_select_cb(context, selectProtocol, nil)
        // Apple asks every sender for a certificate and goes on without one. What it is worth is read per request.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER) { _, _ in 1 }
        SSL_CTX_set_session_id_context(context, "pushwake", 8)
        guard let files else { return }
        guard SSL_CTX_use_certificate_chain_file(context, files.certificate) == 1,
            SSL_CTX_use_PrivateKey_file(context, files.key, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(context) == 1
        else {
            throw FileStore.Failure(
                description: "\(files.certificate) and \(files.key) are not a certificate and its key; remove both")
        }
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
