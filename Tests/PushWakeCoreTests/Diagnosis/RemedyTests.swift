// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

private let accepted = PushResult(event: .call, outcome: .accepted, microseconds: 5000)
private let ring = CallNote.rung(device: 0, leg: 1, contact: "sip:a@b")
private let pushed = CallNote.pushed(device: 0, .call)

@Suite struct `A remedy` {
    @Test(arguments: [
        ("BadDeviceToken", Outcome.tokenGone, Provider.apns, "apns_environment"),
        ("DeviceTokenNotForTopic", .tokenGone, .apns, "apns_topic"),
        ("BadTopic", .misconfigured, .apns, "apns_topic"),
        ("TopicDisallowed", .misconfigured, .apns, "team"),
        ("InvalidProviderToken", .misconfigured, .apns, "apns_key_id"),
        ("ExpiredProviderToken", .misconfigured, .apns, "NTP"),
        ("BadEnvironmentKeyIdInToken", .misconfigured, .apns, "apns_environment"),
        ("BadCertificateEnvironment", .misconfigured, .apns, "apns_environment"),
        ("NoCertificateForTopic", .misconfigured, .apns, "apns_cert"),
        ("Unregistered", .tokenGone, .apns, "open the app"),
        ("PayloadTooLarge", .rejected, .apns, "payload"), ("HTTP 413", .rejected, .fcm, "payload"),
        ("SENDER_ID_MISMATCH", .tokenGone, .fcm, "project"),
        ("SENDER_ID_MISMATCH (set fcm_appN and fcm_keyN for this app)", .misconfigured, .fcm, "fcm_app1"),
        ("UNREGISTERED", .tokenGone, .fcm, "open the app"), ("NOT_FOUND", .tokenGone, .fcm, "open the app"),
        ("NOT_FOUND", .misconfigured, .fcm, "project_id"),
        ("INVALID_ARGUMENT message.token", .tokenGone, .fcm, "pn-prid"),
        ("INVALID_ARGUMENT", .rejected, .fcm, "pushwake explain"),
        ("PERMISSION_DENIED: Permission denied", .misconfigured, .fcm, "role"),
        ("THIRD_PARTY_AUTH_ERROR InvalidProviderToken", .misconfigured, .fcm, "Firebase console"),
        ("OAuth invalid_grant", .misconfigured, .fcm, "service account"),
        ("OAuth invalid_grant, this machine's clock (iat)", .misconfigured, .fcm, "NTP"),
        ("NoServiceAccount", .misconfigured, .fcm, "fcm_app1"),
        ("HTTP 403 VapidPkHashMismatch", .tokenGone, .webpush, "vapid_key"),
        ("HTTP 410", .tokenGone, .webpush, "open the app"),
        ("CircuitOpen (PERMISSION_DENIED: Permission denied)", .unavailable, .fcm, "role"),
        ("CircuitOpen (a:443: Connection refused)", .unavailable, .apns, "nothing listens"),
        ("QUOTA_EXCEEDED", .throttled, .fcm, "Google Cloud console"), ("SwitchedOff", .rejected, .apns, "load_call"),
        ("LoadLevel 4", .overloaded, .fcm, "pushwake stats"), ("", .throttled, .apns, "wait"),
        ("", .overloaded, .apns, "pushwake stats"),
        ("", .expired, .apns, "wake_timeout"), ("", .accepted, .apns, ""),
    ])
    func `follows from the reason of a push`(reason: String, outcome: Outcome, provider: Provider, word: String) {
        let text = Remedy.push(outcome, reason, provider)
        #expect(text.contains(word) || word.isEmpty && text.isEmpty, "\(text)")
    }

    @Test(arguments: [
        ("cannot resolve api.push.apple.com: Name or service not known", "resolve"),
        ("cannot resolve api.push.apple.com within 5000 ms", "resolve"),
        ("10.0.0.1:443: Connection refused", "nothing listens"),
        ("no connection to api.push.apple.com:443 within 5000 ms", "firewall"),
        ("api.push.apple.com:443: Network is unreachable", "firewall"),
        ("a:443: the proxy refuses: 403 Forbidden", "http_proxy"),
        ("a:443: the proxy wants a name and password, or others: 407", "http_proxy_auth"),
        ("a:443: TLS handshake: wrong version number", "does not speak TLS"),
        ("a:443: certificate verify failed: it was issued by \"Corp\", which is not in ca_file", "uninspected"),
        ("a:443: certificate verify failed: certificate has expired", "timedatectl"),
        ("a:443: certificate verify failed: certificate is not yet valid", "timedatectl"),
        ("a:443: certificate verify failed: hostname mismatch", "not for that name"),
        ("a:443: certificate verify failed: IP address mismatch", "not for that name"),
        ("a:443 offers no HTTP/2 (ALPN h2): is TLS inspected on the way?", "uninspected"),
        ("a:443 refuses the client certificate: certificate_expired", "apns_cert"),
        ("something else", "look at the way"),
    ])
    func `is another one for each way in which a provider is not reached`(problem: String, word: String) {
        #expect(Remedy.unreachable(problem, .apns).contains(word), "\(Remedy.unreachable(problem, .apns))")
    }

