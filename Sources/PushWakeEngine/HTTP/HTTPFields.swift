// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// The named values of a request, from its query and its body: a form, or a JSON object whose members are texts,
/// numbers and booleans.
struct HTTPFields {
    /// Why they cannot be read, for whoever wrote the client.
    struct Problem: Error, Equatable {
        let status: Int
        let message: String
    }

    /// Fields whose text phones show.
    private static let shown: Set<String> = ["text", "title"]
    private var values: [String: String] = [:]
    /// The first name that stands twice in one form: which value was meant, nobody knows. JSON cannot have it.
    private var repeated: String?

    /// Reads them; what the body says counts before the query.
    init(_ request: ServedRequest) throws(Problem) {
        let query = request.query.fields
        noteRepetition(of: query.lazy.map(\.name))
        for field in query where values[field.name] == nil { values[field.name] = field.value }
        guard !request.body.isEmpty else { return }
        switch request.mediaType {
        case "application/json": try take(json: request.body)
        case "application/x-www-form-urlencoded", "": try take(form: request.body)
        default:
            throw Problem(
                status: 415, message: "send application/json or application/x-www-form-urlencoded")
        }
        try checkControls()
    }

    private mutating func noteRepetition(of names: some Sequence<String>) {
        var seen: Set<String> = []
        for name in names where !seen.insert(name).inserted { repeated = repeated ?? name }
    }

    /// What phones show may have tabs and lines, which end as in a text of this system; nothing else has control
    /// characters, however it was sent.
    private mutating func checkControls() throws(Problem) {
        for (name, value) in values where value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            let mayHaveLines = Self.shown.contains(name)
            let text = mayHaveLines ? Self.withLines(value) : value
            let isControl = { (byte: UInt8) in
                byte < 0x20 && !(mayHaveLines && (byte == 0x0A || byte == 0x09)) || byte == 0x7F
            }
            guard !text.utf8.contains(where: isControl) else {
                throw Problem(
                    status: 400,
                    message: "\(PrintableText.cleaned(String(name.prefix(40)))): a control character is in the value")
            }
            values[name] = text
        }
    }

    /// CR LF, as forms of browsers have it, and CR alone become LF.
    private static func withLines(_ text: String) -> String {
        var bytes: [UInt8] = []
        var wasReturn = false
        for byte in text.utf8 {
            if byte == 0x0D { bytes.append(0x0A) } else if byte != 0x0A || !wasReturn { bytes.append(byte) }
            wasReturn = byte == 0x0D
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The value under a name; nil for none and for an empty one, which is what apps send for what they do not have.
    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// Refuses other names than these, and these without a value: what was meant as a condition shall not be taken for
    /// none. A listing begins with an empty cursor.
    func refuseAllBut(_ names: Set<String>) throws(Problem) {
        try refuseUnknown(but: names)
        for (name, value) in values.sorted(by: { $0.key < $1.key }) where value.isEmpty && name != "cursor" {
            throw Problem(status: 400, message: "\(Self.shown(name)) is empty; leave it out, or give it a value")
        }
    }

    /// Refuses other names than these, and a name that stands twice: a misspelt one would be missing without a word,
    /// and a call go out as a text; of two users one would be taken.
    func refuseUnknown(but names: Set<String>) throws(Problem) {
        if let repeated { throw Problem(status: 400, message: "\(Self.shown(repeated)) is there twice; write it once") }
        guard let other = values.keys.filter({ !names.contains($0) }).min() else { return }
        throw Problem(
            status: 400,
            message: "there is no \(Self.shown(other)) here; write \(names.sorted().joined(separator: ", "))")
    }

    private static func shown(_ name: String) -> String { PrintableText.cleaned(String(name.prefix(40))) }

    /// The first of several names that has a value.
    func first(of names: [String]) -> String? {
        for name in names { if let value = self[name] { return value } }
        return nil
    }

    /// Name and password are among them.
    var hasPassword: Bool { self["username"] != nil && self["password"] != nil }

    /// A value that must be there.
    func required(_ name: String) throws(Problem) -> String {
        guard let value = self[name] else { throw Problem(status: 400, message: "\(name) is missing") }
        return value
    }

    /// A whole number within bounds; nil when there is none.
    func number(_ name: String, _ range: ClosedRange<Int64>) throws(Problem) -> Int64? {
        guard let text = self[name] else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw Problem(
                status: 400, message: "\(name): write a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// 0 or 1, true or false; nil when there is none.
    func flag(_ name: String) throws(Problem) -> Bool? {
        switch self[name] {
        case nil: nil
        case "1", "true": true
        case "0", "false": false
        default: throw Problem(status: 400, message: "\(name): write true or false")
        }
    }

    private mutating func take(form body: [UInt8]) throws(Problem) {
        do throws(FormFields.Failure) {
            let fields = try FormFields(body, keepsLines: true).fields
            noteRepetition(of: fields.lazy.map(\.name))
            for field in fields { values[field.name] = field.value }
        } catch {
            switch error {
            case .tooMany: throw Problem(status: 400, message: "the form has more than \(FormFields.most) fields")
            case .unreadable(let place):
                throw Problem(
                    status: 400,
                    message: "field \(place) of the form cannot be read: a wrong % escape or a control byte")
            }
        }
    }

    private mutating func take(json body: [UInt8]) throws(Problem) {
        let value: JSONValue
        do throws(JSONParser.Failure) {
            value = try JSONParser.parse(body)
        } catch {
            throw Problem(status: 400, message: "the body is not JSON (line \(error.line), column \(error.column))")
        }
        guard case .object(let members) = value, members.count <= FormFields.most else {
            throw Problem(status: 400, message: "the body is not a JSON object of up to \(FormFields.most) members")
        }
        for member in members {
            switch member.value {
            case .string(let text): values[member.name] = text
            case .integer(let number): values[member.name] = String(number)
            case .bool(let flag): values[member.name] = flag ? "true" : "false"
            case .null: values[member.name] = nil
            case .number, .array, .object:
                throw Problem(
                    status: 400,
                    message:
                        "\(PrintableText.cleaned(String(member.name.prefix(40)))): write a text, a whole number or a boolean"
                )
            }
        }
    }
}
