// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// One row: a request, what the settings name, and what it does.
struct PolicyRow: Sendable, CustomTestStringConvertible {
    var method: String
    var headers: [String] = []
    var body = ""
    var place = Place.outside
    var settings: [String: String] = [:]
    var decision: RequestDecision

    enum Place {
        case outside
        /// Within a dialog.
        case inside
        /// Within a dialog, with a PURR that a device has.
        case insideWithPURR
        /// Outside of a dialog, with such a PURR.
        case outsideWithPURR
    }

    var testDescription: String { "\(method) \(headers) \(place) \(settings)" }

    var request: IncomingRequest? {
        let isInside = place == .inside || place == .insideWithPURR
        let hasPURR = place == .insideWithPURR || place == .outsideWithPURR
        let lines =
            [
                "\(method) sip:bob@192.0.2.1\(hasPURR ? ";pn-purr=00fa" : "") SIP/2.0",
                "From: <sip:alice@example.org>;tag=a", "To: <sip:bob@example.org>\(isInside ? ";tag=b" : "")",
                "Call-ID: call-1",
            ] + headers
        return IncomingRequest(file: Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8).span)
    }
}

private let inDialog = "the request is inside a dialog and carries no pn-purr"
private let onlyMailboxes = "a NOTIFY wakes a phone only for message-summary"
private let mailbox = ["Event: message-summary", "Content-Type: application/simple-message-summary"]
private let silent = RequestDecision.wakes(.refresh, .requestWaiting, holdSeconds: 20)
private let call = RequestDecision.wakes(.call, holdSeconds: 40)
private let chat = RequestDecision.wakes(.chat, holdSeconds: 20)
private let voicemail = RequestDecision.wakes(.voicemail, holdSeconds: 20)
private let all = ["wake_requests": "INVITE, MESSAGE, REFER, NOTIFY, OPTIONS, SUBSCRIBE, PUBLISH, INFO"]

