// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A kamailio.cfg` {
    @Test func `is read with what it includes`() {
        let configuration = KamailioConfiguration("include_file \"a.cfg\"\nloadmodule \"tm.so\"\n", file: "k.cfg") {
            $0 == "a.cfg" ? "loadmodule \"sl.so\"\n" : nil
        }
        #expect(configuration.modules.map(\.name) == ["sl", "tm"])
        #expect(configuration.modules.map(\.location.file) == ["a.cfg", "k.cfg"])
    }

    @Test func `has numbers below zero`() {
        let text = "modparam(\"pushwake\", \"persist\", -1)\nmodparam(\"pushwake\", \"wake_timeout\", 5)\n"
        let configuration = KamailioConfiguration(text, file: "k.cfg") { _ in nil }
        #expect(configuration.parameters.map(\.value) == ["-1", "5"])
    }

    @Test func `has no statements in its strings`() {
        let text = "event_route[\"request_route\"] {\n$rU = \"drop\";\nif ($rU == \"exit\") { exit; }\n}\n"
        let configuration = KamailioConfiguration(text + "loadmodule \"tm.so\"\n", file: "k.cfg") { _ in nil }
        #expect(configuration.routes["event_route[request_route]"] == [.blockBegins, .leaves, .blockEnds])
        #expect(configuration.modules.map(\.name) == ["tm"])
    }

    @Test(.timeLimit(.minutes(1))) func `that includes itself many times comes to an end`() {
        let text = String(repeating: "include_file \"k.cfg\"\n", count: 80)
        var reads = 0
        let configuration = KamailioConfiguration(text + "loadmodule \"tm.so\"\n", file: "k.cfg") { _ in
            reads += 1
            return reads > 10_000 ? nil : text
        }
        #expect(configuration.modules.map(\.name) == ["tm"])
        #expect(reads <= 500)
    }

    @Test(arguments: [
        ("modparam(\"dmq_usrloc\", \"enable\", 1)", 1),
        ("server_id=0\nmodparam(\"dmq_usrloc\", \"enable\", 1)", 1),
        ("server_id=2\nmodparam(\"dmq_usrloc\", \"enable\", 1)", 0),
        ("modparam(\"dmq_usrloc\", \"enable\", 0)", 0),
        ("modparam(\"usrloc\", \"db_mode\", 3)\nmodparam(\"pushwake\", \"node_uri\", \"sip:192.0.2.1\")", 1),
        (
            "server_id = 1\nmodparam(\"usrloc\", \"db_mode\", 3)\nmodparam(\"pushwake\", \"node_uri\", \"sip:192.0.2.1\")",
            0
        ),
        // A database for one host alone.
        ("modparam(\"usrloc\", \"db_mode\", 3)", 0),
    ])
    func `whose nodes share contacts needs a server_id`(_ text: String, _ count: Int) {
        let configuration = KamailioConfiguration("loadmodule \"pushwake.so\"\n" + text, file: "k.cfg") { _ in nil }
        let findings = KamailioInspection.inspect(configuration, file: "k.cfg")
        #expect(findings.filter { $0.message.contains("server_id=1") }.count == count)
    }
}
