// SPDX-License-Identifier: MIT

import PushWakeCore

/// Says which bindings belong to the device that a REGISTER or a selector speaks of.
///
/// The instance is the only certain name of a device. Phones without one are known by what survives a
/// refresh: the Call-ID of their REGISTERs and the address they listen on.
struct DeviceIdentity {
    private let instance: String
    private let callID: String
    private let contact: String

    init(instance: String, contact: String, callID: String) {
        self.instance = instance
        self.callID = callID
        self.contact = contact
    }

    /// The device that a binding is of.
    init(of binding: Binding) {
        self.init(instance: binding.instance, contact: binding.contact, callID: binding.callID)
    }

    /// Says whether `binding` is of this device, tokens aside.
    func owns(_ binding: Binding) -> Bool {
        if !instance.isEmpty, !binding.instance.isEmpty { return instance.isSameBytes(as: binding.instance) }
        if !callID.isEmpty, callID.isSameBytes(as: binding.callID) { return true }
        guard !contact.isEmpty, !binding.contact.isEmpty else { return false }
        return contact.isSameBytes(as: binding.contact)
            || binding.contactWithoutPushParameters.isSameBytes(as: Binding.withoutPushParameters(contact))
    }
}

extension Binding {
    /// Says whether both name the same token. Teams count only where both are known: most dialects do not say.
    func hasSameToken(as other: Binding) -> Bool {
        provider == other.provider && (environment == .sandbox) == (other.environment == .sandbox)
            && token.isSameBytes(as: other.token) && app.isSameBytes(as: other.app)
            && (team.isEmpty || other.team.isEmpty || team.isSameBytes(as: other.team))
    }

    /// Says whether both came in by the same Contact of the same phone.
    func isSibling(of other: Binding) -> Bool {
        instance.isSameBytes(as: other.instance) && contact.isSameBytes(as: other.contact)
    }
}

extension BindingSelector {
    /// Picks the bindings that are meant.
    func select(from bindings: [Binding]) -> [Binding] {
        switch self {
        case .all:
            return bindings
        case .token(let provider, let app, let token):
            return bindings.filter {
                $0.provider == provider && $0.app.isSameBytes(as: app) && $0.token.isSameBytes(as: token)
            }
        case .device(let instance, let contact, let callID):
            let device = DeviceIdentity(instance: instance, contact: contact, callID: callID)
            return bindings.filter(device.owns)
        }
    }
}

extension String {
    /// Compares bytes: `==` takes different spellings of one character for the same.
    func isSameBytes(as other: String) -> Bool {
        let (own, others) = (utf8Span, other.utf8Span)
        guard own.count == others.count else { return false }
        // There is one spelling only, and the library compares many bytes at a time.
        if own.isKnownASCII, others.isKnownASCII { return self == other }
        for index in 0..<own.count where own.span[index] != others.span[index] { return false }
        return true
    }
}
