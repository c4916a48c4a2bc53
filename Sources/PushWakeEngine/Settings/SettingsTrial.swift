// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// What an engine with new settings would run into, looked at while the one with the earlier settings still works.
///
/// It makes what an engine makes when it starts, except for what only one can have: sockets and ports.
struct SettingsTrial {
    /// What leaves the host without push with the new settings and did not with the earlier ones, as `setting: text`.
    static func problems(_ new: Settings, insteadOf earlier: Settings) -> [String] {
        let before = Set(problems(earlier))
        // The engine that runs has the ports, and leaves those that stay the same to its successor.
        let kept = [SettingKey.fastAGIListen, .httpListen].filter { new.text($0) == earlier.text($0) }
        let starts = kept.map { "\(SettingsTable.description(of: $0).name): " }
        return problems(new).filter { text in
            !before.contains(text) && !starts.contains { text.hasPrefix($0) }
        }
    }

    private static func problems(_ settings: Settings) -> [String] {
        var all = SettingsInspection.inspect(settings, depth: .surroundings).filter { $0.level == .error }
            .map { "\($0.setting): \($0.message)" }
        do throws(SystemError) {
            let log = EngineLog(threshold: .error) { _, _ in }
            let delivery = Delivery(settings: settings, loop: try Loop(), log: log)
            all += delivery.open(isTrial: true)
        } catch {
            all.append("engine: \(error)")
        }
        return all
    }
}
