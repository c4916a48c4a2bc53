// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeEngine

@Suite struct `Payload files of the operator's own` {
    /// Keys of the body that each of Apple's push types has for an app.
    private func keys(_ files: [String: String], app: String) throws -> (keys: [APNsPushType: String], [String]) {
        let directory = "/tmp/pushwake-payloads-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max))"
        try #require(mkdir(directory, 0o700) == 0)
        defer {
            for name in files.keys { unlink("\(directory)/\(name)") }
            rmdir(directory)
        }
        for (name, text) in files {
            let file = try #require(fopen("\(directory)/\(name)", "w"))
            fputs(text, file)
            fclose(file)
        }
        var settings = Settings()
        try settings.set(.templateDirectory, to: directory)
        let (library, problems) = PayloadFiles.load(settings)
        let binding = Binding(provider: .apns, app: app, token: "00ff", dialect: .rfc8599)
        var found: [APNsPushType: String] = [:]
        for type in APNsPushType.allCases {
            let template = try #require(library?.apns(app: app, type))
            var out: [UInt8] = []
            template.render(PayloadValues(binding: binding, content: PushContent(event: .call)), into: &out)
            found[type] = String(decoding: out, as: UTF8.self)
        }
        return (found, problems)
    }

    @Test func `may be for one push type, and for one app`() throws {
        let files = [
            "apns.json": #"{"all":1}"#, "apns-voip.json": #"{"ring":1}"#, "apns.com.example.one.json": #"{"one":1}"#,
            "apns-background.com.example.one.json": #"{"silent":1}"#,
        ]
        let others = try keys(files, app: "com.example.two")
        #expect(others.keys == [.voip: #"{"ring":1}"#, .alert: #"{"all":1}"#, .background: #"{"all":1}"#])
        let one = try keys(files, app: "com.example.one.voip")
        #expect(one.keys == [.voip: #"{"one":1}"#, .alert: #"{"one":1}"#, .background: #"{"silent":1}"#])
        #expect(one.1.isEmpty)
    }

    @Test(arguments: ["apns-loud.json", "fcm-voip.json", "huawei.json", "apns-.json"])
    func `are reported when their name says nothing`(name: String) throws {
        let (_, problems) = try keys([name: #"{"a":1}"#], app: "com.example.one")
        #expect(problems.count == 1)
        #expect(problems.first?.contains("\(name) is for no provider and not used") == true)
    }

    @Test func `leave what is good in place when another is broken, with line and column`() throws {
        let (bodies, problems) = try keys(
            ["apns.json": #"{"all":1}"#, "apns-voip.json": "{\n \"a\": TITLE\n}"], app: "com.example.one")
        #expect(bodies[.voip] == #"{"all":1}"#)
        #expect(problems.first?.contains("apns-voip.json:2:7: this keyword gives text and needs quotes") == true)
    }

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `may begin with a built-in one`(family: BuiltInPayloads.Family) throws {
        for provider in PayloadFamilies.providers {
            for type in APNsPushType.allCases {
                var library = try PayloadLibrary()
                let source = Array(BuiltInPayloads.source(family, provider, type).utf8)
                try library.load(source, for: provider, type: type)
                #expect(throws: Never.self) { try library.load(source, for: provider, app: "a.b") }
            }
        }
    }

    /// Mizutech's guide prints its file with a comma too many and sections outside of `message`.
    @Test(arguments: [("", "\"ntype\""), ("flexisip", "\"send-time\"")])
    func `of Mizutech's that are broken leave its built-in payload, unless another is set`(
        payload: String, member: String
    ) throws {
        let directory = "/tmp/pushwake-payloads-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max))"
        try #require(mkdir(directory, 0o700) == 0)
        let path = "\(directory)/fcmmessage.txt"
        defer {
            unlink(path)
            rmdir(directory)
        }
        let file = try #require(fopen(path, "w"))
        fputs("{\"message\": {\"token\": \"TOKEN\",},\"data\": {\"ntype\": \"TYPE\"}}", file)
        fclose(file)
        var settings = Settings()
        try settings.set(.templateDirectory, to: directory)
        if !payload.isEmpty { try settings.set(.payload, to: payload) }
        let (library, problems) = PayloadFiles.load(settings)
        let template = try #require(library?.fcm(app: "com.example", .call, .android))
        let binding = Binding(provider: .fcm, app: "com.example", token: "t", dialect: .mpush)
        var out: [UInt8] = []
        template.render(PayloadValues(binding: binding, content: PushContent(event: .call)), into: &out)
        #expect(String(decoding: out, as: UTF8.self).contains(member))
        #expect(problems.count == 1)
        #expect(problems[0].contains("pushwake payload mizutech fcm prints it") == payload.isEmpty)
    }
}
