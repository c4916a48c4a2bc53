// SPDX-License-Identifier: MIT

internal import CLinux
internal import COpenSSL
internal import PushWakeCore
internal import PushWakeSystem

/// One TLS session over memory: takes and gives ciphertext, knows no socket.
///
/// Ciphertext for the peer gathers in `pipe.output` until the owner has sent it, several records at a time.
final class TLSSession {
    enum Role: Equatable {
        /// Verifies that the peer's certificate is for this name or IP literal.
        case client(host: String)
        case server
    }

    /// The record as it is on the wire, with header and tag; or the same in records of 512 bytes.
    static let recordRoom = 16_384 + 3072
    static let outputSize = 4 * recordRoom

    private let ssl: OpaquePointer
    private let context: TLSContext
    /// How the peer refused our certificate.
    private(set) var alert: TLSAlert?
    private let pipe: UnsafeMutablePointer<copenssl_pipe>
    nonisolated(unsafe) private static let method = copenssl_pipe_method()

    init(context: TLSContext, role: Role) throws(TLSError) {
        guard let ssl = SSL_new(context.pointer) else { throw TLSError.drain("make a TLS session") }
        self.ssl = ssl
        self.context = context
        pipe = .allocate(capacity: 1)
        pipe.initialize(
            to: copenssl_pipe(
                input: nil, input_left: 0, output: .allocate(capacity: Self.outputSize), output_used: 0,
                output_size: Self.outputSize))
        guard copenssl_attach(ssl, Self.method, pipe) == 1 else { throw TLSError.drain("make a TLS session") }
        switch role {
        case .server: SSL_set_accept_state(ssl)
        case .client(let host):
            SSL_set_connect_state(ssl)
            try expect(host)
        }
    }

    deinit {
        SSL_free(ssl)
        pipe.pointee.output.deallocate()
        pipe.deallocate()
    }

    private func expect(_ host: String) throws(TLSError) {
        let isAddress = SocketAddress(ip: host, port: 0) != nil
        let accepted: Bool
        if isAddress {
            accepted = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1
        } else {
            SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            // RFC 6066, 3: no literal addresses in SNI.
            accepted = SSL_set1_host(ssl, host) == 1 && copenssl_set_server_name(ssl, host) == 1
        }
        if !accepted { throw TLSError.drain("cannot verify the host name \(host)") }
    }

    // MARK: Ciphertext

    /// Ciphertext that waits to be sent.
    var output: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: pipe.pointee.output, count: pipe.pointee.output_used)
    }

    /// Whether one more full record fits.
    var hasRoom: Bool { pipe.pointee.output_size - pipe.pointee.output_used >= Self.recordRoom }

    /// Drops the first `count` bytes of `output`, which have been sent.
    func removeOutput(_ count: Int) {
        let left = pipe.pointee.output_used - count
        if left > 0 { memmove(pipe.pointee.output, pipe.pointee.output + count, left) }
        pipe.pointee.output_used = max(0, left)
    }

    /// Lends received bytes for the calls until `endInput()`.
    func beginInput(_ bytes: UnsafeRawBufferPointer) {
        pipe.pointee.input = bytes.bindMemory(to: UInt8.self).baseAddress
        pipe.pointee.input_left = bytes.count
    }

    /// Whether lent bytes have not been used yet.
    var hasInput: Bool { pipe.pointee.input_left > 0 }

    /// Whether all that came has been read: one more `read` would find nothing.
    var isReadOut: Bool { !hasInput && SSL_has_pending(ssl) == 0 && !isPeerDone }

    /// Takes the loan back; false when not all of it was used.
    @discardableResult
    func endInput() -> Bool {
        defer { (pipe.pointee.input, pipe.pointee.input_left) = (nil, 0) }
        return pipe.pointee.input_left == 0
    }

    // MARK: Steps

    /// Goes on with the handshake.
    func handshake() -> TLSStep { step(SSL_do_handshake(ssl), "TLS handshake") }

    /// Decrypts into the buffer; nil count means incomplete or at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, count: inout Int) -> TLSStep {
        var taken = 0
        let result = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &taken)
        count = taken
        return result == 1 ? .complete : step(result, "TLS read")
    }

    /// Encrypts up to 16 kB as one record, or as several for a peer that wants small ones (RFC 6066, 4); needs `hasRoom`.
    func write(_ bytes: UnsafeRawBufferPointer) -> TLSStep {
        var rest = bytes
        while true {
            var written = 0
            let result = SSL_write_ex(ssl, rest.baseAddress, rest.count, &written)
            guard result == 1 else { return step(result, "TLS write") }
            guard written < rest.count else { return .complete }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }

    /// Adds a close_notify to the output.
    func shutDown() {
        if SSL_shutdown(ssl) < 0 { _ = TLSError.drain("") }
    }

    /// The peer has sent close_notify.
    var isPeerDone: Bool { SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 }

    /// The protocol that ALPN chose; nil when there was no ALPN.
    var applicationProtocol: TLSContext.ApplicationProtocol? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        let bytes = UnsafeBufferPointer(start: name, count: Int(count))
        return TLSContext.ApplicationProtocol(rawValue: String(decoding: bytes, as: UTF8.self))
    }

    /// `TLSv1.3`.
    var version: String { String(cString: SSL_get_version(ssl)) }

    private func step(_ result: Int32, _ operation: String) -> TLSStep {
        if result == 1 { return .complete }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE, SSL_ERROR_ZERO_RETURN: return .incomplete
        default: break
        }
        alert = alert ?? TLSAlert.pending()
        let verification = SSL_get_verify_result(ssl)
        let error = TLSError.drain(operation).message
        if error.hasSuffix("invalid status response") {
            return .failed("the server's certificate is revoked, says its authority (OCSP)")
        }
        guard verification != Int(X509_V_OK), error.hasSuffix("certificate verify failed") else {
            return .failed(error)
        }
        return .failed("certificate verify failed: \(verificationProblem(verification))")
    }

    /// Why the server's certificate was refused. Of an authority that nobody knows it says which: who looks into TLS on the
    /// way has one of his own.
    private func verificationProblem(_ code: Int) -> String {
        let text = String(cString: X509_verify_cert_error_string(code))
        let isUnknown = [
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
        ].contains { Int($0) == code }
        guard isUnknown, let chain = SSL_get_peer_cert_chain(ssl),
            let last = copenssl_certificate_at(chain, copenssl_certificate_count(chain) - 1)
        else { return text }
        let certificate = Certificate(retaining: last)
        let issuer = PrintableText.cleaned(
            String((certificate.issuer("CN") ?? certificate.issuer("O") ?? "nobody").prefix(80)))
        let remedy =
            context.caFile.map { "is not in ca_file (\($0)); add its certificate there if you trust it" }
            ?? "this system does not know; if it is your own authority, set ca_file to a file with its certificate"
        return "it was issued by \"\(issuer)\", which \(remedy)"
    }
}

/// Result of a step that may need bytes which have not come yet: WANT_READ is a state, not an error.
package enum TLSStep: Equatable {
    case incomplete
    case complete
    /// OpenSSL's words.
    case failed(String)
}
