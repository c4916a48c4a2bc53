// SPDX-License-Identifier: MIT

import PushWakeCore

/// Reads any answer of any provider: an outcome, a bounded reason and a bounded pause.
///
/// The first byte picks the status, a line follows for Retry-After, the rest is the body; it is read as text and,
/// where it is JSON, as that.
public func fuzzAnswer(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 1 else { return 0 }
    let bytes = UnsafeBufferPointer(start: start, count: count)
    let parts = bytes.dropFirst().split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    let statuses = [200, 201, 204, 301, 400, 401, 403, 404, 405, 410, 413, 429, 500, 502, 503, 100, 0, 999]
    var response = HTTPResponse(status: statuses[Int(bytes[0]) % statuses.count])
    if let wait = parts.first, !wait.isEmpty {
        response.headers.append(.init(name: "retry-after", value: String(decoding: wait, as: UTF8.self)))
    }
    response.body = parts.count > 1 ? Array(parts[1]) : []
    let body = JanssonValue.parse(response.body)
    let now: Int64 = 1_700_000_000
    let wait = RetryAfter.milliseconds(response, now: now)
    check(Verdict(.unavailable, next: .retry(after: wait ?? 0)))
    check(APNsResponse.verdict(response, body))
    check(FCMResponse.verdict(response, body, now: now))
    check(WebPushResponse.verdict(response, body, now: now))
    check(AcrobitsResponse.verdict(response, body, now: now))
    check(FlexiAPIResponse.verdict(response, body, now: now))
    check(HarmonyOSResponse.verdict(response, body, now: now))
    check(WebhookResponse.verdict(response, WebhookAnswers(), now: now))
    _ = FCMTokenRequest.answer(response, body, now: now)
    return 0
}

private func check(_ verdict: Verdict) {
    guard verdict.reason.count <= 160 else { fatalError("a reason of \(verdict.reason.count) characters") }
    guard case .retry(let pause) = verdict.next else { return }
    guard (0...86_400_000).contains(pause) else { fatalError("a pause of \(pause) ms") }
}
