// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// One thing that came of reading settings, keys and templates again.
enum ReloadNote: Equatable {
    /// The setting counts from now on.
    case taken(String)
    /// Its new value counts after a restart.
    case restart(String)
    /// A value that is accepted, but probably wrong.
    case doubt(String)
    /// What is wrong, and what to do.
    case problem(String)

    /// Column of the answer to whoever asked.
    var column: String {
        switch self {
        case .taken: "taken"
        case .restart: "restart"
        case .doubt: "doubt"
        case .problem: "problem"
        }
    }

    var text: String {
        switch self {
        case .taken(let name): "\(name): the new value counts from now on"
        case .restart(let name):
            "\(name): the old value counts until the engine is started again; restart it for the new one"
        case .doubt(let text), .problem(let text): text
        }
    }

    var level: LogLevel {
        switch self {
        case .taken: .notice
        case .restart, .doubt, .problem: .warning
        }
    }
}

/// Reads an engine's settings file again while it runs: all of it, or nothing when something in it is wrong.
struct SettingsReload {
    /// Nil when the settings came from elsewhere: then keys and templates alone are read again.
    let source: SettingsSource?

    /// What came of it.
    struct Outcome {
        /// What the engine goes on with; nil when nothing changes.
        var settings: Settings?
        var notes: [ReloadNote] = []
        /// The file is wrong: everything stays as it is, keys and templates too.
        var isBroken = false
    }

    /// Reads the file and compares it with the settings in use.
    func read(_ current: Settings) -> Outcome {
        guard let source else { return Outcome() }
        let new: Settings
        do throws(SettingsSource.Failure) {
            new = try source.read()
        } catch {
            return Self.broken(error.lines)
        }
        let change = SettingsChange(from: current, to: new)
        guard !change.isEmpty else { return Outcome() }
        let known = Self.errors(current)
        // What takes a restart is looked at too: nobody may be there when the engine starts again.
        let errors = Self.errors(new).filter { !known.contains($0) }
        guard errors.isEmpty else { return Self.broken(errors.map { "\(source.path): \($0)" }) }
        let before = Self.findings(current) { $0 == .warning }
        let notes =
            change.taken.map { ReloadNote.taken($0) } + change.waiting.map { .restart($0) }
            + Self.findings(new) { $0 == .warning }.filter { !before.contains($0) }.map(Self.note)
        return Outcome(settings: change.settings, notes: notes)
    }

    /// A suspicious value is taken; a file that cannot be used is not.
    private static func note(_ finding: SettingsInspection.Finding) -> ReloadNote {
        let kind = SettingsTable.key(named: finding.setting).map { SettingsTable.description(of: $0).kind }
        let text = "\(finding.setting): \(finding.message)"
        return kind == .path || kind == .textOrFile ? .problem(text) : .doubt(text)
    }

    private static func broken(_ lines: [String]) -> Outcome {
        Outcome(notes: lines.map { .problem("\($0); all settings stay as they were") }, isBroken: true)
    }

    /// Values that cannot be meant. Keys are read afterwards: what cannot be used is as it was before.
    private static func errors(_ settings: Settings) -> [String] {
        findings(settings) { $0 == .error }.map { "\($0.setting): \($0.message)" }
    }

    private static func findings(
        _ settings: Settings, at isWanted: (LogLevel) -> Bool
    ) -> [SettingsInspection.Finding] {
        SettingsInspection.inspect(settings, depth: .values).filter { isWanted($0.level) }
    }
}
