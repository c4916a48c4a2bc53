// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// The certificate that a sender showed in the TLS handshake, as Apple reads it.
struct ClientCertificate: Equatable, Sendable {
    /// Signed by the simulator's own authority for push certificates.
    var isTrusted = true
    /// Seconds since 1970.
    var validity: ClosedRange<Int64> = 0...Int64.max
    /// Topics that it is for. With one, a request may leave its topic out.
    var topics: [String]
    var isForProduction = true
    var isForSandbox = true

    /// Takes the topics and leaves the rest good.
    init(topics: [String]) { self.topics = topics }

    /// Reads one; `authority` is who must have signed it.
    init(_ certificate: Certificate, authority: Certificate) {
        isTrusted = certificate.isSigned(by: authority)
        let start = certificate.validFrom
        validity = start...max(start, certificate.expiresAt)
        isForSandbox = certificate.extensionValue("1.2.840.113635.100.6.3.1") != nil
        isForProduction = certificate.extensionValue("1.2.840.113635.100.6.3.2") != nil
        topics = ["1.2.840.113635.100.6.3.4", "1.2.840.113635.100.6.3.6"].flatMap {
            TopicExtension.topics(certificate.extensionValue($0) ?? [])
        }
        if topics.isEmpty, let user = certificate.subject("UID") { topics = [user] }
    }
}
