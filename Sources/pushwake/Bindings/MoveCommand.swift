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
                With --secrets tokens are printed in full, and `pushwake bindings import` can read the lines: anybody \
                who has them can push to the phones. Without it they are only for reading.

                pushwake bindings export --backup /var/backups/pushwake

                --backup writes a file for each day into a directory, with tokens in full and for its owner alone, and keeps \
                the newest. pushwake-backup.timer does so every day.
                """)

        @OptionGroup var options: SettingsOptions
        @Flag(name: .long, help: "Print tokens in full.") var secrets = false
        @Option(
            name: .long, help: ArgumentHelp("Write today's file into a directory.", valueName: "directory"),
            completion: .directory)
        var backup: String?
        @Option(name: .long, help: "With --backup: how many files stay.") var keep = 7

        func validate() throws {
            guard keep > 0 else { throw ValidationError("--keep \(keep): write 1 or more") }
        }

        func run() throws {
            if let backup { return try write(into: backup) }
            try Engine.ask(options, .export, secrets ? "secrets" : "") { row in
                if let line = row.first(where: { $0.name == "json" })?.text { Console.write(line + "\n", to: 1) }
            }
        }

        private func write(into path: String) throws {
            do {
                let directory = try BackupDirectory(path)
                var failure: BackupDirectory.Failure?
                let count = try Engine.ask(options, .export, "secrets") { row in
                    guard failure == nil, let line = row.first(where: { $0.name == "json" })?.text else { return }
                    do throws(BackupDirectory.Failure) { try directory.add(line) } catch { failure = error }
                }
                if let failure { throw failure }
                let file = try directory.commit()
                // A store that has lost all shall not, day by day, take the backups with it.
                if count > 0 { directory.keep(newest: keep) }
                Console.say("\(file): \(count) binding\(count == 1 ? "" : "s")")
            } catch let error as BackupDirectory.Failure {
                Console.printError(error.message)
                throw ExitCode(1)
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

                A newer binding of the same phone is kept, so both engines may run, and you may repeat the import. \
                Exit code 1: some lines could not be stored.
                """)

        @OptionGroup var options: SettingsOptions
        @Flag(name: .long, help: "JSON instead of a sentence.") var json = false
        @Argument(help: "File with a line for each binding; - reads standard input.", completion: .file())
        var file: String

        func run() throws {
            let client = EngineClient(settings: try options.load())
            guard let lines = LineFile(file) else {
                Console.printError("cannot read \(file); give a readable file, or - for standard input")
                throw ExitCode(2)
            }
            var totals = Totals(file: file == "-" ? "standard input" : file)
            var batch = BindingBatch()
            do {
                while let line = lines.next() {
                    var step = batch.add(line, number: lines.number)
                    if step == .sendFirst {
                        try send(&batch, client, &totals)
                        step = batch.add(line, number: lines.number)
                    }
                    if step == .tooLong {
                        totals.leaveOut(lines.number, "it has \(lines.length) bytes, which no binding has")
                    }
                }
                try send(&batch, client, &totals)
            } catch {
                Console.printError("\(totals.file):\(lines.number): what comes next was not sent")
                totals.say(json: json)
                throw error
            }
            if lines.number == 0, let failure = lines.failure {
                Console.printError("cannot read \(file): \(failure)")
                throw ExitCode(2)
            }
            if let failure = lines.failure {
                Console.printError("\(totals.file):\(lines.number): what comes next cannot be read: \(failure)")
            }
            totals.say(json: json)
            if totals.problems > 0 || lines.failure != nil { throw ExitCode(1) }
        }

        private func send(_ batch: inout BindingBatch, _ client: EngineClient, _ totals: inout Totals) throws {
            let lines = batch.take()
            guard !lines.isEmpty else { return }
            client.begin(.takeBindings)
            for line in lines { client.put(.text, line.text) }
            totals.add(EngineClient.rows(of: try Engine.answer(client, milliseconds: 30_000)), lines)
        }

        /// What became of the lines.
        private struct Totals {
            let file: String
            private var counts: [String: Int64] = [:]

            init(file: String) { self.file = file }

            var problems: Int64 { counts["problems"] ?? 0 }

            /// Takes the engine's answer about these lines.
            mutating func add(_ rows: [[EngineField]], _ lines: [BindingBatch.Line]) {
                let before = problems
                for row in rows { add(row, lines) }
                let unnamed = problems - before - Int64(rows.lazy.flatMap(\.self).count { $0.text != nil })
                guard unnamed > 0, let first = lines.first, let last = lines.last else { return }
                Console.printError("\(file): and \(unnamed) more of lines \(first.number) to \(last.number)")
            }

            private mutating func add(_ row: [EngineField], _ lines: [BindingBatch.Line]) {
                var index: Int64?
                for field in row where field.text == nil {
                    if field.name == "index" {
                        index = field.number
                    } else {
                        counts[field.name, default: 0] += field.number
                    }
                }
                for text in row.compactMap(\.text) {
                    let line = index.flatMap { Int(exactly: $0) }.flatMap {
                        lines.indices.contains($0) ? lines[$0] : nil
                    }
                    say(line?.number, text)
                }
            }

            mutating func leaveOut(_ number: Int, _ reason: String) {
                say(number, reason)
                counts["problems", default: 0] += 1
            }

            private func say(_ number: Int?, _ reason: String) {
                Console.printError("\(file):\(number.map { "\($0):" } ?? "") a line was left out: \(reason)")
            }

            func say(json: Bool) {
                let (stored, newer, over) = (counts["stored"] ?? 0, counts["newer_here"] ?? 0, counts["over"] ?? 0)
                let same = counts["same_here"] ?? 0
                Console.say(
                    json
                        ? "{\"stored\":\(stored),\"same_here\":\(same),\"newer_here\":\(newer),\"over\":\(over),\"problems\":\(problems)}"
                        : "stored \(stored); \(same) are the same here, \(newer) are newer here, \(over) are over, \(problems) could not be stored"
                )
            }
        }
    }
}

