// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// The files that `pushwake simulate` makes.
struct SimulatorDirectory {
    let path: String

    init(_ path: String) { self.path = path }

    /// Settings that push to the simulator.
    func apply(to settings: inout Settings, provider: String, url: String) throws(SettingError) {
        try settings.set(.caFile, to: "\(path)/ca.pem")
        if provider == "fcm" {
            try settings.set(.fcmKey, to: "\(path)/fcmkey.json")
            try settings.set(.fcmURL, to: url)
            return
        }
        guard let key = keyFile() else {
            throw SettingError(
                setting: "--dir",
                message: "\(path) holds no AuthKey_XXXXXXXXXX.p8; start pushwake simulate --dir \(path) first")
        }
        try settings.set(.apnsKey, to: "\(path)/\(key)")
        try settings.set(.apnsKeyID, to: String(key.dropFirst("AuthKey_".count).dropLast(".p8".count)))
        try settings.set(.apnsTeamID, to: team())
        try settings.set(.apnsURL, to: url)
        try settings.set(.apnsSandboxURL, to: url)
    }

    private func keyFile() -> String? {
        (try? FileContent.names(in: path, ending: ".p8"))?.first { $0.hasPrefix("AuthKey_") }
    }

    /// The team that the simulator takes tokens of; empty when `simulator.json` does not say.
    private func team() -> String {
        guard let file = try? FileContent.read("\(path)/simulator.json") else { return "" }
        return (try? JSONParser.parse(file))?["apns_team_id"]?.string ?? ""
    }
}
