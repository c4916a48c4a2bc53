// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A verdict` {
    private let token = "fGx-13:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx"

    private func binding(_ provider: Provider, _ token: String) -> Binding {
        Binding(aor: "alice", provider: provider, app: "com.example.phone", token: token, dialect: .rfc8599)
    }

    private func hidden(_ reason: String, _ binding: Binding) -> String {
        Verdict(.rejected, reason: reason).withoutToken(of: binding).reason
    }

    @Test(arguments: [false, true]) func `says in the log that the binding is gone`(isGone: Bool) {
        let result = PushResult(event: .call, outcome: .tokenGone, isBindingRemoved: isGone)
        #expect(result.logLine.hasSuffix(" binding removed") == isGone)
    }

    @Test func `says nothing of a token that the provider repeats, whole or in part`() {
        let phone = binding(.harmonyos, token)
        #expect(hidden(#"80100000 {"illegal_tokens":["\#(token)"]}"#, phone) == #"80100000 {"illegal_tokens":["…"]}"#)
        #expect(hidden("no \(token.prefix(30)), no \(token.suffix(20))!", phone) == "no …, no …!")
        #expect(hidden(token, phone) == "…")
        // So little is no secret, and the log shows as much.
        #expect(hidden("no \(token.prefix(10))", phone) == "no \(token.prefix(10))")
    }

    @Test func `keeps the rest as it is`() {
        let phone = binding(.apns, "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0")
        for reason in ["", "BadDeviceToken", "DeviceTokenNotForTopic", "ü…🙂 \(String(repeating: "é", count: 40))"] {
            #expect(hidden(reason, phone) == reason)
        }
        var verdict = Verdict(.tokenGone, reason: "Unregistered", next: .retry(after: 5), goneSince: 7)
        verdict.isOfApp = true
        #expect(verdict.withoutToken(of: phone) == verdict)
        #expect(hidden("a", binding(.fcm, "")) == "a")
    }

    /// The host is what an operator has to know; what follows it is the secret.
    @Test func `names the host of a subscription and not the rest`() {
        let browser = binding(.webpush, "https://updates.push.services.example.com/wpush/v2/gAAAAABsecret123456")
        #expect(
            hidden("updates.push.services.example.com:443: refused", browser)
                == "updates.push.services.example.com:443: refused")
        #expect(hidden("HTTP 400 no /wpush/v2/gAAAAABsecret123456 here", browser) == "HTTP 400 no … here")
        #expect(hidden("HTTP 400 gAAAAABsecret123456", browser) == "HTTP 400 …")
    }
}
