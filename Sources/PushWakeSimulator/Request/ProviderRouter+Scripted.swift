// SPDX-License-Identifier: MIT

import PushWakeCore

extension ProviderRouter {
    /// The answer that a rule asks for, in the vendor's form. A success counts as any other.
    mutating func answer(
        _ scripted: FaultRule.Answer, _ request: ReceivedRequest, provider: ProviderName,
        memory: inout ConnectionMemory, now: Int64
    ) -> ProviderAnswer {
        var scripted = scripted
        if scripted.status == nil, scripted.reason == nil { scripted.status = scripted.httpStatus }
        var answer: ProviderAnswer
        if scripted.reason == nil, scripted.status.map({ $0 < 300 }) ?? true {
            answer = success(scripted.status, request, provider: provider, memory: &memory, now: now)
        } else {
            answer = refusal(scripted, request, provider: provider, now: now)
        }
        if let status = scripted.httpStatus { answer.status = status }
        if let body = scripted.body {
            answer.body = body.string.map { Array($0.utf8) } ?? JSONText.bytes(body)
        }
        return answer
    }

    /// The vendor's own answer; with a status a success even where the vendor would refuse.
    private mutating func success(
        _ status: Int?, _ request: ReceivedRequest, provider: ProviderName, memory: inout ConnectionMemory, now: Int64
    ) -> ProviderAnswer {
        var answer = validate(request, provider: provider, session: &memory.apns, now: now)
        guard let status else { return answer }
        if answer.push == nil, provider.isPush {
            answer = forcedSuccess(request, provider: provider)
            memory.apns.hasAcceptedPush = memory.apns.hasAcceptedPush || provider == .apns
        }
        // Acrobits has its own status in the body, and OAuth has no token to give to a stranger.
        if provider == .acrobits {
            if status != 200 { answer = AcrobitsService.answer(http: 200, code: status, "By script") }
        } else if answer.status < 300 {
            answer.status = status
        }
        return answer
    }

    private mutating func forcedSuccess(_ request: ReceivedRequest, provider: ProviderName) -> ProviderAnswer {
        let token = token(of: request, provider: provider)
        var id: ArraySlice<UInt8>?
        var answer: ProviderAnswer
        switch provider {
        case .apns:
            id = request.bytes(.apnsID)
            answer = apns.answer(status: 200, reason: "ok", id: id, timestamp: nil)
        case .fcm: answer = FCMService.success("pushwake-simulator", "0:0")
        case .webpush, .oauth, .control: answer = ProviderAnswer(status: 201)
        default:
            id = others[provider]?.pushID(of: request)
            answer = others[provider]?.success() ?? ProviderAnswer(status: 200)
        }
        answer.push = PushIdentity(token: token, body: request.body, id: id)
        return answer
    }

    private mutating func refusal(
        _ scripted: FaultRule.Answer, _ request: ReceivedRequest, provider: ProviderName, now: Int64
    ) -> ProviderAnswer {
        let reason = scripted.reason
        switch provider {
        case .apns:
            let known = reason.flatMap(APNsReason.init(rawValue:))
            let status = scripted.status ?? known?.status ?? 400
            return apns.answer(
                status: status, reason: reason ?? APNsReason.usual(for: status).rawValue, id: request.bytes(.apnsID),
                timestamp: scripted.timestamp ?? (status == 410 ? now : nil))
        case .fcm: return FCMError.scripted(status: scripted.status, reason: reason)
        case .oauth:
            let status = scripted.status ?? 400
            return OAuthService.error(status, reason ?? OAuthService.usualError(for: status), "By script.")
        case .webpush:
            let status = scripted.status ?? 400
            guard status >= 300 else { return ProviderAnswer(status: status, reason: reason ?? "ok") }
            return WebPushService.refusal(status, errno: Self.errno(status), reason ?? "By script")
        case .control: return ProviderAnswer(status: 404)
        default:
            let status = scripted.status ?? 400
            return others[provider]?.scripted(status: status, reason: reason) ?? ProviderAnswer(status: status)
        }
    }

    private static func errno(_ status: Int) -> Int64 {
        switch status {
        case 401, 403: 109
        case 404: 102
        case 410: 106
        case 413: 104
        case 429, 503: 201
        default: status >= 500 ? 900 : 110
        }
    }

    /// `/_simulator/…`: the counters, a new script, a fresh start.
    mutating func answerControl(_ request: ReceivedRequest) -> ProviderAnswer {
        let routes = ["counters": "GET", "script": "POST", "reset": "POST", "revoke": "POST"]
        let name = String((request.text(.path) ?? "").dropFirst("/_simulator/".count).prefix { $0 != "?" })
        guard let method = routes[name] else {
            return Self.errorAnswer(
                404, "there is no /_simulator/\(name); take GET counters, POST script, POST reset or POST revoke")
        }
        guard request.text(.method) == method else {
            var answer = Self.errorAnswer(405, "/_simulator/\(name) wants \(method)")
            answer.headers.append(.init("allow", method))
            return answer
        }
        switch name {
        case "counters": return ProviderAnswer(status: 200, reason: "ok", json: counters.json)
        case "reset": reset()
        case "revoke": revokeTokens()
        default:
            guard !request.isTooLarge else {
                return Self.errorAnswer(413, "a script has at most \(ReceivedRequest.longestBody) bytes")
            }
            do throws(FaultScript.Mistake) {
                play(try FaultScript(json: request.body))
            } catch {
                return Self.errorAnswer(400, error.description)
            }
        }
        return ProviderAnswer(status: 204)
    }

    /// A refusal that says what was wrong.
    static func errorAnswer(_ status: Int, _ text: String) -> ProviderAnswer {
        ProviderAnswer(status: status, reason: text, json: .object([.init("error", .string(text))]))
    }
}
