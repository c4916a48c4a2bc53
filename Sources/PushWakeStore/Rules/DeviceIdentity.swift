// SPDX-License-Identifier: MIT

public import PushWakeCore

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
        return binding.isAt(contact)
    }
}

extension Binding {
    /// Says whether both name the same token. Teams count only where both are known: most dialects do not say.
    public func hasSameToken(as other: Binding) -> Bool {
        provider == other.provider && (environment == .sandbox) == (other.environment == .sandbox)
            && token.isSameBytes(as: other.token) && app.isSameBytes(as: other.app)
            && (team.isEmpty || other.team.isEmpty || team.isSameBytes(as: other.team))
    }

    /// Says whether both came in by the same Contact of the same phone.
    func isSibling(of other: Binding) -> Bool {
        instance.isSameBytes(as: other.instance) && contact.isSameBytes(as: other.contact)
    }

    /// Says whether this is its Contact; only the token may be another. None is at an empty one.
    func isAt(_ other: String) -> Bool {
        guard !contact.isEmpty, !other.isEmpty else { return false }
        return contact.isSameBytes(as: other)
            || contactWithoutPushParameters.isSameBytes(as: Binding.withoutPushParameters(other))
    }

    /// Says whether its phone may be registered there as well: by another of its flows (RFC 5626, 4.2), or over IPv6 here
    /// and IPv4 there (RFC 8599, 4.1). A phone without an instance cannot say so.
    func isBeside(instance: String, contact: String, flowNumber: UInt8) -> Bool {
        guard !instance.isEmpty, self.instance.isSameBytes(as: instance) else { return false }
        if self.flowNumber > 0, flowNumber > 0 { return self.flowNumber != flowNumber }
        guard let own = HostFamily(ofURI: self.contact), let other = HostFamily(ofURI: contact) else { return false }
        return own != other
    }
}

extension BindingSelector {
    /// Picks the bindings that are meant.
    func select(from bindings: [Binding], now: Int64) -> [Binding] {
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
        case .address(let instance, let contact, let callID):
            let device = DeviceIdentity(instance: instance, contact: contact, callID: callID)
            let own = bindings.filter(device.owns)
            let there = own.filter { $0.isAt(contact) }
            guard there.isEmpty else { return there }
            return own.contains { $0.expiresAt > now } ? [] : own
        case .silent(let instance, let contact, let callID, let flowNumber):
            let device = DeviceIdentity(instance: instance, contact: contact, callID: callID)
            return bindings.filter { binding in
                device.owns(binding)
                    && !binding.isBeside(instance: instance, contact: contact, flowNumber: flowNumber)
            }
        case .nameless:
            let nameless = bindings.filter(\.instance.isEmpty)
            guard let first = nameless.first else { return [] }
            return nameless.allSatisfy(DeviceIdentity(of: first).owns) ? nameless : []
        }
    }
}
