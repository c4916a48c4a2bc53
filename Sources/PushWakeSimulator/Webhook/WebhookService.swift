// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// A server of an operator's own that takes pushes: `/webhook/TOKEN`, or `/webhook` with a JSON body whose `token`
/// says who is meant. Any method will do; the signature must be right.
struct WebhookService: SimulatedService {
    /// Makes the HMAC-SHA-256 of bytes with the shared secret.
    typealias Authenticator = ([UInt8]) -> [UInt8]

    /// Seconds that the time in a signature may be off.
    static let tolerance: Int64 = 300

    private let authenticate: Authenticator

    init(authenticate: @escaping Authenticator) { self.authenticate = authenticate }

    /// Checks one request; `now` in milliseconds since the epoch.
    func answer(_ request: ReceivedRequest, now: Int64) -> ProviderAnswer {
        do throws(Rejection) {
            try checkSignature(request, now: now / 1_000)
        } catch {
            return Self.refusal(401, error.reason)
        }
        let token = token(of: request)
        switch NamedToken(token) {
        case .unregistered: return Self.refusal(410, "Gone")
        case .expired: return Self.refusal(404, "NotFound")
        case .invalid: return Self.refusal(400, "BadToken")
        case .mismatch: return Self.refusal(403, "Forbidden")
        case .ordinary: break
        }
        guard !token.isEmpty else { return Self.refusal(400, "MissingToken") }
        var answer = ProviderAnswer(status: 200, reason: "ok", json: .object([.init("taken", .bool(true))]))
        answer.push = PushIdentity(token: token, body: Self.signedText(of: request), id: request.bytes(.webhookID))
        return answer
    }

    /// An answer that is not a success.
    static func refusal(_ status: Int, _ reason: String) -> ProviderAnswer {
        ProviderAnswer(status: status, reason: reason, json: .object([.init("error", .string(reason))]))
    }

    /// Who is meant: the last part of the path, else what the body says.
    func token(of request: ReceivedRequest) -> ArraySlice<UInt8> {
        let path = (request.bytes(.path) ?? []).prefix { $0 != UInt8(ascii: "?") }
        if let slash = path.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex { return path[(slash + 1)...] }
        let token = (try? JSONParser.parse(request.body))?["token"]?.string ?? FormBody(request.body)["token"]
        return Array((token ?? "").utf8)[...]
    }

    // MARK: The signature

    private struct Rejection: Error {
        let reason: String
    }

    /// `t=<seconds>,v1=<hex>` over `<seconds>.<body>`, the path in place of a body that is empty.
    private func checkSignature(_ request: ReceivedRequest, now: Int64) throws(Rejection) {
        guard let header = request.text(.webhookSignature) else { throw Rejection(reason: "MissingSignature") }
        let parts = header.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].hasPrefix("t="), parts[1].hasPrefix("v1="),
            let time = Int64(parts[0].dropFirst(2))
        else { throw Rejection(reason: "BadSignature") }
        guard now.subtractingReportingOverflow(time).partialValue.magnitude <= UInt64(Self.tolerance) else {
            throw Rejection(reason: "StaleSignature")
        }
        let code = authenticate(Array("\(parts[0].dropFirst(2)).".utf8) + Self.signedText(of: request))
        let hex = code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        guard !code.isEmpty, parts[1].dropFirst(3) == hex else { throw Rejection(reason: "BadSignature") }
    }

    private static func signedText(of request: ReceivedRequest) -> [UInt8] {
        request.body.isEmpty ? Array(request.bytes(.path) ?? []) : request.body
    }
}

extension WebhookService {
    func pushID(of request: ReceivedRequest) -> ArraySlice<UInt8>? { request.bytes(.webhookID) }

    func scripted(status: Int, reason: String?) -> ProviderAnswer {
        guard status >= 300 else { return ProviderAnswer(status: status, reason: reason ?? "ok") }
        return Self.refusal(status, reason ?? "By script")
    }
}
