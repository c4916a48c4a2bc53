// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// Why no engine runs, in a file beside its socket: the supervisor leaves it there for commands that get no answer.
public enum EngineAbsence {
    /// Seconds for which a reason counts: a supervisor that lives says it anew whenever it has tried again.
    private static let life: Int64 = 30
    private static let longest = 512

    private static func path(_ socket: String) -> String { "\(socket).problem" }

    /// Says why there is none. That it cannot be said is not an error.
    static func note(_ reason: String, at socket: String) {
        let line = "\(SystemClock.wallSeconds()) \(PrintableText.cleaned(reason))"
        try? FileContent.replace(path(socket), with: Array(line.utf8.prefix(longest)))
    }

    /// An engine answers, or it is no longer started.
    static func clear(at socket: String) { FileContent.remove(path(socket)) }

    /// What the supervisor of this socket said last, with the remedy; nil for nothing that counts now.
    public static func reason(at socket: String) -> String? {
        guard let bytes = try? FileContent.read(path(socket), atMost: longest) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let at = Int64(parts[0]), (-life...life).contains(SystemClock.wallSeconds() &- at)
        else {
            return nil
        }
        let reason = PrintableText.cleaned(String(parts[1]))
        return reason.contains(";") ? reason : "\(reason); \(Remedy.engine(reason))"
    }
}
