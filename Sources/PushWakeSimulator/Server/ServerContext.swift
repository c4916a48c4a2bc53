// SPDX-License-Identifier: MIT

internal import COpenSSL

/// The TLS side of the server: certificate, versions, ALPN.
final class ServerContext {
    let handle: OpaquePointer
    /// What it takes of what a client offers, the best first.
    fileprivate let protocols: [[UInt8]]

    /// Makes a context from PEM files; without them every handshake ends with an alert. `versions` are TLS's, as numbers
    /// of the wire.
    init(
        files: (certificate: String, key: String)?, protocols: [String] = ["h2", "http/1.1"],
        versions: ClosedRange<Int> = Int(TLS1_2_VERSION)...Int(TLS1_3_VERSION)
    ) throws(FileStore.Failure) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw FileStore.Failure(description: "no TLS") }
        handle = context
        self.protocols = protocols.map { Array($0.utf8) }
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, versions.lowerBound, nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, versions.upperBound, nil)
        // TLS 1.1 and older need this level.
        if versions.upperBound < Int(TLS1_2_VERSION) { SSL_CTX_set_security_level(context, 0) }
        // A record costs two system calls without read-ahead.
        SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        SSL_CTX_set_default_read_buffer_len(context, 65_536)
        SSL_CTX_set_num_tickets(context, 0)
        // SAFETY: the server keeps its context for as long as it has connections.
        SSL_CTX_set_alpn_select_cb(context, selectProtocol, Unmanaged.passUnretained(self).toOpaque())
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

/// Takes the first protocol that the client offers too.
private func selectProtocol(
    _: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ outCount: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ count: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let out, let outCount, let offered, let context else { return SSL_TLSEXT_ERR_NOACK }
    for wanted in Unmanaged<ServerContext>.fromOpaque(context).takeUnretainedValue().protocols {
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
