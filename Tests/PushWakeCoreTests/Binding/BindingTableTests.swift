// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `The table of a binding` {
    @Test(arguments: [
        ("work", "work", true), ("work", "home", false), ("work", "", true), ("work", "location", false),
        ("", "home", false), ("", "location", true), ("", "", true),
    ])
    func `counts for whoever looks in it`(_ own: String, _ asked: String, _ isIn: Bool) {
        var binding = Binding(provider: .fcm, token: "t", dialect: .rfc8599, contact: "sip:a@192.0.2.1")
        binding.table = own
        #expect(binding.table == own)
        #expect(binding.isIn(table: asked, usualIsInUse: true) == isIn)
    }

    @Test func `that is not known counts for all`() {
        var binding = Binding(provider: .fcm, token: "t", dialect: .rfc8599)
        #expect(binding.isIn(table: "home", usualIsInUse: true))
        binding.contact = "sip:a@192.0.2.1"
        #expect(binding.isIn(table: "home", usualIsInUse: false))
    }

    @Test func `is that of the last REGISTER`() {
        var binding = Binding(provider: .fcm, token: "t", dialect: .rfc8599)
        binding.table = "work"
        binding.table = "home"
        #expect(binding.attributes.entries.map(\.value) == ["home"])
        binding.table = ""
        #expect(binding.attributes.isEmpty)
    }
}
