// SPDX-License-Identifier: MIT

package import PushWakeCore

/// What `wake`, `wait` and `resume` carry: a request for a user, and the contacts the registrar has.
package struct WakeMessage: Equatable {
    /// Which phones of the user a request is for; raw values are `enum pushwake_scope`.
    package enum Scope: UInt8 {
        case user = 0
        /// Those whose contacts it names.
        case contacts = 1
        /// Those that have none of the contacts that it names.
        case others = 2
    }

    /// A contact of the registrar.
    package struct Contact: Equatable {
        package var uri = ""
        /// Quotes removed.
        package var instance = ""
        /// The host's name for it; the URI where the host gives none.
        package var key = ""
        package var flow = ""
        package var registration = ""
        /// Seconds since its REGISTER; -1 when not known.
        package var age: Int64 = -1
        package var reach = CallContact.Reach.datagram
        package var isBehindProxy = false
        /// The Path that it registered with; empty for none, or where the host does not say.
        package var path = ""
        /// Seconds that the registrar granted it, below 0 for ever; 0 when not known.
        package var expires: Int64 = 0
        /// The leg that is out to it; only a request that goes on after a restart has one.
        package var leg = 0
        /// The last status that it answered.
        package var legStatus = 0
        /// It has no final answer.
        package var isLegOut: Bool { legStatus < 300 }

        package init(uri: String = "") { self.uri = uri }

        /// Moved out, not copied: a copy would count a reference for each of its texts. An empty one is left.
        package mutating func taken() -> Contact {
            var other = Contact()
            swap(&other, &self)
            return other
        }

        /// As the call machine knows it.
        package var known: CallDevices.KnownContact {
            CallDevices.KnownContact(
                uri: uri, instance: instance,
                contact: CallContact(
                    key: key, address: uri, path: path, flow: flow, registrationID: registration, reach: reach,
                    age: age, isBehindProxy: isBehindProxy))
        }
    }

    package var event = PushEvent.call
    package var occasion = PushOccasion.usual
    /// The PURR of a request within a dialog; empty for all others.
    package var purr = ""
    /// 0: as the settings say.
    package var seconds: Int64 = 0
    package var aor = ""
    package var domain = ""
    package var method = ""
    package var callID = ""
    package var cseq: UInt32 = 0
    package var fromURI = ""
    /// The caller's name as people read it; empty for none.
    package var fromDisplay = ""
    /// Who calls, where `fromURI` does not say it.
    package var callerKey = ""
    package var fromTag = ""
    package var toURI = ""
    package var contentType = ""
    package var text = ""
    /// The caller offers video.
    package var offersVideo = false
    /// The caller takes provisional answers with RSeq only (RFC 3262).
    package var requiresReliableAnswers = false
    package var contacts: [Contact] = []
    /// The host does not know the contacts of the user (AGI, shell).
    package var hasNoContacts = false
    /// Which PBX holds it, and how it finds it again; 0: channels wait for it.
    package var host: UInt64 = 0
    package var handle: UInt64 = 0
    package var hostKind = CallHost.proxy
    /// A channel waits for its phones.
    package var isWaited = false
    /// Waiting legs hold it: no process of its host but the supervisor executes its verbs.
    package var isWaitingLeg = false
    package var scope = Scope.user

    /// A text that a dialplan has taken and does not hold: its sender knows it as accepted, and phones have it by push alone.
    package var isLeftToPushes: Bool {
        handle == 0 && !isWaited && hostKind == .dialplan && event.isMessage
    }

    package init() {}

    package init(decoding message: MessageReader) {
        var reader = message
        var contact = Contact()
        while let field = reader.next() {
            if Self.read(field, reader, &contact) {
                if field.tag == .contactReachable {
                    if contact.key.isEmpty { contact.key = contact.uri }
                    contacts.append(contact.taken())
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
            case .callerKey: callerKey = reader.text(field)
            case .fromTag: fromTag = reader.text(field)
            case .toURI: toURI = reader.text(field)
            case .contentType: contentType = reader.text(field)
            case .text: text = reader.text(field)
            case .video: offersVideo = reader.number(field) != 0
            case .reliable: requiresReliableAnswers = reader.number(field) != 0
            case .withoutContacts: hasNoContacts = reader.number(field) != 0
            case .host: host = UInt64(bitPattern: reader.number(field))
            case .handle: handle = UInt64(bitPattern: reader.number(field))
            case .scope: scope = Scope(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .user
            case .waitingLeg: isWaitingLeg = reader.number(field) != 0
            case .hostKind: hostKind = CallHost(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .proxy
            default: break
            }
        }
        if event == .call, MessageBody.isInvitationToGroup(contentType) { event = .groupChat }
    }

    /// Takes a field of a contact; false for any other.
    package static func read(_ field: MessageReader.Field, _ reader: MessageReader, _ contact: inout Contact) -> Bool {
        switch field.tag {
        case .contactURI: contact = Contact(uri: reader.text(field))
        case .contactInstance: contact.instance = unquoted(reader.text(field))
        case .contactKey: contact.key = reader.text(field)
        case .contactFlow: contact.flow = reader.text(field)
        case .contactRegistration: contact.registration = reader.text(field)
        case .contactAge: contact.age = reader.number(field)
        case .contactPath: contact.path = reader.text(field)
        case .contactExpires: contact.expires = reader.number(field)
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
    package var id: RequestID { handle != 0 ? .handle(host: host, handle) : .waited(key) }

    /// Which request it is, for its pushes.
    package var key: WakeKey { WakeKey(aor: aor, callID: callID, cseq: cseq, event: event) }

    /// Writes the request for an engine in another process.
    package func encode(into client: EngineClient, _ kind: EngineProtocol.Kind) {
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
        client.put(.withoutContacts, hasNoContacts ? 1 : 0)
    }

    package static func unquoted(_ text: String) -> String {
        let quote = UInt8(ascii: "\"")
        guard text.utf8.count >= 2, text.utf8.first == quote, text.utf8.last == quote else { return text }
        return String(text.dropFirst().dropLast())
    }
}

/// Which request wakes a user: forks of it are the same wake, and a request that comes again after a challenge or a
/// refusal has another CSeq and is another wake.
package struct WakeKey: Hashable {
    package let user: UserKey
    package let callID: String
    package let cseq: UInt32
    package let event: PushEvent

    package init(aor: String, callID: String, cseq: UInt32, event: PushEvent) {
        (user, self.callID, self.cseq, self.event) = (UserKey(aor), callID, cseq, event)
    }

    package var aor: String { user.aor }
}

/// Which request a host speaks of.
package enum RequestID: Hashable {
    /// The host finds it by a handle of its own.
    case handle(host: UInt64, UInt64)
    /// Channels wait for it, each on a connection of its own.
    case waited(WakeKey)

    // A host numbers its requests, and there is one host, as a rule.
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .handle(_, let handle): hasher.combine(handle)
        case .waited(let key): hasher.combine(key)
        }
    }

    /// Whether channels wait for it, for this user and with this Call-ID.
    package func isWaited(aor: String, callID: String) -> Bool {
        if case .waited(let key) = self { key.user == UserKey(aor) && key.callID == callID } else { false }
    }
}

/// When the sender of a request gives up on it, as the request itself says.
///
/// A message waits in the socket while the engine is stopped or busy, and all processes of a host share one
/// monotonic clock. So the engine can tell a call that somebody still holds from one that went its way without push.
package struct RequestDeadline: Equatable {
    /// Monotonic milliseconds.
    private var sentAt: Int64?
    /// Milliseconds.
    private var senderTimeout: Int64?

    /// Reads it from a request; one that says nothing never ends.
    package init(decoding message: MessageReader) {
        // Clients say it first.
        sentAt = message.first(.sentAt).map { message.number($0) }
        senderTimeout = message.first(.senderTimeout).map { message.number($0) }
    }

    /// Whether the sender has given up by `now` (monotonic milliseconds). Both times were cut to milliseconds, so a
    /// request of exactly that age may still be waited for.
    package func isPast(at now: Int64) -> Bool {
        guard let sentAt, let senderTimeout else { return false }
        let (age, overflow) = now.subtractingReportingOverflow(sentAt)
        return !overflow && age > max(senderTimeout, 0)
    }
}
