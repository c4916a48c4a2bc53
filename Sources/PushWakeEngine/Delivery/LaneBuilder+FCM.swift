// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up. An account that cannot be used is as it was before, or missing; `problems` says why.
    ///
    /// With `keepsUnchanged` the lanes of accounts that have not changed go on as they are.
    func openFCM(replacing old: FCMLanes?, keepsUnchanged: Bool, _ problems: inout [String]) -> FCMLanes? {
        guard FCMKeySources.areSet(in: settings) else { return nil }
        let keys = FCMKeys(settings, keeping: old?.keys)
        problems += keys.problems.map { "\($0.setting): \($0.message)" }
        let lanes = FCMLanes(keys, keeping: keepsUnchanged ? old : nil, loop: loop, makeLane: fcm)
        old?.retire(replacedBy: lanes)
        return lanes
    }

    /// The lane of one account.
    func fcm(_ key: FCMKeys.Key) -> FCMLane {
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
            tokenPool: pool(tokenOrigin, "\(label) OAuth", connections: 1, carriesPushes: false) { $0.pingAfter = nil },
            builder: FCMRequestBuilder(
                payloads: payloads,
                settings: FCMSettings(project: account.project, payload: PayloadSettings(settings)),
                authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { try? signer.sign($0) })
    }
}
