// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// `pushwake explain`: the pushes that a request would cause, as JSON.
struct ExplainTool {
    /// A file with the phone's REGISTER; nil when the engine or the store has the bindings of `aor`.
    private let register: String?
    private let aor: String
    private let request: String
    private let event: PushEvent?
    private let wanted: APNsPushType?
    private let settings: Settings
    private let output: ToolOutput

    /// Nil without a request and a phone, and for an event or push type that nobody knows.
    init?(_ options: ToolOptions, _ settings: Settings, _ output: ToolOutput) {
        (register, event) = (options["register"], options["event"].flatMap { PushEvent(name: $0) })
        wanted = options["push-type"].flatMap { APNsPushType(name: $0) }
        guard let request = options["request"], (register == nil) != (options["aor"] == nil),
            (event == nil) == (options["event"] == nil), (wanted == nil) == (options["push-type"] == nil)
        else { return nil }
        (aor, self.request) = (options["aor"] ?? "", request)
        (self.settings, self.output) = (settings, output)
    }

    func run() throws(ToolFailure) -> Int32 {
        do throws(PushExplanation.Failure) {
            let explanation: PushExplanation
            if let register {
                explanation = try PushExplanation.explain(
                    register: try contents(register), request: try contents(request), event: event, wanted: wanted,
                    settings: settings)
            } else {
                explanation = try explainUser(try contents(request))
            }
            for problem in explanation.problems { output.printError(problem) }
            output.write(explanation.json + [0x0A])
            return 0
        } catch {
            switch error {
            case .notSIP(let message): throw ToolFailure(message, code: 1)
            case .unreadable(let message): throw ToolFailure(message, code: 2)
            }
        }
    }

    /// The engine knows best; a file can be read without one.
    private func explainUser(_ request: [UInt8]) throws(PushExplanation.Failure) -> PushExplanation {
        do throws(ClientError) {
            return try EngineClient(settings: settings).explain(
                aor: aor, request: request, event: event, wanted: wanted)
        } catch {
            switch error {
            case .unavailable(let text):
                if settings.storeChoice != .sqlite {
                    throw .unreadable("no engine answers (\(text)), and with store=memory nobody else has bindings")
                }
            case .timeout: throw .unreadable("the engine did not answer in time")
            case .tooLarge:
                throw .unreadable("the request is longer than one message to the engine; give a shorter one")
            case .refused(let text), .notFound(let text): throw .notSIP(text)
            }
        }
        return try PushExplanation.explain(
            aor: aor, request: request, event: event, wanted: wanted, settings: settings)
    }

    private func contents(_ path: String) throws(PushExplanation.Failure) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try TextFile.readBytes(path)
        } catch {
            throw .unreadable("cannot \(error); give a readable file of at most 16 MB, or - for standard input")
        }
        guard !bytes.isEmpty else { throw .notSIP("\(path) is empty; give a file with a whole SIP message") }
        return bytes
    }
}
