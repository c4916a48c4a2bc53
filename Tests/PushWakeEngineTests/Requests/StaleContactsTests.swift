// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

private let host: Int64 = 7
private let parameters = ";pn-provider=fcm;pn-param=project;pn-prid=abc:def"
private let before = "sip:bob@10.0.0.1:5060"
private let now = "sip:bob@10.0.0.2:5060"
private let desk = "sip:bob@10.0.0.3:5060"

extension CoreBench {
    /// A host asks about a call and names these contacts; gives those that it is told to ring afterwards.
    fileprivate func wake(knowing contacts: [String]) throws -> [String] {
        _ = try ask(.wake) { writer in
            writer.put(.event, Int64(PushEvent.call.rawValue))
            writer.put(.method, "INVITE")
            writer.put(.aor, "bob")
            writer.put(.callID, "call@1")
            writer.put(.host, host)
            writer.put(.handle, Int64(99))
            for contact in contacts {
                writer.put(.contactURI, contact)
                writer.put(.contactAge, Int64(100))
                writer.put(.contactReachable, Int64(0))
            }
        }
        var rung: [String] = []
        for bytes in core.hosts.undelivered.take(for: UInt64(host), now: SystemClock.monotonicMilliseconds()) {
            var reader = try #require(MessageReader(bytes))
            while let field = reader.next() {
                if field.tag == .contactKey { rung.append(reader.text(field)) }
            }
        }
        return rung
    }
}

/// A host looks for the contacts of a request, and the REGISTER by which a phone leaves one of them is heard before it.
@Suite struct `Contacts that a phone has left when its host had looked for them` {
    @Test(arguments: [[before], [before + parameters], [before, desk]])
    func `are not rung, and the phone rings where it is`(known: [String]) throws {
        let bench = try CoreBench()
        try bench.register("<\(before)\(parameters)>")
        try bench.register("<\(now)\(parameters)>", cseq: 2)
        #expect(try bench.wake(knowing: known) == [now + parameters])
    }

    @Test func `are rung where the host names the new one too, or the phone has come back`() throws {
        let bench = try CoreBench()
        try bench.register("<\(before)\(parameters)>")
        try bench.register("<\(now)\(parameters)>", cseq: 2)
        #expect(try bench.wake(knowing: [before, now + parameters]) == [])
        let other = try CoreBench()
        try other.register("<\(before)\(parameters)>")
        try other.register("<\(now)\(parameters)>", cseq: 2)
        try other.register("<\(before)\(parameters)>", cseq: 3)
        #expect(try other.wake(knowing: [before]) == [])
    }

    @Test func `are those of a moment, of a host that thousands of phones register at each second too`() {
        func move(at time: Int64) -> LeftContacts.Move {
            LeftContacts.Move(
                domain: "", left: [before], registration: CallRegistration(contact: CallContact(key: now)), uri: now,
                at: time)
        }
        func message(_ number: Int) -> WakeMessage {
            var message = WakeMessage()
            message.aor = "bob\(number)"
            message.contacts = [WakeMessage.Contact(uri: before + parameters)]
            return message
        }
        var contacts = LeftContacts()
        for number in 0..<8200 { contacts.note(move(at: 0), of: "bob\(number)") }
        #expect(contacts.moves(of: message(7), now: 1000).isEmpty)
        #expect(contacts.moves(of: message(8), now: 1000).count == 1)
        #expect(contacts.moves(of: message(8199), now: 1000).count == 1)
        #expect(contacts.moves(of: message(8199), now: 1001).isEmpty)
        for _ in 0..<40 { contacts.note(move(at: 1001), of: "bob8200") }
        #expect(contacts.moves(of: message(8200), now: 1001).count == 32)
    }
}
