// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient
import PushWakeCore

struct SendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Sends one push by hand and prints how it ended.",
        discussion: """
            pushwake send custom 2222 --text hi
            pushwake send call --platform apns --package com.example.phone --token TOKEN
            pushwake send call --platform webpush --token https://push.example.com/ID --p256dh KEY --auth SECRET
            pushwake send call --platform acrobits --package com.example.app --token TOKEN --selector SELECTOR
            pushwake send call --platform huawei --token TOKEN     # through the webhook

            Exit code 0 when every push was accepted, 1 otherwise.
            """)

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "JSON instead of a table.") var json = false
    @Argument(help: "\(PushEvent.names) (or 0 to 9).", completion: Completion.events) var event: String
    @Argument(help: "AoR, as the registrar has it.", completion: Completion.users) var aor: String?
    @Option(
        name: .long,
        help: "\(Provider.names()); a, i, j, w; or a pn-provider that the webhook serves.",
        completion: Completion.providers)
    var platform: String?
    // What follows is taken as it stands: secrets, tokens and texts may begin with a dash.
    @Option(name: .long, parsing: .unconditional, help: "Bundle id, package or project.") var package: String?
    @Option(name: .long, parsing: .unconditional, help: "Device token, registration token or subscription URL.")
    var token: String?
    @Option(name: .long, help: "Web Push: public key of the subscription; without it the push is empty.")
    var p256dh: String?
    @Option(name: .long, parsing: .unconditional, help: "Web Push: secret of the subscription.") var auth: String?
    @Option(name: .long, parsing: .unconditional, help: "Acrobits: selector of the account in the app.")
    var selector: String?
    @Option(
        name: .long, help: "Apple: production or sandbox; by default that of apns_environment.",
        completion: .list(["production", "sandbox"]))
    var environment: String?
    @Option(name: .long, help: "Apple and Acrobits: what the token is for, voip or remote.") var service: String?
    @Option(
        name: .customLong("push-type"),
        help: "Apple: voip, alert or background, instead of the type that follows from the event.")
    var pushType: String?
    @Option(name: .long, parsing: .unconditional, help: "Caller, as a SIP URI or a user.") var from: String?
    @Option(name: .long, parsing: .unconditional, help: "Caller's display name.") var name: String?
    @Option(name: .long, parsing: .unconditional, help: "Title of the notification.") var title: String?
    @Option(name: .long, parsing: .unconditional, help: "Text of the message.") var text: String?
    @Option(name: .customLong("call-id"), parsing: .unconditional, help: "Call-ID; without it one is made up.")
    var callID: String?
    @Option(name: .long, help: ArgumentHelp("Longest wait for the outcome.", valueName: "seconds")) var timeout: Int =
        30

    func validate() throws {
        if PushEvent(name: event) == nil {
            throw ValidationError(
                "there is no event \(event); write one of \(PushEvent.names)"
            )
        }
        if aor?.isEmpty == true || aor == nil && (platform == nil || token == nil) {
            throw ValidationError("give an AoR, or --platform, --package and --token")
        }
        let ofToken = [
            ("platform", platform), ("package", package), ("token", token), ("p256dh", p256dh), ("auth", auth),
            ("selector", selector), ("environment", environment), ("service", service),
        ]
        if aor != nil, let (name, _) = ofToken.first(where: { $0.1 != nil }) {
            throw ValidationError("--\(name) is about a token: give it, or an AoR")
        }
        if (p256dh == nil) != (auth == nil) {
            throw ValidationError("a subscription has both --p256dh and --auth, or neither")
        }
        if let environment, !["production", "sandbox"].contains(environment) {
            throw ValidationError("--environment takes production or sandbox")
        }
        if let service, !["voip", "remote"].contains(service) {
            throw ValidationError("--service takes voip or remote")
        }
        if let pushType, APNsPushType(name: pushType) == nil {
            throw ValidationError("--push-type takes voip, alert or background")
        }
        if timeout < 1 || timeout > 3600 { throw ValidationError("--timeout takes 1 to 3600 seconds") }
    }

    func run() throws {
        let client = EngineClient(settings: try options.load())
        let push = SendWords(values: [
            ("event", event), ("aor", aor), ("platform", platform), ("package", package), ("token", token),
            ("p256dh", p256dh), ("auth", auth), ("selector", selector), ("environment", environment),
            ("service", service), ("push-type", pushType), ("from", from), ("name", name), ("title", title),
            ("text", text), ("call-id", callID),
        ])
        try push.put(into: client)
        client.put(.waits, 1)
        client.put(.seconds, Int64(timeout))
        let reply = try Engine.answer(client, milliseconds: Int64(timeout) * 1000 + 2000)
        let rows = EngineClient.rows(of: reply)
        if rows.isEmpty { Console.printError("nothing was sent") }
        Console.show(rows, asJSON: json)
        let isDone =
            !rows.isEmpty && rows.allSatisfy { row in row.contains { $0.name == "outcome" && $0.text == "accepted" } }
        if !isDone { throw ExitCode(1) }
    }
}
