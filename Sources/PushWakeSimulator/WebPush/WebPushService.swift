// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// A Web Push service (RFC 8030) that wants VAPID (RFC 8292) and aes128gcm bodies (RFC 8291):
/// `POST /push/<subscription>`, errors in Mozilla's form.
struct WebPushService {
    /// Verifies ES256 with the 65-byte public point of the token's sender.
    typealias PointCheck = (_ point: [UInt8], _ signed: [UInt8], _ signature: [UInt8]) -> Bool

    /// Limits that a script may change.
    var rules = WebPushRules()
    private let ownKey: [UInt8]
    private let open: (_ body: [UInt8]) -> [UInt8]?
    private let verify: PointCheck
    private var messages: UInt64 = 0
    /// The last `Authorization` that was verified, its origin and its expiry: senders use one for hours.
    private var known: (authorization: [UInt8], authority: [UInt8], expiry: Int64)?

    /// Why a push is refused.
    struct Rejection: Error {
        let status: Int
        let errno: Int64
        let message: String

        init(_ status: Int, _ errno: Int64, _ message: String) {
            self.status = status
            self.errno = errno
            self.message = message
        }
    }

    /// `open` decrypts what is for a browser of the simulator's own; nil for anybody else's.
    init(
        ownKey: [UInt8], open: @escaping (_ body: [UInt8]) -> [UInt8]? = { _ in nil }, verify: @escaping PointCheck
    ) {
        self.ownKey = ownKey
        self.open = open
        self.verify = verify
    }

    /// Checks one request; `now` in milliseconds since the epoch.
    mutating func answer(_ request: ReceivedRequest, now: Int64) -> ProviderAnswer {
        do throws(Rejection) {
            let subscription = try Self.subscription(request)
            try Self.checkHeaders(request)
            try checkAuthorization(request, now: now / 1_000)
            try Self.checkBody(request)
            try checkDeclaration(request)
            try Self.checkSubscription(subscription)
            messages &+= 1
            let authority = request.text(.authority) ?? "localhost"
            return ProviderAnswer(
                status: 201, reason: "ok",
                headers: [
                    .init("location", "https://\(authority)/message/\(messages)"),
                    .init("ttl", Array(request.bytes(.ttl) ?? [])),
                ],
                push: PushIdentity(token: subscription, body: request.body))
        } catch {
            return Self.refusal(error.status, errno: error.errno, error.message)
        }
    }

    /// Any error in Mozilla's form.
    static func refusal(_ status: Int, errno: Int64, _ message: String) -> ProviderAnswer {
        let json = JSONValue.object([
            .init("code", .integer(Int64(status))), .init("errno", .integer(errno)),
            .init("error", .string(word(status))), .init("message", .string(message)),
        ])
        return ProviderAnswer(status: status, reason: message, json: json)
    }

