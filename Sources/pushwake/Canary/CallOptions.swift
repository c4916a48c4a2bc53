// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCanary
import PushWakeClient
import PushWakeCore
import PushWakeSystem
import PushWakeTransport

/// How a call of the shell gets to the PBX, and as whom.
struct CallOptions: ParsableArguments {
    @Option(name: .long, help: "URI of the caller; without it the account's user, else canary, at the user's domain.")
    var from: String?
    @Option(name: .long, help: ArgumentHelp("Where the PBX is, when not at the URI's host.", valueName: "host[:port]"))
    var proxy: String?
    @Option(name: .long, help: "udp or tcp.", completion: .list(["udp", "tcp"])) var transport = "udp"
    @Option(
        name: .long, help: ArgumentHelp("File with user:password for the PBX.", valueName: "file"), completion: .file())
    var account: String?

    /// Whether such a URI can be called this way.
    func check(_ uri: String) throws {
        let isURI = uri.hasPrefix("sip:") && uri.dropFirst(4).contains("@")
        let texts = [uri, from ?? "", proxy ?? ""]
        guard isURI, texts.allSatisfy({ $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3C && $0 != 0x3E } })
        else { throw ValidationError("write the user as sip:user@host or sip:user@host:port") }
        guard from?.hasPrefix("sip:") != false else { throw ValidationError("--from takes a SIP URI") }
        guard CanaryPlan.Transport(rawValue: transport) != nil else {
            throw ValidationError("--transport takes udp or tcp")
        }
        guard place(of: uri) != nil else {
            throw ValidationError(
                proxy == nil
                    ? "\(uri): write the user as sip:user@host or sip:user@host:port, the port up to 65535"
                    : "--proxy takes host or host:port")
        }
    }

    /// A call to a URI that was checked.
    func plan(to uri: String, _ callID: String, _ account: CanaryPlan.Account?) -> CanaryPlan {
        let domain = uri[(uri.firstIndex(of: "@") ?? uri.startIndex)...]
        // A PBX lets an account call under its own name.
        let caller = account.map { $0.name.prefix { $0 != "@" } } ?? "canary"
        var plan = CanaryPlan(
            target: uri, caller: from ?? "sip:\(caller)\(domain)", localAddress: "", callID: callID,
            random: UInt64.random(in: 0...UInt64.max), hash: { Crypto.digest($0, $1) })
        plan.transport = CanaryPlan.Transport(rawValue: transport) ?? .udp
        plan.account = account
        return plan
    }

    /// Makes the call, and waits for its end, or takes it back when that is enough.
    func play(_ plan: CanaryPlan, until isEnough: () -> Bool = { false }) -> CanaryResult {
        do {
            let (host, port) = place(of: plan.target) ?? ("", 0)
            return try CanaryLine(plan, host: host, port: port).run(until: isEnough)
        } catch let error as CanaryLine.Failure {
            return CanaryResult(isGood: false, status: 0, text: error.message)
        } catch {
            return CanaryResult(isGood: false, status: 0, text: "\(error)")
        }
    }

    /// Host and port of the PBX: 5060 where none is written.
    private func place(of uri: String) -> (host: String, port: UInt16)? {
        var text = proxy ?? String(uri[uri.index(after: uri.firstIndex(of: "@") ?? uri.startIndex)...])
        if let end = text.firstIndex(where: { $0 == ";" || $0 == "?" }) { text = String(text[..<end]) }
        let isBare = text.hasSuffix("]") || !text.contains(":")
        guard let address = try? CaptureAddress(isBare ? "\(text):5060" : text) else { return nil }
        return (address.host, address.port)
    }

    /// Who calls, where the PBX asks; what is wrong with the file ends the command.
    func readAccount() throws -> CanaryPlan.Account? {
        guard let account else { return nil }
        // By bytes: to a String, CR and LF are one Character, which is no "\n".
        let bytes = FileContent.firstLine(of: (try? TextFile.readBytes(account)) ?? [])
        let line = String(decoding: bytes, as: UTF8.self)
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
            Console.printError("\(account): give a file whose first line is user:password")
            throw ExitCode(2)
        }
        return CanaryPlan.Account(
            name: String(line[..<colon]), password: Secret(String(line[line.index(after: colon)...])))
    }
}
