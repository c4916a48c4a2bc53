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

/// Apple's extension with topics, read and written: `SEQUENCE { UTF8String, SEQUENCE { UTF8String } … }`.
enum TopicExtension {
    /// All topics, or none when the bytes are not exactly such a list.
    static func topics(_ bytes: [UInt8]) -> [String] {
        guard let list = content(of: bytes[...], tag: 0x30), list.rest.isEmpty else { return [] }
        var topics: [String] = []
        var rest = list.content
        while !rest.isEmpty {
            guard let topic = content(of: rest, tag: 0x0C), let kinds = content(of: topic.rest, tag: 0x30) else {
                return []
            }
            topics.append(String(decoding: topic.content, as: UTF8.self))
            rest = kinds.rest
        }
        return topics
    }

    /// The list for topics with their kinds of push, such as `voip`.
    static func bytes(_ topics: [(topic: String, kind: String)]) -> [UInt8] {
        let text = { (text: String) in element(0x0C, Array(text.utf8)) }
        return element(0x30, topics.flatMap { text($0.topic) + element(0x30, text($0.kind)) })
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let high = UInt8(truncatingIfNeeded: content.count >> 8)
        let low = UInt8(truncatingIfNeeded: content.count)
        return (content.count < 128 ? [tag, low] : [tag, 0x82, high, low]) + content
    }

    private static func content(
        of bytes: ArraySlice<UInt8>, tag: UInt8
    ) -> (content: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        let head = bytes.prefix(4).map { Int($0) }
        guard head.count >= 2, head[0] == Int(tag) else { return nil }
        let isLong = head[1] == 0x82 && head.count == 4
        guard isLong || head[1] < 0x80 else { return nil }
        let length = isLong ? head[2] << 8 | head[3] : head[1]
        let body = bytes.dropFirst(isLong ? 4 : 2)
        return body.count >= length ? (body.prefix(length), body.dropFirst(length)) : nil
    }
}
