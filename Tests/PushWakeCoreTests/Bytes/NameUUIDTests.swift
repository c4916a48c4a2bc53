// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A UUID of a name` {
    private func text(_ name: String) -> String {
        let bytes = PayloadContext.uuid(ofCall: name).text
        return String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }

    /// By Python: `uuid.uuid5(uuid.UUID("345198a0-fbeb-40ca-a578-6948d80653dd"), name)`. SHA-1 fills its block in the middle
    /// of these lengths.
    @Test(arguments: [
        ("", "8dd715b2-58f1-5731-8b0d-9876166dfa14"),
        ("a", "fcb8fdfe-2f40-5842-9a20-866797ef8dd7"),
        ("call-1@192.0.2.9", "67e8c0ae-5111-56b2-ad58-7e073f560bc5"),
        ("a84b4c76e66710@pc33.atlanta.com", "98f58d5b-9744-5aa9-837b-8d227b10ba9d"),
        (String(repeating: "x", count: 39), "338f48d3-8ebd-575e-9ee0-f9c38543f434"),
        (String(repeating: "x", count: 40), "2baba306-7bc0-595b-add5-e1acca583aa7"),
        (String(repeating: "x", count: 47), "c5a8089d-d166-5452-a3b7-05e04f9c0f21"),
        (String(repeating: "x", count: 48), "badc90d2-b494-509d-8207-427fdf991ba0"),
        (String(repeating: "x", count: 103), "88d9ac6a-8334-5a2b-99a5-38bc337e1350"),
        (String(repeating: "x", count: 104), "9db9cfd7-6c9c-582b-9bfe-6a5a0c80b0f1"),
        (String(repeating: "x", count: 500), "68bd7e6f-886b-5e0f-b664-92456e37f88e"),
        ("Grüße@h", "88230738-afe2-5d7d-a8ce-ee54aff2e02b"),
    ])
    func `is the one that everybody else makes of a Call-ID`(callID: String, expected: String) {
        #expect(text(callID) == expected)
    }
}
