// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// Acrobits' push mediator: `POST /pnm2/send` with JSON, where HTTP says 200 and the real status is
/// in the body, and the older form endpoint `/pnm2`.
struct AcrobitsService: SimulatedService {
    static let verbs: Set<String> = [
        "NotifyIncomingCall", "NotifyIncomingCallMissed", "NotifyIncomingCallAnsweredElsewhere", "NotifyTextMessage",
        "NotifyGenericTextMessage",
    ]

    init() {}

    /// Checks one request.
    func answer(_ request: ReceivedRequest, now: Int64 = 0) -> ProviderAnswer {
        guard request.text(.method) == "POST" else { return Self.answer(http: 405, code: 405, "Method Not Allowed") }
        switch request.text(.path) {
        case "/pnm2/send": return answerSend(request)
        case "/pnm2": return answerForm(request)
        default: return Self.answer(http: 404, code: 404, "Not Found")
        }
    }

    /// An answer whose HTTP status and code in the body may differ.
    static func answer(http: Int, code: Int, _ text: String, push: PushIdentity? = nil) -> ProviderAnswer {
        let json = JSONValue.object([.init("code", .integer(Int64(code))), .init("response", .string(text))])
        var answer = ProviderAnswer(status: http, reason: code == 200 ? "ok" : text, json: json)
        answer.push = push
        return answer
    }

    private func answerSend(_ request: ReceivedRequest) -> ProviderAnswer {
        guard let document = try? JSONParser.parse(request.body), case .object(let members) = document else {
            return Self.answer(http: 400, code: 400, "Body is not a JSON object")
        }
        for member in members where Self.fields.contains(member.name) && member.name != "Badge" {
            guard member.value.string != nil else {
                return Self.answer(http: 200, code: 400, "Field \(member.name) is not a string")
            }
        }
        return validate(request) { document[$0]?.string }
    }

    private func answerForm(_ request: ReceivedRequest) -> ProviderAnswer {
        let form = FormBody(request.body)
        for name in ["verb", "AppId", "DeviceToken"] where (form[name] ?? "").isEmpty {
            return Self.answer(http: 400, code: 400, "Missing field \(name)")
        }
        return validate(request) { form[$0] }
    }

    private func validate(_ request: ReceivedRequest, field: (String) -> String?) -> ProviderAnswer {
        let verb = field("verb") ?? ""
        let required = ["verb", "AppId", "DeviceToken"] + (verb == "NotifyGenericTextMessage" ? [] : ["Selector"])
        for name in required where (field(name) ?? "").isEmpty {
            return Self.answer(http: 200, code: 400, "Missing field \(name)")
        }
        guard Self.verbs.contains(verb) else { return Self.answer(http: 200, code: 400, "Unknown verb \(verb)") }
        let token = Array((field("DeviceToken") ?? "").utf8)[...]
        switch NamedToken(token) {
        case .unregistered, .expired, .invalid: return Self.answer(http: 200, code: 404, "Device token is not valid")
        case .mismatch: return Self.answer(http: 200, code: 400, "Invalid AppId")
        case .ordinary: break
        }
        let id = field("Id").map { Array("\(verb) \($0)".utf8)[...] }
        return Self.answer(
            http: 200, code: 200, "OK", push: PushIdentity(token: token, body: request.body, id: id))
    }

    private static let fields: Set<String> = [
        "verb", "AppId", "DeviceToken", "Selector", "Message", "Badge", "Sound", "UserName", "UserDisplayName",
        "ContentType", "Id", "ThreadId",
    ]
}

extension AcrobitsService {
    func token(of request: ReceivedRequest) -> ArraySlice<UInt8> {
        Self.text(in: request) { $0["DeviceToken"]?.string }
    }

    func success() -> ProviderAnswer { Self.answer(http: 200, code: 200, "OK") }

    func scripted(status: Int, reason: String?) -> ProviderAnswer {
        Self.answer(http: 200, code: status, reason ?? (status == 200 ? "OK" : "By script"))
    }
}
