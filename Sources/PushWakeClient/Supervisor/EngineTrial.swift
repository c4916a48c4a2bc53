// SPDX-License-Identifier: MIT

public import PushWakeCore
internal import PushWakeSystem

/// Finds out whether an engine could work with new settings, before the one that works with the earlier ones is ended.
///
/// The program of the new settings does it in a process of its own, since a PBX process reads no key. It is handed both
/// settings, writes a line for each problem, and last the line that it is done: a host may collect children before anybody else sees
/// how they ended, so the exit code says nothing.
public enum EngineTrial {
    /// The last line of a trial that came to its end.
    public static let lastLine = "tried"
    /// Milliseconds for all of it; hundreds of keys take seconds.
    private static let timeout: Int64 = 10_000

    /// What leaves the host without push with the new settings and did not with the earlier ones: settings and remedies.
    public static func problems(of new: Settings, insteadOf earlier: Settings) -> [SettingError] {
        if new == Settings(), earlier != new {
            // Whoever writes the file may be in the middle of it.
            return [SettingError(setting: "settings", message: "none is set any more; write the file again")]
        }
        // Somebody else's engine has settings of its own.
        guard new.text(.engineMode) == "supervised" else { return [] }
        let program = new.text(.enginePath)
        do throws(ChildProcess.Failure) {
            let child = try ChildProcess.start(
                program, arguments: ["engine", "--supervised", "--trial"] + EngineSupervisor.library())
            defer { child.stop(milliseconds: 200) }
            child.write(new.lines() + "\n" + earlier.lines() + "\n")
            return answer(of: child, program)
        } catch {
            return [SettingError(setting: "engine_path", message: error.message)]
        }
    }

    private static func answer(of child: ChildProcess, _ program: String) -> [SettingError] {
        let deadline = SystemClock.monotonicMilliseconds() + timeout
        var problems: [SettingError] = []
        var other = ""
        while SystemClock.monotonicMilliseconds() < deadline {
            // ORDER: before the lines are taken, so that the last ones are read too.
            let hasEnded = child.takeEnd() != nil
            for line in child.takeLines() {
                let (level, text) = LogLevel.parse(line: line)
                if text == lastLine { return problems }
                guard level == .error, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
                    other = text
                    continue
                }
                let message = String(text[colon...].dropFirst(2))
                problems.append(SettingError(setting: String(text[..<colon]), message: message))
            }
            if hasEnded { break }
            child.writeOn()
            child.awaitLines(milliseconds: 50)
        }
        if !problems.isEmpty { return problems }
        let reason = other.isEmpty ? "it does not say what it thinks of these settings" : other
        return [SettingError(setting: "engine_path", message: "\(program) cannot be used: \(reason)")]
    }
}
