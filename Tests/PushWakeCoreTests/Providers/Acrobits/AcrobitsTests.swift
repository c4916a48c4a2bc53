// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Acrobits request` {
    private func build(
        _ event: PushEvent, text: String = "", sentAt: Int64 = 1_700_000_000, hasVideo: Bool = false
    ) throws -> JSONValue {
        var binding = Binding(
            provider: .acrobits, app: "com.acrobits.softphone.voip", token: "dG9r+/=", dialect: .acrobitsTuple)
        binding.attributes["pn-selector"] = "12869E0E:7C3A0D14"
        var content = Samples.content(event, text: text)
        (content.sentAt, content.hasVideo) = (sentAt, hasVideo)
        let builder = try #require(AcrobitsRequest(settings: AcrobitsSettings()))
        let (origin, request) = try builder.build(binding, content, now: 1_700_000_007)
        #expect(origin == HTTPOrigin(host: "pnm.cloudsoftphone.com"))
        #expect(request[":path"] == "/pnm2/send")
        #expect(request["content-type"] == "application/json")
        return try #require(JSON.parse(request.body))
    }

    @Test func `announces a call with every field of the contract`() throws {
        let expected = JSON.parse(
            """
            {"verb":"NotifyIncomingCall","AppId":"com.acrobits.softphone.voip","DeviceToken":"dG9r+/=",
            "Selector":"12869E0E:7C3A0D14","Id":"call-1@192.0.2.9","Domain":"example.com","Media":"audio","Badge":"0",
            "UserDisplayName":"Alice","UserName":"alice","Sound":"default","Timestamp":"1700000000"}
            """)
        #expect(try build(.call) == expected)
    }

    @Test func `says that the caller offers video`() throws {
        #expect(try build(.call, hasVideo: true)["Media"] == .string("video"))
    }

    @Test(arguments: [
        (PushEvent.missed, "NotifyIncomingCallMissed"), (.cancel, "NotifyIncomingCallMissed"),
        (.answeredElsewhere, "NotifyIncomingCallAnsweredElsewhere"),
    ])
    func `ends a call under the id that announced it`(event: PushEvent, verb: String) throws {
        let body = try build(event)
        #expect(body["verb"] == .string(verb))
        #expect(body["Id"] == .string("call-1@192.0.2.9"))
        #expect(body["Badge"] == .string("1"))
        #expect(body["Domain"] == .string("example.com"))
        #expect(body["Media"] == nil)
    }

    @Test func `carries messages`() throws {
        let chat = try build(.chat, text: "Hi \"Bob\"")
        #expect(chat["verb"] == .string("NotifyTextMessage"))
        #expect(chat["Message"] == .string("Hi \"Bob\""))
        #expect(chat["ContentType"] == .string("text/plain"))
        let custom = try build(.custom, text: "Maintenance")
        #expect(custom["verb"] == .string("NotifyGenericTextMessage"))
        #expect(custom["Message"] == .string("Maintenance"))
        let voicemail = try build(.voicemail, text: "2/8")
        #expect(voicemail["verb"] == .string("NotifyGenericTextMessage"))
        #expect(voicemail["Message"] == .string("New voice message"))
        #expect(try build(.refer)["Message"] == .string("Request from Alice"))
    }

    @Test func `says when it is sent if nobody knows when it came in`() throws {
        #expect(try build(.call, sentAt: 0)["Timestamp"] == .string("1700000007"))
    }

    @Test func `has no push for a refresh`() {
        #expect(throws: PushFailure.noSuchPush) { try build(.refresh) }
    }

    @Test(arguments: ["http://pnm.example/x", "nonsense", "https://h/a b"]) func `needs an https URL`(url: String) {
        #expect(AcrobitsRequest(settings: AcrobitsSettings(url: url)) == nil)
    }
}

@Suite struct `Acrobits response` {
    private func verdict(_ status: Int, _ body: String) -> Verdict {
        AcrobitsResponse.verdict(HTTPResponse(status: status), JSON.parse(body))
    }

    @Test(arguments: [
        (200, Outcome.accepted), (404, .tokenGone), (400, .misconfigured), (500, .unavailable), (429, .throttled),
        (403, .misconfigured), (0, .unavailable), (-5, .unavailable),
    ])
    func `is read by the code in its body`(code: Int, outcome: Outcome) {
        #expect(verdict(200, "{\"code\":\(code),\"response\":\"x\"}").outcome == outcome)
    }

    @Test func `is read by a code that stands there as a string`() {
        #expect(verdict(200, #"{"code":"200"}"#).outcome == .accepted)
        #expect(verdict(200, #"{"code":"404"}"#).outcome == .tokenGone)
        #expect(verdict(200, #"{"code":"fine"}"#).outcome == .unavailable)
    }

    /// It may have been taken all the same.
    @Test func `is not asked for again after a success that says nothing, where a second copy would be seen`() {
        let silent = HTTPResponse(status: 200)
        #expect(AcrobitsResponse.verdict(silent, nil, isRepeatable: false).next == .finish)
        #expect(AcrobitsResponse.verdict(silent, nil, isRepeatable: true).next == .retry(after: 2000))
        let broken = HTTPResponse(status: 502)
        #expect(AcrobitsResponse.verdict(broken, nil, isRepeatable: false).next == .retry(after: 2000))
    }

    @Test func `says what Acrobits said`() {
        #expect(
            verdict(200, #"{"code":400,"response":"Invalid AppId"}"#)
                == Verdict(.misconfigured, reason: "code 400 Invalid AppId"))
    }

    @Test(arguments: [
        (200, Outcome.unavailable), (400, .misconfigured), (404, .misconfigured), (500, .unavailable), (302, .rejected),
    ])
    func `is read by its status when there is no code`(status: Int, outcome: Outcome) {
        #expect(verdict(status, "<html>").outcome == outcome)
    }
}
