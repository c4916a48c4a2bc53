// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up, or when there never was a key that could be used; `problems` says why.
    func openWebPush(replacing old: WebPushLanes?, _ problems: inout [String]) -> WebPushLanes? {
        replace(old, .vapidKey, &problems, retire: { $0.retire() }) { () throws(KeyFileError) in
            try webPush()
        }
    }

    /// Services are found as phones name them, so nothing is connected yet.
    func webPush() throws(KeyFileError) -> WebPushLanes {
        let signer = try VAPIDKeyFile.read(settings.text(.vapidKey))
        let sender = WebPushSender(
            publicKey: signer.key.publicPoint(), subject: settings.text(.vapidSubject),
            settings: WebPushSettings(settings), payloads: payloads, sign: { try? signer.sign($0) })
        // Phones name the hosts, and whoever has a host has its name server: slow ones must not hold up Apple's.
        let resolver = Resolver(loop: loop)
        return WebPushLanes(sender, loop: loop) { origin, sender in webPush(to: origin, sender, resolver) }
    }

    /// The lane to one service. What its name resolves to is judged too: a public name may lead inside.
    func webPush(to origin: HTTPOrigin, _ sender: WebPushSender, _ resolver: Resolver? = nil) -> WebPushLane {
        let label = "webpush \(origin.authority)"
        // Phones name these services: no one of them may take the memory of all.
        let pool = pool(origin, label, connections: 1, share: 16, resolver: resolver) {
            $0.refusesLocalAddresses = !sender.settings.allowsPrivateAddresses
            $0.closeAfter = 60_000
        }
        return WebPushLane(
            origin: origin, sender: sender, pool: pool, loop: loop, label: label,
            maxFail: Int(settings.integer(.maxFail)))
    }
}
