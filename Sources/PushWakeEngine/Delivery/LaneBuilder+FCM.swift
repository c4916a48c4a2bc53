// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up. An account that cannot be used is as it was before, or missing; `problems` says why.
    func openFCM(replacing old: FCMLanes?, _ problems: inout [String]) -> FCMLanes? {
        guard FCMKeySources.areSet(in: settings) else { return nil }
        let keys = FCMKeys(settings, keeping: old?.keys)
        problems += keys.problems.map { "\($0.setting): \($0.message)" }
        let lanes = FCMLanes(keys, loop: loop) { key, directory in fcm(key, directory) }
        old?.retire()
        return lanes
    }

    /// The lane of one account. `directory` tells it which apps it only serves for want of a better one.
    func fcm(_ key: FCMKeys.Key, _ directory: FCMDirectory) -> FCMLane {
        let (account, signer) = (key.account, key.signer)
        let origin = HTTPOrigin(settings.text(.fcmURL)) ?? HTTPOrigin(host: "fcm.googleapis.com")
        let tokenOrigin = HTTPOrigin.split(account.tokenURI)?.0 ?? HTTPOrigin(host: "oauth2.googleapis.com")
        let label = "fcm \(account.project)"
        return FCMLane(
            account: account,
            pool: pool(origin, label, connections: settings.integer(.fcmConnections)) {
                // Google answers more streams, and any PING, with GOAWAY.
                $0.maxStreams = 100
                $0.pingAfter = nil
            },
            tokenPool: pool(tokenOrigin, "\(label) OAuth", connections: 1) { $0.pingAfter = nil },
            builder: FCMRequestBuilder(
                payloads: payloads, settings: FCMSettings(project: account.project), authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, isGuess: { directory.isGuess(for: $0) },
            sign: { try? signer.sign($0) })
    }
}
