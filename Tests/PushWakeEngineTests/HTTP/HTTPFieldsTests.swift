// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeEngine

@Suite struct `Fields of a request over HTTP` {
    private func fields(_ mediaType: String, _ body: String, query: String = "") throws -> HTTPFields {
        let request = ServedRequest(
            method: "POST", target: "/v1/send\(query)", headers: [.init(name: "content-type", value: mediaType)],
            body: Array(body.utf8))
        return try HTTPFields(try #require(request))
    }

    private func form(_ body: String) throws -> HTTPFields { try fields("application/x-www-form-urlencoded", body) }
    private func json(_ body: String) throws -> HTTPFields { try fields("application/json", body) }

    @Test(arguments: [
        ("one%0Atwo", "one\\ntwo", "one\ntwo"), ("one%0D%0Atwo", "one\\r\\ntwo", "one\ntwo"),
        ("%0D%0D%0A%0A%09x", "\\r\\r\\n\\n\\tx", "\n\n\n\tx"),
    ])
    func `have lines where phones show them, the same in a form and in JSON`(
        inForm: String, inJSON: String, text: String
    ) throws {
        for name in ["text", "title"] {
            #expect(try form("aor=alice&\(name)=\(inForm)")[name] == text)
            #expect(try json("{\"aor\": \"alice\", \"\(name)\": \"\(inJSON)\"}")[name] == text)
        }
    }

    @Test(arguments: ["%0A", "%0D%0A", "%09"])
    func `have no lines elsewhere, and the name is told`(line: String) throws {
        let problem = HTTPFields.Problem(status: 400, message: "aor: a control character is in the value")
        #expect(throws: problem) { try form("text=hi&aor=al\(line)ice") }
        #expect(throws: problem) { try json("{\"text\": \"hi\", \"aor\": \"al\\tice\"}") }
    }

    @Test func `are refused under a name that nobody reads`() throws {
        let names: Set = ["aor", "event"]
        let problem = HTTPFields.Problem(status: 400, message: "there is no evnt here; write aor, event")
        #expect(throws: problem) { try form("aor=alice&evnt=call").refuseUnknown(but: names) }
        #expect(throws: problem) { try json("{\"aor\": \"alice\", \"evnt\": \"\"}").refuseAllBut(names) }
        try form("aor=alice&event=").refuseUnknown(but: names)
        #expect(throws: HTTPFields.Problem.self) { try form("aor=alice&event=").refuseAllBut(names) }
    }

    @Test func `are refused if one stands twice`() throws {
        let names: Set = ["aor", "event"]
        let problem = HTTPFields.Problem(status: 400, message: "aor is there twice; write it once")
        for twice in [
            try form("aor=alice&event=call&aor=bob"), try fields("", "", query: "?aor=alice&aor=bob"),
        ] {
            #expect(throws: problem) { try twice.refuseUnknown(but: names) }
            #expect(throws: problem) { try twice.refuseAllBut(names) }
        }
        #expect(throws: HTTPFields.Problem.self) { try json("{\"aor\": \"alice\", \"aor\": \"bob\"}") }
        // The body counts before the query.
        let both = try fields("application/json", "{\"aor\": \"bob\"}", query: "?aor=alice")
        try both.refuseAllBut(names)
        #expect(both["aor"] == "bob")
    }

    @Test func `have no other control characters anywhere`() throws {
        #expect(throws: HTTPFields.Problem.self) { try form("text=a%00b") }
        #expect(throws: HTTPFields.Problem.self) { try form("text=a%1Bb") }
        #expect(throws: HTTPFields.Problem(status: 400, message: "text: a control character is in the value")) {
            try json("{\"text\": \"a\\u001bb\"}")
        }
        // A name has none at all.
        #expect(throws: HTTPFields.Problem.self) { try form("te%0Axt=a") }
    }
}
