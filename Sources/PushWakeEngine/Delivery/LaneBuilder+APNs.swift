// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up, or when there never was a key that could be used; `problems` says why.
    func openAPNs(replacing old: APNsLanes?, _ problems: inout [String]) -> APNsLanes? {
        replace(old, .apnsKey, &problems, retire: { $0.retire() }) { () throws(KeyFileError) in
            APNsLanes(
                production: try apns(.production), sandbox: try apns(.sandbox),
                standardIsSandbox: settings.text(.apnsEnvironment) == "sandbox")
        }
    }

    func apns(_ environment: Environment) throws(KeyFileError) -> APNsLane {
        let signer = try APNsKeyFile.read(settings.text(.apnsKey))
        let url = settings.text(environment == .sandbox ? .apnsSandboxURL : .apnsURL)
        let origin = HTTPOrigin(url) ?? HTTPOrigin(host: "api.push.apple.com")
        let label = "apns \(environment.name)"
        let topic = settings.text(.apnsTopic)
        let apns = topic.isEmpty ? APNsSettings() : APNsSettings(topic: APNsTopic(setting: topic))
        return APNsLane(
            label: label,
            pool: pool(origin, label, connections: settings.integer(.apnsConnections)),
            credential: APNsCredential(keyID: APNsKeyFile.keyID(settings), teamID: settings.text(.apnsTeamID)),
            builder: APNsRequestBuilder(payloads: payloads, settings: apns, authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { try? signer.sign($0) })
    }
}
