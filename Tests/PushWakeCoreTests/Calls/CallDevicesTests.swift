// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `The devices of a request` {
    private func binding(_ service: Service?, _ token: String, _ provider: Provider = .apns) -> Binding {
        Binding(
            aor: "bob", provider: provider, app: "com.a", service: service, token: token, dialect: .rfc8599,
            instance: "1")
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
