// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What `wake` and `wait` carry: a request for a user, and the contacts the registrar has.
struct WakeMessage: Equatable {
    /// A contact of the registrar.
    struct Contact: Equatable {
        var uri = ""
        /// Quotes removed.
        var instance = ""
        /// Seconds since its REGISTER; -1 when not known.
        var age: Int64 = -1
        var isReachable = false
    }

    var event = PushEvent.call
    /// 0: as the settings say.
    var seconds: Int64 = 0
    var aor = ""
    var callID = ""
    var fromURI = ""
    var fromDisplay = ""
    var toURI = ""
    var contentType = ""
    var text = ""
    var contacts: [Contact] = []
    /// The host does not know the contacts of the user (AGI, shell).
    var isBlind = false

    init() {}

    init(decoding message: MessageReader) {
        var reader = message
        var contact = Contact()
        while let field = reader.next() {
            switch field.tag {
            case .event: event = PushEvent(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .call
            case .seconds: seconds = reader.number(field)
            case .aor: aor = reader.text(field)
            case .callID: callID = reader.text(field)
            case .fromURI: fromURI = reader.text(field)
            case .fromDisplay: fromDisplay = reader.text(field)
            case .toURI: toURI = reader.text(field)
            case .contentType: contentType = reader.text(field)
            case .text: text = reader.text(field)
            case .blind: isBlind = reader.number(field) != 0
            case .contactURI: contact = Contact(uri: reader.text(field))
            case .contactInstance: contact.instance = Self.unquoted(reader.text(field))
            case .contactAge: contact.age = reader.number(field)
            case .contactReachable:
                contact.isReachable = reader.number(field) != 0
                contacts.append(contact)
            default: break
            }
        }
        if event == .call, MessageBody.isInvitationToGroup(contentType) { event = .groupChat }
    }

    /// Writes the request for an engine in another process.
    func encode(into client: EngineClient, _ kind: EngineProtocol.Kind) {
        client.begin(kind)
        client.put(.event, Int64(event.rawValue))
        client.put(.seconds, seconds)
        client.put(.aor, aor)
        client.put(.callID, callID)
        client.put(.fromURI, fromURI)
        client.put(.fromDisplay, fromDisplay)
        client.put(.toURI, toURI)
        client.put(.contentType, contentType)
        client.put(.text, text)
        client.put(.blind, isBlind ? 1 : 0)
    }

    private static func unquoted(_ text: String) -> String {
        guard text.utf8.count >= 2, text.first == "\"", text.last == "\"" else { return text }
        return String(text.dropFirst().dropLast())
    }
}
