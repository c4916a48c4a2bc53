// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// Firebase Cloud Messaging, HTTP v1: `POST /v1/projects/<project>/messages:send`.
struct FCMService {
    private let projects: Set<String>
    private var messages: UInt64 = 0

    init(projects: Set<String>) { self.projects = projects }

    /// Checks one request; `now` in milliseconds since the epoch.
    mutating func answer(_ request: ReceivedRequest, tokens: AccessTokens, now: Int64) -> ProviderAnswer {
        do throws(FCMError) {
            let project = try Self.project(in: request)
            let owner = try Self.owner(of: request, tokens: tokens, now: now / 1_000)
            guard projects.contains(project), owner == project else { throw Self.denied(project) }
            let document = try Self.document(request.body)
            try FCMSchema.request.check(document, at: "")
            return try send(document, to: project, body: request.body, now: now)
        } catch {
            return error.answer
        }
    }

    private static func project(in request: ReceivedRequest) throws(FCMError) -> String {
        let path = request.text(.path) ?? ""
        let prefix = "/v1/projects/"
        let suffix = "/messages:send"
        guard path.hasPrefix(prefix), path.hasSuffix(suffix), path.utf8.count > prefix.utf8.count + suffix.utf8.count,
            request.text(.method) == "POST"
        else { throw FCMError(404, "NOT_FOUND", "Method not found.") }
        return String(path.dropFirst(prefix.count).dropLast(suffix.count))
    }

    private static func denied(_ project: String) -> FCMError {
        FCMError(
            403, "PERMISSION_DENIED",
            "Permission 'cloudmessaging.messages.create' denied on resource "
                + "'//cloudresourcemanager.googleapis.com/projects/\(project)' (or it may not exist).")
    }

    /// The project whose account got the access token.
    private static func owner(
        of request: ReceivedRequest, tokens: AccessTokens, now: Int64
    ) throws(FCMError) -> String {
        guard let value = request.bytes(.authorization), value.count > 7,
            String(decoding: value.prefix(7), as: UTF8.self).lowercased() == "bearer ",
            let project = tokens.project(of: value.dropFirst(7), now: now)
        else { throw .unauthenticated }
        return project
    }

    private static func document(_ body: [UInt8]) throws(FCMError) -> JSONValue {
        do throws(JSONParser.Failure) {
            return try JSONParser.parse(body)
        } catch {
            let text = "Invalid JSON payload received. \(error)."
            throw FCMError(400, "INVALID_ARGUMENT", text)
        }
    }

    private mutating func send(
        _ document: JSONValue, to project: String, body: [UInt8], now: Int64
    ) throws(FCMError) -> ProviderAnswer {
        guard let message = document["message"], case .object = message else {
            throw .invalidArgument("The message is not set.", field: "message")
        }
        let targets = ["token", "topic", "condition"].compactMap { message[$0]?.string }
        guard targets.count == 1, let target = targets.first else {
            throw .invalidArgument("Recipient of the message is not set.", field: "message")
        }
        try Self.checkData(message["data"], field: "message.data")
        try Self.checkAndroid(message["android"], field: "message.android")
        try Self.checkAndroidV2(message["android_v2"])
        let limit = message["token"] == nil ? 2_048 : 4_096
        guard Self.payloadSize(message) <= limit else { throw .tooLarge }
        if message["token"] != nil { try Self.checkToken(Array(target.utf8)[...]) }
        if let reason = FCMAppleHeaders(message["apns"])?.rejection { throw .refusedByApple(reason) }
        if document["validate_only"] == .bool(true) { return Self.success(project, "fake_message_id") }
        messages &+= 1
        let digits = String(messages, radix: 16)
        let tail = String(repeating: "0", count: max(0, 16 - digits.count)) + digits
        var answer = Self.success(project, "0:\(now)\(messages % 1_000)%\(tail)")
        answer.push = PushIdentity(token: Array(target.utf8)[...], body: body)
        return answer
    }

    /// What a message that was taken gets.
    static func success(_ project: String, _ id: String) -> ProviderAnswer {
        ProviderAnswer(
            status: 200, reason: "ok",
            json: .object([.init("name", .string("projects/\(project)/messages/\(id)"))]))
    }

    private static func checkToken(_ token: ArraySlice<UInt8>) throws(FCMError) {
        guard !token.isEmpty, token.count <= 4_096,
            token.allSatisfy({ Base64URL.contains($0) || $0 == UInt8(ascii: ":") })
        else { throw .invalidToken }
        switch NamedToken(token) {
        case .ordinary: return
        case .unregistered, .expired: throw .unregistered
        case .invalid: throw .invalidToken
        case .mismatch: throw .senderMismatch
        }
    }

    private static func checkData(_ data: JSONValue?, field: String) throws(FCMError) {
        guard case .object(let members)? = data else { return }
        for member in members {
            let isReserved =
                member.name == "from" || member.name == "message_type" || member.name.hasPrefix("google.")
                || member.name.hasPrefix("gcm.")
            guard !isReserved else { throw .invalidArgument("Invalid data payload key: \(member.name)", field: field) }
        }
    }

    private static func checkAndroid(_ android: JSONValue?, field: String) throws(FCMError) {
        try checkData(android?["data"], field: "\(field).data")
        guard let text = android?["ttl"]?.string, let seconds = FCMSchema.seconds(text) else { return }
        guard seconds >= 0, seconds <= 2_419_200 else {
            throw .invalidArgument("TTL should be between 0 and 2419200 seconds: \(text)", field: "\(field).ttl")
        }
    }

    /// One kind of message, and what a notification shows.
    private static func checkAndroidV2(_ android: JSONValue?) throws(FCMError) {
        guard let android, case .object = android else { return }
        let field = "message.android_v2"
        try checkAndroid(android, field: field)
        let shown = android["remote_notification"]
        guard (shown == nil) != (android["background_sync"] == nil) else {
            throw .invalidArgument("Exactly one of remote_notification and background_sync must be set.", field: field)
        }
        guard let shown else { return }
        guard case .object? = shown["notification"] else {
            throw .invalidArgument("The notification is not set.", field: "\(field).remote_notification")
        }
    }

    /// Bytes of the keys and values that go to the device.
    private static func payloadSize(_ message: JSONValue) -> Int {
        var size = 0
        let (android, second) = (message["android"], message["android_v2"])
        let shown = second?["remote_notification"]?["notification"]
        for part in [
            message["data"], android?["data"], message["notification"], android?["notification"], second?["data"],
            shown,
        ] {
            guard case .object(let members)? = part else { continue }
            for member in members { size += member.name.utf8.count + (member.value.string?.utf8.count ?? 0) }
        }
        return size
    }
}
