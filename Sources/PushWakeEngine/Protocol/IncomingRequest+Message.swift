// SPDX-License-Identifier: MIT

internal import PushWakeCore

extension IncomingRequest {
    /// Reads a request that a host hands over as it came: method, Request-URI, headers, body. Of the headers those are
    /// enough that `RequestReader.reads`. A host that knows the PURR already gives that in place of Request-URI and Route.
    init(decoding message: MessageReader) {
        var method = 0..<0
        var uri = 0..<0
        var body = 0..<0
        var purr = ""
        var fields = message
        while let field = fields.next() {
            switch field.tag {
            case .method: method = field.range
            case .requestURI: uri = field.range
            case .text: body = field.range
            case .purr: purr = fields.text(field)
            default: break
            }
        }
        let bytes = message.bytes.span
        var reader = RequestReader(method: bytes.extracting(method), uri: bytes.extracting(uri))
        var name = 0..<0
        fields = message
        while let field = fields.next() {
            switch field.tag {
            case .headerName: name = field.range
            case .headerValue: reader.header(name: bytes.extracting(name), value: bytes.extracting(field.range))
            default: break
            }
        }
        reader.body(bytes.extracting(body))
        self = reader.finish()
        if !purr.isEmpty { self.purr = purr }
    }
}
