// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up, or when its key cannot be used: then `problems` says why.
    func openAPNs(_ problems: inout [String]) -> APNsLanes? {
        guard !settings.text(.apnsKey).isEmpty else { return nil }
        do throws(KeyFileError) {
            return APNsLanes(
                production: try apns(.production), sandbox: try apns(.sandbox),
                standardIsSandbox: settings.text(.apnsEnvironment) == "sandbox")
        } catch {
            problems.append("apns_key: \(error.message)")
            return nil
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
