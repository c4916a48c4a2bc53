// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// Huawei's Push Kit for HarmonyOS 5 and later: `POST /v3/<project>/messages:send` with a token that the service account
/// signed itself.
struct HarmonyOSService: SimulatedService {
    /// The service account that is known.
    struct Account {
        let project: String
        let keyID: String
        let subAccount: String
        /// Verifies PS256.
        let verify: SignatureCheck
    }

    /// Audience of all tokens ("Service account based authentication").
    static let audience = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
    private static let longestBody = 4_096
    private static let clockSkew: Int64 = 60

    private let account: Account
    private var messages: UInt64 = 0

    /// Code and words of a refusal.
    struct Rejection: Error {
        let status: Int
        let code: String
        let message: String

        init(_ status: Int, _ code: String, _ message: String) {
            self.status = status
            self.code = code
            self.message = message
        }
    }

    init(account: Account) { self.account = account }

    /// Checks one request; `now` in milliseconds since the epoch.
    mutating func answer(_ request: ReceivedRequest, now: Int64) -> ProviderAnswer {
        do throws(Rejection) {
            let project = try Self.project(request)
            try checkToken(request, now: now / 1_000)
            guard project == account.project else {
                throw Rejection(400, "80300002", "No permission to send message to these tmIDs")
            }
            let token = try Self.message(request)
            messages &+= 1
            var answer = Self.answer(200, "80000000", "Success", id: messages)
            answer.reason = "ok"
            answer.push = PushIdentity(token: token, body: request.body)
            return answer
        } catch {
            return Self.answer(error.status, error.code, error.message, id: messages)
        }
    }

    /// An answer in Huawei's form.
    static func answer(_ status: Int, _ code: String, _ message: String, id: UInt64 = 0) -> ProviderAnswer {
        ProviderAnswer(
            status: status, reason: "\(code) \(message)",
            json: .object([
                .init("code", .string(code)), .init("msg", .string(message)), .init("requestId", .string("\(id)")),
            ]))
    }

    /// The code that a status most often has.
    static func usualCode(for status: Int) -> (code: String, message: String) {
        switch status {
        case 200: ("80000000", "Success")
        case 401: ("80200001", "Oauth authentication error")
        case 404, 410: ("80300007", "All the tokens are invalid")
        case 500...: ("81000001", "System inner error")
        default: ("80100003", "Illegal payload")
        }
    }

    // MARK: Checks

    private static func project(_ request: ReceivedRequest) throws(Rejection) -> String {
        let path = request.text(.path) ?? ""
        guard request.text(.method) == "POST", path.hasPrefix("/v3/"), path.hasSuffix("/messages:send") else {
            throw Rejection(404, "80100001", "Parameter error: the path")
        }
        return String(path.dropFirst("/v3/".count).dropLast("/messages:send".count))
    }

    private func checkToken(_ request: ReceivedRequest, now: Int64) throws(Rejection) {
        let wrong = Rejection(401, "80200001", "Oauth authentication error")
        guard let value = request.bytes(.authorization), value.count > 7,
            String(decoding: value.prefix(7), as: UTF8.self) == "Bearer ", let token = WebToken(value.dropFirst(7)),
            token.algorithm == "PS256", token.keyID == account.keyID,
            token.claims["iss"]?.string == account.subAccount, token.claims["aud"]?.string == Self.audience,
            let issued = token.claims["iat"]?.integer, let expiry = token.claims["exp"]?.integer,
            issued <= now.addingClamped(Self.clockSkew), expiry > issued, expiry <= issued.addingClamped(3_600),
            account.verify(token.signed, token.signature)
        else { throw wrong }
        guard expiry > now else { throw Rejection(401, "80200003", "Oauth Token expired") }
    }

    /// The token that the message goes to.
    private static func message(_ request: ReceivedRequest) throws(Rejection) -> ArraySlice<UInt8> {
        guard request.body.count <= longestBody else {
            throw Rejection(400, "80300008", "The message body is larger than the default value")
        }
        guard let document = try? JSONParser.parse(request.body), case .object = document else {
            throw Rejection(400, "80100003", "Illegal payload: not a JSON object")
        }
        guard let type = request.text(.pushType), let payload = document["payload"], case .object = payload else {
            throw Rejection(400, "80100003", "Illegal payload: push-type and payload belong together")
        }
        if let objection = objection(to: payload, type) {
            throw Rejection(400, "80100003", "Illegal payload: \(objection)")
        }
        if let options = document["pushOptions"], let ttl = options["ttl"] {
            guard let seconds = ttl.integer, seconds >= 1, seconds <= 1_296_000 else {
                throw Rejection(400, "80100003", "Illegal payload: ttl")
            }
        }
        let tokens = document["target"]?["token"]?.array ?? []
        guard !tokens.isEmpty else { throw Rejection(400, "80100001", "Parameter error: token") }
        guard tokens.count <= 1_000 else { throw Rejection(400, "80300010", "The number of tokens is over the limit") }
        let token = Array((tokens[0].string ?? "").utf8)[...]
        switch NamedToken(token) {
        case .ordinary: break
        case .unregistered, .expired, .invalid: throw Rejection(200, "80300007", "All the tokens are invalid")
        case .mismatch: throw Rejection(200, "80300002", "No permission to send message to these tmIDs")
        }
        guard !token.isEmpty else { throw Rejection(400, "80100001", "Parameter error: token") }
        return token
    }

    private static func objection(to payload: JSONValue, _ type: String) -> String? {
        switch type {
        case "6", "10":
            guard let data = payload["extraData"]?.string, !data.isEmpty else { return "extraData is not a text" }
            return payload["notification"] == nil ? nil : "notification with push-type \(type)"
        case "0":
            let notification = payload["notification"]
            for name in ["category", "title", "body"] where (notification?[name]?.string ?? "").isEmpty {
                return name
            }
            guard let action = notification?["clickAction"]?["actionType"]?.integer, action == 0 || action == 1 else {
                return "clickAction"
            }
            return nil
        default: return "push-type \(type)"
        }
    }
}

extension HarmonyOSService {
    func token(of request: ReceivedRequest) -> ArraySlice<UInt8> {
        Self.text(in: request) { $0["target"]?["token"]?.array?.first?.string }
    }

    func success() -> ProviderAnswer {
        var answer = Self.answer(200, "80000000", "Success")
        answer.reason = "ok"
        return answer
    }

    func scripted(status: Int, reason: String?) -> ProviderAnswer {
        let usual = Self.usualCode(for: status)
        return Self.answer(status, reason ?? usual.code, reason == nil ? usual.message : "By script")
    }
}
