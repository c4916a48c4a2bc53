// SPDX-License-Identifier: MIT

internal import PushWakeClient
public import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// The whole life of an engine's process: settings in, log out, until it is told to end.
public enum EngineProcess {
    /// Bytes of settings that a supervisor may hand over.
    private static let longestHandover = 1 << 24

    /// Runs an engine. A supervised one takes settings from standard input up to the first empty line, writes its log
    /// for the supervisor, and ends with that input. False when it could not start; the log says why.
    ///
    /// `source` is where the settings came from, to be read again when the engine is told to.
    public static func run(_ settings: Settings, isSupervised: Bool, source: SettingsSource? = nil) -> Bool {
        Signals.ignoreFailedWrites()
        SQLiteLibrary.countNoMemory()
        var settings = settings
        if isSupervised {
            ChildProcess.leaveInheritance()
            for problem in settings.take(lines: handover()) {
                log(isSupervised: true)(.error, "\(problem.error.setting): \(problem.error.message)")
            }
        }
        let pasted = PastedSecrets(settings)
        let write = log(isSupervised: isSupervised)
        let log = EngineLog(threshold: LogLevel(name: settings.text(.logLevel))) { write($0, pasted.hide(in: $1)) }
        do throws(EngineFailure) {
            let engine = try EngineServer(settings: settings, log: log, isSupervised: isSupervised, source: source)
            engine.run(parentInput: isSupervised ? Descriptor.standardInput : nil)
            return true
        } catch {
            log(.error, error.message)
            return false
        }
    }

    /// Tries settings that come over standard input, new ones and after an empty line the earlier ones, and writes what would
    /// leave the host without push (`EngineTrial`). False when something would.
    public static func tryOut() -> Bool {
        ChildProcess.leaveInheritance()
        ProcessMemory.forbidCore()
        let (new, earlier) = (handover(), handover())
        let log = log(isSupervised: true)
        var settings = Settings()
        var before = Settings()
        _ = before.take(lines: earlier)
        let refused = settings.take(lines: new).map { "\($0.error.setting): \($0.error.message)" }
        let problems = refused + SettingsTrial.problems(settings, insteadOf: before)
        for problem in problems { log(.error, problem) }
        log(.notice, EngineTrial.lastLine)
        return problems.isEmpty
    }

    private static func handover() -> String {
        var bytes: [UInt8] = []
        // One at a time: what follows the empty line is not for here.
        while bytes.count < longestHandover, let byte = Descriptor.readByte(Descriptor.standardInput) {
            if byte == 0x0A && bytes.last == 0x0A { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// For a supervisor the level's digit stands in front, for the journal its priority (sd-daemon(3)), and for people the
    /// time and the level's name.
    private static func log(isSupervised: Bool) -> (LogLevel, String) -> Void {
        // The engine serves calls: a reader that stands still must not make it wait.
        let output = LogOutput(Descriptor.standardError)
        let isJournal = LogOutput.isJournal(Descriptor.standardError)
        func line(_ level: LogLevel, _ text: String) -> String {
            if isSupervised { return "\(level.rawValue) \(text)" }
            return isJournal ? "<\(level.priority)>\(text)" : "\(SystemClock.localTime()) \(level.name) \(text)"
        }
        return { level, text in
            output.write(line(level, text)) {
                line(.warning, "\($0) log lines were dropped because the log was blocked")
            }
        }
    }
}
