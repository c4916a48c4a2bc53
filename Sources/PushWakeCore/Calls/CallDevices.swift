// SPDX-License-Identifier: MIT

/// The devices of a user for one request, and which binding of each is pushed.
public struct CallDevices: Equatable, Sendable {
    /// What the host knows of a contact beside `CallContact`.
    public struct KnownContact: Equatable, Sendable {
        public var uri: String
        /// Quotes removed.
        public var instance: String
        public var contact: CallContact

        public init(uri: String, instance: String, contact: CallContact) {
            self.uri = uri
            self.instance = instance
            self.contact = contact
        }
    }

    /// In the order of their first binding; contacts that no binding knows follow.
    public var devices: [CallDevice]
    /// Indices of each device's bindings; empty for a contact that no binding knows.
    public let bindings: [[Int]]
    /// Which binding is pushed for the event, and how; nil when none can be.
    public let chosen: [Plan.Chosen?]
    /// Why bindings are not pushed for this event.
    public let skipped: [Plan.Skipped]

    /// Groups the bindings of one user into devices and gives each the contacts that are its own.
    ///
    /// `awakeFor`: seconds after its REGISTER for which a phone counts as awake; an open connection always does.
    /// `age`: seconds since the REGISTER of a binding, for contacts whose host does not know.
    public init(
        _ event: PushEvent, bindings: [Binding], contacts: [KnownContact], awakeFor: Int64,
        age: (Binding) -> Int64 = { _ in -1 }, isAwake: (Binding) -> Bool = { _ in false }
    ) {
        let plan = Plan(event, bindings, isAwake: [])
        var isFree = Array(repeating: true, count: contacts.count)
        var devices: [CallDevice] = []
        var groups: [[Int]] = []
        var chosen: [Plan.Chosen?] = []
        for group in plan.devices {
            let own = contacts.indices.filter { index in
                group.contains { Self.matches(contacts[index], bindings[$0]) }
            }
            for index in own { isFree[index] = false }
            let taking = own.filter { contacts[$0].contact.reach != .refuses }
            if taking.isEmpty, !own.isEmpty { continue }
            let pushed = plan.pushes.first { group.contains($0.index) }
            var known = taking.map { index in
                var contact = contacts[index].contact
                let binding = group.first { Self.matches(contacts[index], bindings[$0]) }
                if contact.age < 0, let binding { contact.age = age(bindings[binding]) }
                return contact
            }
            if known.count > 1 { known.sort { Self.isNewer($0, $1) } }
            let hasOnlyTokens = group.allSatisfy { TokenReport.hasOnlyTokens(bindings[$0]) }
            devices.append(
                CallDevice(
                    instance: hasOnlyTokens
                        ? "" : group.lazy.map { bindings[$0].instance }.first { !$0.isEmpty } ?? "",
                    tokens: group.map { bindings[$0].token }, contacts: known,
                    isAwake: known.contains { Self.isAwake($0, awakeFor) } || group.contains { isAwake(bindings[$0]) },
                    canBePushed: pushed != nil, pushDelay: pushed?.delay ?? 0,
                    showsCallAtOnce: event == .call && pushed?.type == .voip,
                    takesNotices: group.contains { plan.takes(.cancel, bindings[$0]) },
                    hasOnlyTokens: hasOnlyTokens))
            groups.append(group)
            chosen.append(pushed)
        }
        for index in contacts.indices where isFree[index] && contacts[index].contact.reach != .refuses {
            devices.append(
                CallDevice(instance: contacts[index].instance, contacts: [contacts[index].contact], isAwake: true))
            groups.append([])
            chosen.append(nil)
        }
        self.devices = devices
        self.bindings = groups
        self.chosen = chosen
        skipped = plan.skipped
    }

    /// Whether a binding is that of a contact.
    public static func matches(_ contact: KnownContact, _ binding: Binding) -> Bool {
        if !contact.instance.isEmpty && !binding.instance.isEmpty { return contact.instance == binding.instance }
        return !contact.uri.isEmpty
            && (contact.uri == binding.contact || contact.uri == binding.contactWithoutPushParameters)
    }

    /// Whether a phone counts as awake by its REGISTER alone, which came less than `awakeFor` seconds ago. Ages are whole
    /// seconds, cut: 5 may be almost 6.
    package static func isFresh(_ age: Int64, _ awakeFor: Int64) -> Bool { age >= 0 && age < awakeFor }

    private static func isAwake(_ contact: CallContact, _ awakeFor: Int64) -> Bool {
        contact.reach == .open || isFresh(contact.age, awakeFor)
    }

    /// The one registered last stands first; what has no time keeps its order.
    private static func isNewer(_ a: CallContact, _ b: CallContact) -> Bool {
        (a.age < 0 ? Int64.max : a.age) < (b.age < 0 ? Int64.max : b.age)
    }
}