private let rows: [PolicyRow] = [
    // INVITE
    .init(method: "INVITE", decision: call),
    .init(method: "INVITE", headers: ["Content-Type: application/sdp"], decision: call),
    .init(method: "INVITE", headers: ["Priority: urgent"], decision: call),
    .init(method: "INVITE", headers: ["X-fs-message-type: another-type"], decision: call),
    .init(method: "INVITE", settings: ["wake_timeout": "7"], decision: .wakes(.call, holdSeconds: 7)),
    .init(
        method: "INVITE", headers: ["Content-Type: application/resource-lists+xml"],
        decision: .wakes(.groupChat, holdSeconds: 40)),
    .init(
        method: "INVITE", headers: ["c: Application/Resource-Lists+XML ;charset=utf-8"],
        decision: .wakes(.groupChat, holdSeconds: 40)),
    .init(
        method: "INVITE", headers: ["Replaces: 1@h;to-tag=2;from-tag=3"],
        decision: .nobody("the INVITE replaces a call that is answered already")),
    .init(method: "INVITE", headers: ["Replaces: 1@h;to-tag=2;from-tag=3"], place: .outsideWithPURR, decision: call),
    .init(method: "INVITE", headers: ["Priority: non-urgent"], decision: .nobody("the request is non-urgent")),
    .init(method: "INVITE", headers: ["priority:Non-Urgent "], decision: .nobody("the request is non-urgent")),
    .init(
        method: "INVITE", headers: ["X-FS-Message-Type: Chat-Service"],
        decision: .nobody("the request is for the chat service, not for its user")),
    .init(method: "INVITE", place: .inside, decision: .nobody(inDialog)),
    .init(method: "INVITE", place: .insideWithPURR, decision: call),
    .init(method: "INVITE", place: .insideWithPURR, settings: ["wake_requests": ""], decision: call),
    .init(
        method: "INVITE", settings: ["wake_requests": "MESSAGE"],
        decision: .nobody("INVITE wakes no phone: wake_requests does not name it")),
    // MESSAGE
    .init(method: "MESSAGE", headers: ["Content-Type: text/plain"], body: "hi", decision: chat),
    .init(method: "MESSAGE", headers: ["Content-Type: another/type"], decision: chat),
    .init(method: "MESSAGE", settings: ["wake_timeout": "9"], decision: .wakes(.chat, holdSeconds: 9)),
    .init(
        method: "MESSAGE", headers: ["c: application/im-iscomposing+xml ;charset=utf-8"],
        decision: .nobody("the MESSAGE only says that somebody is typing")),
    .init(
        method: "MESSAGE", headers: ["Content-Type: Message/IMDN+xml"],
        decision: .nobody("the MESSAGE only says that another one arrived")),
    .init(
        method: "MESSAGE", headers: ["Content-Type: message/imdn+xml"], place: .insideWithPURR,
        decision: .nobody("the MESSAGE only says that another one arrived")),
    .init(method: "MESSAGE", headers: ["Priority: non-urgent"], decision: .nobody("the request is non-urgent")),
    .init(method: "MESSAGE", place: .inside, decision: .nobody(inDialog)),
    .init(method: "MESSAGE", place: .insideWithPURR, decision: chat),
    // REFER
    .init(method: "REFER", decision: .wakes(.refer, holdSeconds: 20)),
    .init(
        method: "REFER",
        headers: ["Content-Type: application/im-iscomposing+xml", "Replaces: 1@h;to-tag=2;from-tag=2"],
        decision: .wakes(.refer, holdSeconds: 20)),
    .init(method: "REFER", place: .inside, decision: .nobody(inDialog)),
    .init(method: "REFER", place: .insideWithPURR, decision: silent),
    .init(
        method: "REFER", settings: ["wake_requests": "invite"],
        decision: .nobody("REFER wakes no phone: wake_requests does not name it")),
    // NOTIFY
    .init(method: "NOTIFY", headers: mailbox, decision: voicemail),
    .init(method: "NOTIFY", headers: ["o: Message-Summary;id=1"], decision: voicemail),
    .init(
        method: "NOTIFY", headers: mailbox, body: "Messages-Waiting: yes\r\nVoice-Message: 2/8 (0/2)\r\n",
        decision: voicemail),
    .init(
        method: "NOTIFY", headers: mailbox, body: "Messages-Waiting : no\r\nVoice-Message: 0/2\r\n",
        decision: .nobody("the NOTIFY says that no message waits")),
    .init(method: "NOTIFY", headers: ["Event: dialog"], decision: .nobody(onlyMailboxes)),
    .init(method: "NOTIFY", headers: ["Event: message-summaries"], decision: .nobody(onlyMailboxes)),
    .init(method: "NOTIFY", decision: .nobody(onlyMailboxes)),
    .init(method: "NOTIFY", headers: mailbox, place: .inside, decision: .nobody(inDialog)),
    .init(method: "NOTIFY", headers: mailbox, place: .insideWithPURR, decision: voicemail),
    .init(
        method: "NOTIFY", headers: mailbox, body: "Messages-Waiting: no\r\n", place: .insideWithPURR, decision: silent),
    .init(method: "NOTIFY", headers: ["Event: dialog"], place: .insideWithPURR, decision: silent),
    .init(
        method: "NOTIFY", headers: mailbox, settings: ["wake_requests": "INVITE MESSAGE"],
        decision: .nobody("NOTIFY wakes no phone: wake_requests does not name it")),
    // What has to be named
    .init(
        method: "OPTIONS", decision: .nobody("OPTIONS wakes no phone: wake_requests does not name it")),
    .init(method: "OPTIONS", settings: all, decision: silent),
    .init(method: "SUBSCRIBE", decision: .nobody("SUBSCRIBE wakes no phone: wake_requests does not name it")),
    .init(method: "SUBSCRIBE", settings: all, decision: silent),
    .init(method: "PUBLISH", decision: .nobody("PUBLISH wakes no phone: wake_requests does not name it")),
    .init(method: "PUBLISH", settings: all, decision: silent),
    .init(method: "INFO", decision: .nobody("INFO wakes no phone: wake_requests does not name it")),
    .init(method: "INFO", settings: all, decision: silent),
    .init(method: "INFO", place: .insideWithPURR, decision: silent),
    // Within a dialog alone
    .init(method: "UPDATE", settings: all, decision: .nobody("UPDATE wakes no phone")),
    .init(method: "UPDATE", place: .inside, settings: all, decision: .nobody(inDialog)),
    .init(method: "UPDATE", place: .insideWithPURR, decision: silent),
    .init(method: "BYE", settings: all, decision: .nobody("BYE wakes no phone")),
    .init(method: "BYE", place: .inside, settings: all, decision: .nobody(inDialog)),
    .init(method: "BYE", place: .insideWithPURR, decision: silent),
    .init(method: "invite", settings: all, decision: .nobody("invite wakes no phone")),
    .init(method: "REGISTER", settings: all, decision: .nobody("REGISTER wakes no phone")),
    // Never
    .init(method: "ACK", settings: all, decision: .nobody("ACK wakes no phone")),
    .init(method: "ACK", place: .insideWithPURR, settings: all, decision: .nobody("ACK wakes no phone")),
    .init(method: "PRACK", settings: all, decision: .nobody("PRACK wakes no phone")),
    .init(method: "PRACK", place: .insideWithPURR, settings: all, decision: .nobody("PRACK wakes no phone")),
    // The end of a call
    .init(method: "CANCEL", decision: .ends(.cancelled)),
    .init(method: "CANCEL", place: .insideWithPURR, decision: .ends(.cancelled)),
    .init(method: "CANCEL", headers: ["Reason: SIP;cause=200"], decision: .ends(.completedElsewhere)),
    .init(method: "CANCEL", headers: ["Reason: SIP ;cause=600"], decision: .ends(.failed(603))),
    .init(method: "CANCEL", headers: ["reason: Q.850;cause=16, SIP;cause=603"], decision: .ends(.failed(603))),
    .init(
        method: "CANCEL", headers: ["Reason: SIP;cause=200", "Reason: Q.850;cause=26"],
        decision: .ends(.completedElsewhere)),
    .init(
        method: "CANCEL", headers: ["Reason: Q.850;cause=26", "Reason: SIP;cause=200"],
        decision: .ends(.completedElsewhere)),
    .init(
        method: "CANCEL", headers: ["Reason: SIP;text=\"no, SIP;cause=600 \\\"\";cause=200"],
        decision: .ends(.completedElsewhere)),
    .init(method: "CANCEL", headers: ["Reason: Q.850;cause=26"], decision: .ends(.completedElsewhere)),
    .init(method: "CANCEL", headers: ["Reason: q.850 ; cause=26;text=\"x\""], decision: .ends(.completedElsewhere)),
    .init(method: "CANCEL", headers: ["Reason: Q.850;cause=26", "Reason: SIP;cause=487"], decision: .ends(.cancelled)),
    .init(
        method: "CANCEL", headers: ["Reason: Q.850;cause=26", "Reason: SIP;cause=603"], decision: .ends(.failed(603))),
    .init(method: "CANCEL", headers: ["Reason: SIP;cause=487"], decision: .ends(.cancelled)),
    .init(method: "CANCEL", headers: ["Reason: Q.850;cause=200"], decision: .ends(.cancelled)),
]

