// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

private func text(_ method: String, via: String = "SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bK1", more: String = "")
    -> String
{
    "\(method) sip:100@waiting.invalid SIP/2.0\r\nVia: \(via)\r\nFrom: \"A\" <sip:a@b>;tag=f1\r\n"
        + "To: <sip:100@b>\r\nCall-ID: c1\r\nCSeq: 7 \(method)\r\n\(more)\r\n"
}

private func request(_ method: String, more: String = "") -> KeptRequest? {
    KeptRequest(Array(text(method, more: more).utf8).span)
}

@Suite struct `A request that is kept to be answered` {
    @Test func `has what names it and its transaction`() throws {
        let kept = try #require(request("INVITE"))
        #expect(kept.callID == "c1" && kept.fromTag == "f1" && kept.toTag == "" && kept.cseq == 7)
        let cancel = try #require(request("CANCEL", more: "Reason: SIP;cause=200\r\n"))
        #expect(cancel.transaction == kept.transaction)
        #expect(cancel.reason == "SIP;cause=200")
        let options = try #require(request("OPTIONS"))
        #expect(options.transaction != kept.transaction)
    }

    @Test func `is answered with its own lines, and a tag above 100`() throws {
        let kept = try #require(request("INVITE", more: "Via: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK2\r\nSubject: x\r\n"))
        let trying = String(decoding: kept.answer(100, tag: "t1"), as: UTF8.self)
        #expect(trying.hasPrefix("SIP/2.0 100 Trying\r\nVia: SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bK1\r\n"))
        #expect(!trying.contains("tag=t1") && !trying.contains("Subject") && trying.contains("z9hG4bK2"))
        let moved = String(decoding: kept.answer(302, tag: "t1", headers: [("Contact", "<sip:1@2>")]), as: UTF8.self)
        #expect(moved.contains("To: <sip:100@b>;tag=t1\r\nContact: <sip:1@2>\r\nContent-Length: 0\r\n\r\n"))
    }

    @Test(arguments: [
        "SIP/2.0 200 OK\r\n\r\n", "hello", "", text("INVITE", via: "SIP/2.0/UDP 127.0.0.1"),
        text("INVITE").replacing("tag=f1", with: "x=1"), text("INVITE").replacing("7 INVITE", with: "7 BYE"),
        text("INVITE").replacing("Call-ID: c1\r\n", with: ""), text("INVITE").replacing("c1", with: "c1\rX: y"),
    ])
    func `is none where nobody could answer it`(message: String) {
        #expect(KeptRequest(Array(message.utf8).span) == nil)
    }
}

@Suite struct `The server's side of a request` {
    private func transaction(_ method: String, reliable: Bool = false, repetition: Int64? = nil) throws
        -> ServerTransaction
    {
        ServerTransaction(try #require(request(method)), tag: "t", isReliable: reliable, repetition: repetition)
    }

    @Test func `repeats its last answer to a copy`() throws {
        var server = try transaction("INVITE")
        #expect(server.repeated() == nil)
        let trying = server.answer(100, now: 0)
        #expect(server.repeated() == trying)
        let final = server.answer(480, now: 10)
        #expect(server.repeated() == final)
        #expect(server.answer(180, now: 20) == nil && server.answer(487, now: 20) == nil)
    }

    @Test func `sends a final answer to an INVITE again until the ACK comes`() throws {
        var server = try transaction("INVITE")
        let final = server.answer(480, now: 0)
        var times: [Int64] = []
        for now in stride(from: Int64(0), through: 12_000, by: 100) where server.tick(now: now) == final {
            times.append(now)
        }
        #expect(times == [500, 1500, 3500, 7500, 11_500])
        server.acknowledged(now: 12_000)
        #expect(server.deadline == 17_000 && !server.isOver(now: 16_999) && server.isOver(now: 17_000))
        #expect(server.repeated() == nil && server.tick(now: 13_000) == nil)
    }

    @Test func `gives up waiting for the ACK after 32 seconds`() throws {
        var server = try transaction("INVITE")
        _ = server.answer(480, now: 0)
        #expect(!server.isOver(now: 31_999) && server.isOver(now: 32_000))
    }

    @Test func `sends nothing twice where nothing is lost`() throws {
        var server = try transaction("INVITE", reliable: true)
        _ = server.answer(480, now: 0)
        #expect(server.tick(now: 5000) == nil)
        server.acknowledged(now: 5000)
        #expect(server.isOver(now: 5000))
        var message = try transaction("MESSAGE", reliable: true)
        _ = message.answer(202, now: 0)
        #expect(message.isOver(now: 0))
    }

    @Test func `repeats a provisional answer, so that no timer of a proxy ends the wait`() throws {
        var server = try transaction("INVITE", repetition: 1000)
        let trying = server.answer(100, now: 0)
        #expect(server.deadline == 1000 && server.tick(now: 999) == nil && server.tick(now: 1000) == trying)
        #expect(server.deadline == 2000)
        _ = server.answer(480, now: 1500)
        #expect(server.deadline == 2000)
    }
}
