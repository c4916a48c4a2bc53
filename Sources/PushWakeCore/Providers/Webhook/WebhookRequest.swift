// SPDX-License-Identifier: MIT

/// Builds the requests of one webhook; compiled once from its settings.
public struct WebhookRequest: Sendable {
    /// What is wrong with the settings.
    public enum Problem: Error, Equatable, Sendable {
        /// The URL is not an https URL, or has a keyword in its host.
        case badURL
        case badMethod
        /// This field's name or value cannot be sent.
        case badHeader(String)
        case badBody(PayloadTemplateError)
    }

    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    private static let longestTarget = 8192
    private static let longestBody = 65_536

    /// Where all requests go: no value can change the host.
    public let origin: HTTPOrigin
    private let method: String
    private let path: PayloadTemplate
    private let headers: [(name: String, value: HeaderValue)]
    private let body: PayloadTemplate?
    private let contentType: String?
    private let settings: WebhookSettings

    private enum HeaderValue: Sendable {
        case template(PayloadTemplate)
        case literal(String)
    }

    /// Compiles the templates.
    public init(settings: WebhookSettings) throws(Problem) {
        guard let (origin, path) = HTTPOrigin.split(settings.url), Self.hasLiteralHost(origin) else { throw .badURL }
        guard Self.methods.contains(settings.method) else { throw .badMethod }
        self.origin = origin
        self.settings = settings
        method = settings.method
        let target = path.hasPrefix("/") ? path : "/" + path
        guard target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .badURL }
        self.path = PayloadTemplate(text: target.utf8, escape: .percent)
        var headers: [(name: String, value: HeaderValue)] = []
        for header in settings.headers {
            let name = header.name.lowercased()
            let isSendable = header.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            guard HeaderText.isFieldName(name), isSendable else { throw .badHeader(header.name) }
            let value =
                header.isLiteral
                ? HeaderValue.literal(header.value)
                : .template(PayloadTemplate(text: header.value.utf8, escape: .line))
            headers.append((name, value))
        }
        self.headers = headers
        (body, contentType) = try Self.compile(settings.body)
    }

    /// Builds one request. `signature` gets the finished body, or path and query when there is none, and returns
    /// the value of `x-pushwake-signature`, or nil when there is no secret. `now` in seconds since 1970.
    public func build(
        _ binding: Binding, _ content: PushContent, id: PushID? = nil, now: Int64,
        signature: (_ text: [UInt8]) -> [UInt8]? = { _ in nil }
    ) throws(PushFailure) -> HTTPRequest {
        let values = PayloadValues(binding: binding, content: content, settings: settings.payload, now: now)
        var request = HTTPRequest(reservingBytes: 512, fields: headers.count + 7)
        request.append(":method", method)
        request.append(":scheme", "https")
        request.append(":authority", origin.authority)
        var target: [UInt8] = []
        guard path.render(values, limit: Self.longestTarget, into: &target) else { throw .payloadTooLarge }
        guard !DotSegments.arePresent(in: target) else { throw .unusableToken }
        request.append(":path", neverIndexed: true) { $0.append(contentsOf: target) }
        if let body, !body.render(values, limit: Self.longestBody, into: &request.body) { throw .payloadTooLarge }
        if let contentType, !headers.contains(where: { $0.name == "content-type" }) {
            request.append("content-type", contentType)
        }
        for header in headers {
            request.append(header.name, neverIndexed: true) { out in
                let begin = out.count
                switch header.value {
                case .template(let template): template.render(values, into: &out)
                case .literal(let text): out.append(contentsOf: text.utf8)
                }
                Self.trim(&out, from: begin)
            }
        }
        if let id { request.append(WebhookCredential.idHeaderName, neverIndexed: true) { id.append(to: &$0) } }
        if let value = signature(request.body.isEmpty ? target : request.body) {
            request.append(WebhookCredential.headerName, neverIndexed: true) { $0.append(contentsOf: value) }
        }
        return request
    }

    /// A field that begins or ends with a blank, as a caller's name may, makes the request malformed: servers may end the
    /// connection for it (RFC 9113, 8.2.1).
    private static func trim(_ out: inout [UInt8], from begin: Int) {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        while out.count > begin, let last = out.last, isBlank(last) { out.removeLast() }
        out.removeSubrange(begin..<(out[begin...].firstIndex { !isBlank($0) } ?? begin))
    }

    private static func compile(_ body: WebhookSettings.Body) throws(Problem) -> (PayloadTemplate?, String?) {
        switch body {
        case .none: return (nil, nil)
        case .form(let text):
            return (PayloadTemplate(text: text.utf8, escape: .percent), "application/x-www-form-urlencoded")
        case .text(let text):
            return (PayloadTemplate(text: text.utf8, escape: .line), "text/plain; charset=utf-8")
        case .json(let text):
            do throws(PayloadTemplateError) {
                return (try PayloadTemplate(json: text.utf8), "application/json")
            } catch { throw .badBody(error) }
        }
    }

    /// `https://$token/` and the like are no hosts anyway; upper-case words could be one.
    private static func hasLiteralHost(_ origin: HTTPOrigin) -> Bool {
        !PayloadField.words.contains { $0.name.lowercased() == origin.host }
    }
}

/// The signature that tells a webhook's receiver that a request is genuine and fresh:
/// `x-pushwake-signature: t=<seconds>,v1=<hex HMAC-SHA-256 of "<seconds>.<body>">`, with path and query in place
/// of a body that is empty.
public enum WebhookCredential {
    /// Field that carries time and signature.
    public static let headerName = "x-pushwake-signature"
    /// Names the push, the same in every attempt: who has seen it before need not show it again.
    public static let idHeaderName = "x-pushwake-id"
    /// Bytes below which a secret can be guessed.
    public static let shortestSecret = 16

    /// The bytes to authenticate with the shared secret; `now` in seconds since 1970.
    public static func signingInput(_ body: [UInt8], now: Int64) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(body.count + 24)
        Decimal.append(now, to: &out)
        out.append(ASCII.dot)
        out += body
        return out
    }

    /// The value of the field for an authentication code of 32 bytes.
    public static func headerValue(_ code: [UInt8], now: Int64) -> [UInt8] {
        var out = Array("t=".utf8)
        Decimal.append(now, to: &out)
        out += Array(",v1=".utf8)
        out += Array(Hex.encode(code).utf8)
        return out
    }
}
