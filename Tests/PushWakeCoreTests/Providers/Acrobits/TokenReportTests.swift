// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A token that an app reports` {
    private func report(_ values: [String: String]) throws(Problem) -> TokenReport {
        try TokenReport(acrobits: { names in names.lazy.compactMap { values[$0] }.first { !$0.isEmpty } })
    }

    @Test func `has a pair for calls and a pair for the rest`() throws {
        let report = try report([
            "selector": "S:1", "pushTokenIncomingCall": "Y2E=", "pushappid_incoming_call": "com.a.voip",
            "pushTokenOther": "b28=", "pushappid_other": "com.a.other",
        ])
        #expect(report.bindings.map(\.service) == [.voip, .remote])
        #expect(report.bindings.map(\.app) == ["com.a.voip", "com.a.other"])
        #expect(report.bindings.allSatisfy { $0.instance.hasPrefix("acrobits:S:1:") })
        #expect(report.bindings.allSatisfy { $0.attributes["pn-selector"] == "S:1" })
    }

    /// Acrobits' contract: tuples are kept per device and account.
    @Test func `is of another device where the token is another one under the same selector`() throws {
        let values = ["selector": "S:1", "pushToken": "YQ==", "pushappid": "com.a"]
        let other = values.merging(["pushToken": "Yg=="]) { $1 }
        let devices = try [values, other, values].map { try report($0).bindings.first?.instance ?? "" }
        #expect(devices[0] != devices[1])
        #expect(devices[0] == devices[2])
    }

    @Test(arguments: [
        ["pushToken": "YQ==", "pushappid": "com.a"], ["DeviceToken": "YQ==", "AppId": "com.a"],
        [
            "pushTokenIncomingCall": "YQ==", "pushappid_incoming_call": "com.a", "pushTokenOther": "YQ==",
            "pushappid_other": "com.a",
        ],
        ["token_calls": "YQ==", "appId_calls": "com.a"], ["pushTokenOther": "YQ==", "pushappid_other": "com.a"],
    ])
    func `is one binding for everything where there is one pair`(values: [String: String]) throws {
        let report = try report(values)
        #expect(report.bindings.count == 1)
        #expect(report.bindings.first?.service == nil && report.bindings.first?.token == "YQ==")
    }

    @Test(arguments: [
        ["selector": "S"], ["pushToken": "YQ=="], ["pushToken": "a b", "pushappid": "com.a"],
        ["pushToken": "YQ==", "pushappid": "com a"], ["pushToken": "YQ==", "pushappid": "com.a", "selector": "a\nb"],
        ["pushToken": "YQ==", "pushappid": "com.a", "selector": String(repeating: "s", count: 257)],
        ["pushToken": "YQ==", "pushappid": "com.a", "pushTokenOther": "YQ=="],
    ])
    func `is refused when something is missing or cannot be`(values: [String: String]) {
        #expect(throws: Problem.self) { try report(values) }
    }

    @Test(arguments: [
        ("instance", "a\nb"), ("instance", String(repeating: "a", count: 513)), ("contact", "sip:a@b\r\nX: y"),
        ("contact", String(repeating: "a", count: 8193)), ("pn-auth", "a\tb"),
        ("pn-p256dh", String(repeating: "a", count: 513)),
    ])
    func `has no line ends, and nothing longer than in a REGISTER`(name: String, value: String) throws {
        var attributes = Binding.Attributes()
        if name.hasPrefix("pn-") { attributes[name] = value }
        #expect {
            try TokenReport.binding(
                .apns, .standard, app: "com.a", token: "abcd", service: nil, attributes: attributes,
                instance: name == "instance" ? value : "", contact: name == "contact" ? value : "")
        } throws: {
            ($0 as? Problem)?.parameter == name
        }
        let made = try TokenReport.binding(
            .apns, .standard, app: "com.a", token: "abcd", service: nil, attributes: .init(), instance: "urn:uuid:1",
            contact: "sip:a@b")
        #expect(made.instance == "urn:uuid:1" && made.contact == "sip:a@b")
    }

    @Test func `is checked like one of a REGISTER for every push service`() throws {
        for provider in Provider.allCases {
            #expect(throws: Problem.self) {
                try TokenReport.binding(
                    provider, .standard, app: "com.a", token: "a\" b", service: nil, attributes: .init())
            }
        }
        let apns = try TokenReport.binding(
            .apns, .sandbox, app: "com.a", token: "abcd", service: .voip, attributes: .init())
        #expect(apns.environment == .sandbox && apns.service == .voip)
        #expect(throws: Problem.self) {
            try TokenReport.binding(.webpush, .standard, app: "", token: "http://a", service: nil, attributes: .init())
        }
    }
}
