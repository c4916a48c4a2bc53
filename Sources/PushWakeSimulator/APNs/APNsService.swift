// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// Apple's provider API: `POST /3/device/<token>`, checked in the order path, method, headers,
/// provider token, topic, payload, device token.
struct APNsService {
    /// One `.p8` key that the service knows.
    struct Key {
        /// Its ten characters.
        let id: String
        /// The team it belongs to.
        let team: String
        /// Verifies ES256 with it.
        let verify: SignatureCheck

        init(id: String, team: String, verify: @escaping SignatureCheck) {
            self.id = id
            self.team = team
            self.verify = verify
        }
    }

    /// Limits that a script may change.
    var rules = APNsRules()
    private let keys: [Key]
    private var generatedIDs: UInt64 = 0
    private static let devicePath = Array("/3/device/".utf8)

    init(keys: [Key]) { self.keys = keys }

    /// Checks one request. `now` is in milliseconds since the epoch, as Apple's timestamps are.
    mutating func answer(_ request: ReceivedRequest, session: inout APNsSession, now: Int64) -> ProviderAnswer {
        let id = request.bytes(.apnsID)
        do throws(APNsRejection) {
            let token = try Self.deviceToken(request)
            try Self.checkHeaders(request)
            if let certificate = session.certificate {
                try check(certificate, now: now / 1_000)
            } else {
                try checkProviderToken(request, session: &session, now: now / 1_000)
            }
            let type = try checkTopic(request, certificate: session.certificate)
            try Self.checkPriority(request, type: type)
            try Self.checkPayload(request, type: type)
            try Self.checkDevice(token)
            session.hasAcceptedPush = true
            return ProviderAnswer(
                // `checkHeaders` has seen that an id is one.
                status: 200, headers: [.init("apns-id", id.map(Array.init) ?? makeID())],
                push: PushIdentity(token: token, body: request.body, id: id))
        } catch {
            return refusal(error.reason, id: id, now: now)
        }
    }

    /// The answer for a reason; 410 carries the time since which the token is known to be dead.
    mutating func refusal(_ reason: APNsReason, id: ArraySlice<UInt8>?, now: Int64) -> ProviderAnswer {
        answer(status: reason.status, reason: reason.rawValue, id: id, timestamp: reason.status == 410 ? now : nil)
    }

    /// Any answer in Apple's form.
    mutating func answer(status: Int, reason: String, id: ArraySlice<UInt8>?, timestamp: Int64?) -> ProviderAnswer {
        let headers = [ProviderAnswer.Header("apns-id", echo(id))]
        guard status != 200 else { return ProviderAnswer(status: 200, headers: headers) }
        var members = [JSONValue.Member("reason", .string(reason))]
        if let timestamp { members.append(.init("timestamp", .integer(timestamp))) }
        return ProviderAnswer(
            status: status, reason: reason, headers: headers, body: JSONText.bytes(.object(members)))
    }

    // MARK: Checks

    private static func deviceToken(_ request: ReceivedRequest) throws(APNsRejection) -> ArraySlice<UInt8> {
        let path = request.bytes(.path) ?? []
        guard path.starts(with: devicePath) else {
            throw APNsRejection(path.elementsEqual("/3/device".utf8) ? .missingDeviceToken : .badPath)
        }
        let token = path.dropFirst(devicePath.count)
        guard request.bytes(.method)?.elementsEqual("POST".utf8) == true else { throw APNsRejection(.methodNotAllowed) }
        guard !token.isEmpty else { throw APNsRejection(.missingDeviceToken) }
        guard !token.contains(UInt8(ascii: "/")) else { throw APNsRejection(.badPath) }
        return token
    }

    private static func checkHeaders(_ request: ReceivedRequest) throws(APNsRejection) {
        guard !request.hasDuplicates else { throw APNsRejection(.duplicateHeaders) }
        if let id = request.bytes(.apnsID), !isUUID(id) { throw APNsRejection(.badMessageID) }
        if let expiration = request.bytes(.apnsExpiration), !isNumber(expiration) {
            throw APNsRejection(.badExpirationDate)
        }
        if let collapse = request.bytes(.apnsCollapseID), collapse.isEmpty || collapse.count > 64 {
            throw APNsRejection(.badCollapseID)
        }
    }

