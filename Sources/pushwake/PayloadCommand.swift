// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore

struct PayloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "payload", abstract: "Prints a built-in payload template, as a start for your own.",
        discussion: """
            pushwake payload plain fcm > /etc/pushwake/templates/fcm.json
            pushwake payload flexisip apns --push-type voip > /etc/pushwake/templates/apns-voip.json
            """)

    @Argument(help: "plain, mizutech or flexisip.", completion: .list(["plain", "mizutech", "flexisip"])) var family:
        String
    @Argument(help: "apns, fcm or webpush.", completion: .list(["apns", "fcm", "webpush"])) var provider: String
    @Option(name: .customLong("push-type"), help: "Apple: voip, alert or background; by default alert.")
    var pushType: String?
    @Flag(name: .long, help: "FCM: the payload for an iPhone.") var ios = false

    func validate() throws {
        guard BuiltInPayloads.Family(rawValue: family) != nil else {
            throw ValidationError("there is no payload \(family); write plain, mizutech or flexisip")
        }
        guard PayloadFamilies.providers.contains(where: { $0.name == provider }) else {
            throw ValidationError("\(provider) has no template; write apns, fcm or webpush")
        }
        if let pushType, APNsPushType(name: pushType) == nil {
            throw ValidationError("--push-type takes voip, alert or background")
        }
    }

    func run() throws {
        guard let family = BuiltInPayloads.Family(rawValue: family),
            let provider = PayloadFamilies.providers.first(where: { $0.name == provider })
        else { throw ExitCode(2) }
        let type = pushType.flatMap { APNsPushType(name: $0) } ?? .alert
        Console.say(BuiltInPayloads.source(family, provider, type, ios ? .ios : .android))
    }
}
