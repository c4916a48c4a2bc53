// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore
import PushWakeEngine

struct BindingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bindings", abstract: "Lists the push bindings of a user, or of all users.",
        discussion: "Tokens are shortened. A removed binding is listed with the reason until its phone registers again."
    )

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "JSON instead of a table.") var json = false
    @Argument(help: "AoR, as the registrar has it: user or user@domain.") var aor: String?

    func run() throws {
        let rows = try Engine.ask(options, .bindings, aor ?? "")
        if rows.isEmpty && !json {
            Console.complain(aor.map { "\($0) has no push binding" } ?? "there are no bindings")
        }
        Console.show(rows, asJSON: json)
        if rows.isEmpty && aor != nil { throw ExitCode(1) }
    }
}

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Prints the engine's counters.")

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "One JSON object instead of a table.") var json = false

    func run() throws {
        let rows = try Engine.ask(options, .stats, "")
        guard let row = rows.first else { return }
        if json {
            Console.say(Console.object(row))
        } else {
            for field in row { Console.say("\(field.name) \(field.text ?? String(field.number))") }
        }
    }
}

struct RegisteredCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registered", abstract: "Tells the engine that a user has registered: whoever waits goes on.")

    @OptionGroup var options: SettingsOptions
    @Argument(help: "AoR, as the registrar has it.") var aor: String
    @Argument(help: "Contact URI.") var contact: String?

    func run() throws {
        let client = EngineClient(settings: try options.load())
        client.begin(.registered)
        client.put(.aor, aor)
        client.put(.contactURI, contact ?? "")
        _ = try Engine.answer(client)
    }
}

/// Talks to the engine for a subcommand.
enum Engine {
    static func ask(_ options: SettingsOptions, _ query: EngineQuery, _ argument: String) throws -> [[EngineField]] {
        let client = EngineClient(settings: try options.load())
        var rows: [[EngineField]] = []
        do throws(ClientError) {
            _ = try client.query(query, argument: argument) { row in
                rows.append(row)
                return true
            }
        } catch {
            throw failure(error)
        }
        return rows
    }

    /// Sends the request that was put together, and waits for its reply.
    static func answer(_ client: EngineClient, milliseconds: Int64 = 5000) throws -> MessageReader {
        do throws(ClientError) {
            return try client.call(milliseconds: milliseconds)
        } catch {
            throw failure(error)
        }
    }

    private static func failure(_ error: ClientError) -> ExitCode {
        switch error {
        case .unavailable(let text):
            // Some reasons come with their own remedy.
            let remedy = text.contains(";") ? "" : "; start the PBX or `pushwake engine`, or give --socket"
            Console.complain("no engine answers: \(text)\(remedy)")
        case .timeout: Console.complain("the engine did not answer in time")
        case .tooLarge: Console.complain("the request is longer than one message to the engine")
        case .refused(let text): Console.complain(text)
        }
        return ExitCode(1)
    }
}