    private static func word(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 410: "Gone"
        case 413: "Request Entity Too Large"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: status < 500 ? "Bad Request" : "Internal Server Error"
        }
    }

    // MARK: Checks

    private static func subscription(_ request: ReceivedRequest) throws(Rejection) -> ArraySlice<UInt8> {
        guard request.text(.method) == "POST" else { throw Rejection(405, 900, "Method not allowed") }
        let id = (request.bytes(.path) ?? []).dropFirst("/push/".utf8.count)
        guard !id.isEmpty, id.count <= 1_024 else { throw Rejection(404, 102, "Invalid URL endpoint") }
        return id
    }

    private static func checkHeaders(_ request: ReceivedRequest) throws(Rejection) {
        guard let ttl = request.bytes(.ttl) else { throw Rejection(400, 111, "Missing TTL header") }
        guard !ttl.isEmpty, ttl.count <= 10, ttl.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            throw Rejection(400, 112, "Invalid TTL header")
        }
        if let urgency = request.text(.urgency), !["very-low", "low", "normal", "high"].contains(urgency) {
            throw Rejection(400, 114, "Invalid Urgency header")
        }
        if let topic = request.bytes(.topic) {
            guard !topic.isEmpty, topic.count <= 32, topic.allSatisfy(Base64URL.contains) else {
                throw Rejection(400, 113, "Invalid Topic header")
            }
        }
    }

    private mutating func checkAuthorization(_ request: ReceivedRequest, now: Int64) throws(Rejection) {
        guard let value = request.bytes(.authorization) else {
            guard !rules.requiresVAPID else { throw Rejection(401, 109, "Missing VAPID authorization") }
            return
        }
        let authority = request.bytes(.authority) ?? []
        if let known, known.expiry > now, value.elementsEqual(known.authorization),
            authority.elementsEqual(known.authority)
        {
            return
        }
        let (token, point) = try Self.parts(value)
        guard verify(point, token.signed, token.signature) else { throw Rejection(401, 109, "Invalid VAPID signature") }
        let origin = "https://" + String(decoding: authority, as: UTF8.self)
        guard Self.origin(token.claims["aud"]?.string ?? "") == Self.origin(origin) else {
            throw Rejection(401, 109, "VAPID aud is not \(origin)")
        }
        guard let expiry = token.claims["exp"]?.integer, expiry > now, expiry <= now.addingClamped(86_400) else {
            throw Rejection(401, 109, "VAPID exp is past or more than 24 hours away")
        }
        let subject = token.claims["sub"]?.string ?? ""
        guard subject.hasPrefix("mailto:") || subject.hasPrefix("https:") else {
            throw Rejection(401, 109, "VAPID sub is neither mailto: nor https:")
        }
        guard !rules.requiresOwnKey || point == ownKey else { throw Rejection(403, 109, "VapidPkHashMismatch") }
        known = (Array(value), Array(authority), expiry)
    }

    /// Token and key of `vapid t=…, k=…`.
    private static func parts(_ value: ArraySlice<UInt8>) throws(Rejection) -> (WebToken, [UInt8]) {
        let text = String(decoding: value, as: UTF8.self)
        guard text.prefix(6).lowercased() == "vapid " else { throw Rejection(401, 109, "Authorization is not vapid") }
        var fields: [Substring: Substring] = [:]
        for part in text.dropFirst(6).split(separator: ",") {
            let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { fields[pair[0]] = pair[1].prefix { $0 != " " } }
        }
        guard let t = fields["t"], let token = WebToken(Array(t.utf8)[...]), token.algorithm == "ES256" else {
            throw Rejection(401, 109, "VAPID t is not an ES256 token")
        }
        guard let k = fields["k"], let point = Base64URL.decode(k.utf8), point.count == 65, point[0] == 4 else {
            throw Rejection(401, 109, "VAPID k is not a P-256 point")
        }
        return (token, point)
    }

    private static func origin(_ text: String) -> HTTPOrigin? { HTTPOrigin(text) }

    private static func checkBody(_ request: ReceivedRequest) throws(Rejection) {
        let body = request.body
        guard body.count <= 4_096, !request.isTooLarge else { throw Rejection(413, 104, "Data payload too large") }
        guard !body.isEmpty else { return }
        guard request.text(.contentEncoding) == "aes128gcm" else {
            throw Rejection(400, 110, "Content-Encoding is not aes128gcm")
        }
        // RFC 8188, 2.1 and RFC 8291, 4: salt, record size, and the sender's P-256 point as key id; one record.
        guard body.count >= 86 + 17, body[20] == 65, body[21] == 4 else {
            throw Rejection(400, 110, "Broken aes128gcm header")
        }
        let size = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        guard size >= 18, body.count - 86 <= size else { throw Rejection(400, 110, "Body is not one record") }
    }

    /// A browser drops without a word what it is told to show and cannot: the simulator says so.
    private func checkDeclaration(_ request: ReceivedRequest) throws(Rejection) {
        guard request.text(.contentType) == "application/notification+json" else { return }
        guard !request.body.isEmpty else {
            throw Rejection(400, 110, "Not a declarative push message: the body is empty")
        }
        guard let payload = open(request.body), let objection = DeclarativeMessage.objection(to: payload) else {
            return
        }
        throw Rejection(400, 110, "Not a declarative push message: \(objection)")
    }

    private static func checkSubscription(_ id: ArraySlice<UInt8>) throws(Rejection) {
        switch NamedToken(id) {
        case .ordinary: return
        case .unregistered: throw Rejection(410, 106, "No such subscription")
        case .expired: throw Rejection(404, 102, "Subscription expired")
        case .invalid: throw Rejection(404, 102, "Invalid URL endpoint")
        case .mismatch: throw Rejection(403, 109, "VapidPkHashMismatch")
        }
    }
}

