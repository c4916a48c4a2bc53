// SPDX-License-Identifier: MIT

import PushWakeCore

extension ProviderHouse {
    /// The answer that a rule asks for, in the vendor's form.
    mutating func answer(
        _ scripted: FaultRule.Answer, _ request: ReceivedRequest, provider: ProviderName, now: Int64
    ) -> ProviderAnswer {
        var answer = vendorAnswer(scripted, request, provider: provider, now: now)
        if let status = scripted.httpStatus { answer.status = status }
        if let body = scripted.body {
            answer.body = body.string.map { Array($0.utf8) } ?? JSONText.bytes(body)
        }
        return answer
    }

    private mutating func vendorAnswer(
        _ scripted: FaultRule.Answer, _ request: ReceivedRequest, provider: ProviderName, now: Int64
    ) -> ProviderAnswer {
        let reason = scripted.reason
        switch provider {
        case .apns:
            let known = reason.flatMap(APNsReason.init(rawValue:))
            let status = scripted.status ?? known?.status ?? 400
            let word = reason ?? APNsReason.allCases.first { $0.status == status }?.rawValue ?? "InternalServerError"
            return apns.answer(
                status: status, reason: word, id: request.bytes(.apnsID),
                timestamp: scripted.timestamp ?? (status == 410 ? now : nil))
        case .fcm: return Self.fcmAnswer(scripted)
        case .oauth:
            return OAuthService.error(scripted.status ?? 400, reason ?? "invalid_grant", "By script.")
        case .webpush:
            let status = scripted.status ?? 400
            guard status >= 300 else { return ProviderAnswer(status: status, reason: reason ?? "ok") }
            return WebPushService.refusal(status, errno: Self.errno(status), reason ?? "By script")
        case .acrobits:
            let code = scripted.status ?? 200
            return AcrobitsService.answer(http: 200, code: code, reason ?? (code == 200 ? "OK" : "By script"))
        case .webhook:
            let status = scripted.status ?? 400
            guard status >= 300 else { return ProviderAnswer(status: status, reason: reason ?? "ok") }
            return WebhookService.refusal(status, reason ?? "By script")
        case .control: return ProviderAnswer(status: 404)
        }
    }

    private static func fcmAnswer(_ scripted: FaultRule.Answer) -> ProviderAnswer {
        if scripted.status == 502 {
            // What Google's front end sends when nothing behind it answers.
            return ProviderAnswer(
                status: 502, reason: scripted.reason ?? "Bad Gateway",
                headers: [.init("content-type", "text/html; charset=UTF-8")],
                body: Array("<html><title>Error 502 (Server Error)!!1</title></html>".utf8))
        }
        let byStatus: FCMError =
            switch scripted.status {
            case 401?: .unauthenticated
            case 403?: .senderMismatch
            case 404?: .unregistered
            case 429?: .quota
            case 500?: .internal
            case 503?: .unavailable
            default: .invalidToken
            }
        var error = scripted.reason.flatMap(FCMError.named) ?? byStatus
        if let reason = scripted.reason, FCMError.named(reason) == nil { error.message = reason }
        if let status = scripted.status { error.http = status }
        return error.answer
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
        switch (request.text(.method) ?? "", request.text(.path) ?? "") {
        case ("GET", "/_simulator/counters"):
            return ProviderAnswer(status: 200, reason: "ok", json: counters.json)
        case ("POST", "/_simulator/script"):
            do throws(FaultScript.Mistake) {
                play(try FaultScript(json: request.body))
                return ProviderAnswer(status: 204)
            } catch {
                return ProviderAnswer(
                    status: 400, reason: error.description, json: .object([.init("error", .string(error.description))]))
            }
        case ("POST", "/_simulator/reset"):
            reset()
            return ProviderAnswer(status: 204)
        case ("POST", "/_simulator/revoke"):
            revokeTokens()
            return ProviderAnswer(status: 204)
        default: return ProviderAnswer(status: 404, reason: "no such path")
        }
    }
}
