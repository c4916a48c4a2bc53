// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore

/// Messages in the files of `Fixtures`.
enum Fixture {
    static let names = [
        "acrobits-tuple", "flexisip-two-tokens", "linphone-legacy", "mpush-apns", "mpush-fcm", "mpush-null",
        "mpush-sandbox", "mpush-stray-bracket", "plain", "push-token", "rfc8599-apns", "rfc8599-fcm",
        "rfc8599-figure2", "rfc8599-figure2-folded", "rfc8599-figure3", "rfc8599-query", "rfc8599-two-contacts",
        "rfc8599-upstream", "rfc8599-webpush", "unbind-null-prid", "unregister", "unregister-all",
    ]

    /// The bytes of `NAME.sip`; empty when there is no such file.
    static func bytes(_ name: String, file: StaticString = #filePath) -> [UInt8] {
        let here = file.description
        let directory = here.split(separator: "/").dropLast(2).joined(separator: "/")
        guard let stream = fopen("/\(directory)/Fixtures/\(name).sip", "rb") else { return [] }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = fread(&buffer, 1, buffer.count, stream)
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// What the reader says of `NAME.sip`.
    static func registration(_ name: String) -> Registration { read(bytes(name)) }

    /// What the reader says of a whole message.
    static func read(_ bytes: [UInt8]) -> Registration {
        var reader = RegistrationReader()
        if let message = SIPMessage(bytes.span) {
            for header in message.headers {
                reader.header(name: bytes.span.extracting(header.name), value: bytes.span.extracting(header.value))
            }
        }
        return reader.finish()
    }

    /// Whether a header of a whole message may concern push.
    static func mayConcernPush(_ bytes: [UInt8]) -> Bool {
        SIPMessage(bytes.span)?.headers.contains { header in
            RegistrationReader.mayConcernPush(
                name: bytes.span.extracting(header.name), value: bytes.span.extracting(header.value))
        } ?? false
    }

    /// What the reader says of single headers.
    static func registration(of headers: (String, String)...) -> Registration {
        var reader = RegistrationReader()
        for (name, value) in headers { reader.header(name: name.utf8.span, value: value.utf8.span) }
        return reader.finish(aor: "alice", callID: "c1", cseq: 1)
    }

    /// What the reader says of one Contact with these URI parameters.
    static func contact(_ parameters: String) -> Registration {
        registration(of: ("Contact", "<sip:alice@10.0.0.5;\(parameters)>"), ("Expires", "600"))
    }
}
