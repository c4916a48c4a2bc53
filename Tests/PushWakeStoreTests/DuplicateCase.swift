// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Two REGISTERs with different instances, and how many devices they are.
struct DuplicateCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let existing: [Binding]
    let new: [Binding]
    let devices: Int

    private init(_ name: String, _ existing: [Binding], _ new: [Binding], devices: Int) {
        testDescription = name
        self.existing = existing.map { Self.adopt($0, instance: "existing") }
        self.new = new.map { Self.adopt($0, instance: "new") }
        self.devices = devices
    }

    private static func adopt(_ binding: Binding, instance: String) -> Binding {
        var binding = binding
        binding.instance = instance
        binding.contact = "sip:\(instance)@192.0.2.1"
        binding.callID = instance
        return binding
    }

    private static func apns(_ token: String, _ service: TokenUse, team: String = "aTeam") -> Binding {
        makeBinding(app: "aBundle", team: team, service: service, token: token)
    }

    private static func fcm(_ token: String, _ project: String) -> Binding {
        makeBinding(provider: .fcm, app: project, team: "", service: nil, token: token)
    }

    static let all: [DuplicateCase] = [
        DuplicateCase("fcm: all different", [fcm("a", "p")], [fcm("b", "q")], devices: 2),
        DuplicateCase("fcm: other project", [fcm("a", "p")], [fcm("a", "q")], devices: 2),
        DuplicateCase("fcm: the same", [fcm("a", "p")], [fcm("a", "p")], devices: 1),
        DuplicateCase(
            "same PushKit token, other remote token", [apns("r1", .remote), apns("v", .voip)],
            [apns("r2", .remote), apns("v", .voip)], devices: 1),
        DuplicateCase(
            "same remote token, other PushKit token", [apns("r", .remote), apns("v1", .voip)],
            [apns("r", .remote), apns("v2", .voip)], devices: 1),
        DuplicateCase(
            "one of two tokens is left", [apns("r", .remote), apns("v", .voip)], [apns("v", .voip)], devices: 1),
        DuplicateCase(
            "same tokens, other team", [apns("r", .remote), apns("v", .voip)],
            [apns("r", .remote, team: "other"), apns("v", .voip, team: "other")], devices: 2),
        DuplicateCase(
            "same token, team not said", [apns("r", .remote)], [apns("r", .remote, team: "")], devices: 1),
        DuplicateCase(
            "production and sandbox", [apns("r", .remote)],
            [makeBinding(environment: .sandbox, app: "aBundle", team: "aTeam", token: "r")], devices: 2),
        DuplicateCase(
            "production said and not said", [apns("r", .remote)],
            [makeBinding(environment: .production, app: "aBundle", team: "aTeam", token: "r")], devices: 1),
        DuplicateCase("fcm: tokens compare by case", [fcm("abc", "p")], [fcm("ABC", "p")], devices: 2),
        DuplicateCase(
            "apns: a token in either case", [apns("ABC", .remote)], [apns("abc", .remote)], devices: 1),
    ]
}
