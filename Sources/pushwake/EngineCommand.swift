// SPDX-License-Identifier: MIT

import ArgumentParser
import Glibc
import PushWakeClient
import PushWakeCore
import PushWakeEngine
import PushWakeSystem

struct EngineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine", abstract: "Runs the engine that owns bindings, queue and provider connections.",
        discussion: """
            The modules for Kamailio and Asterisk start it themselves. Run it by hand, or under systemd, \
            for engine_mode=external.
            """)

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: ArgumentHelp("Take settings from standard input and end with it.", visibility: .hidden))
    var supervised = false

    func run() throws {
        var settings = try options.load()
        if supervised {
            ChildProcess.leaveInheritance()
            for problem in settings.take(lines: Self.readHandover()) {
                Self.log(isSupervised: true)(.error, "\(problem.error.setting): \(problem.error.message)")
            }
        }
        let level = LogLevel(name: settings.text(.logLevel))
        let log = EngineLog(threshold: level, write: Self.log(isSupervised: supervised))
        do throws(EngineFailure) {
            let engine = try EngineService(settings: settings, log: log, isSupervised: supervised)
            engine.run(parentInput: supervised ? 0 : nil)
        } catch {
            log(.error, error.message)
            throw ExitCode(1)
        }
    }

    /// Lines up to the first empty one: the settings that the supervisor hands over.
    private static func readHandover() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < 1 << 20 {
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            guard count == 1 else { break }
            if byte == 0x0A && bytes.last == 0x0A { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// For a supervisor the level's digit stands in front; for people the time and the level's name.
    private static func log(isSupervised: Bool) -> (LogLevel, String) -> Void {
        // The engine serves calls: a reader that stands still must not make it wait.
        let output = LogOutput(STDERR_FILENO)
        func line(_ level: LogLevel, _ text: String) -> String {
            (isSupervised ? "\(level.rawValue) " : "\(timestamp()) \(level.name) ") + text
        }
        return { level, text in
            output.write(line(level, text)) { line(.warning, "\($0) lines of the log are missing: nobody read them") }
        }
    }

    private static func timestamp() -> String {
        var now = time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }
}
