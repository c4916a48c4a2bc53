// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// What a node tells others of a REGISTER: who has come or gone, and how to reach him from there.
///
///     notice = a message of kind `registered`: aor domain *(contact fields, tokens, contactReachable)
struct RegistrationNotice: Equatable {
    /// One contact of the REGISTER.
    struct Contact: Equatable {
        /// As registered, push parameters included.
        var uri = ""
        var instance = ""
        var tokens: [String] = []
        /// The registrar's name for it on the node where it registered; empty when it has gone.
        var key = ""
        /// Address and transport that the REGISTER came from.
        var flow = ""
        /// Call-ID of the REGISTER.
        var registrationID = ""
        /// Its `reg-id`; 0 for none.
        var flowNumber: UInt32 = 0
        /// By which another node reaches it (`NodeRoute`).
        var route = ""
        /// It is gone from the registrar.
        var isRemoval = false
        /// Seconds since 1970, of one that was looked up; no part of what is announced.
        var registeredAt: Int64?

        /// What a host that does not know the contact calls it: the name it has where it registered, if that is as short as
        /// Kamailio's (sruid_t has 40 bytes), else one made of its address (FNV-1a).
        var shortKey: String {
            guard key.isEmpty || key.utf8.count >= 40 else { return key }
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            for byte in Binding.withoutPushParameters(uri).utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            return "pushwake-\(String(hash, radix: 36))"
        }
    }

    var aor = ""
    var domain = ""
    var contacts: [Contact] = []

    init(aor: String, domain: String, contacts: [Contact]) {
        self.aor = aor
        self.domain = domain
        self.contacts = contacts
    }

    /// Reads what `bytes` wrote; nil when it is none.
    init?(_ bytes: [UInt8]) {
        guard var reader = MessageReader(bytes), reader.kind == .registered else { return nil }
        var contact = Contact()
        while let field = reader.next() {
            switch field.tag {
            case .aor: aor = reader.text(field)
            case .domain: domain = reader.text(field)
            case .contactURI: contact = Contact(uri: reader.text(field))
            case .contactInstance: contact.instance = reader.text(field)
            case .token: contact.tokens.append(reader.text(field))
            case .contactKey: contact.key = reader.text(field)
            case .contactFlow: contact.flow = reader.text(field)
            case .contactRegistration: contact.registrationID = reader.text(field)
            case .contactFlowNumber: contact.flowNumber = UInt32(clamping: reader.number(field))
            case .contactPath: contact.route = reader.text(field)
            case .removed: contact.isRemoval = reader.number(field) != 0
            case .contactReachable: contacts.append(contact)
            default: break
            }
        }
        guard !aor.isEmpty, !contacts.isEmpty else { return nil }
    }

    var bytes: [UInt8] {
        var writer = MessageWriter()
        writer.begin(.registered, id: 0)
        writer.put(.aor, aor)
        if !domain.isEmpty { writer.put(.domain, domain) }
        for contact in contacts {
            writer.put(.contactURI, contact.uri)
            if !contact.instance.isEmpty { writer.put(.contactInstance, contact.instance) }
            for token in contact.tokens { writer.put(.token, token) }
            if !contact.key.isEmpty { writer.put(.contactKey, contact.key) }
            if !contact.flow.isEmpty { writer.put(.contactFlow, contact.flow) }
            writer.put(.contactRegistration, contact.registrationID)
            if contact.flowNumber > 0 { writer.put(.contactFlowNumber, Int64(contact.flowNumber)) }
            if !contact.route.isEmpty { writer.put(.contactPath, contact.route) }
            if contact.isRemoval { writer.put(.removed, 1) }
            writer.put(.contactReachable, 0)
        }
        return writer.bytes
    }
}
