// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport
import Testing

@testable import PushWakeStore

@Suite struct `A binding as a line of JSON` {
    private var full: Binding {
        var binding = makeBinding(
            token: "secret-token-0123456789", contact: "sip:alice@192.0.2.1;pn-prid=secret-token-0123456789")
        binding.attributes["pn-timeout"] = "0"
        binding.attributes["pn-auth"] = "secret-auth"
        binding.refreshesItself = true
        binding.route = "<sip:192.0.2.9;lr>"
        binding.acceptedAt = 1_790_000_000
        return binding
    }

    @Test func `comes back as it was`() throws {
        for binding in [full, makeBinding(aor: "bob", team: "", service: nil, instance: "")] {
            let line = BindingDocument.write(binding, withSecrets: true) { $0 }
            #expect(try BindingDocument.read(JSONParser.parse(line)) == binding)
        }
    }

    @Test func `shows no secret unless it is told to, and cannot be read back then`() throws {
        let line = BindingDocument.write(full, withSecrets: false) { String($0.prefix(3)) + "…" }
        let text = String(decoding: line, as: UTF8.self)
        #expect(!text.contains("secret-token") && !text.contains("secret-auth") && text.contains("sec…"))
        #expect(throws: BindingDocument.Mistake(message: "its token was shortened; export with --secrets")) {
            try BindingDocument.read(JSONParser.parse(line))
        }
    }

    @Test(arguments: [
        "1", "[]", "{}", #"{"aor":"a"}"#, #"{"aor":"a","token":"t"}"#, #"{"aor":"a","token":"t","provider":"apns"}"#,
        #"{"aor":"a","token":"t","provider":"apns","dialect":"rfc8599","cseq":-1}"#,
        #"{"aor":"a","token":"t","provider":"apns","dialect":"rfc8599","cseq":1,"registered_at":"x"}"#,
    ])
    func `says what is missing`(text: String) throws {
        let json = try JSONParser.parse(text)
        #expect(throws: BindingDocument.Mistake.self) { try BindingDocument.read(json) }
    }

    @Test func `stays out where the same phone has something newer`() {
        let old = makeBinding(token: "old", at: start)
        let newer = makeBinding(token: "new", at: start + 1)
        let other = makeBinding(token: "old", instance: "<urn:uuid:2>", at: start + 1)
        let stranger = makeBinding(token: "x", instance: "<urn:uuid:3>", at: start + 1)
        #expect(BindingImport.isOutdated([old], by: [newer]))
        #expect(BindingImport.isOutdated([old], by: [other]))
        #expect(!BindingImport.isOutdated([newer], by: [old]))
        #expect(!BindingImport.isOutdated([old], by: [stranger]))
        #expect(!BindingImport.isOutdated([old], by: []))
    }

    @Test func `is of one phone with its neighbours from the same Contact`() {
        let voip = makeBinding(token: "a")
        let remote = makeBinding(service: .remote, token: "b", contact: voip.contact)
        let other = makeBinding(token: "c", instance: "<urn:uuid:2>")
        #expect(BindingImport.groups([voip, remote, other]).map(\.count) == [2, 1])
        #expect(BindingImport.groups([]).isEmpty)
    }
}