@Suite struct `A request to a user` {
    @Test(arguments: rows)
    func `wakes phones as the table says`(row: PolicyRow) throws {
        var settings = Settings()
        for (name, value) in row.settings { try settings.set(name, to: value) }
        let request = try #require(row.request)
        let policy = RequestPolicy(settings)
        let decision = policy.decision(on: request, hasPURR: !request.purr.isEmpty)
        #expect(decision == row.decision)
        if case .wakes = decision {
            let mayWake = policy.mayWake(
                request.method, isInDialog: request.isInDialog, carriesPURR: !request.purr.isEmpty)
            #expect(mayWake)
        }
    }

    @Test(arguments: rows.filter { $0.place == .insideWithPURR })
    func `has no PURR when no device has it`(row: PolicyRow) throws {
        let request = try #require(row.request)
        #expect(RequestPolicy(Settings()).decision(on: request, hasPURR: false) == .nobody(inDialog))
    }

    @Test func `needs no look at its headers when its method says enough`() {
        let policy = RequestPolicy(Settings())
        #expect(!policy.mayWake("ACK", isInDialog: true, carriesPURR: true))
        #expect(!policy.mayWake("BYE", isInDialog: true, carriesPURR: false))
        #expect(!policy.mayWake("OPTIONS", isInDialog: false, carriesPURR: false))
        #expect(policy.mayWake("BYE", isInDialog: true, carriesPURR: true))
        #expect(policy.mayWake("NOTIFY", isInDialog: false, carriesPURR: false))
    }

    @Test func `is answered before its sender gives up`() {
        let policy = RequestPolicy(Settings())
        #expect(policy.holdSeconds("INVITE") == 40)
        for method in WakingMethods.known where method != "INVITE" { #expect(policy.holdSeconds(method) == 20) }
    }

    @Test(
        arguments: [("INVITE", 0, 40), ("INVITE", 15, 15), ("INVITE", 90, 40), ("OPTIONS", 30, 20)]
            as [(String, Int64, Int64)])
    func `is held no longer than its host waits`(method: String, wanted: Int64, seconds: Int64) throws {
        var settings = Settings()
        try settings.set("wake_requests", to: "INVITE, OPTIONS")
        let decision = RequestPolicy(settings).decision(on: IncomingRequest(method: method), wanted: wanted)
        guard case .wakes(_, _, holdSeconds: seconds) = decision else {
            Issue.record("\(decision)")
            return
        }
    }

    @Test func `is for one phone by its PURR inside a dialog, or in place of a call`() {
        var request = IncomingRequest(method: "INVITE")
        request.purr = "x"
        #expect(request.namingPURR.isEmpty)
        request.replacesCall = true
        #expect(request.namingPURR == "x")
        (request.replacesCall, request.isInDialog) = (false, true)
        #expect(request.namingPURR == "x")
    }
}
