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

    @Test(arguments: [
        ("#!define A B\n#!define B \"5\"\nmodparam(\"pushwake\", \"wake_timeout\", A)", "5"),
        ("#!define M modparam(\"pushwake\", \\\n \"wake_timeout\", 5)\nM\n", "5"),
        ("#!substdef \"!AB!5!g\"\nmodparam(\"pushwake\", \"wake_timeout\", AB)", "5"),
        ("#!substdef \"!AB!5!g\"\nmodparam(\"pushwake\", \"wake_timeout\", \"xABAB\")", "x55"),
        ("#!subst \"/AB/5/\"\nmodparam(\"pushwake\", \"wake_timeout\", \"xABAB\")", "x5AB"),
        ("#!substdefs \"!AB!5!\"\nmodparam(\"pushwake\", \"wake_timeout\", AB)", "5"),
        ("#!subst \"/A*/5/g\"\nmodparam(\"pushwake\", \"wake_timeout\", \"A*\")", "A*"),
        ("modparam(\"pushwake\", \"wake_timeout\", \"a\"\n \"b\")", "ab"),
        ("#!defenv TIME\nmodparam(\"pushwake\", \"wake_timeout\", TIME)", "5"),
        ("#!defenvs T=TIME\nmodparam(\"pushwake\", \"wake_timeout\", T)", "5"),
        ("#!trydefenv NONE\n#!ifdef NONE\nx\n#!else\nmodparam(\"pushwake\", \"wake_timeout\", 5)\n#!endif", "5"),
        ("!!define A\n!!ifndef A\nx\n!!else\nmodparam(\"pushwake\", \"wake_timeout\", 5)\n!!endif", "5"),
        ("loadmodule \"a/tm.so\"\n#!ifdef MOD_tm\nmodparam(\"pushwake\", \"wake_timeout\", 5)\n#!endif", "5"),
        ("#!define T 5\nmodparamx(\"pushwake\", \"wake_timeout\", \"$def(T)$env(TIME)$x$(\")", "55$x$("),
    ])
    func `is read as its preprocessor leaves it`(_ text: String, _ value: String) {
        let configuration = KamailioConfiguration(text, file: "k.cfg", environment: { $0 == "TIME" ? "5" : nil }) { _ in
            nil
        }
        #expect(configuration.parameters.map(\.value) == [value])
    }

    @Test func `has what modules that are not loaded need left out`() {
        let text = "#!ifdef MOD_tm\nmodparam(\"pushwake\", \"wake_timeout\", 5)\n#!endif\nif (!!is_ok()) { x(); }\n"
        let configuration = KamailioConfiguration("loadmodule \"tmx.so\"\n" + text, file: "k.cfg") { _ in nil }
        #expect(configuration.parameters.isEmpty)
    }

    @Test func `names the line of a name that stands for more`() {
        let text = "#!define M modparam(\"pushwake\", \\\n \"wake_timeout\", 5)\n\n\nM\nloadmodule \"tm.so\"\n"
        let configuration = KamailioConfiguration(text, file: "k.cfg") { _ in nil }
        #expect(configuration.parameters.map(\.location.line) == [5])
        #expect(configuration.modules.map(\.location.line) == [6])
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "#!define A A A\nA\n", "#!define A B B\n#!define B A A\nA\n", "!!", "#!", "/*", "\"\\",
            "#!subst \"//\"\n\"a\"", "#!subst \"\"",
        ])
    func `that does not end comes to an end`(_ text: String) {
        let configuration = KamailioConfiguration(text, file: "k.cfg") { _ in nil }
        #expect(configuration.parameters.isEmpty)
    }

    @Test func `does not grow by its rules without end`() {
        let long = String(repeating: "a", count: 60_000)
        let text = "#!subst \"/a/\(long)/g\"\nmodparam(\"pushwake\", \"wake_timeout\", \"\(long)\")"
        let configuration = KamailioConfiguration(text, file: "k.cfg") { _ in nil }
        #expect(configuration.parameters.map(\.value.utf8.count) == [60_000])
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

    @Test(arguments: ["wait\", \"branch", "wait\", \"leg", "event_callback\", \"on_event"])
    func `sets what only the module knows`(_ parameter: String) {
        let text = "modparam(\"pushwake\", \"\(parameter)\")"
        let configuration = KamailioConfiguration(text, file: "k.cfg") { _ in nil }
        #expect(configuration.settings.mistakes.isEmpty)
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