/// A file of any length, line by line. Of a line that no binding has the beginning is kept, and its length.
private final class LineFile {
    /// After so many bytes of one line the file is given up: it is no export, and may have no end.
    private static let longest = 64 << 20

    private let file: UnsafeMutablePointer<FILE>
    private var piece = [UInt8](repeating: 0, count: 65_536)
    private var unread = 0..<0
    private var line: [UInt8] = []
    /// Of the line that was read last, from 1; empty ones count.
    private(set) var number = 0
    /// Bytes of that line without its end.
    private(set) var length = 0
    /// Why there was no next line, other than the end of the file.
    private(set) var failure: String?

    /// Opens a file, or standard input for `-`; nil when it cannot be read.
    init?(_ path: String) {
        guard let opened = fopen(path == "-" ? "/dev/stdin" : path, "re") else { return nil }
        file = opened
    }

    deinit { fclose(file) }

    /// The next line without its end; nil after the last.
    func next() -> String? {
        while read() {
            number += 1
            var bytes = line[...]
            // Editors of another system put it before a file.
            if number == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
            let text = String(decoding: bytes.prefix { $0 != 0x0D }, as: UTF8.self)
            if !text.isEmpty { return text }
        }
        return nil
    }

    /// Reads to the next end of a line, or of the file; false when nothing is left, or it cannot be read.
    private func read() -> Bool {
        line.removeAll(keepingCapacity: true)
        length = 0
        while failure == nil {
            if unread.isEmpty {
                unread = 0..<fread(&piece, 1, piece.count, file)
                guard !unread.isEmpty else {
                    if ferror(file) != 0 { failure = String(cString: strerror(errno)) }
                    return length > 0 && failure == nil
                }
            }
            let bytes = piece[unread].prefix { $0 != 0x0A }
            line += bytes.prefix(BindingBatch.enough + 1 - line.count)
            length += bytes.count
            guard bytes.endIndex == unread.upperBound else {
                unread = (bytes.endIndex + 1)..<unread.upperBound
                return true
            }
            unread = 0..<0
            if length > Self.longest { failure = "a line has more than \(Self.longest) bytes, which no binding has" }
        }
        return false
    }
}
