// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient
import PushWakeCore

/// Talks to the engine for a subcommand.
enum Engine {
    static func ask(_ options: SettingsOptions, _ query: EngineQuery, _ argument: String) throws -> [[EngineField]] {
        var rows: [[EngineField]] = []
        try ask(options, query, argument) { rows.append($0) }
        return rows
    }

    /// Hands over each row, and after each page how many there were; returns how many in all.
    @discardableResult
    static func ask(
        _ options: SettingsOptions, _ query: EngineQuery, _ argument: String, onPage: (Int) -> Void = { _ in },
        onRow: ([EngineField]) -> Void
    ) throws -> Int {
        let settings = try options.load()
        let client = EngineClient(settings: settings)
        var count = 0
        do throws(ClientError) {
            return try client.query(query, argument: argument, onPage: { onPage(count) }) { row in
                count += 1
                onRow(row)
                return true
            }
        } catch {
            throw failure(error, EngineAbsence.reason(at: settings.text(.engineSocket)))
        }
    }

    /// The rows of an answer; nil when what was asked for is not there.
    static func rows(_ client: EngineClient, _ query: EngineQuery, _ argument: String) throws -> [[EngineField]]? {
        var rows: [[EngineField]] = []
        do throws(ClientError) {
            _ = try client.query(query, argument: argument) { row in
                rows.append(row)
                return true
            }
            return rows
        } catch {
            if case .notFound = error { return nil }
            throw failure(error)
        }
    }

    /// Sends the request that was put together, and waits for its reply.
    static func answer(_ client: EngineClient, milliseconds: Int64 = 5000) throws -> MessageReader {
        do throws(ClientError) {
            return try client.call(milliseconds: milliseconds)
        } catch {
            throw failure(error)
        }
    }

    /// `absence` is what the supervisor has said of it.
    private static func failure(_ error: ClientError, _ absence: String? = nil) -> ExitCode {
        switch error {
        case .unavailable(let text):
            if let absence {
                Console.printError("no engine answers: \(absence)")
                break
            }
            // Some reasons come with their own remedy.
            Console.printError("no engine answers: \(text)\(text.contains(";") ? "" : "; \(Remedy.noEngine)")")
        case .timeout: Console.printError("the engine did not answer in time; \(Remedy.hung)")
        case .tooLarge: Console.printError("the request is longer than one message to the engine")
        case .refused(let text), .notFound(let text): Console.printError(text)
        }
        return ExitCode(1)
    }
}
