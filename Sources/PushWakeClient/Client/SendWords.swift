// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// A push by hand as people write it: `EVENT AOR [TEXT ...]`, or `EVENT platform=... token=... [TEXT ...]`.
///
/// `name=value` may stand anywhere. A word whose name nobody knows is the user or text, like any other: "2+2=4" is.
public struct SendWords: Equatable, Sendable {
    /// One field of the push.
    public struct Field: Equatable, Sendable {
        public let name: String
        public let value: String
    }

    /// Fields by their names, in the order of the words; `event` first, `text` of all its words last.
    public private(set) var fields: [Field] = []

    /// Reads the words.
    public init(_ words: [String]) throws(ConsoleCommand.Failure) {
        guard let event = words.first, !event.isEmpty else { throw .words("which event? \(Self.usage)") }
        fields = [Field(name: "event", value: event)]
        var text: [String] = []
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, Self.tag(String(parts[0])) != nil {
                fields.append(Field(name: String(parts[0]), value: String(parts[1])))
            } else if namesNobody {
                fields.append(Field(name: "aor", value: word))
            } else {
                text.append(word)
            }
        }
        guard !namesNobody else { throw .words("to whom? \(Self.usage)") }
        if !text.isEmpty { fields.append(Field(name: "text", value: text.joined(separator: " "))) }
    }

    /// Takes fields by their names.
    public init(values: [(name: String, value: String?)]) {
        fields = values.map { Field(name: $0.name, value: $0.value ?? "") }
    }

    /// Begins the message that asks for the push. Of fields of one name the last counts.
    public func put(into engine: EngineClient) throws(ConsoleCommand.Failure) {
        engine.begin(.send)
        for (index, field) in fields.enumerated()
        where !field.value.isEmpty && !fields[(index + 1)...].contains(where: { $0.name == field.name }) {
            switch Self.tag(field.name) {
            case .event:
                guard let event = PushEvent(name: field.value) else { throw .words(Self.mistake(event: field.value)) }
                engine.put(.event, Int64(event.rawValue))
            case .fromDisplay: engine.put(.fromDisplay, NameAddress.displayName(field.value.utf8.span))
            case .attributeValue:
                engine.put(.attributeName, "pn-\(field.name)")
                engine.put(.attributeValue, field.value)
            case let tag?: engine.put(tag, field.value)
            case nil: break
            }
        }
    }

    /// Where the value of a name belongs; nil for a name that nobody knows.
    private static func tag(_ name: String) -> EngineProtocol.Tag? {
        switch name {
        case "event": .event
        case "aor": .aor
        case "platform": .provider
        case "package": .app
        case "token": .token
        case "call-id": .callID
        case "from": .fromURI
        case "name": .fromDisplay
        case "title": .title
        case "text": .text
        case "push-type": .pushType
        case "environment": .environment
        case "service": .service
        // Of a subscription, and of a token of Acrobits.
        case "p256dh", "auth", "selector": .attributeValue
        default: nil
        }
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
