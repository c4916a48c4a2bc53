// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// A member of a script by its path, such as `rules[2].goaway.code`. jansson keeps no positions of what it has read, so the
/// members before the one in question are read once more, one at a time.
struct ScriptPlace {
    private enum Step: Equatable {
        case name(String)
        case index(Int)
    }

    private var steps: [Step] = []

    init(of path: Substring) {
        for part in path.split(separator: ".") {
            let name = part.prefix { $0 != "[" }
            if !(steps.isEmpty && name == "script") { steps.append(.name(String(name))) }
            if let index = Int(part.dropFirst(name.count + 1).prefix { $0 != "]" }) { steps.append(.index(index)) }
        }
    }

    /// The line in valid JSON, from 1. Where the path leads to nothing, the line of its innermost part that is there.
    func line(in text: [UInt8]) -> Int {
        var value = Self.skipSpace(from: 0, in: text)
        var found = value
        for step in steps {
            guard let next = Self.child(step, ofValueAt: value, in: text) else { break }
            (found, value) = next
        }
        return text.prefix(found).reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
    }

    /// Where a step from an object or array stands, with its name, and where its value does.
    private static func child(_ step: Step, ofValueAt start: Int, in text: [UInt8]) -> (place: Int, value: Int)? {
        guard start < text.count, text[start] == UInt8(ascii: "{") || text[start] == UInt8(ascii: "[") else {
            return nil
        }
        let isObject = text[start] == UInt8(ascii: "{")
        var index = 0
        var place = skipSpace(from: start + 1, in: text)
        while var end = JSONParser.end(ofValueAt: place, in: text) {
            var value = place
            var isWanted = step == .index(index)
            if isObject {
                isWanted = step == .name((try? JSONParser.parse(Array(text[place..<end])))?.string ?? "")
                value = skipSpace(from: skipSpace(from: end, in: text) + 1, in: text)
            }
            if isWanted { return (place, value) }
            if isObject { end = JSONParser.end(ofValueAt: value, in: text) ?? text.count }
            place = skipSpace(from: skipSpace(from: end, in: text) + 1, in: text)
            index += 1
        }
        return nil
    }

    private static func skipSpace(from start: Int, in text: [UInt8]) -> Int {
        text[min(start, text.count)...].firstIndex { ![0x20, 0x0A, 0x0D, 0x09].contains($0) } ?? text.count
    }
}
