// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient
import PushWakeCore
import PushWakeSystem

/// What the shell offers for a word that is being written.
enum Completion {
    /// Users that begin with it, as the engine of the command line has them.
    static let users = CompletionKind.custom { words, _, prefix in known(beginning: prefix, words) }
    static let providers = CompletionKind.list(Provider.allCases.map(\.name))
    static let events = CompletionKind.list(PushEvent.allCases.map(\.name))
    /// For `name=value`.
    static let settings = CompletionKind.list(SettingKey.allCases.map { "\(SettingsTable.description(of: $0).name)=" })

    /// Milliseconds for each of two questions; a shell that waits longer seems to hang.
    private static var patience: Int64 { 25 }

    /// Nothing where no engine answers at once.
    private static func known(beginning prefix: String, _ words: [String]) -> [String] {
        guard let settings = asking(words), prefix.isEmpty || isPlain(prefix) else { return [] }
        let client = EngineClient(settings: settings)
        var found = client.users(beginning: prefix, milliseconds: patience).filter(isPlain)
        if !prefix.isEmpty, found.first != prefix, (try? client.bindings(of: prefix, isPrompt: true) { _ in }) ?? 0 > 0
        {
            found.insert(prefix, at: 0)
        }
        return found
    }

    /// What names the engine on the command line, and how long it may take.
    private static func asking(_ words: [String]) -> Settings? {
        let options = zip(words, words.dropFirst()).filter { SettingsOptions.takesValue($0.0) }.flatMap {
            [$0.0, $0.1]
        }
        guard var settings = try? SettingsOptions.parse(options).load() else { return nil }
        try? settings.set(.engineTimeout, to: String(patience))
        return settings
    }

    /// A shell may run what else stands in a name that somebody has registered.
    private static func isPlain(_ name: String) -> Bool {
        name.utf8.allSatisfy {
            $0 >= 0x30 && $0 <= 0x39 || ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A || "._+-@".utf8.contains($0)
        }
    }
}
