// SPDX-License-Identifier: MIT

extension IncomingRequest {
    /// Reads a request whose lines end in CRLF or LF; nil when the bytes are no SIP request.
    public init?(file bytes: Span<UInt8>) {
        guard let message = SIPMessage(bytes), !message.method.isEmpty else { return nil }
        var reader = RequestReader(method: message.method.utf8.span, uri: bytes.part(message.requestURI))
        for header in message.headers {
            reader.header(name: bytes.part(header.name), value: bytes.part(header.value))
        }
        reader.body(bytes.part(message.body))
        self = reader.finish()
    }
}
