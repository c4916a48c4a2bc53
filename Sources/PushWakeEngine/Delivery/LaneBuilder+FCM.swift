// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up, or when there never was a key that could be used; `problems` says why.
    func openFCM(replacing old: FCMLane?, _ problems: inout [String]) -> FCMLane? {
        replace(old, .fcmKey, &problems, retire: { $0.retire() }) { () throws(KeyFileError) in
            try fcm()
        }
    }

    func fcm() throws(KeyFileError) -> FCMLane {
        let (account, signer) = try FCMKeyFile.read(settings.text(.fcmKey))
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
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { try? signer.sign($0) })
    }
}
