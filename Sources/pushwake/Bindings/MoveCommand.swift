// SPDX-License-Identifier: MIT

import ArgumentParser
import Glibc
import PushWakeClient
import PushWakeCore

extension BindingsCommand {
    /// `pushwake bindings export`.
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes all bindings, a line of JSON each.",
            discussion: """
                With --secrets tokens are whole, and `pushwake bindings import` can read the lines: whoever has them can \
                push to the phones. Without it they are for reading.
                """)

        @OptionGroup var options: SettingsOptions
        @Flag(name: .long, help: "Tokens whole.") var secrets = false

        func run() throws {
            try Engine.ask(options, .export, secrets ? "secrets" : "") { row in
                if let line = row.first(where: { $0.name == "json" })?.text { Console.write(line + "\n", to: 1) }
            }
        }
    }

    /// `pushwake bindings import FILE`.
    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stores bindings that another engine has exported with --secrets.",
            discussion: """
                pushwake bindings export --secrets --settings old.conf >bindings.jsonl
                pushwake bindings import bindings.jsonl --settings new.conf

                What the engine has of the same phone and is newer stays, so that both may run, and it may be done again. \
                Exit code 1: some lines could not be stored.
                """)

        /// Bytes of one message.
        private static let most = 48 * 1024

        @OptionGroup var options: SettingsOptions
        @Flag(name: .long, help: "JSON instead of a sentence.") var json = false
        @Argument(help: "File with a line for each binding; - reads standard input.") var file: String

        func run() throws {
            let client = EngineClient(settings: try options.load())
            var totals: [String: Int64] = [:]
            var batch: [String] = []
            var size = 0
            var lastUser = Substring()
            func send() throws {
                guard !batch.isEmpty else { return }
                client.begin(.takeBindings)
                for line in batch { client.put(.text, line) }
                for row in EngineClient.rows(of: try Engine.answer(client, milliseconds: 30_000)) {
                    for field in row {
                        if let text = field.text { Console.printError("a line was left out: \(text)") }
                        if field.text == nil { totals[field.name, default: 0] += field.number }
                    }
                }
                (batch, size) = ([], 0)
            }
            guard let lines = LineFile(file) else {
                Console.printError("cannot read \(file); give a readable file, or - for standard input")
                throw ExitCode(2)
            }
            while let line = lines.next() {
                // Lines of one user stay together: a phone may have several.
                let user = line.prefix { $0 != "," }
                if size > Self.most, user != lastUser { try send() }
                lastUser = user
                batch.append(line)
                size += line.utf8.count
            }
            try send()
            let (stored, newer, over) = (totals["stored"] ?? 0, totals["newer_here"] ?? 0, totals["over"] ?? 0)
            let problems = totals["problems"] ?? 0
            if json {
                Console.say("{\"stored\":\(stored),\"newer_here\":\(newer),\"over\":\(over),\"problems\":\(problems)}")
            } else {
                Console.say(
                    "stored \(stored); \(newer) are newer here, \(over) are over, \(problems) could not be stored")
            }
            if problems > 0 { throw ExitCode(1) }
        }
    }
}

/// A file of any length, line by line.
private final class LineFile {
    private let file: UnsafeMutablePointer<FILE>
    private var line: UnsafeMutablePointer<CChar>?
    private var room = 0

    /// Opens a file, or standard input for `-`; nil when it cannot be read.
    init?(_ path: String) {
        guard let opened = fopen(path == "-" ? "/dev/stdin" : path, "re") else { return nil }
        file = opened
    }

    deinit {
        free(line)
        fclose(file)
    }

    /// The next line without its end; nil after the last.
    func next() -> String? {
        while true {
            let count = getline(&line, &room, file)
            guard count >= 0, let line else { return nil }
            let bytes = UnsafeRawBufferPointer(start: line, count: count)
            let text = String(decoding: bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
            if !text.isEmpty { return text }
        }
    }
}
