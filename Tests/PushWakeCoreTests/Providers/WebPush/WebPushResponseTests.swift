// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Web Push response` {
    private func verdict(_ status: Int, _ body: String = "", retryAfter: String? = nil) -> Verdict {
        let headers = retryAfter.map { [HTTPResponse.Header(name: "retry-after", value: $0)] } ?? []
        let response = HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
        return WebPushResponse.verdict(response, JSON.parse(body))
    }

    @Test(arguments: [
        (200, Outcome.accepted), (201, .accepted), (202, .accepted), (205, .accepted), (299, .accepted),
        (400, .rejected), (401, .misconfigured),
        (403, .misconfigured), (404, .tokenGone), (410, .tokenGone), (413, .rejected), (429, .throttled),
        (500, .unavailable),
        (502, .unavailable), (503, .unavailable), (301, .rejected), (307, .rejected), (418, .rejected),
        (408, .unavailable),
        (421, .unavailable), (425, .unavailable),
    ])
    func `is read by its status`(status: Int, outcome: Outcome) { #expect(verdict(status).outcome == outcome) }

    @Test func `gives up a subscription made with another key, unless the key is a wrong one of ours`() {
        let expected = Verdict(.tokenGone, reason: "VapidPkHashMismatch", mayBeSetting: true)
        #expect(verdict(400, #"{"reason":"VapidPkHashMismatch"}"#) == expected)
        #expect(verdict(403, #"{"reason":"VapidPkHashMismatch"}"#) == expected)
    }

    @Test(arguments: [
        "", "<html><head><title>403 Forbidden</title></head><body>Access denied</body></html>",
        "<html>\r\n<head><title>403 Forbidden</title></head>\r\n<body>\r\n<center>nginx</center>\r\n</body>\r\n</html>",
        "  <!doctype html><p>rule 949110: do not correspond to the credentials used to create",
        #"{"code":40301,"http":403,"error":"forbidden","link":"https://ntfy.sh/docs/publish/#authentication"}"#,
        "Forbidden", "error code: 1020", #"{"message":"Forbidden"}"#,
    ])
    func `takes a 403 of a firewall or a server for no word about the subscription`(body: String) {
        for status in [401, 403] { #expect(verdict(status, body).outcome == .misconfigured) }
        #expect(verdict(400, body).outcome == .rejected)
    }

    @Test(arguments: [
        (404, "", false),
        (404, #"{"code":404,"errno":102,"error":"Not Found","message":"Invalid URL endpoint"}"#, false),
        (404, #"{"reason":"Unregistered"}"#, false), (404, "push subscription has unsubscribed or expired.\n", false),
        (410, "", false), (410, "push subscription has unsubscribed or expired.\n", false), (410, "Gone", false),
        (404, "404 page not found\n", true), (404, "<html><h1>404 Not Found</h1></html>", true),
        (404, #"{"message":"no Route matched with those values"}"#, true), (410, "\n<html>gone</html>", true),
        (404, "default backend - 404", true),
    ])
    func `tells a push service's 404 and 410 from those of a proxy`(status: Int, body: String, isDoubtful: Bool) {
        let found = verdict(status, body)
        #expect(found.outcome == .tokenGone && found.mayBeSetting == isDoubtful)
    }

    @Test func `signs anew for a bad token`() {
        #expect(verdict(403, #"{"reason":"BadJwtToken"}"#).next == .renewCredential)
        #expect(
            verdict(401, #"{"code":401,"errno":109}"#)
                == Verdict(.misconfigured, reason: "HTTP 401 errno 109", next: .renewCredential))
    }

    @Test(arguments: [
        "permission denied: invalid JWT provided\n",
        "exp claim MUST NOT be more than 24 hours from the time of the request",
    ])
    func `keeps a subscription where Google finds fault with the time`(text: String) {
        let found = verdict(403, text)
        #expect(found.outcome == .misconfigured && found.next == .renewCredential)
        #expect(found.reason.hasPrefix("HTTP 403 ") && text.contains(found.reason.dropFirst(9).prefix(20)))
    }

    @Test func `gives up a subscription of which Google or Mozilla says that the key is another`() {
        let google = "the VAPID credentials in the authorization header do not correspond to the credentials used to "
        let found = verdict(403, google + "create the subscriptions.")
        #expect(found.outcome == .tokenGone && found.mayBeSetting)
        let mozilla = #"{"code":401,"errno":109,"error":"Unauthorized","message":"VAPID public key mismatch"}"#
        #expect(verdict(401, mozilla).outcome == .tokenGone)
    }

    @Test func `knows Mozilla's numbers`() {
        #expect(verdict(410, #"{"code":410,"errno":106}"#).outcome == .tokenGone)
        #expect(verdict(400, #"{"code":400,"errno":103}"#).outcome == .tokenGone)
        #expect(verdict(503, #"{"code":503,"errno":202}"#).next == .retry(after: 0))
        #expect(verdict(503, #"{"code":503,"errno":201}"#).next == .retry(after: 2000))
    }

    @Test func `waits as long as it is told`() {
        #expect(verdict(429, retryAfter: "7").next == .retry(after: 7000))
        #expect(verdict(429).next == .retry(after: 10_000))
    }
}

@Suite struct `VAPID token` {
    private let origin = HTTPOrigin(host: "push.example.net")
    private let key = RFC8291.bytes(
        "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs")

    @Test func `is RFC 8292's, byte for byte`() {
        var credential = WebPushCredential(publicKey: key, subject: "mailto:push@example.com")
        let now: Int64 = 1_453_523_768 - 43_200
        let action = credential.authorization(for: origin, now: now)
        let input =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0"
        let signature = "i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
        #expect(action == .sign(Array(input.utf8)))
        let value = credential.signed(Array(input.utf8), signature: RFC8291.bytes(signature), for: origin, now: now)
        let text = String(decoding: value, as: UTF8.self)
        #expect(
            text
                == "vapid t=\(input).\(signature), k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        )
    }

    @Test func `is signed once per service and eleven hours`() {
        var credential = WebPushCredential(publicKey: key, subject: "")
        let value = credential.signed([1], signature: [2], for: origin, now: 1000)
        let soon = credential.authorization(for: origin, now: 1000 + 39_599)
        let late = credential.authorization(for: origin, now: 1000 + 39_600)
        let other = credential.authorization(for: HTTPOrigin(host: "ntfy.sh"), now: 1000)
        credential.refused(by: origin)
        let refused = credential.authorization(for: origin, now: 1001)
        #expect(soon == .use(value))
        #expect(late != .use(value))
        #expect(other != .use(value))
        #expect(refused != .use(value))
    }

    @Test func `names the port of its service`() throws {
        let credential = WebPushCredential(publicKey: key, subject: "")
        guard
            case .sign(let input) = credential.authorization(
                for: HTTPOrigin(host: "up.example.org", port: 8443), now: 0)
        else {
            Issue.record("no signature wanted")
            return
        }
        let claims = input.split(separator: UInt8(ascii: "."))[1]
        let json = JSON.parse(try #require(Base64URL.decode(String(decoding: claims, as: UTF8.self))))
        #expect(json == JSON.parse(#"{"aud":"https://up.example.org:8443","exp":43200}"#))
    }
}
