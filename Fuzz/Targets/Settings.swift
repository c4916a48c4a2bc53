// SPDX-License-Identifier: MIT

import PushWakeCore

/// Reads any bytes as a settings file, as the lines that the engine is given, and as a kamailio.cfg. What could be set is
/// handed on to the letter; each problem names a line of the file.
public func fuzzSettings(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    let text = String(decoding: input, as: UTF8.self)
    var settings = Settings()
    let problems = settings.read(file: text)
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).count
    guard problems.allSatisfy({ (1...lines).contains($0.line) }) else { fatalError("no such line: \(problems)") }
    // What takes as long as a thousand short files is for some of them: all settings cross, and a file that includes
    // itself is read 500 times.
    let sum = input.reduce(0) { $0 &+ Int($1) }
    if sum % 64 == 0 {
        var copy = Settings()
        guard copy.take(lines: settings.lines()).isEmpty, copy == settings else {
            fatalError("not the same: \(settings.lines())")
        }
    }
    var raw = Settings()
    _ = raw.take(lines: text)

    _ = KamailioConfiguration.isOne(text)
    var files = sum % 64 == 1 ? Int.max : 2
    let configuration = KamailioConfiguration(text, file: "kamailio.cfg", defines: ["WITH_NAT"]) {
        guard $0 == "other.cfg", files > 0 else { return nil }
        files -= 1
        return text
    }
    _ = KamailioInspection.inspect(configuration, file: "kamailio.cfg")
    return 0
}
