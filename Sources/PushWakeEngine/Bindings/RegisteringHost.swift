// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// The host that a REGISTER came through, and what its registrar has of it now.
struct RegisteringHost {
    var id: UInt64 = 0
    var domain = ""
    /// The upstream registration that it belongs to; empty when none.
    var account = ""
    var contacts: [WakeMessage.Contact] = []

    /// Takes a field of its message; `contact` is the one that is being read.
    mutating func take(_ field: MessageReader.Field, of message: MessageReader, _ contact: inout WakeMessage.Contact) {
        switch field.tag {
        case .host: id = UInt64(bitPattern: message.number(field))
        case .domain: domain = message.text(field)
        case .account: account = message.text(field)
        default:
            guard WakeMessage.read(field, message, &contact), field.tag == .contactReachable else { return }
            if contact.key.isEmpty { contact.key = contact.uri }
            contacts.append(contact.taken())
        }
    }

    /// The saved contact for one of the REGISTER that stays.
    func contact(_ contact: RegisteredContact, of registration: Registration) -> WakeMessage.Contact? {
        place(of: contact, of: registration).map { contacts[$0] }
    }

    /// Its place in `contacts`: by its URI or its instance, or what all others leave over, where the registrar or the script
    /// writes it otherwise (an alias for the way back, say).
    func place(of contact: RegisteredContact, of registration: Registration) -> Int? {
        guard !contacts.isEmpty else { return nil }
        if let named = place(named: contact) { return named }
        var rest = Set(contacts.indices)
        for other in registration.contacts where other != contact && !registration.isRemoval(other) {
            guard let named = place(named: other) else { return nil }
            rest.remove(named)
        }
        return rest.count == 1 ? rest.first : nil
    }

    private func place(named contact: RegisteredContact) -> Int? {
        if let same = contacts.firstIndex(where: { $0.uri == contact.uri }) { return same }
        let bare = Binding.withoutPushParameters(contact.uri)
        if let same = contacts.firstIndex(where: { $0.uri == bare }) { return same }
        guard !contact.instance.isEmpty else { return nil }
        let own = contacts.indices.filter { contacts[$0].instance == contact.instance }
        return own.count == 1 ? own[0] : nil
    }

    /// The least that a contact was granted, for one that cannot be told from others; nil when the registrar has not said.
    var leastGranted: Int64? { contacts.indices.compactMap(granted).min() }

    /// Seconds that the registrar granted the contact at a place; nil when it has not said.
    func granted(_ place: Int) -> Int64? {
        let expires = contacts[place].expires
        return expires == 0 ? nil : expires < 0 ? .max : expires
    }
}

/// What became of a REGISTER; raw values are `enum pushwake_register_outcome`.
enum RegisterOutcome: Int {
    case plain = 0
    case stored = 1
    case unbound = 2
    case query = 3
    case ignored = 4
}
