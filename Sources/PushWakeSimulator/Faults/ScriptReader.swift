// SPDX-License-Identifier: MIT

import PushWakeCore

/// Takes the members of a JSON object one by one, so that what is left over is a mistake.
struct ScriptReader {
    private var members: [JSONValue.Member]
    private let place: String
    /// The names that somebody wanted.
    private var known: [String] = []

    init(_ value: JSONValue, at place: String) throws(FaultScript.Mistake) {
        guard case .object(let members) = value else { throw FaultScript.Mistake("\(place) is not an object") }
        var seen: Set<String> = []
        for member in members where !seen.insert(member.name).inserted {
            throw FaultScript.Mistake("\(place).\(member.name) stands there twice")
        }
        self.members = members
        self.place = place
    }

    /// Takes a member of any kind.
    mutating func take(_ name: String) -> JSONValue? {
        known.append(name)
        guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
        return members.remove(at: index).value
    }

    mutating func text(_ name: String) throws(FaultScript.Mistake) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw wrong(name, "a string") }
        return text
    }

    /// Takes a whole number that is not negative.
    mutating func number(_ name: String) throws(FaultScript.Mistake) -> Int64? {
        guard let value = take(name) else { return nil }
        guard case .integer(let number) = value, number >= 0, number < 1 << 53 else {
            throw wrong(name, "a whole number, 0 or more")
        }
        return number
    }

    mutating func flag(_ name: String) throws(FaultScript.Mistake) -> Bool? {
        guard let value = take(name) else { return nil }
        guard case .bool(let flag) = value else { throw wrong(name, "true or false") }
        return flag
    }

    mutating func list(_ name: String) throws(FaultScript.Mistake) -> [JSONValue]? {
        guard let value = take(name) else { return nil }
        guard let list = value.array else { throw wrong(name, "a list") }
        return list
    }

    /// Takes a number between 0 and 1.
    mutating func share(_ name: String) throws(FaultScript.Mistake) -> Double? {
        switch take(name) {
        case nil: return nil
        case .integer(let number)? where number == 0 || number == 1: return Double(number)
        case .number(let number)? where number >= 0 && number <= 1: return number
        default: throw wrong(name, "a number from 0 to 1")
        }
    }

    /// Takes a string that names a case.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Choice.Type, except hidden: Choice? = nil
    ) throws(FaultScript.Mistake) -> Choice? where Choice.RawValue == String {
        guard let text = try text(name) else { return nil }
        let choices = Choice.allCases.filter { $0.rawValue != hidden?.rawValue }
        guard let choice = choices.first(where: { $0.rawValue == text }) else {
            let known = choices.map(\.rawValue).joined(separator: ", ")
            throw wrong(name, "one of \(known); \"\(text)\" is none")
        }
        return choice
    }

    /// Whether anything is left but these members.
    func hasOther(than names: [String]) -> Bool { members.contains { !names.contains($0.name) } }

    /// Complains about the first member that nobody took.
    func end() throws(FaultScript.Mistake) {
        guard let left = members.first else { return }
        throw FaultScript.Mistake(
            "\(place).\(left.name) is not known; it may have \(known.joined(separator: ", "))")
    }

    func wrong(_ name: String, _ wanted: String) -> FaultScript.Mistake {
        FaultScript.Mistake("\(place).\(name) must be \(wanted)")
    }
}
