// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What `wake`, `wait` and `resume` carry: a request for a user, and the contacts the registrar has.
struct WakeMessage: Equatable {
    /// A contact of the registrar.
    struct Contact: Equatable {
        var uri = ""
        /// Quotes removed.
        var instance = ""
        /// The host's name for it; the URI where the host gives none.
        var key = ""
        var flow = ""
        var registration = ""
        /// Seconds since its REGISTER; -1 when not known.
        var age: Int64 = -1
        var reach = CallContact.Reach.datagram
        var isBehindProxy = false
        /// The leg that is out to it; only a request that goes on after a restart has one.
        var leg = 0
        /// The last status that it answered.
        var legStatus = 0

        /// As the call machine knows it.
        var known: CallDevices.KnownContact {
            CallDevices.KnownContact(
                uri: uri, instance: instance,
                contact: CallContact(
                    key: key, address: Binding.withoutPushParameters(uri), flow: flow, registrationID: registration,
                    reach: reach, age: age, isBehindProxy: isBehindProxy))
        }
    }

    var event = PushEvent.call
    var occasion = PushOccasion.usual
    /// The PURR of a request within a dialog; empty for all others.
    var purr = ""
    /// 0: as the settings say.
    var seconds: Int64 = 0
    var aor = ""
    var domain = ""
    var method = ""
    var callID = ""
    var cseq: UInt32 = 0
    var fromURI = ""
    var fromDisplay = ""
    var fromTag = ""
    var toURI = ""
    var contentType = ""
    var text = ""
    var contacts: [Contact] = []
    /// The host does not know the contacts of the user (AGI, shell).
    var isBlind = false
    /// Which PBX holds it, and how it finds it again; 0: channels wait for it.
    var host: UInt64 = 0
    var handle: UInt64 = 0
    var hostKind = CallHost.proxy

    init() {}

    init(decoding message: MessageReader) {
        var reader = message
        var contact = Contact()
        while let field = reader.next() {
            if Self.read(field, reader, &contact) {
                if field.tag == .contactReachable {
                    if contact.key.isEmpty { contact.key = contact.uri }
                    contacts.append(contact)
                }
                continue
            }
            switch field.tag {
            case .event: event = PushEvent(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .call
            case .occasion:
                occasion = PushOccasion(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .usual
            case .purr: purr = reader.text(field)
            case .seconds: seconds = reader.number(field)
            case .aor: aor = reader.text(field)
            case .domain: domain = reader.text(field)
            case .method: method = reader.text(field)
            case .callID: callID = reader.text(field)
            case .cseq: cseq = UInt32(truncatingIfNeeded: reader.number(field))
            case .fromURI: fromURI = reader.text(field)
            case .fromDisplay: fromDisplay = reader.text(field)
            case .fromTag: fromTag = reader.text(field)
            case .toURI: toURI = reader.text(field)
            case .contentType: contentType = reader.text(field)
            case .text: text = reader.text(field)
            case .blind: isBlind = reader.number(field) != 0
            case .host: host = UInt64(bitPattern: reader.number(field))
            case .handle: handle = UInt64(bitPattern: reader.number(field))
            case .hostKind: hostKind = CallHost(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .proxy
            default: break
            }
        }
        if event == .call, MessageBody.isInvitationToGroup(contentType) { event = .groupChat }
    }

    /// Takes a field of a contact; false for any other.
    static func read(_ field: MessageReader.Field, _ reader: MessageReader, _ contact: inout Contact) -> Bool {
        switch field.tag {
        case .contactURI: contact = Contact(uri: reader.text(field))
        case .contactInstance: contact.instance = unquoted(reader.text(field))
        case .contactKey: contact.key = reader.text(field)
        case .contactFlow: contact.flow = reader.text(field)
        case .contactRegistration: contact.registration = reader.text(field)
        case .contactAge: contact.age = reader.number(field)
        case .contactProxy: contact.isBehindProxy = reader.number(field) != 0
        case .status: contact.legStatus = Int(truncatingIfNeeded: reader.number(field))
        case .leg: contact.leg = Int(truncatingIfNeeded: reader.number(field))
        case .contactReachable:
            contact.reach =
                CallContact.Reach(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .datagram
        default: return false
        }
        return true
    }

    /// Which request it is, for its host.
    var id: RequestID { handle != 0 ? .handle(host: host, handle) : .waited(key) }

    /// Which request it is, for its pushes.
    var key: WakeKey { WakeKey(aor: aor, callID: callID, cseq: cseq, event: event) }

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

    static func unquoted(_ text: String) -> String {
        guard text.utf8.count >= 2, text.first == "\"", text.last == "\"" else { return text }
        return String(text.dropFirst().dropLast())
    }
}
