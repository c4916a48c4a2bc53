// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore
import PushWakeSystem

struct ParseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parse", abstract: "Prints the push bindings of a raw REGISTER as JSON.",
        discussion: "Exit code 0 when the file is SIP, 1 when it is not, 2 when it cannot be read.")

    @Flag(name: .long, help: "Accepted for symmetry: the output is always JSON.") var json = false
    @Argument(help: "File with one REGISTER (lines end with CRLF or LF), or - for standard input.", completion: .file())
    var file: String

    func run() throws {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try TextFile.readBytes(file)
        } catch {
            Console.printError("cannot \(error); give a readable file of at most 16 MB, or - for standard input")
            throw ExitCode(2)
        }
        let (document, isSIP) = RegisterDocument.parse(bytes.span)
        Console.write(document + [0x0A], to: 1)
        if !isSIP { throw ExitCode(1) }
    }
}