    /// With a certificate Apple does not look at `authorization`.
    private func check(_ certificate: ClientCertificate, now: Int64) throws(APNsRejection) {
        guard certificate.isTrusted || rules.takesAnyCertificate, certificate.validity.contains(now),
            !certificate.topics.isEmpty
        else { throw APNsRejection(.badCertificate) }
        let isHere =
            switch rules.environment {
            case .production: certificate.isForProduction
            case .sandbox: certificate.isForSandbox
            case .standard, nil: certificate.isForProduction || certificate.isForSandbox
            }
        guard isHere else { throw APNsRejection(.badCertificateEnvironment) }
    }

    private func checkProviderToken(
        _ request: ReceivedRequest, session: inout APNsSession, now: Int64
    ) throws(APNsRejection) {
        guard let value = request.bytes(.authorization) else { throw APNsRejection(.missingProviderToken) }
        if session.keyID == nil || !Self.isSame(value, session.authorization) {
            try takeProviderToken(value, session: &session, now: now)
        }
        guard session.issuedAt >= now.subtractingClamped(rules.tokenAge) else {
            throw APNsRejection(.expiredProviderToken)
        }
    }

    /// Verifies a token that this connection has not shown before, and remembers it.
    private func takeProviderToken(
        _ value: ArraySlice<UInt8>, session: inout APNsSession, now: Int64
    ) throws(APNsRejection) {
        let scheme = value.prefix(7)
        guard scheme.count == 7, String(decoding: scheme, as: UTF8.self).lowercased() == "bearer " else {
            throw APNsRejection(.invalidProviderToken)
        }
        guard let token = WebToken(value.dropFirst(7)), token.algorithm == "ES256",
            let key = keys.first(where: { $0.id == token.keyID }), let issuedAt = token.claims["iat"]?.integer,
            token.claims["iss"]?.string == rules.team ?? key.team, issuedAt <= now.addingClamped(rules.clockSkew),
            key.verify(token.signed, token.signature)
        else { throw APNsRejection(.invalidProviderToken) }
        guard issuedAt >= now.subtractingClamped(rules.tokenAge) else { throw APNsRejection(.expiredProviderToken) }
        if let first = session.keyID {
            guard first == key.id else { throw APNsRejection(.unrelatedKeyIDInToken) }
            if let changed = session.changedAt, now.subtractingClamped(changed) < rules.tokenChange {
                throw APNsRejection(.tooManyProviderTokenUpdates)
            }
            session.changedAt = now
        }
        session.keyID = key.id
        session.authorization = Array(value)
        session.issuedAt = issuedAt
    }

    private func checkTopic(
        _ request: ReceivedRequest, certificate: ClientCertificate?
    ) throws(APNsRejection) -> APNsPushType {
        // A certificate with one topic speaks for a request that names none.
        let implied = certificate.flatMap { $0.topics.count == 1 ? $0.topics.first : nil }
        guard let topic = request.bytes(.apnsTopic) ?? implied.map({ Array($0.utf8)[...] }) else {
            throw APNsRejection(.missingTopic)
        }
        guard Self.isTopic(topic) else { throw APNsRejection(.badTopic) }
        if let certificate, !certificate.topics.contains(where: { topic.elementsEqual($0.utf8) }) {
            throw APNsRejection(.topicDisallowed)
        }
        let actual = APNsPushType.ofTopic(topic)
        var type = actual
        if let value = request.bytes(.apnsPushType) {
            guard let named = APNsPushType(value) else { throw APNsRejection(.invalidPushType) }
            type = named
        }
        if let suffix = type.topicSuffix, suffix != actual.topicSuffix {
            // The device token belongs to the topic with the suffix; a suffix of another kind is the type's fault.
            throw APNsRejection(actual == .alert ? .deviceTokenNotForTopic : .invalidPushType)
        }
        guard !rules.topics.isEmpty else { return type }
        let bundle = topic.dropLast(type.topicSuffix?.utf8.count ?? 0)
        guard rules.topics.contains(where: { bundle.elementsEqual($0.utf8) }) else {
            throw APNsRejection(.topicDisallowed)
        }
        return type
    }

    private static func checkPriority(_ request: ReceivedRequest, type: APNsPushType) throws(APNsRejection) {
        guard let priority = request.bytes(.apnsPriority) else { return }
        let isTen = priority.elementsEqual("10".utf8)
        let isOther =
            priority.count == 1 && (priority.first == UInt8(ascii: "5") || priority.first == UInt8(ascii: "1"))
        guard isTen || isOther, !(isTen && type == .background) else { throw APNsRejection(.badPriority) }
    }

    private static func checkPayload(_ request: ReceivedRequest, type: APNsPushType) throws(APNsRejection) {
        guard request.body.count <= (type == .voip ? 5_120 : 4_096), !request.isTooLarge else {
            throw APNsRejection(.payloadTooLarge)
        }
        guard JSONParser.isObject(request.body) else { throw APNsRejection(.payloadEmpty) }
    }

