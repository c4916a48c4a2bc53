// SPDX-License-Identifier: MIT

import PushWakeCanary
import Testing

@Suite struct `Phone of a canary` {
    private func phone() -> CanaryPhone {
        CanaryPhone(
            address: "sip:test@127.0.0.1:5062", parameters: ";pn-provider=fcm;pn-param=p;pn-prid=t:1",
            instance: "urn:uuid:1", random: 36)
    }

    private func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

    private func request(_ method: String, to: String = "<sip:test@127.0.0.1>") -> [UInt8] {
        let lines = [
            "\(method) sip:test@127.0.0.1:40000 SIP/2.0", "Via: SIP/2.0/UDP a;branch=z9hG4bK1",
            "Via: SIP/2.0/UDP b;branch=z9hG4bK2",
            "Record-Route: <sip:a;lr>", "From: <sip:canary@x>;tag=1", "To: \(to)", "Call-ID: c", "CSeq: 1 \(method)",
            "Content-Length: 0", "", "",
        ]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    @Test func `registers with its token from where it is`() {
        var phone = phone()
        let first = text(phone.register(from: "127.0.0.1:40000", seconds: 600))
        #expect(first.hasPrefix("REGISTER sip:127.0.0.1:5062 SIP/2.0\r\n"))
        #expect(
            first.contains(
                "Contact: <sip:test@127.0.0.1:40000;pn-provider=fcm;pn-param=p;pn-prid=t:1>;+sip.instance=\"<urn:uuid:1>\"\r\n"
            ))
        #expect(first.contains("To: <sip:test@127.0.0.1>\r\n"))
        #expect(text(phone.register(from: "127.0.0.1:40001", seconds: 600)).contains("CSeq: 2 REGISTER\r\n"))
    }

    @Test func `knows the answer to its REGISTER`() {
        var phone = phone()
        _ = phone.register(from: "127.0.0.1:40000", seconds: 600)
        let reply = "SIP/2.0 401 Unauthorized\r\nCall-ID: p\r\nCSeq: 1 REGISTER\r\nContent-Length: 0\r\n\r\n"
        #expect(phone.received(Array(reply.utf8)).isEmpty && phone.status == 401)
    }

    @Test func `rings, and ends when the call is taken back`() {
        var phone = phone()
        _ = phone.register(from: "127.0.0.1:40000", seconds: 600)
        let ringing = phone.received(request("INVITE")).map { text($0) }
        #expect(ringing.count == 1 && ringing[0].hasPrefix("SIP/2.0 180 Ringing\r\n"))
        #expect(
            ringing[0].contains("z9hG4bK1\r\nvia: SIP/2.0/UDP b")
                && ringing[0].contains("to: <sip:test@127.0.0.1>;tag=10\r\n"))
        #expect(ringing[0].contains("Record-Route: <sip:a;lr>\r\n") && phone.hasRung)
        let ended = phone.received(request("CANCEL")).map { String(text($0).prefix(11)) }
        #expect(ended == ["SIP/2.0 200", "SIP/2.0 487"])
        #expect(phone.received(request("ACK")).isEmpty)
        #expect(text(phone.received(request("BYE", to: "<sip:t@h>;tag=x")).first).contains("to: <sip:t@h>;tag=x\r\n"))
    }

    @Test func `takes what is no SIP for nothing`() {
        var phone = phone()
        #expect(phone.received([0, 255, 13, 10]).isEmpty && !phone.hasRung)
    }
}
