// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Where the engine's lines go: to the supervisor, which hands them to the log of the PBX.
///
/// Text from packets and providers may hold anything: what a terminal obeys becomes `?`, so that nobody can write a
/// line of his own. Whoever puts a `key=value` into a line takes `PrintableText.logValue`.
public struct EngineLog {
    let threshold: LogLevel
    private let write: (LogLevel, String) -> Void

    /// Hands lines up to `threshold` to `write`.
    public init(threshold: LogLevel, write: @escaping (LogLevel, String) -> Void) {
        self.threshold = threshold
        self.write = write
    }

    /// Writes a line; its text is put together only when it is wanted.
    public func callAsFunction(_ level: LogLevel, _ text: @autoclosure () -> String) {
        guard level <= threshold else { return }
        write(level, PrintableText.cleaned(text()))
    }

    /// Whose request it is, for a line.
    static func names(_ aor: String, _ callID: String) -> String {
        "aor=\(PrintableText.logValue(aor)) call_id=\(PrintableText.logValue(callID))"
    }

    /// First six and last four bytes; a short token is hidden whole.
    static func shortened(_ token: String) -> String {
        let bytes = token.utf8
        guard bytes.count > 16 else { return token.isEmpty ? "" : "…" }
        var text = Array(bytes.prefix(6))
        text.reserveCapacity(13)
        text.append(contentsOf: "…".utf8)
        text.append(contentsOf: bytes.suffix(4))
        return String(decoding: text, as: UTF8.self)
    }
}