    private static func checkDevice(_ token: ArraySlice<UInt8>) throws(APNsRejection) {
        guard token.count <= 512, token.allSatisfy(isTokenByte) else { throw APNsRejection(.badDeviceToken) }
        switch NamedToken(token) {
        case .ordinary: return
        case .unregistered: throw APNsRejection(.unregistered)
        case .expired: throw APNsRejection(.expiredToken)
        case .invalid: throw APNsRejection(.badDeviceToken)
        case .mismatch: throw APNsRejection(.deviceTokenNotForTopic)
        }
    }

    // MARK: Forms

    /// The id to send back; Apple makes one up when the request has none.
    private mutating func echo(_ id: ArraySlice<UInt8>?) -> [UInt8] {
        if let id, Self.isUUID(id) { return Array(id) }
        return makeID()
    }

    private mutating func makeID() -> [UInt8] {
        generatedIDs &+= 1
        let digits = String(generatedIDs, radix: 16, uppercase: true)
        let tail = String(repeating: "0", count: max(0, 12 - digits.count)) + digits.suffix(12)
        return Array("00000000-0000-4000-8000-\(tail)".utf8)
    }

    /// Letters, digits, `:` and `-._~`.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        let letter = (byte | 0x20) &- 0x61
        return letter < 26 || byte &- 0x30 < 11 || byte &- 0x2D < 2 || byte == 0x5F || byte == 0x7E
    }

    /// Compares whole values; the provider token is looked at with every push.
    private static func isSame(_ value: ArraySlice<UInt8>, _ known: [UInt8]) -> Bool {
        guard value.count == known.count else { return false }
        return value.withUnsafeBytes { left in
            known.withUnsafeBytes { right in
                var difference: UInt64 = 0
                var offset = 0
                while offset &+ 8 <= left.count {
                    difference |=
                        left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                        ^ right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                    offset &+= 8
                }
                while offset < left.count {
                    difference |= UInt64(left[offset] ^ right[offset])
                    offset &+= 1
                }
                return difference == 0
            }
        }
    }

    private static func isUUID(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count == 36 else { return false }
        return text.withUnsafeBufferPointer { bytes in
            for index in 0..<bytes.count {
                let byte = bytes[index]
                let isDash = index == 8 || index == 13 || index == 18 || index == 23
                let isHex = byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6
                guard isDash ? byte == UInt8(ascii: "-") : isHex else { return false }
            }
            return true
        }
    }

    private static func isNumber(_ text: ArraySlice<UInt8>) -> Bool {
        !text.isEmpty && text.count <= 12 && text.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    }

    private static func isTopic(_ text: ArraySlice<UInt8>) -> Bool {
        guard !text.isEmpty, text.count <= 255, text.first != UInt8(ascii: "."), text.last != UInt8(ascii: ".") else {
            return false
        }
        return text.allSatisfy { Base64URL.contains($0) || $0 == UInt8(ascii: ".") }
    }
}

/// What may differ from Apple's defaults, mostly so that hours need not pass in a test.
struct APNsRules: Equatable, Sendable {
    /// Seconds after which a provider token is refused.
    var tokenAge: Int64 = 3_600
    /// Seconds in which a connection may change its provider token once.
    var tokenChange: Int64 = 1_200
    /// Seconds that `iat` may lie in the future, for clocks that differ.
    var clockSkew: Int64 = 60
    /// Bundle ids that the team may push to; empty: any.
    var topics: [String] = []
    /// `production` or `sandbox`: where this service is, for certificates that are for one of them; nil: both at once.
    var environment: Environment?
    /// Certificates of any authority are good, such as Apple's own.
    var takesAnyCertificate = false
    /// The only team; nil: the one of the generated key.
    var team: String?

    init() {}
}

/// What APNs remembers about one connection: certificate, and the provider token that it verified last.
struct APNsSession: Sendable {
    /// What the sender showed in the TLS handshake; nil: nothing, so it needs provider tokens.
    var certificate: ClientCertificate?
    /// The whole `authorization` value, so that the same bytes are verified once.
    var authorization: [UInt8] = []
    /// `iat` of that token.
    var issuedAt: Int64 = 0
    /// Key id of the first token on this connection.
    var keyID: String?
    /// When the token last changed, after the first one.
    var changedAt: Int64?
    /// A push was accepted, so the stream limit may rise.
    var hasAcceptedPush = false
}