/// What may differ between push services.
struct WebPushRules: Equatable, Sendable {
    /// A push without VAPID is refused.
    var requiresVAPID = true
    /// Only the generated key may push, as if all subscriptions had been made with it (RFC 8292, 4.2).
    var requiresOwnKey = false

    init() {}
}

/// The subscription whose keys `simulator.json` names: the one browser whose pushes the simulator can read.
struct OwnSubscription {
    let key: PrivateKey
    /// `auth`, 16 bytes.
    let secret: [UInt8]

    /// The payload of an aes128gcm body; nil when it is for somebody else (RFC 8291, 3.4; RFC 8188, 2).
    func open(_ body: [UInt8]) -> [UInt8]? {
        guard body.count > 86 + 16, body[20] == 65 else { return nil }
        let sender = Array(body[21..<86])
        guard let shared = try? Crypto.ecdhP256(key, peerPoint: sender) else { return nil }
        let material = Self.derive(
            salt: secret, shared, Array("WebPush: info\0".utf8) + key.publicPoint() + sender, 32)
        let salt = Array(body[..<16])
        let content = Self.derive(salt: salt, material, Array("Content-Encoding: aes128gcm\0".utf8), 16)
        let nonce = Self.derive(salt: salt, material, Array("Content-Encoding: nonce\0".utf8), 12)
        guard var padded = try? Crypto.openAES128GCM(key: content, nonce: nonce, Array(body[86...])) else { return nil }
        while padded.last == 0 { padded.removeLast() }
        return padded.last == 2 ? padded.dropLast() : nil
    }

    /// HKDF with one block (RFC 5869).
    private static func derive(salt: [UInt8], _ input: [UInt8], _ info: [UInt8], _ count: Int) -> [UInt8] {
        let extracted = Crypto.hmacSHA256(key: salt, input)
        return Array(Crypto.hmacSHA256(key: extracted, info + [1]).prefix(count))
    }
}

/// What a browser makes of a decrypted push (W3C Push API, "declarative push message parser"): what is no declarative
/// message goes to the service worker, as every push did before.
enum DeclarativeMessage {
    /// Why a browser would not show a message that says it is one; nil when it would.
    static func objection(to payload: [UInt8]) -> String? {
        guard let document = try? JSONParser.parse(payload), case .object = document else { return "not a JSON object" }
        guard document["web_push"]?.integer == 8030 else { return "web_push is not 8030" }
        guard let notification = document["notification"], case .object = notification else {
            return "notification is not an object"
        }
        guard let title = notification["title"]?.string, !title.isEmpty else { return "title is missing" }
        // Nothing to resolve it against: it must be absolute.
        guard let target = notification["navigate"]?.string, HTTPOrigin.split(target) != nil else {
            return "navigate is not an https URL"
        }
        for name in ["body", "lang", "tag", "icon", "image", "badge"] {
            if let value = notification[name], value.string == nil { return "\(name) is not a string" }
        }
        if let direction = notification["dir"]?.string, !["auto", "ltr", "rtl"].contains(direction) {
            return "dir is none of auto, ltr, rtl"
        }
        for (value, name) in [(document["mutable"], "mutable"), (notification["silent"], "silent")] {
            switch value {
            case nil, .bool?: break
            default: return "\(name) is neither true nor false"
            }
        }
        return nil
    }
}
