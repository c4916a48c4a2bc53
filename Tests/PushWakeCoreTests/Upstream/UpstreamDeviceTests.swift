// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct UpstreamDeviceTests {
    private typealias Phone = (instance: String, contact: String, callID: String)

    private static let known: Phone = ("", "sip:a@192.0.2.1:5060;pn-prid=1", "run-1")

    @Test(arguments: [
        ("", "sip:a@192.0.2.1:5060;pn-prid=2", "run-2", true), ("", "sip:a@192.0.2.9:5061", "run-1", true),
        ("", "sip:a@192.0.2.9:5061", "run-2", false), ("", "", "run-1", true), ("", "", "", false),
        ("<urn:uuid:1>", "sip:a@192.0.2.1:5060", "run-1", false),
    ])
    func `without an instance its Contact or its Call-ID tells`(
        instance: String, contact: String, callID: String, isSame: Bool
    ) {
        let known = UpstreamDevice(
            instance: Self.known.instance, contact: Self.known.contact, callID: Self.known.callID)
        let other = UpstreamDevice(instance: instance, contact: contact, callID: callID)
        #expect(known.isSamePhone(as: other) == isSame)
        #expect(other.isSamePhone(as: known) == isSame)
        #expect(UpstreamDevice(fingerprint: other.fingerprint).isSamePhone(as: known) == isSame)
    }

    @Test func `with an instance nothing else counts`() {
        let one = UpstreamDevice(instance: "<urn:uuid:1>", contact: "sip:a@192.0.2.1", callID: "run")
        let moved = UpstreamDevice(instance: "<urn:uuid:1>", contact: "sip:a@192.0.2.2", callID: "run-2")
        let other = UpstreamDevice(instance: "<urn:uuid:2>", contact: "sip:a@192.0.2.1", callID: "run")
        #expect(one.isSamePhone(as: moved))
        #expect(!one.isSamePhone(as: other))
    }

    @Test func `an empty Call-ID names nobody`() {
        let one = UpstreamDevice(instance: "", contact: "sip:a@192.0.2.1", callID: "")
        #expect(!one.isSamePhone(as: UpstreamDevice(instance: "", contact: "sip:a@192.0.2.2", callID: "")))
    }
}
