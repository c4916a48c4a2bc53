// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// Linphone's account manager, as far as it pushes: `POST /flexiapi/api/push_notification`. Its validation is that of
/// its documentation ("Push notifications"); errors have the form of the framework that it is written with.
struct FlexiAPIService: SimulatedService {
    private static let path = "/flexiapi/api/push_notification"
    private let key: [UInt8]

    /// `key` is the only API key.
    init(key: [UInt8]) { self.key = key }

    /// Checks one request.
    func answer(_ request: ReceivedRequest, now: Int64 = 0) -> ProviderAnswer {
        guard request.text(.path) == Self.path else { return Self.refusal(404, "Not found.") }
        guard request.text(.method) == "POST" else { return Self.refusal(405, "Method not allowed.") }
        guard let given = request.bytes(.apiKey), !key.isEmpty, given.elementsEqual(key) else {
            return Self.refusal(401, "Unauthenticated.")
        }
        guard let document = try? JSONParser.parse(request.body), case .object = document else {
            return Self.refusal(422, "The given data was invalid.", field: "pn_provider")
        }
        if let field = Self.wrongField(document) {
            return Self.refusal(422, "The given data was invalid.", field: field)
        }
        let token = Array((document["pn_prid"]?.string ?? "").utf8)[...]
        // It hands pushes on and only knows that one was not taken.
        guard case .ordinary = NamedToken(token) else { return Self.refusal(503, "Push notification not sent") }
        let id = document["call_id"]?.string.map { Array($0.utf8)[...] }
        var answer = ProviderAnswer(status: 200)
        answer.push = PushIdentity(token: token, body: request.body, id: id)
        return answer
    }

    /// An answer that is no success.
    static func refusal(_ status: Int, _ message: String, field: String? = nil) -> ProviderAnswer {
        var members: [JSONValue.Member] = [.init("message", .string(message))]
        if let field {
            members.append(
                .init("errors", .object([.init(field, .array([.string("The \(field) is invalid.")]))])))
        }
        return ProviderAnswer(
            status: status, reason: field.map { "\(message) (\($0))" } ?? message, json: .object(members))
    }

    private static func wrongField(_ document: JSONValue) -> String? {
        guard let provider = document["pn_provider"]?.string, ["apns", "apns.dev", "fcm"].contains(provider) else {
            return "pn_provider"
        }
        guard let type = document["type"]?.string, ["call", "message", "background"].contains(type) else {
            return "type"
        }
        for (name, punctuation) in [("pn_param", "."), ("pn_prid", "-:"), ("call_id", "-~@.")] {
            switch document[name] {
            case nil, .null?: continue
            case .string(let text)?:
                guard !text.isEmpty, text.utf8.allSatisfy({ isWord($0) || punctuation.utf8.contains($0) }) else {
                    return name
                }
            default: return name
            }
        }
        return nil
    }

    /// `\w` of a regular expression.
    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension FlexiAPIService {
    func token(of request: ReceivedRequest) -> ArraySlice<UInt8> { Self.text(in: request) { $0["pn_prid"]?.string } }

    func scripted(status: Int, reason: String?) -> ProviderAnswer {
        guard status >= 300 else { return ProviderAnswer(status: status, reason: reason ?? "ok") }
        return Self.refusal(status, reason ?? "By script")
    }
}
