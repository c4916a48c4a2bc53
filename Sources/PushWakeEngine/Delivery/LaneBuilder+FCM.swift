// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up, or when its key cannot be used: then `problems` says why.
    func openFCM(_ problems: inout [String]) -> FCMLane? {
        guard !settings.text(.fcmKey).isEmpty else { return nil }
        do throws(KeyFileError) {
            return try fcm()
        } catch {
            problems.append("fcm_key: \(error.message)")
            return nil
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
