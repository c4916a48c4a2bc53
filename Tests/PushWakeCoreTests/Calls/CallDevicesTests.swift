// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `The devices of a request` {
    private func binding(_ service: Service?, _ token: String, _ provider: Provider = .apns) -> Binding {
        Binding(
            aor: "bob", provider: provider, app: "com.a", service: service, token: token, dialect: .rfc8599,
            instance: "1")
    }

    @Test func `are nothing but tokens where an app reported these, and neither a Contact nor its instance`() {
        func isAlone(_ instance: String, _ contact: String = "") -> [Bool] {
            var binding = binding(nil, "a", .acrobits)
            (binding.instance, binding.contact) = (instance, contact)
            let devices = CallDevices(.call, bindings: [binding], contacts: [], awakeFor: 0).devices
            return devices.map { $0.isTokensAlone && $0.instance.isEmpty }
        }
        #expect(isAlone("acrobits:BBBB:2") == [true])
        #expect(isAlone("") == [true])
        #expect(isAlone("<urn:uuid:1>") == [false])
        #expect(isAlone("", "sip:bob@192.0.2.1") == [false])
    }

    @Test func `take notices of a call's end where one of their tokens may have more than calls`() {
        func takes(_ bindings: Binding...) -> [Bool] {
            CallDevices(.call, bindings: bindings, contacts: [], awakeFor: 0).devices.map(\.takesNotices)
        }
        #expect(takes(binding(.voip, "a")) == [false])
        #expect(takes(binding(.voip, "a"), binding(.remote, "b")) == [true])
        #expect(takes(binding(nil, "a")) == [true])
        #expect(takes(binding(nil, "a", .fcm)) == [true])
        #expect(takes(binding(.voip, "a", .acrobits)) == [false])
    }
}
