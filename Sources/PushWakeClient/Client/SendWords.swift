// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// A push by hand as people write it: `EVENT AOR [TEXT ...]`, or `EVENT platform=... token=... [TEXT ...]`.
///
/// `name=value` may stand anywhere. A word whose name nobody knows is the user or text, like any other: "2+2=4" is.
public struct SendWords: Equatable, Sendable {
    /// Says what to write.
    public struct Mistake: Error, Equatable, Sendable {
        public let message: String
    }

    /// One field of the push.
    public struct Field: Equatable, Sendable {
        public let name: String
        public let value: String
    }

    /// Fields by their names, in the order of the words; `event` first, `text` of all its words last.
    public private(set) var fields: [Field] = []

    /// Reads the words; `isName` knows the fields.
    public init(_ words: [String], isName: (String) -> Bool) throws(Mistake) {
        guard let event = words.first, !event.isEmpty else {
            throw Mistake(message: "which event? \(Self.usage)")
        }
        fields = [Field(name: "event", value: event)]
        var text: [String] = []
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, isName(String(parts[0])) {
                fields.append(Field(name: String(parts[0]), value: String(parts[1])))
            } else if namesNobody {
                fields.append(Field(name: "aor", value: word))
            } else {
                text.append(word)
            }
        }
        guard !namesNobody else { throw Mistake(message: "to whom? \(Self.usage)") }
        if !text.isEmpty { fields.append(Field(name: "text", value: text.joined(separator: " "))) }
    }

    private static let usage = "write EVENT AOR [TEXT], or EVENT platform=... token=..."

    private var namesNobody: Bool {
        !fields.contains { ($0.name == "aor" || $0.name == "token") && !$0.value.isEmpty }
    }

    /// What is wrong with a name of an event that is none.
    public static func mistake(event name: String) -> String {
        "'\(PrintableText.cleaned(String(name.prefix(80))))' is not an event; write one of \(PushEvent.names)"
    }
}