    @Test(arguments: [
        (488, "codecs"), (606, "codecs"), (486, "busy"), (603, "declines"), (404, "account"), (302, "forward"),
        (401, "log in"), (500, "log"),
    ])
    func `says what a phone means that answers so`(status: Int, word: String) {
        #expect(Remedy.answer(status).contains(word))
    }

    private func result(
        _ notes: [CallNote], _ end: CallEnd, push: PushResult? = nil, at time: Int64 = 9
    ) -> CallTrace.Result {
        var trace = CallTrace(method: "INVITE", aor: "bob", callID: "a", cseq: 1, from: "", now: 0)
        trace.name(0, CallTrace.Name(provider: .apns, app: "com.a"))
        for note in notes {
            trace.append(note, now: 0)
            if case .pushed = note, let push { trace.append(push, device: 0, now: 0) }
        }
        trace.append(.ended(end), now: time)
        return trace.result
    }

    @Test(
        arguments: [
            ([ring, .progressed(device: 0, leg: 1, status: 488)], CallEnd.failed(488), "codecs"),
            ([ring, .progressed(device: 0, leg: 1, status: 486)], .failed(486), "busy"),
            ([ring, .progressed(device: 0, leg: 1, status: 100)], .timedOut, "did not ring"),
            ([ring], .timedOut, "INVITE did not reach"),
            ([pushed, .registered(device: 0), ring], .timedOut, "INVITE did not reach"),
            ([pushed, .registered(device: 0), ring, .legFailed(device: 0, leg: 1, status: 503)], .timedOut, "NAT"),
            ([ring, .legFailed(device: 0, leg: 1, status: 408)], .failed(408), "NAT"),
            ([pushed], .timedOut, "notifications"), ([pushed, .late(device: 0)], .timedOut, "wake_timeout"),
            ([.putOff(device: 0, 4321, .ignoreSame)], .timedOut, "ignore_same"), ([], .timedOut, "open the app"),
        ] as [([CallNote], CallEnd, String)])
    func `belongs to each call that failed`(notes: [CallNote], end: CallEnd, word: String) {
        guard case .failed(let text) = result(notes, end, push: accepted) else {
            Issue.record("it counts as fine")
            return
        }
        #expect(text.contains(word), "\(text)")
    }

    @Test func `is asked for by no call that rang`() {
        let rang = CallNote.progressed(device: 0, leg: 1, status: 180)
        for end in [CallEnd.answered, .cancelled, .timedOut, .completedElsewhere, .failed(486)] {
            #expect(result([ring, rang], end) == .fine)
        }
        #expect(result([ring, rang, .progressed(device: 0, leg: 1, status: 603)], .failed(603)) == .fine)
        #expect(result([ring, rang, .progressed(device: 0, leg: 1, status: 488)], .failed(488)) != .fine)
    }

    /// The caller hangs up, or a dialplan does: of a phone that had no time to come nothing is said.
    @Test(
        arguments: [
            ([pushed], 2000, "Dial()"), ([pushed], 30_000, "notifications"),
            ([pushed, .late(device: 0)], 30_000, "Dial()"),
            ([ring], 2000, "INVITE did not reach"),
        ] as [([CallNote], Int64, String)])
    func `of a call that was given up depends on when`(notes: [CallNote], end: Int64, word: String) {
        guard case .early(let text) = result(notes, .cancelled, push: accepted, at: end) else {
            Issue.record("the caller hung up before the phone rang")
            return
        }
        #expect(text.contains(word), "\(text)")
    }

    @Test func `of a push that failed is that of its reason`() {
        let refused = PushResult(
            event: .call, outcome: .tokenGone, httpStatus: 400, microseconds: 5000, reason: "BadDeviceToken")
        guard case .failed(let text) = result([pushed], .failed(480), push: refused) else {
            Issue.record("it counts as fine")
            return
        }
        #expect(text.contains("apns_environment"))
    }
}
